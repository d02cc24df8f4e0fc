"""One response taken in piece by piece: heads (interim ones skipped), then the body. Pure: bytes in, a verdict out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.adapters.http.body import NO_BODY, Body, FramingError, Truncated, body_of
from gossamer.adapters.http.head import Head, HeadError, HeadTooLargeError, head_end, may_be_head, parse_head
from gossamer.model.limits import HEAD_MAX_BYTES, INTERIM_RESPONSES_MAX
from gossamer.model.page import Failure

if TYPE_CHECKING:
    from gossamer.model.page import Request

_FIRST_FINAL_STATUS: Final = 200
_SWITCHING: Final = 101


class Response:
    """The state of one response while it arrives.

    `done` is set once nothing more is wanted; then either `failure` says why there is no response, or `head` and `body`
    hold it. `cut_by_type` is set when the body was not read because of its type.
    """

    def __init__(self, request: Request) -> None:
        self._raw_max = request.raw_max_bytes
        self._body_max = request.body_max_bytes
        self._unwanted = request.unwanted_types
        self._pending = bytearray()
        self._scanned = 0
        self._head_seen = 0  # bytes taken in before a final head was understood
        self._interim = 0
        self.done = False
        self.failure: Failure | None = None
        self.detail = ""
        self.head: Head | None = None
        self.head_bytes = b""
        self.body: Body | None = None
        self.cut_by_type = False
        self.truncated: Truncated = ""  # set from outside the body: "time", "disconnect"

    @property
    def untouched(self) -> bool:
        """Whether not a single byte came."""
        return self._head_seen == 0

    @property
    def reusable(self) -> bool:
        """Whether the connection stands exactly behind this response and both sides may go on."""
        head, body = self.head, self.body
        if head is None or body is None or not body.clean or self.cut_by_type or head.faults or self.truncated:
            return False
        options = ",".join(head.values("connection")).lower()
        if "close" in options:
            return False
        if head.version.upper() in ("HTTP/1.0", "HTTP/1", "HTTP/0.9"):
            return "keep-alive" in options
        return not (head.values("transfer-encoding") and head.values("content-length"))

    def feed(self, data: bytes) -> bool:
        """Take in bytes from the wire. Returns `done`."""
        if self.body is not None:
            self.body.feed(data)
            self.done = self.done or self.body.done
        elif not self.done:
            self._feed_head(data)
        return self.done

    def eof(self, error: str) -> None:
        """The connection ended, for a reason or with an empty one."""
        if self.done:
            return
        if self.body is None:
            self.fail(Failure.DISCONNECTED, error or "closed before a whole response head")
            return
        self.done = True
        self.body.eof()
        if error and not self.body.truncated:
            self.truncated = "disconnect"

    def timeout(self) -> None:
        """The time for the whole exchange is over: a body that began is kept."""
        if self.done:
            return
        if self.head is None:
            self.fail(Failure.TIMEOUT, "no response head within the total time")
            return
        self.done = True
        self.truncated = "time"

    def fail(self, failure: Failure, detail: str) -> None:
        """End without a response."""
        self.done = True
        self.failure = failure
        self.detail = detail
        self.head = None
        self.body = None

    def _feed_head(self, data: bytes) -> None:
        self._head_seen += len(data)
        while not self.done and self.body is None:
            buffer: bytes | bytearray = data
            if self._pending:
                self._pending += data
                buffer = self._pending
            if self._scanned == 0 and buffer[:1] in (b"\r", b"\n"):
                buffer = buffer.lstrip(b"\r\n")  # RFC 9112 section 2.2
            end = head_end(buffer, self._scanned)
            if end < 0:
                self._wait_for_head(buffer)
                return
            raw, data = bytes(buffer[:end]), bytes(buffer[end:])
            self._pending.clear()
            self._scanned = 0
            if self._may_go_on(raw, self._head_seen - len(data)):
                self._take_head(raw, data)

    def _wait_for_head(self, buffer: bytes | bytearray) -> None:
        """The head is not whole: keep it, unless it cannot become one."""
        if self._may_go_on(buffer, self._head_seen):
            if buffer is not self._pending:
                self._pending = bytearray(buffer)
            self._scanned = max(0, len(buffer) - 2)

    def _may_go_on(self, head: bytes | bytearray, seen_bytes: int) -> bool:
        """Whether this is or may become a head, of which so many bytes have come, blank lines and 1xx included.

        The same question for a part and for the whole: what a response is must not depend on how it was cut up.
        """
        if not may_be_head(head):
            self.fail(Failure.PROTOCOL, f"no HTTP status line: {bytes(head[:60])!r}")
        elif seen_bytes > HEAD_MAX_BYTES:
            self.fail(Failure.HEAD_TOO_LARGE, f"response head longer than {HEAD_MAX_BYTES} bytes")
        return not self.done

    def _take_head(self, raw: bytes, rest: bytes) -> None:
        try:
            head = parse_head(raw)
            if head.status < _FIRST_FINAL_STATUS:
                self._skip_interim(head)
                return
            if not self._wanted(head):
                self.cut_by_type = True
            body = body_of(head, 0 if self.cut_by_type else self._limit(head))
        except HeadTooLargeError as error:
            self.fail(Failure.HEAD_TOO_LARGE, str(error))
            return
        except (HeadError, FramingError) as error:
            self.fail(Failure.PROTOCOL, str(error))
            return
        self.head, self.head_bytes, self.body = head, raw, body
        if self.cut_by_type:
            self.done = True
            return
        if rest:
            body.feed(rest)
        self.done = body.done

    def _skip_interim(self, head: Head) -> None:
        """1xx (RFC 9110 section 15.2); 101 was never asked for."""
        self._interim += 1
        if head.status == _SWITCHING or self._interim > INTERIM_RESPONSES_MAX:
            self.fail(Failure.PROTOCOL, f"{self._interim} interim responses, the last {head.status}")

    def _wanted(self, head: Head) -> bool:
        if not self._unwanted or head.status in NO_BODY:
            return True
        types = head.values("content-type")
        return not (types and types[0].lower().startswith(self._unwanted))

    def _limit(self, head: Head) -> int:
        """Most body bytes to keep: without a content coding the cap on the decoded size holds as well."""
        if head.values("content-encoding"):
            return self._raw_max
        return min(self._raw_max, self._body_max)
