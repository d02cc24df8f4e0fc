"""A server on the loopback address that sends exactly the bytes a test gives it, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import uvloop

from gossamer.adapters.http.client import HttpClient
from gossamer.model.page import Outcome, Request
from gossamer.policy.guard import parse_networks

Handler = Callable[["Peer"], Awaitable[None]]
LOOPBACK = parse_networks(("127.0.0.0/8",))
RUNNERS: dict[str, Callable[[Coroutine[Any, Any, Any]], Any]] = {"asyncio": asyncio.run, "uvloop": uvloop.run}


class FixedClock:
    """Unix seconds that a test sets."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time


class Peer:
    """One connection as the server sees it."""

    def __init__(self, server: RawServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.server = server
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """The next request head; empty when the client closed."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return b""
        self.server.requests.append(head)
        return head

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        with suppress(ConnectionError):
            await self.writer.drain()

    async def drip(self, data: bytes, every_s: float) -> None:
        """One byte at a time until the client is gone."""
        for place in range(len(data)):
            if self.writer.is_closing():
                return
            await self.send(data[place : place + 1])
            await asyncio.sleep(every_s)

    def reset(self) -> None:
        """Close with RST."""
        self.writer.transport.abort()


class RawServer:
    """A listening server; `requests` has every head received, `connections` counts."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0

    @property
    def lines(self) -> list[str]:
        """Request lines without the version."""
        return [head.split(b"\r\n", 1)[0].decode().removesuffix(" HTTP/1.1") for head in self.requests]

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            await self._handler(Peer(self, reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serve(
    handler: Handler, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[RawServer]:
    """A running server."""
    raw = RawServer(handler)
    server = await asyncio.start_server(raw._connected, host, port, ssl=tls, limit=1 << 20, backlog=1024)
    raw.port = server.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        server.close()


def answer(data: bytes) -> Handler:
    """A handler that sends bytes after any request, and closes."""

    async def handle(peer: Peer) -> None:
        if await peer.request():
            await peer.send(data)

    return handle


def answers(*data: bytes) -> Handler:
    """A handler that answers one request after the other on a connection, then waits for the client to close."""

    async def handle(peer: Peer) -> None:
        for each in data:
            if not await peer.request():
                return
            await peer.send(each)
        await peer.reader.read()

    return handle


def make_request(port: int, target: str = "/", **changes: Any) -> Request:
    """A request to the loopback address with short deadlines."""
    fields: dict[str, Any] = {
        "url": f"http://host.example:{port}{target}",
        "scheme": "http",
        "name": "host.example",
        "port": port,
        "target": target,
        "address": "127.0.0.1",
        "headers": (("User-Agent", "Test/1.0"),),
        "total_timeout_s": 5.0,
        "connect_timeout_s": 2.0,
        "first_byte_timeout_s": 3.0,
    }
    return Request(**(fields | changes))


def make_client(**options: Any) -> HttpClient:
    """A client that may go to the loopback addresses."""
    return HttpClient(options.pop("net_allow", LOOPBACK), clock=options.pop("clock", FixedClock()), **options)


async def fetch_once(handler: Handler, **changes: Any) -> Outcome:
    """Serve, fetch once, close."""
    async with serve(handler) as server:
        client = make_client()
        try:
            return await client.fetch(make_request(server.port, **changes))
        finally:
            await client.close()


def get(data: bytes, **changes: Any) -> Outcome:
    """What a fetch makes of bytes that a server sends before it closes."""
    outcome: Outcome = uvloop.run(fetch_once(answer(data), **changes))
    return outcome


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something the event loop brings about has come true."""
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.001)
