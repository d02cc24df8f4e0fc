"""Content codings (RFC 9110 section 8.4): which ones really apply to a body, and decoding under caps.

The fetching process only asks `applied_codings`, which looks at the first bytes; the full decode happens once, in the
digest worker, through `decode_body`. Framing (chunked) is not here but in `adapters.http.body`.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, NamedTuple

import brotli
import zstandard
from isal import isal_zlib

from gossamer.model.limits import (
    CONTENT_CODINGS_MAX,
    DECODE_RATIO_GRACE_BYTES,
    DECODE_RATIO_MAX,
    GZIP_MEMBERS_MAX,
    ZSTD_WINDOW_MAX_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SLICE_BYTES: Final = 64 * 1024
_SALVAGE_BYTES: Final = 64  # step used to save what precedes damage
_PROBE_BYTES: Final = 4 * 1024  # input looked at to tell whether a coding applies
_GZIP_MAGIC: Final = b"\x1f\x8b"
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_ALIASES: Final = {"x-gzip": "gzip", "x-deflate": "deflate", "brotli": "br", "x-br": "br"}
_INFLATE_ERROR: Final[type[Exception]] = isal_zlib.error  # type: ignore[assignment] # its stub says: an instance
_FHCRC, _FEXTRA, _FNAME, _FCOMMENT = 2, 4, 8, 16  # RFC 1952 section 2.3.1


class Decoded(NamedTuple):
    """A body after its content codings."""

    body: bytes
    truncated: bool  # a cap was met: decoded size or ratio
    error: str  # why decoding ended early; what precedes the damage is in `body`


class _Damaged(Exception):  # noqa: N818 - carries the part that decoded, it is not an error to its caller
    """Compressed data ended early or is not what its header says."""

    def __init__(self, partial: bytes, why: str, *, early: bool = False) -> None:
        super().__init__(why)
        self.partial = partial
        self.early = early  # ended before its end, and all right until there


def applied_codings(values: Iterable[str], payload: bytes) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Codings of a response's Content-Encoding headers that its body really has.

    Args: `values` the header's values, in order; `payload` the body as received, whole or cut off.
    Returns (codings in the order they were applied, faults found). A coding that is unknown, or whose bytes are not
    there (`gzip` on a plain body), is left out and named as a fault. Only the first few KiB are looked at.
    """
    named = [token for value in values for part in value.split(",") if (token := part.strip().lower())]
    named = [name for name in named if name not in ("identity", "none")]
    if not named or not payload:
        return (), ()
    if len(named) > CONTENT_CODINGS_MAX:
        return (), (f"content-encoding: {len(named)} codings",)
    applied: list[str] = []
    faults: list[str] = []
    sample = payload[:_PROBE_BYTES]
    for place, name in enumerate(reversed(named), 1):
        coding = _ALIASES.get(name, name)
        if coding not in _DECODERS:
            faults.append(f"content-encoding: unknown coding {name[:40]!r}")
            continue
        inner = _probe(coding, sample, decode=place < len(named))
        if inner is None:
            faults.append(f"content-encoding: {coding} does not apply")
            continue
        applied.append(coding)
        sample = inner
    applied.reverse()
    return tuple(applied), tuple(faults)


def _probe(coding: str, sample: bytes, *, decode: bool) -> bytes | None:
    """The decoded beginning of a sample, or None when the coding is not there.

    Codings with a signature are believed by it, and decoded only when asked. The others are believed when what there is
    of the sample decodes.
    """
    if coding == "gzip" and (sample[:2] != _GZIP_MAGIC or sample[2:3] != b"\x08"):
        return None
    if coding == "zstd" and not _is_zstd(sample):
        return None
    signed = coding in ("gzip", "zstd")
    if signed and not decode:
        return b""
    try:
        return _DECODERS[coding](sample, _PROBE_BYTES)[:_PROBE_BYTES]
    except _Damaged as damage:
        if signed or (damage.early and damage.partial):
            return damage.partial[:_PROBE_BYTES]
        return None


def decode_body(payload: bytes, content_encoding: tuple[str, ...], max_bytes: int) -> Decoded:
    """Undo the content codings of a body.

    Args: `payload` the body as received; `content_encoding` codings in the order applied, as `applied_codings` gives
    them; `max_bytes` cap on the decoded size. The ratio of decoded to received bytes is capped too (DECODE_RATIO_MAX,
    past DECODE_RATIO_GRACE_BYTES). Both hold while decoding: never more than the cap, and a byte or block, is made.
    Never raises for what the bytes are: see `Decoded.error`.
    """
    limit = min(max_bytes, max(DECODE_RATIO_GRACE_BYTES, len(payload) * DECODE_RATIO_MAX))
    body = payload
    error = ""
    cut = False
    for coding in reversed(content_encoding):
        decoder = _DECODERS.get(coding)
        if decoder is None:
            return Decoded(body[:limit], cut or len(body) > limit, error or f"unknown coding {coding!r}")
        try:
            body = decoder(body, limit + 1)
        except _Damaged as damage:
            body = damage.partial
            if not cut:  # else it ends early because we cut the coding around it
                error = error or f"{coding}: {damage}"
        cut = cut or len(body) > limit
    cap = limit if content_encoding else max_bytes
    return Decoded(body[:cap] if len(body) > cap else body, cut or len(body) > cap, error)


def _gunzip(data: bytes, limit: int) -> bytes:
    """Decode gzip members one after another; whatever follows the last one is ignored, and checksums are too."""
    out: list[bytes] = []
    size = 0
    position = 0
    for _ in range(GZIP_MEMBERS_MAX):
        start = _gzip_data_start(data, position)
        if start < 0:
            if position == 0:
                raise _Damaged(b"", "no gzip header" if data[:2] != _GZIP_MAGIC else "ends in its header")
            break
        try:
            piece, end = _inflate(data, start, limit - size)
        except _Damaged as damage:
            raise _Damaged(b"".join(out) + damage.partial, str(damage), early=damage.early) from None
        out.append(piece)
        size += len(piece)
        if size >= limit or end < 0:
            break
        position = end + 8  # CRC32 and ISIZE
    else:
        raise _Damaged(b"".join(out), f"more than {GZIP_MEMBERS_MAX} gzip members")
    return out[0] if len(out) == 1 else b"".join(out)


def _gzip_data_start(data: bytes, position: int) -> int:
    """Offset of the deflate data of the member at `position`; -1 when no whole gzip header is there."""
    if data[position : position + 2] != _GZIP_MAGIC or len(data) < position + 10 or data[position + 2] != 8:
        return -1
    flags = data[position + 3]
    offset = position + 10
    if flags & _FEXTRA:
        if len(data) < offset + 2:
            return -1
        offset += 2 + int.from_bytes(data[offset : offset + 2], "little")
    for flag in (_FNAME, _FCOMMENT):
        if flags & flag:
            offset = data.find(b"\0", offset) + 1
            if offset == 0:
                return -1
    if flags & _FHCRC:
        offset += 2
    return offset if offset <= len(data) else -1


def _inflate(data: bytes, start: int, limit: int) -> tuple[bytes, int]:
    """Decode raw deflate from `start`. Returns (output, offset after the data or -1 when the limit came first)."""
    decoder = isal_zlib.decompressobj(-15)
    out: list[bytes] = []
    size = 0
    position = start
    total = len(data)
    try:
        while position < total:
            piece = data[position : position + _SLICE_BYTES]
            made = decoder.decompress(piece, limit - size)
            out.append(made)
            size += len(made)
            position += len(piece)
            if decoder.eof:
                return b"".join(out), position - len(decoder.unused_data)
            if size >= limit:
                return b"".join(out), -1
    except _INFLATE_ERROR as error:
        raise _Damaged(_salvage(data, start, position, limit), str(error)) from None
    raise _Damaged(b"".join(out), "ends early", early=True)


def _salvage(data: bytes, start: int, damaged_from: int, limit: int) -> bytes:
    """What decodes before damage that lies in the slice at `damaged_from`: the slow way, in small steps."""
    decoder = isal_zlib.decompressobj(-15)
    out: list[bytes] = []
    size = 0
    position = start
    try:
        while position < len(data) and size < limit:
            step = _SLICE_BYTES if position + _SLICE_BYTES <= damaged_from else _SALVAGE_BYTES
            out.append(decoder.decompress(data[position : position + step], limit - size))
            size += len(out[-1])
            position += step
    except _INFLATE_ERROR:
        pass
    return b"".join(out)


def _inflate_any(data: bytes, limit: int) -> bytes:
    """`deflate` as servers send it: with a zlib header (RFC 1950), or raw (RFC 1951); trailing bytes are ignored."""
    wrapped = len(data) >= 2 and data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
    try:
        return _inflate(data, 2 if wrapped else 0, limit)[0]
    except _Damaged as damage:
        if not wrapped or damage.early or damage.partial:
            raise
    return _inflate(data, 0, limit)[0]


def _unbrotli(data: bytes, limit: int) -> bytes:
    """Decode brotli (RFC 7932)."""
    try:
        return _brotli_steps(data, limit, _SLICE_BYTES)
    except _Damaged as damage:
        if damage.early or len(data) <= _SALVAGE_BYTES:
            raise
        why = str(damage)
    try:  # the engine keeps what it made of a slice in which it fails: the slow way, in small steps
        return _brotli_steps(data, limit, _SALVAGE_BYTES)
    except _Damaged as damage:
        raise _Damaged(damage.partial, why) from None


def _brotli_steps(data: bytes, limit: int, step_bytes: int) -> bytes:
    decoder = brotli.Decompressor()
    out: list[bytes] = []
    size = 0
    position = 0
    try:
        while size < limit and not decoder.is_finished():
            if decoder.can_accept_more_data():
                if position >= len(data):
                    raise _Damaged(b"".join(out), "ends early", early=True)
                piece = data[position : position + step_bytes]
                position += len(piece)
            else:
                piece = b""
            made = decoder.process(piece, output_buffer_limit=limit - size)
            out.append(made)
            size += len(made)
    except brotli.error as error:
        raise _Damaged(b"".join(out), str(error)) from None
    return b"".join(out)


def _unzstd(data: bytes, limit: int) -> bytes:
    """Decode zstd frames (RFC 8878), window at most 8 MiB (RFC 9659)."""
    if not _is_zstd(data):
        raise _Damaged(b"", "no zstd frame")
    out: list[bytes] = []
    size = 0
    decoder = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX_BYTES)
    try:
        with decoder.stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
            while size < limit:
                made = reader.read(min(_SLICE_BYTES, limit - size))
                if not made:
                    break
                out.append(made)
                size += len(made)
    except zstandard.ZstdError as error:
        raise _Damaged(b"".join(out), str(error)) from None
    if size < limit and not _zstd_whole(data):
        raise _Damaged(b"".join(out), "ends early", early=True)
    return b"".join(out)


def _is_zstd(data: bytes) -> bool:
    """Whether data begins with a zstd frame or a skippable one."""
    return data[:4] == _ZSTD_MAGIC or (data[1:4] == b"\x2a\x4d\x18" and data[0] & 0xF0 == 0x50)


def _zstd_whole(data: bytes) -> bool:
    """Whether the first data frame reaches its last block (RFC 8878 section 3.1.1.2): the reader does not tell."""
    position = 0
    while data[position : position + 4] != _ZSTD_MAGIC and _is_zstd(data[position : position + 4]):
        position += 8 + int.from_bytes(data[position + 4 : position + 8], "little")
    try:
        position += zstandard.frame_header_size(data[position : position + 18])
    except zstandard.ZstdError:
        return False
    while position + 3 <= len(data):
        header = int.from_bytes(data[position : position + 3], "little")
        run_length = header >> 1 & 3 == 1
        position += 3 + (1 if run_length else header >> 3)
        if header & 1:
            return position <= len(data)
    return False


_DECODERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _gunzip,
    "deflate": _inflate_any,
    "br": _unbrotli,
    "zstd": _unzstd,
}
