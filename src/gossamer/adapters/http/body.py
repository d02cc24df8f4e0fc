"""How a response body is framed (RFC 9112 section 6), and readers that take it in under caps.

Pure state machines: bytes in, body out. Every reader keeps at most its limit, tells by `truncated` when there was more
or less than promised, and by `clean` whether the connection stands exactly behind the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from gossamer.adapters.http.chunked import ChunkedBody

if TYPE_CHECKING:
    from gossamer.adapters.http.head import Head

Truncated = Literal["", "length", "time", "disconnect", "unspecified"]

NO_BODY: Final = frozenset({204, 304})  # final statuses that never have one (RFC 9112 section 6.3)
_LENGTH_DIGITS_MAX: Final = 18
_ENDLESS: Final = 1 << 62  # stands for a declared length that no body can reach


class FramingError(Exception):
    """The end of the body cannot be known: a transfer coding that nobody asked for."""


class LengthBody:
    """A body of a declared length."""

    framed: bytes | None = None
    damaged = False

    def __init__(self, length: int, limit: int, truncated: Truncated = "") -> None:
        self._length = length
        self._stop = min(length, limit)
        self._parts: list[bytes] = []
        self._size = 0
        self.truncated: Truncated = truncated
        self.faults: list[str] = []
        self.clean = False
        self.done = False
        if self._stop == 0:
            self._finish()

    def feed(self, data: bytes) -> None:
        """Take in bytes; those beyond the end make the connection unclean."""
        if self.done:
            self._excess(data)
            return
        need = self._stop - self._size
        if len(data) < need:
            self._parts.append(data)
            self._size += len(data)
            return
        self._parts.append(data if len(data) == need else data[:need])
        self._size = self._stop
        self._finish()
        if len(data) > need and self._stop == self._length:
            self._excess(data[need:])

    def eof(self) -> None:
        """The peer closed."""
        if not self.done:
            self.done = True
            self.truncated = "disconnect"

    def payload(self) -> bytes:
        """The body so far."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def _finish(self) -> None:
        self.done = True
        self.clean = self._stop == self._length and not self.truncated
        if self._stop < self._length:
            self.truncated = "length"

    def _excess(self, extra: bytes) -> None:
        """Bytes behind the end. A lone LF is what sloppy scripts print last; more may be a part of the body."""
        if self.clean:
            self.clean = False
            self.faults.append("body longer than declared")
            if extra != b"\n":
                self.truncated = "unspecified"


class CloseBody:
    """A body that ends when the peer closes."""

    framed: bytes | None = None
    damaged = False
    clean = False

    def __init__(self, limit: int, truncated: Truncated = "") -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.truncated: Truncated = truncated
        self.faults: list[str] = []
        self.done = False

    def feed(self, data: bytes) -> None:
        """Take in bytes. One byte beyond the limit ends it: a body of exactly the limit is whole."""
        if self.done:
            return
        room = self._limit - self._size
        if len(data) > room:
            data = data[:room]
            self.done = True
            self.truncated = "length"
        self._parts.append(data)
        self._size += len(data)

    def eof(self) -> None:
        """The peer closed: that is the end of the body."""
        self.done = True

    def payload(self) -> bytes:
        """The body so far."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


Body = LengthBody | CloseBody | ChunkedBody


def body_of(head: Head, limit: int) -> Body:
    """The reader for the body of a response to GET.

    Args: `head` the parsed head; `limit` most body bytes to keep.
    Raises FramingError for a transfer coding other than chunked. A Content-Length that is no number is passed over, of
    several that differ the longest counts; both, and a damaged head, leave the body marked "unspecified".
    """
    codings = [name for value in head.values("transfer-encoding") for name in _tokens(value) if name != "identity"]
    if head.status in NO_BODY:
        return LengthBody(0, limit)
    if codings:
        if any(coding != "chunked" for coding in codings):
            raise FramingError(f"transfer-encoding {','.join(codings)[:60]!r}")
        return ChunkedBody(limit, "unspecified" if head.faults else "")
    declared = head.values("content-length")
    if not declared:
        return CloseBody(limit, "unspecified" if head.faults else "")
    lengths: set[int] = set()
    faults: list[str] = []
    for token in [token for value in declared for token in value.split(",")]:
        number = token.strip()
        if number.isascii() and number.isdigit():
            lengths.add(int(number) if len(number.lstrip("0")) <= _LENGTH_DIGITS_MAX else _ENDLESS)
        else:
            faults.append(f"content-length {number[:20]!r}")
    if len(lengths) > 1:
        faults.append("content-lengths differ")
    doubt: Truncated = "unspecified" if faults or head.faults else ""
    body: Body = LengthBody(max(lengths), limit, doubt) if lengths and not _bad(faults) else CloseBody(limit, doubt)
    body.faults.extend(faults)
    return body


def _bad(faults: list[str]) -> bool:
    """Whether a declared length was no number at all, so that none of them is believed."""
    return any(fault.startswith("content-length ") for fault in faults)


def _tokens(value: str) -> list[str]:
    """Lower-case tokens of a comma-separated value, without parameters."""
    return [token for part in value.split(",") if (token := part.partition(";")[0].strip().lower())]
