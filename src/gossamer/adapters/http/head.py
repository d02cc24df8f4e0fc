"""The head of a response: where it ends, its status line and headers, and what is tolerated in them (RFC 9112).

Pure functions of bytes. What the headers mean for the body is in `body`; sockets are in `exchange`.

Tolerance, by table:

    bare LF, blank lines before the status line, `HTTP/1.1 200: OK`, no reason   understood
    folded lines, space around names, bytes outside ASCII, a stray CR           understood
    a line without a colon or without a name                                    skipped, named in `faults`
    a NUL byte, a status that is not three digits, no status line               refused: not HTTP
    a head or a line too long, too many lines                                   refused: too large
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.limits import HEADER_COUNT_MAX, HEADER_LINE_MAX_BYTES

_STATUS_DIGITS: Final = 3
_VERSION_MAX_CHARS: Final = 8  # "HTTP/1.1"
_FAULTS_MAX: Final = 8
_BLANK: Final = " \t\r\x0b\x0c"


class HeadError(Exception):
    """What came is not the head of an HTTP response."""


class HeadTooLargeError(HeadError):
    """A head, a line of it or the number of its lines exceeds the bounds."""


class Head(msgspec.Struct, frozen=True):
    """A parsed head. Header names are lower-cased, values stripped and unfolded, both latin-1 text."""

    version: str  # "HTTP/1.1" as received
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]  # what was skipped

    def values(self, name: str) -> list[str]:
        """All values of a header, by its lower-case name, in order."""
        return [value for key, value in self.headers if key == name]


def head_end(data: bytes | bytearray, start: int) -> int:
    """Offset just past the empty line that closes a head, or -1. `start`: nothing before it needs another look."""
    crlf = data.find(b"\n\r\n", start)
    bare = data.find(b"\n\n", start) if crlf < 0 else data.find(b"\n\n", start, crlf + 1)
    if bare >= 0:
        return bare + 2
    return crlf + 3 if crlf >= 0 else -1


def may_be_head(data: bytes | bytearray) -> bool:
    """Whether bytes that start a response can still turn out to be a status line."""
    return data[:5].upper() == b"HTTP/"[: len(data)]


def parse_head(raw: bytes) -> Head:
    """Parse a whole head, its closing empty line included. Raises HeadError, HeadTooLargeError."""
    if b"\0" in raw:
        raise HeadError("NUL byte in the head")
    text = raw.decode("latin-1").replace("\r\n", "\n")
    if "\r" in text:
        # Beside a line end it is a part of that, and makes no fold of the next field; elsewhere it stands for a space.
        text = "\n".join([line.strip("\r").replace("\r", " ") for line in text.split("\n")])
    lines = text.split("\n")
    if len(lines) > HEADER_COUNT_MAX + 3:  # status line, empty line, and the rest after it
        raise HeadTooLargeError(f"more than {HEADER_COUNT_MAX} header lines")
    version, status, reason = _status_line(lines[0])
    headers, faults = _headers(lines[1:])
    return Head(version, status, reason, headers, faults)


def _headers(lines: list[str]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Header fields and faults of the lines after the status line."""
    headers: list[tuple[str, str]] = []
    faults: list[str] = []
    folded: dict[int, list[str]] = {}
    for line in lines:
        if not line:
            continue
        if len(line) > HEADER_LINE_MAX_BYTES:
            raise HeadTooLargeError(f"header line longer than {HEADER_LINE_MAX_BYTES} bytes")
        if line[0] in " \t" and headers:
            folded.setdefault(len(headers) - 1, []).append(line.strip(_BLANK))
            continue
        name, colon, value = line.partition(":")
        name = name.strip(_BLANK).lower()
        if not colon or not name:
            if line.strip(_BLANK) and len(faults) < _FAULTS_MAX:
                faults.append("header line without a colon" if not colon else "header without a name")
            continue
        headers.append((name, value.strip(_BLANK)))
    for index, more in folded.items():
        name, value = headers[index]
        headers[index] = (name, " ".join([value, *more]).strip(_BLANK))
    return tuple(headers), tuple(faults)


def _status_line(line: str) -> tuple[str, int, str]:
    """Version, status and reason. Raises HeadError."""
    parts = line.split(None, 2)
    version = parts[0] if parts else ""
    number = version[5:].partition(".")
    known = (
        version.isascii()  # a raised 2 is a digit as well
        and version[:5].upper() == "HTTP/"
        and len(version) <= _VERSION_MAX_CHARS
        and number[0].isdigit()
        and (number[2].isdigit() or not number[1])
    )
    if not known or len(parts) < 2:
        raise HeadError(f"no HTTP status line: {line[:60]!r}")
    token = parts[1].rstrip(":;,")
    if len(token) != _STATUS_DIGITS or not (token.isascii() and token.isdigit()) or token[0] == "0":
        raise HeadError(f"bad status {parts[1][:20]!r}")
    reason = parts[2].strip(_BLANK) if len(parts) > 2 else ""
    return version, int(token), reason
