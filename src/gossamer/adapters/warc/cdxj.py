"""CDXJ: one index line per response and revisit, 304 aside, sorted, beside each finished segment.

`key timestamp {"url", "mime", "status", "digest", "length", "offset", "filename"}`, as pywb writes and reads it. A 304
has no line: pywb would answer with the bare 304 it finds there, where without the line it shows the capture that the
304 confirmed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from gossamer.adapters.warc import files, members, parse
from gossamer.adapters.warc.records import ENTITY_DIGEST
from gossamer.adapters.warc.surt import surt
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Pointer

SUFFIX = ".cdxj"
DRAFT = SUFFIX + ".new"
_MIME = re.compile(r"[a-z0-9/+._!#$&^-]+")
_NO_DIGITS = re.compile(r"[^0-9]+")
_MIME_MAX_CHARS = 127


def media_type(value: str) -> str:
    """The bare, lower-case media type of a Content-Type value; "unk" when there is none to speak of."""
    text = value.partition(";")[0].strip().lower()[:_MIME_MAX_CHARS]
    return text if _MIME.fullmatch(text) else "unk"


def line(pointer: Pointer, *, uri: str, warc_date: str, mime: str, status: int, digest: str) -> bytes:
    """One index line, with its newline. `warc_date` as the record has it; `digest` with or without its label."""
    timestamp = _NO_DIGITS.sub("", warc_date[:19])
    entry = {
        "url": uri,
        "mime": mime,
        "status": str(status) if status else "-",
        "digest": digest.removeprefix("sha1:") or "-",
        "length": str(pointer.length),
        "offset": str(pointer.offset),
        "filename": pointer.segment,
    }
    return b"%s %s %s\n" % (surt(uri).encode(), timestamp.encode(), msgspec.json.encode(entry))


def record_line(record: parse.Record, pointer: Pointer) -> bytes | None:
    """The index line of a stored record, or None when it is none that can be replayed."""
    kind = record.get("warc-type")
    if kind not in {"response", "revisit"}:
        return None
    status, _, fields = parse.http_head(record.block[: parse.body_offset(record.block)])
    if status == 304:
        return None
    return line(
        pointer,
        uri=record.get("warc-target-uri"),
        warc_date=record.get("warc-date"),
        mime="warc/revisit" if kind == "revisit" else media_type(parse.field(fields, "content-type")),
        status=status,
        digest=record.get("warc-payload-digest") or record.get(ENTITY_DIGEST.lower()),
    )


class Scan(NamedTuple):
    """What one pass over a segment found, as far as it is whole."""

    lines: list[bytes]  # of the index
    visits: int  # records other than warcinfo
    whole_bytes: int  # where the first record that is not whole starts; the file's length when there is none
    error: str  # what is wrong there, or ""


def scan(segment: Path) -> Scan:
    """Read a segment once, from its start to its first damaged record. Raises OSError only."""
    name = files.segment_name(segment)
    lines: list[bytes] = []
    visits = end = 0
    fd = os.open(segment, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for member in members.walk(fd):
            record = parse.record(member.data)
            found = record_line(record, Pointer(name, member.offset, member.length))
            if found is not None:
                lines.append(found)
            visits += record.get("warc-type") != "warcinfo"
            end = member.offset + member.length
    except ArchiveError as error:
        return Scan(lines, visits, end, f"record at byte {end}: {error}")
    finally:
        os.close(fd)
    return Scan(lines, visits, end, "")


def build(segment: Path) -> Path:
    """Index a finished segment by reading it; the index's path. Raises ArchiveError when a record is damaged."""
    found = scan(segment)
    if found.error:
        raise ArchiveError(f"{segment.name}: {found.error}")
    return save(segment, found.lines)


def save(segment: Path, lines: Iterable[bytes]) -> Path:
    """Write the sorted index of `segment` beside it, whole or not at all; the index's path."""
    path = segment.with_name(segment.name + SUFFIX)
    draft = segment.with_name(segment.name + DRAFT)
    with draft.open("wb") as file:
        file.writelines(sorted(lines))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    return path
