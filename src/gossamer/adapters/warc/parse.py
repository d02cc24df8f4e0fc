"""Taking records apart: WARC header fields, HTTP heads as replay tools see them, chunked bodies, digests.

Everything is linear in its input and bounded. Not here: files and gzip (`members`, `reader`, `foreign`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from datetime import UTC, datetime
from typing import NamedTuple

from gossamer.model.errors import ArchiveError
from gossamer.model.limits import CHUNK_LINE_MAX_BYTES, WARC_HEADER_MAX_BYTES

Fields = tuple[tuple[str, str], ...]

VERSIONS = (b"WARC/1.1", b"WARC/1.0", b"WARC/0.18", b"WARC/0.17")
_SIZE_DIGITS_MAX = 15
_ALGORITHMS = {"sha1": 20, "sha-1": 20, "sha256": 32, "sha-256": 32, "sha512": 64, "sha-512": 64, "md5": 16}
# One fixed shape without repetition of anything but digits: linear.
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)
# Two characters of base32 for ten bits: the 160 bits of SHA-1 in half the time of the general function.
_BASE32 = [one + two for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" for two in "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"]
_SHIFTS = range(150, -1, -10)
# White space in ASCII as Unicode has it; the class holds no LF, so each run is looked at once: linear.
_BLANK_LINE = re.compile(rb"\n[\t\x0b\x0c\r\x1c-\x1f ]*\n")
_HEX = re.compile(rb"[0-9A-Fa-f]+", re.ASCII)


class Record(NamedTuple):
    """One WARC record: its header fields, in order, and its block."""

    fields: Fields
    block: bytes

    def get(self, name: str) -> str:
        """First value of a field, by its lower-case name, or ""."""
        return field(self.fields, name)


def field(fields: Fields, name: str) -> str:
    """First value of a field, by its lower-case name, or ""."""
    for key, value in fields:
        if key.lower() == name:
            return value
    return ""


def warc_header(data: bytes) -> tuple[Fields, int]:
    """The header of the WARC record at the start of `data`, and the offset of its block (ISO 28500, section 4).

    Raises ArchiveError: no WARC version line, no end of the header, a line that is not a field.
    """
    end = data.find(b"\r\n\r\n", 0, WARC_HEADER_MAX_BYTES)
    first, _, rest = (data[: end + 2] if end >= 0 else data[:WARC_HEADER_MAX_BYTES]).partition(b"\r\n")
    if first.rstrip() not in VERSIONS:
        raise ArchiveError(f"not a WARC record: it starts with {first[:40]!r}")
    if end < 0:
        raise ArchiveError("WARC header has no end")
    fields: list[tuple[str, str]] = []
    for raw in rest.split(b"\r\n")[:-1]:
        line = raw.decode("utf-8", "replace")
        if line[:1] in {" ", "\t"} and fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ArchiveError(f"WARC header line without a name: {line[:60]!r}")
        fields.append((name.strip(), value.strip()))
    return tuple(fields), end + 4


def content_length(fields: Fields) -> int:
    """The declared block length in bytes. Raises ArchiveError when there is none or it is no number."""
    text = field(fields, "content-length")
    if not (text.isascii() and text.isdigit() and len(text) <= _SIZE_DIGITS_MAX):
        raise ArchiveError(f"bad Content-Length in WARC header: {text[:40]!r}")
    return int(text)


def record(data: bytes) -> Record:
    """The one WARC record that `data` is. Raises ArchiveError when `data` is less, more or something else."""
    fields, start = warc_header(data)
    end = start + content_length(fields)
    if end > len(data):
        raise ArchiveError(f"record block is cut off: {len(data) - start} of {end - start} bytes")
    if data[end:] != b"\r\n\r\n":
        raise ArchiveError(f"record does not end where its Content-Length says: {data[end : end + 20]!r} follows")
    return Record(fields, data[start:end])


def date(text: str) -> float:
    """Unix seconds of a WARC-Date (UTC, up to nanoseconds). Raises ArchiveError when it is none."""
    found = _DATE.fullmatch(text)
    if found:
        year, month, day, hour, minute, second = map(int, found.groups()[:6])
        fraction = found[7]
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError as error:
            raise ArchiveError(f"bad WARC-Date: {text[:40]!r}") from error
        return moment.timestamp() + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)
    raise ArchiveError(f"bad WARC-Date: {text[:40]!r}")


def body_offset(block: bytes) -> int:
    """Where the body starts in an HTTP message, as readers that go line by line see it: after the first line
    of nothing but white space (lines end with LF; RFC 9112 section 2.2). The block's length when there is none.
    """
    found = _BLANK_LINE.search(block)
    end = found.end() if found else len(block)
    if block[:1] > b" " and block[:end].isascii():
        return end
    position = 0
    while (end := block.find(b"\n", position)) >= 0:
        line = block[position : end + 1]
        position = end + 1
        if is_blank(line):
            return position
    return len(block)


def is_blank(line: bytes) -> bool:
    """Whether line-by-line readers take a line as the end of a head: nothing but white space once decoded."""
    try:
        return not line.decode().strip()
    except UnicodeDecodeError:
        return not line.decode("latin-1").strip()


def http_head(head: bytes) -> tuple[int, str, Fields]:
    """Status, reason and fields of a stored HTTP head, leniently: names lower-cased, values stripped, folded
    lines joined, lines that are no field skipped. Status 0 when the first line is no status line.
    """
    lines = head.decode("latin-1").split("\n")
    parts = lines[0].strip().split(None, 2)
    status, reason = 0, ""
    if len(parts) > 1 and parts[0][:5].upper() == "HTTP/":
        digits = parts[1][:3]
        status = int(digits) if len(digits) == 3 and digits.isascii() and digits.isdigit() else 0
        reason = parts[2] if len(parts) > 2 else ""
    fields: list[tuple[str, str]] = []
    for raw in lines[1:]:
        line = raw.lstrip("\r")  # of line ends the wrong way round
        if line[:1] in {" ", "\t"} and fields:
            fields[-1] = (fields[-1][0], f"{fields[-1][1]} {line.strip()}".rstrip())
            continue
        name, colon, value = line.partition(":")
        if colon and name.strip():
            fields.append((name.strip().lower(), value.strip()))
    return status, reason, tuple(fields)


def is_chunked(fields: Fields) -> bool:
    """Whether a transfer coding named is chunked (RFC 9112, section 6.1); it may be followed by what is none."""
    codings = [value for name, value in fields if name == "transfer-encoding"]
    return "chunked" in [coding.strip().lower() for value in codings for coding in value.split(",")]


def dechunk(framed: bytes) -> bytes:
    """The entity inside a chunked body (RFC 9112, section 7.1), as far as its framing can be followed."""
    parts: list[bytes] = []
    position = 0
    while True:
        line, position = _line(framed, position)
        size = line.partition(b";")[0].strip()
        if len(size) > _SIZE_DIGITS_MAX or not _HEX.fullmatch(size):
            break
        size_bytes = int(size, 16)
        parts.append(framed[position : position + size_bytes])
        line, position = _line(framed, position + size_bytes)
        if line or not size_bytes or not position:
            break
    return b"".join(parts)


def is_framed(body: bytes) -> bool:
    """Whether a body begins with the size of a chunk."""
    size = _line(body, 0)[0].partition(b";")[0].strip()
    return len(size) <= _SIZE_DIGITS_MAX and bool(_HEX.fullmatch(size))


def _line(data: bytes, start: int) -> tuple[bytes, int]:
    """The line at `start` without its end, and where the next one starts; position 0 when there is no whole line."""
    end = data.find(b"\n", start, start + CHUNK_LINE_MAX_BYTES)
    return (data[start:end].rstrip(b"\r"), end + 1) if end >= 0 else (b"", 0)


def sha1(data: bytes, more: bytes = b"") -> str:
    """The digest of `data` and `more` as WARC fields carry it: "sha1:" and 32 characters of base32."""
    state = hashlib.sha1(data, usedforsecurity=False)
    if more:
        state.update(more)
    number = int.from_bytes(state.digest())
    return "sha1:" + "".join([_BASE32[number >> shift & 0x3FF] for shift in _SHIFTS])


def digest_matches(declared: str, data: bytes) -> bool | None:
    """Whether a labelled digest in base32, base16 or base64 is that of `data`; None when it cannot be judged."""
    algorithm, _, value = declared.partition(":")
    size_bytes = _ALGORITHMS.get(algorithm.lower())
    if size_bytes is None or not value:
        return None
    actual = hashlib.new(algorithm.lower().replace("-", ""), data, usedforsecurity=False).digest()
    bare = value.rstrip("=")
    if len(bare) == 2 * size_bytes:
        return bare.lower() == actual.hex()
    try:
        if len(bare) == -(-8 * size_bytes // 5):
            return base64.b32decode(bare + "=" * (-len(bare) % 8), casefold=True) == actual
        return base64.b64decode(value, altchars=b"-_" if set("-_") & set(value) else None, validate=True) == actual
    except (ValueError, binascii.Error):
        return False
