"""Gzip members: one record in, one member out, and the walk over a file of members.

Not here: what a record says (`parse`, `records`).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

from isal import igzip_lib, isal_zlib

from gossamer.model.errors import ArchiveError
from gossamer.model.limits import KIB, WARC_RECORD_MAX_BYTES

_Damaged: type[Exception] = igzip_lib.error  # type: ignore[assignment]  # its stub calls the class an instance
_LEVEL = 1  # docs/decisions/warc-writer.md has the figures
_LEVEL_QUICK = 0
_GZIP_HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # no name, no date, no system
_STORED_BLOCK_BYTES = 0xFFFF
_STORED_MIN_BYTES = KIB
_STORED = struct.Struct("<BHH")  # is it the last block; its length in bytes; the same, inverted
_TRAILER = struct.Struct("<II")  # CRC-32 of the record; its length in bytes
_FIRST_READ_BYTES = 16 * KIB  # most members are smaller: read little ahead of them
_READ_BYTES = 256 * KIB


class Member(NamedTuple):
    """One gzip member of a file: where it is, in bytes, and what it holds."""

    offset: int
    length: int
    data: bytes


def pack(start: bytes, coded: bytes = b"", end: bytes = b"", *, is_quick: bool = False) -> bytes:
    """The record `start + coded + end` as one gzip member (RFC 1952). `coded` is compressed already: its bytes are
    stored (RFC 1951, section 3.2.4), which takes a fifth of the time and no more room.

    With `is_quick` the rest is compressed with fixed codes: a third of the time, a third more room.
    """
    level = _LEVEL_QUICK if is_quick else _LEVEL
    if len(coded) < _STORED_MIN_BYTES:
        return igzip_lib.compress(start + coded + end, level, igzip_lib.COMP_GZIP)
    compressor = isal_zlib.compressobj(level, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
    parts: list[bytes | memoryview] = [
        _GZIP_HEADER,
        compressor.compress(start),
        compressor.flush(isal_zlib.Z_FULL_FLUSH),  # ends on a byte
    ]
    view = memoryview(coded)
    for position in range(0, len(coded), _STORED_BLOCK_BYTES):
        piece = view[position : position + _STORED_BLOCK_BYTES]
        parts += [_STORED.pack(0, len(piece), len(piece) ^ 0xFFFF), piece]
    checksum = isal_zlib.crc32(end, isal_zlib.crc32(coded, isal_zlib.crc32(start)))
    length = len(start) + len(coded) + len(end)
    parts += [_STORED.pack(1, len(end), len(end) ^ 0xFFFF), end, _TRAILER.pack(checksum, length & 0xFFFFFFFF)]
    return b"".join(parts)


def unpack(member: bytes, max_bytes: int = WARC_RECORD_MAX_BYTES) -> bytes:
    """What exactly one whole gzip member holds.

    Raises ArchiveError when it is damaged, cut off, followed by anything, or holds more than `max_bytes`.
    """
    decompressor = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
    try:
        data = decompressor.decompress(member, max_bytes + 1)
    except _Damaged as error:
        raise ArchiveError(f"damaged gzip member: {error}") from error
    if len(data) > max_bytes:
        raise ArchiveError(f"record of more than {max_bytes} bytes")
    if not decompressor.eof:
        raise ArchiveError("gzip member is cut off")
    if decompressor.unused_data:
        raise ArchiveError("bytes after the gzip member")
    return data


def read_member(fd: int, offset: int, max_bytes: int = WARC_RECORD_MAX_BYTES) -> Member | None:
    """The member that starts at `offset` of an open file, or None at the end of the file.

    Raises ArchiveError as `unpack` does; bytes after the member are the next one's affair.
    """
    decompressor = igzip_lib.IgzipDecompressor(igzip_lib.DECOMP_GZIP)
    parts: list[bytes] = []
    fed = held = 0
    size = _FIRST_READ_BYTES
    while not decompressor.eof:
        chunk = os.pread(fd, size, offset + fed)
        if not chunk:
            if not fed:
                return None
            raise ArchiveError("gzip member is cut off")
        fed += len(chunk)
        size = _READ_BYTES
        try:
            part = decompressor.decompress(chunk, max_bytes + 1 - held)
        except _Damaged as error:
            raise ArchiveError(f"damaged gzip member: {error}") from error
        held += len(part)
        if held > max_bytes:
            raise ArchiveError(f"record of more than {max_bytes} bytes")
        parts.append(part)
    return Member(offset, fed - len(decompressor.unused_data), parts[0] if len(parts) == 1 else b"".join(parts))


def walk(fd: int, start: int = 0, max_bytes: int = WARC_RECORD_MAX_BYTES) -> Iterator[Member]:
    """Every member of an open file from byte `start` on. Raises ArchiveError at the first that is not whole."""
    offset = start
    while (member := read_member(fd, offset, max_bytes)) is not None:
        yield member
        offset += member.length
