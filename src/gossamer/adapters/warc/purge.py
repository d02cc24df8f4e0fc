"""Records taken out of a segment. What they leave is a record of the same length that says so, so that every other
record stays where it is: pointers and indexes go on being right, and a rewritten file takes its place in one rename.

The space is not given back; the content is gone. Which records those are is the caller's to say.
"""

from __future__ import annotations

import os
import shutil
import struct
import uuid
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.warc import cdxj, files, members, parse
from gossamer.adapters.warc.records import warc_date
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import MIB

PURGED_FIELD: Final = "WARC-Gossamer-Purged"  # other fields are ignored by readers (WARC/1.1, section 4)
_GZIP_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
_STORED: Final = struct.Struct("<BHH")
_TRAILER: Final = struct.Struct("<II")
_BLOCK_MAX_BYTES: Final = 0xFFFF
_FRAME_BYTES: Final = len(_GZIP_HEADER) + _TRAILER.size
_END: Final = b"\r\n\r\n"
_WORDS: Final = b"What stood here was removed.\n"
MERGED_MAX_BYTES: Final = 16 * MIB  # of gaps that are filled by one record

Covered = Callable[[str, int], bool]  # URL and offset of a record: whether it is to go


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to one segment."""

    records: int = 0  # taken out
    visits: int = 0  # of those: responses, revisits, and metadata that is all there is of a visit
    kept_visits: int = 0
    index_lines: int = 0  # taken out


def purge_segment(path: Path, covered: Covered, why: str, now: float) -> Purged:
    """Take the covered records out of a finished segment and out of its index; durable when it returns.

    `why` is said in their place; `now`: unix seconds. After a kill the segment is the old one or the new one, its
    index at most too short; doing it again does what is left. Raises ArchiveError for a damaged segment, OSError.
    """
    lines = _purge_index(path.with_name(path.name + cdxj.SUFFIX), covered)
    gaps: list[tuple[int, int]] = []
    records = visits = kept = 0
    for offset, length, kind, url, is_visit in _walk(path):
        if kind != "warcinfo" and covered(url, offset):
            records, visits = records + 1, visits + is_visit
            if gaps and sum(gaps[-1]) == offset and gaps[-1][1] + length <= MERGED_MAX_BYTES:
                offset, length = gaps[-1][0], gaps.pop()[1] + length  # noqa: PLW2901 - one gap with the one before
            gaps.append((offset, length))
        else:
            kept += is_visit
    if gaps:
        _rewrite(path, gaps, why, now)
    return Purged(records=records, visits=visits, kept_visits=kept, index_lines=lines)


def _walk(path: Path) -> Iterator[tuple[int, int, str, str, bool]]:
    """Offset, length, type and URL of every record, and whether it stands for a visit (as `verify` counts them)."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    before = ""
    try:
        for member in members.walk(fd):
            record = parse.record(member.data)
            kind, url = record.get("warc-type"), record.get("warc-target-uri")
            alone = kind == "metadata" and before != "request" and not record.get(PURGED_FIELD.lower())
            yield member.offset, member.length, kind, url, kind in {"response", "revisit"} or alone
            before = kind
    finally:
        os.close(fd)


def _rewrite(path: Path, gaps: list[tuple[int, int]], why: str, now: float) -> None:
    draft = path.with_name(path.name + files.PURGING)
    shutil.copyfile(path, draft)
    with draft.open("r+b") as file:
        for offset, length in gaps:
            file.seek(offset)
            file.write(tombstone(length, why, now))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    files.sync_directory(path.parent)


def _purge_index(index: Path, covered: Covered) -> int:
    if not index.exists():
        return 0
    lines = index.read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if not _is_covered(line, covered)]
    if len(kept) < len(lines):
        cdxj.save(index.with_name(index.name.removesuffix(cdxj.SUFFIX)), kept)
        files.sync_directory(index.parent)
    return len(lines) - len(kept)


class _Line(msgspec.Struct):
    url: str
    offset: str = "-1"


_line: Final = msgspec.json.Decoder(_Line).decode


def _is_covered(line: bytes, covered: Covered) -> bool:
    try:
        entry = _line(line[line.index(b"{") :])
        return covered(entry.url, int(entry.offset))
    except (ValueError, msgspec.MsgspecError):
        return False  # no line of ours: `verify` tells of it


def tombstone(length: int, why: str, now: float) -> bytes:
    """One gzip member of exactly `length` bytes that holds a metadata record which says what was done.

    Its data is stored as it is (RFC 1951, section 3.2.4), which is what makes any length possible. Raises ArchiveError
    when the length is too short for that.
    """
    blocks = max(1, -(-(length - _FRAME_BYTES) // (_BLOCK_MAX_BYTES + _STORED.size)))
    data = _record(length - _FRAME_BYTES - blocks * _STORED.size, why, now)
    parts = [_GZIP_HEADER]
    for number in range(blocks):
        piece = data[number * _BLOCK_MAX_BYTES : (number + 1) * _BLOCK_MAX_BYTES]
        parts += [_STORED.pack(number == blocks - 1, len(piece), len(piece) ^ 0xFFFF), piece]
    parts.append(_TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFFFFFF))
    return b"".join(parts)


def _record(size: int, why: str, now: float) -> bytes:
    """A record of exactly `size` bytes, its length written with as many digits as it takes."""
    front = (
        f"WARC/1.1\r\nWARC-Type: metadata\r\nWARC-Record-ID: <urn:uuid:{uuid.uuid4()}>\r\n"
        f"WARC-Date: {warc_date(now)}\r\nContent-Type: text/plain\r\n{PURGED_FIELD}: {why}\r\nContent-Length: "
    ).encode()
    left = size - len(front) - 2 * len(_END) - 10  # ten digits
    if left < 0:
        raise ArchiveError(f"a record of {size} bytes cannot be replaced in place")
    return front + b"%010d" % left + _END + _WORDS[:left].ljust(left) + _END
