"""The chunked transfer coding (RFC 9112 section 7.1): a state machine that keeps both the wire form and the body.

Lines may end in a bare LF. Damage (a size that is no number, no line end after a chunk, a NUL in a trailer) ends the
body there; what came before is kept and marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.model.limits import CHUNK_LINE_MAX_BYTES, CHUNK_OVERHEAD_MAX_BYTES, TRAILER_MAX_BYTES

if TYPE_CHECKING:
    from gossamer.adapters.http.body import Truncated

_SIZE_DIGITS_MAX: Final = 15
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_SIZE, _DATA, _END, _TRAILER, _OVER = range(5)


class ChunkedBody:
    """A body in chunks."""

    def __init__(self, limit: int, truncated: Truncated = "") -> None:
        self._limit = limit
        self._wire_limit = 2 * limit + CHUNK_OVERHEAD_MAX_BYTES
        self._wire: list[bytes] = []
        self._wire_size = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._state = _SIZE
        self._left = 0  # bytes of the chunk still to come
        self._tail = bytearray()  # an incomplete line
        self._trailer_bytes = 0
        self.truncated: Truncated = truncated
        self.faults: list[str] = []
        self.clean = False
        self.damaged = False  # before its last chunk: what follows is lost

    @property
    def done(self) -> bool:
        """Whether nothing more is wanted."""
        return self._state == _OVER

    @property
    def framed(self) -> bytes:
        """The body as it was on the wire, up to where reading stopped."""
        return self._wire[0] if len(self._wire) == 1 else b"".join(self._wire)

    def payload(self) -> bytes:
        """The body so far, without framing."""
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)

    def feed(self, data: bytes) -> None:
        """Take in bytes."""
        if self.done:
            self._excess()
            return
        room = self._wire_limit - self._wire_size
        is_over = len(data) > room
        if is_over:
            data = data[:room]
        position = 0
        while position < len(data) and self._state != _OVER:
            position = self._data(data, position) if self._state == _DATA else self._line(data, position)
        self._wire.append(data if position >= len(data) else data[:position])
        self._wire_size += position
        if is_over and self._state != _OVER:
            self._stop("length", "chunk framing longer than the body")
        elif is_over or position < len(data):
            self._excess()

    def eof(self) -> None:
        """The peer closed. Without the last chunk the body is cut off; a missing last line is nothing to miss."""
        if self._state not in (_TRAILER, _OVER):
            self.truncated = "disconnect"
        self._state = _OVER

    def _data(self, data: bytes, position: int) -> int:
        end = min(position + self._left, len(data))
        room = self._limit - self._size
        if end - position > room:
            end = position + room
            self._stop("length", "")
        if end > position:
            self._parts.append(data[position:end])
            self._size += end - position
            self._left -= end - position
        if self._left == 0 and self._state == _DATA:
            self._state = _END
        return end

    def _line(self, data: bytes, position: int) -> int:
        """Take in one line (size, end of a chunk, trailer); returns the offset behind what was used."""
        newline = data.find(b"\n", position)
        end = len(data) if newline < 0 else newline + 1
        bound = TRAILER_MAX_BYTES if self._state == _TRAILER else CHUNK_LINE_MAX_BYTES
        length = len(self._tail) + end - position
        if length > bound:
            self._stop("unspecified", "chunk line too long")
            return end - (length - bound)  # the same place however the line arrived
        if newline < 0:
            self._tail += data[position:]
            return end
        line = bytes(self._tail) + data[position:newline] if self._tail else data[position:newline]
        self._tail.clear()
        line = line.rstrip(b"\r")
        if self._state == _SIZE:
            self._chunk_size(line)
        elif self._state == _END:
            self._state = _SIZE
            if line:
                self._stop("unspecified", "no line end after a chunk")
        else:
            self._trailer(line, length)
        return end

    def _chunk_size(self, line: bytes) -> None:
        digits = line.partition(b";")[0].strip()
        if not digits or len(digits) > _SIZE_DIGITS_MAX or not _HEX.issuperset(digits):
            self._stop("unspecified", "bad chunk size")
            return
        self._left = int(digits, 16)
        self._state = _DATA if self._left else _TRAILER

    def _trailer(self, line: bytes, length: int) -> None:
        self._trailer_bytes += length
        if b"\0" in line or self._trailer_bytes > TRAILER_MAX_BYTES:
            self._stop("unspecified", "bad trailer")
        elif not line:
            self._state = _OVER
            self.clean = not self.truncated

    def _stop(self, truncated: Truncated, fault: str) -> None:
        self.damaged = truncated == "unspecified" and self._state != _TRAILER
        self._state = _OVER
        self.truncated = truncated
        if fault:
            self.faults.append(fault)

    def _excess(self) -> None:
        if self.clean:
            self.faults.append("bytes after the last chunk")
            self.clean = False
