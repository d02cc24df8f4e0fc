"""One connection as an asyncio.Protocol: bytes to and from the socket, through TLS when there is one, under deadlines.

It has two uses, one after the other. While a proxy or TLS is set up, `receive` hands out raw bytes to sequential code.
Afterwards `run` sends one request at a time and feeds its `Response`. What a response is lies in `response`; which
connection is used, and what failures mean, in `client`.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, cast

from gossamer.model.limits import HANDSHAKE_MAX_BYTES
from gossamer.model.page import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from gossamer.adapters.http.response import Response
    from gossamer.adapters.http.tls import Tls, Trust


class Exchange(asyncio.Protocol):
    """A connection that carries one exchange at a time."""

    __slots__ = (
        "_done",
        "_first_byte_deadline",
        "_inbox",
        "_loop",
        "_response",
        "_timer",
        "_total_deadline",
        "_transport",
        "_waiter",
        "dirty",
        "error",
        "first_byte",
        "lost",
        "on_idle_lost",
        "received",
        "tls",
        "tls_trust",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._inbox = bytearray()
        self._waiter: asyncio.Future[None] | None = None
        self._response: Response | None = None
        self._done: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._first_byte_deadline = 0.0
        self._total_deadline = 0.0
        self.tls: Tls | None = None
        self.tls_trust: Trust | None = None  # what the handshake needed
        self.received = 0  # bytes from the socket, since the connection or the last `run` began
        self.first_byte = 0.0  # monotonic time of the first byte of a response
        self.lost = False
        self.dirty = False  # bytes came that belong to no response
        self.error: Exception | None = None  # why it was lost, None for a plain close
        self.on_idle_lost: Callable[[], None] | None = None

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Bytes from the socket."""
        self.received += len(data)
        response = self._response
        if response is None:
            self._unexpected(data)
            return
        tls = self.tls
        if tls is None:
            self._feed(response, data)
            return
        try:
            plain = tls.decrypt(data)
        except ssl.SSLError as error:
            self.error = error
            self._end(f"TLS: {error.reason or error}")
            return
        answer = tls.outgoing()
        if answer:
            self._write(answer)
        if plain:
            self._feed(response, plain)
        if tls.closed:
            self._end("")

    def eof_received(self) -> bool | None:
        """The peer will send no more; the transport closes itself."""
        self._end("")
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self.error = self.error or exc
        self._end("" if exc is None else str(exc) or type(exc).__name__)

    # setting up

    async def receive(self) -> bytes:
        """Raw bytes as they come; empty once the connection is lost. For one caller at a time, before `run`."""
        while not self._inbox and not self.lost:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = bytes(self._inbox)
        self._inbox.clear()
        return data

    def send(self, data: bytes) -> None:
        """Raw bytes to the socket."""
        self._write(data)

    async def start_tls(self, tls: Tls) -> None:
        """Shake hands. Raises ssl.SSLError, or ConnectionError when the peer closes on the way."""
        received = b""
        while True:
            try:
                over = tls.handshake(received)
            finally:
                answer = tls.outgoing()
                if answer:
                    self._write(answer)
            if over:
                self.tls = tls
                return
            received = await self.receive()
            if not received:
                raise ConnectionError(f"closed during the TLS handshake{f': {self.error}' if self.error else ''}")

    def peer(self) -> str:
        """Address of the other end, "" when it is not known."""
        name = self._transport.get_extra_info("peername") if self._transport else None
        return str(name[0]) if name else ""

    # one exchange

    async def run(self, request: bytes, response: Response, first_byte_deadline: float, total_deadline: float) -> None:
        """Send a request and wait until its response is done, the connection is lost or a deadline (loop time) met."""
        if self.lost:
            response.eof(str(self.error or ""))
            return
        self._response = response
        self._first_byte_deadline = first_byte_deadline
        self._total_deadline = total_deadline
        self.first_byte = 0.0
        self._done = self._loop.create_future()
        self._timer = self._loop.call_at(min(first_byte_deadline, total_deadline), self._on_deadline)
        try:
            self._write(self.tls.encrypt(request) if self.tls else request)
            if self._inbox:  # the server spoke first
                early = bytes(self._inbox)
                self._inbox.clear()
                self._feed(response, early)
            await self._done
        finally:
            self._timer.cancel()
            self._timer = None
            self._response = None
            self._done = None

    def rest(self) -> None:
        """Begin to count the bytes of the next exchange."""
        self.received = 0

    @property
    def usable(self) -> bool:
        """Whether another exchange may be tried."""
        return not (self.lost or self.dirty or self._transport is None or self._transport.is_closing())

    def close(self) -> None:
        """Close at once; what is unread is dropped."""
        self.on_idle_lost = None
        if self._transport is not None:
            self._transport.abort()

    def stop(self, failure: Failure, detail: str) -> None:
        """Close at once; an exchange under way ends with this failure, whatever has come of it."""
        if self._response is not None and not self._response.done:
            self._response.fail(failure, detail)
            self._finish()
        self.close()

    # inside

    def _feed(self, response: Response, data: bytes) -> None:
        if self.first_byte == 0.0:
            self.first_byte = time.monotonic()
        if response.feed(data):
            self._finish()

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _unexpected(self, data: bytes) -> None:
        """Bytes while no response is awaited: part of the set-up, or a reason not to use this connection again."""
        if self.on_idle_lost is None and self.tls is None:
            self._inbox += data
            if len(self._inbox) > HANDSHAKE_MAX_BYTES:
                self.error = ConnectionError("too many bytes during set-up")
                self.close()
            self._wake()
            return
        if self.tls is not None and self._only_tls(data):
            return
        self.dirty = True
        if self.on_idle_lost is not None:
            self.on_idle_lost()
            self.close()

    def _only_tls(self, data: bytes) -> bool:
        """Whether bytes are of TLS itself (session tickets), not of a response."""
        if self.tls is None:
            return False
        try:
            return not self.tls.decrypt(data) and not self.tls.closed
        except ssl.SSLError:
            return False

    def _on_deadline(self) -> None:
        response = self._response
        if response is None:
            return
        if response.head is None and self._first_byte_deadline < self._total_deadline:
            response.fail(Failure.FIRST_BYTE_TIMEOUT, "no whole response head in time")
        elif self._loop.time() + 0.001 < self._total_deadline:  # the head is there: only the total counts from now on
            self._timer = self._loop.call_at(self._total_deadline, self._on_deadline)
            return
        else:
            response.timeout()
        self._finish()

    def _finish(self) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(None)

    def _end(self, error: str) -> None:
        """The connection carries nothing more."""
        self.lost = True
        self._wake()
        if self._response is not None:
            self._response.eof(error)
            self._finish()
        elif self.on_idle_lost is not None:
            self.on_idle_lost()
            self.on_idle_lost = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
