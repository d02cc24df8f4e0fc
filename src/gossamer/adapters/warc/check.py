"""Going over every record of an archive directory, for `gossamer verify`. What is wrong is a value that comes back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gossamer.adapters.warc import files, members, parse
from gossamer.adapters.warc.reader import capture_of
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Pointer


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """One record, or the place where a segment could not be read on (`error` set, length 0)."""

    pointer: Pointer
    record_type: str = ""
    record_id: str = ""
    url: str = ""
    date: float = 0.0  # unix seconds
    status: int = 0
    payload_digest: str = ""
    digest_ok: bool | None = None  # None: there is no digest to check
    error: str = ""


def iterate_segments(directory: Path) -> Iterator[Checked]:
    """Every record of every segment, finished or open, in the order of names and offsets; one in memory at a time."""
    for path in files.segments(directory):
        yield from iterate_segment(path)


def iterate_segment(path: Path) -> Iterator[Checked]:
    """Every record of one segment. After damage that hides where the next record starts, one last item says so."""
    name = files.segment_name(path)
    offset = 0
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        yield Checked(pointer=Pointer(name, 0, 0), error=f"cannot be opened: {error.strerror}")
        return
    try:
        for member in members.walk(fd):
            offset = member.offset + member.length
            yield _checked(Pointer(name, member.offset, member.length), member.data)
        if not offset:
            yield Checked(pointer=Pointer(name, 0, 0), error="empty segment")
    except (ArchiveError, OSError) as error:
        yield Checked(pointer=Pointer(name, offset, 0), error=str(error))
    finally:
        os.close(fd)


def _checked(pointer: Pointer, data: bytes) -> Checked:
    try:
        record = parse.record(data)
        capture = capture_of(record)
    except ArchiveError as error:
        return Checked(pointer=pointer, error=str(error))
    return Checked(
        pointer=pointer,
        record_type=capture.record_type,
        record_id=record.get("warc-record-id"),
        url=capture.url,
        date=capture.date,
        status=capture.status,
        payload_digest=capture.payload_digest,
        digest_ok=capture.digest_ok,
        error="digest does not match" if capture.digest_ok is False else "",
    )
