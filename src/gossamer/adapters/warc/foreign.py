"""Reading archives that others wrote: WARC 0.17 to 1.1 and ARC 1 and 2, plain or gzipped, record by record.

Independent validators disagree on many files. Accepted is what at least two of warcio, FastWARC and jwarc accept. In
terms of the file: every record starts with its version line, is as long as it says, ends as its format wants, has
right digests, and a gzip member holds one record. Line ends may have too few or too many CRs, and the line ends that
close a gzip member may be missing. A payload digest may cover a chunked body with or without its framing: writers
differ. Compression other than gzip is refused. Of the validators only warcio knows ARC, and it lets lengths pass that
are no numbers or more than there is; here an ARC record has to be whole, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from gossamer.adapters.warc import members, parse
from gossamer.adapters.warc.parse import Record
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import WARC_HEADER_MAX_BYTES, WARC_RECORD_MAX_BYTES

_GZIP = b"\x1f\x8b"
_OTHER_FORMATS = {b"\x04\x22\x4d\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_ARC_START = b"filedesc://"
_ARC_FIELDS = (5, 10)  # versions 1 and 2: the URL comes first and may hold spaces, the length comes last
_END_MAX_BYTES = 16
_BLANK_MAX_BYTES = 64  # at the end of a file


def open_any(path: Path, record_max_bytes: int = WARC_RECORD_MAX_BYTES) -> Iterator[Record]:
    """The records of an archive file, in order; those of an ARC file with the WARC fields that say the same.

    Raises ArchiveError, naming the file and the byte, at the first thing that is not as it must be.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ArchiveError(f"{path.name}: cannot be opened: {error.strerror}") from error
    offset = 0
    try:
        for piece in _pieces(fd, record_max_bytes):
            offset = piece.offset
            record = _record(piece.data)
            _verify(record)
            yield record
            offset += piece.length
    except ArchiveError as error:
        raise ArchiveError(f"{path.name}: record at or after byte {offset}: {error}") from error
    finally:
        os.close(fd)


def _pieces(fd: int, max_bytes: int) -> Iterator[members.Member]:
    """One piece of an open file per record, whatever its packaging."""
    start = os.pread(fd, 64, 0)
    if start.startswith(_GZIP):
        for member in members.walk(fd, 0, max_bytes):
            if member.data:  # an empty member is padding
                yield member
        return
    for magic, name in _OTHER_FORMATS.items():
        if start.startswith(magic):
            raise ArchiveError(f"{name} compression is not supported: gzip or none is")
    is_arc = start.startswith(_ARC_START)
    offset = 0
    while (head := os.pread(fd, WARC_HEADER_MAX_BYTES, offset)).strip(b"\r\n"):
        lead = len(head) - len(head.lstrip(b"\r\n")) if is_arc else 0
        end = lead + _block_end(head[lead:], is_arc=is_arc)
        if end > max_bytes:
            raise ArchiveError(f"record of {end} bytes: at most {max_bytes} are allowed")
        length = end + _line_ends(os.pread(fd, _END_MAX_BYTES, offset + end), 1 if is_arc else 2)
        yield members.Member(offset, length, os.pread(fd, length, offset))
        offset += length
    if len(head) > _BLANK_MAX_BYTES:
        raise ArchiveError(f"{len(head)} bytes of blank lines instead of a record")


def _block_end(head: bytes, *, is_arc: bool) -> int:
    if is_arc:
        _, length, start = _arc_line(head)
        return start + length
    fields, start = _warc_header(head)
    return start + parse.content_length(fields)


def _warc_header(data: bytes) -> tuple[parse.Fields, int]:
    first, newline, _ = data[:64].partition(b"\n")
    if not newline or (first.endswith(b"\r") and not first.endswith(b"\r\r")):
        return parse.warc_header(data)
    start = parse.body_offset(data[:WARC_HEADER_MAX_BYTES])
    lines = [line.rstrip(b"\r") for line in data[:start].split(b"\n")]
    return parse.warc_header(b"\r\n".join(lines))[0], start


def _line_ends(tail: bytes, count: int) -> int:
    """Length of the `count` line ends that `tail` starts with, with any number of CRs; 0 at the end of the file."""
    end = 0
    for _ in range(count if tail else 0):
        newline = tail.find(b"\n", end)
        if newline < 0 or tail[end:newline].strip(b"\r"):
            raise ArchiveError(f"record does not end where its length says: {tail!r} follows")
        end = newline + 1
    return end


def _record(data: bytes) -> Record:
    if data.startswith(b"WARC/"):
        fields, start = _warc_header(data)
        length = parse.content_length(fields)
    else:
        data = data.lstrip(b"\r\n")
        parts, length, start = _arc_line(data)
        fields = _arc_fields(parts)
    end = start + length
    if end > len(data):
        raise ArchiveError(f"record is cut off: {len(data) - start} of {length} bytes")
    if data[end : end + _END_MAX_BYTES + 1].strip(b"\r\n") or len(data) - end > _END_MAX_BYTES:
        raise ArchiveError(f"record does not end where its length says: {data[end : end + 20]!r} follows")
    return Record(fields, data[start:end])


def _arc_fields(parts: list[str]) -> parse.Fields:
    url, address, moment, media_type = parts[:4]
    is_header = url.startswith("filedesc://")
    return (
        ("WARC-Type", "warcinfo" if is_header else "response"),
        ("WARC-Target-URI", url),
        ("WARC-IP-Address", address),
        (
            "WARC-Date",
            f"{moment[:4]}-{moment[4:6]}-{moment[6:8]}T{moment[8:10]}:{moment[10:12]}:{moment[12:14]}Z",
        ),
        ("Content-Type", "text/plain" if is_header else "application/http; msgtype=response"),
        ("WARC-Identified-Payload-Type", media_type),
        ("Content-Length", parts[-1]),
    )


def _arc_line(data: bytes) -> tuple[list[str], int, int]:
    """Fields of an ARC URL line, the length of its block, and where that starts."""
    end = data.find(b"\n", 0, WARC_HEADER_MAX_BYTES)
    if end < 0:
        raise ArchiveError(f"neither a WARC nor an ARC record: it starts with {data[:40]!r}")
    line = data[:end].decode("utf-8", "replace").rstrip()
    for count in _ARC_FIELDS:
        parts = line.rsplit(" ", count - 1)
        moment = parts[2] if len(parts) == count else ""
        length = parts[-1]
        if moment.isascii() and moment.isdigit() and length.isascii() and length.isdigit() and len(length) <= 15:
            return parts, int(length), end + 1
    raise ArchiveError(f"neither a WARC nor an ARC record: it starts with {data[:40]!r}")


def _verify(record: Record) -> None:
    kind = record.get("warc-type")
    if kind == "revisit" or record.get("warc-segment-number"):
        return  # the digests are of what is elsewhere
    if parse.digest_matches(record.get("warc-block-digest"), record.block) is False:
        raise ArchiveError("block digest does not match")
    declared = record.get("warc-payload-digest")
    if not declared:
        return
    is_http = record.get("content-type").startswith("application/http")
    body = record.block[parse.body_offset(record.block) :] if is_http else record.block
    if parse.digest_matches(declared, body) is False:
        headers = parse.http_head(record.block[: len(record.block) - len(body)])[2] if is_http else ()
        if not (parse.is_chunked(headers) and parse.digest_matches(declared, parse.dechunk(body))):
            raise ArchiveError("payload digest does not match")
