"""Servers that misbehave on purpose, on loopback addresses, in a thread beside the test: the crawler is a process.

What a server sends is a handler (`tests.http.raw_server`); every host has an address of its own, so that no host waits
for another's gap.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.http.raw_server import Handler, Peer, RawServer, serve

T = TypeVar("T")
Reply = bytes | str | Callable[[Peer], Coroutine[Any, Any, None]]
HTML = b"Content-Type: text/html\r\n"


def reply(body: bytes | str, *, status: str = "200 OK", headers: bytes = HTML) -> bytes:
    """A whole response with its length."""
    data = body.encode() if isinstance(body, str) else body
    return b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status.encode(), headers, len(data), data)


def redirect(location: str, status: str = "302 Found", headers: bytes = b"") -> bytes:
    """A redirect without a body."""
    return reply(b"", status=status, headers=b"Location: " + location.encode() + b"\r\n" + headers)


NOT_FOUND = reply(b"", status="404 Not Found")


def pages(table: Mapping[str, Reply], default: Reply | None = NOT_FOUND) -> Handler:
    """Answers by target. Text is an HTML page, bytes are a whole response, a function may do anything and ends the
    connection. `default` stands for targets that are not in the table; None for silence until the client is gone.
    """

    async def handle(peer: Peer) -> None:
        while request := await peer.request():
            target = request.split(b" ", 2)[1].decode("latin-1")
            what = table.get(target, default)
            if what is None:
                await peer.reader.read()
                return
            if callable(what):
                await what(peer)
                return
            await peer.send(what if isinstance(what, bytes) else reply(what))

    return handle


class Web:
    """Hosts of one test. `add` starts a server at once; `close` ends all of them."""

    def __init__(self, folder: Path, network: str = "127.90") -> None:
        """`network`: the first two numbers of the addresses that hosts get."""
        self._network = network
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._open = AsyncExitStack()
        self.hosts_file = folder / "hosts"
        self.hosts_file.write_text("")
        self.servers: dict[str, RawServer] = {}
        self.addresses: dict[str, str] = {}

    def add(
        self,
        name: str,
        handler: Handler,
        *,
        tls: ssl.SSLContext | None = None,
        names: tuple[str, ...] = (),
        port: int = 0,
    ) -> str:
        """Serve a host, and further names on the same server; the beginning of its URLs, without a slash at the end."""
        number = len(self.servers) + 1
        address = f"{self._network}.{number // 250}.{number % 250 + 1}"
        server = self.run(self._open.enter_async_context(serve(handler, tls=tls, host=address, port=port)))
        self.servers[name] = server
        self.addresses[name] = address
        with self.hosts_file.open("a") as file:
            file.writelines(f"{address} {each}\n" for each in (name, *names))
        return f"{'https' if tls else 'http'}://{name}:{server.port}"

    def listen(self, handler: Handler, address: str, port: int = 0) -> int:
        """Serve at an address without a name; the port."""
        return self.run(self._open.enter_async_context(serve(handler, host=address, port=port))).port

    def serve_at(self, handler: Handler, address: str, port: int, tls: ssl.SSLContext) -> None:
        """Serve a further port of an address, by TLS."""
        self.run(self._open.enter_async_context(serve(handler, tls=tls, host=address, port=port)))

    def targets(self, name: str) -> list[str]:
        """What a host was asked for, in order."""
        return [line.partition(" ")[2] for line in self.servers[name].lines]

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in the servers' thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def close(self) -> None:
        """End the servers and the thread."""
        self.run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _end(self) -> None:
        await self._open.aclose()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*others, return_exceptions=True)
