"""The worlds that the suite of the port Web runs in: `HttpClient` with sockets on the loopback address, and `SimNet` in
virtual time. To put another adapter under the suite, write a world for it and add it to `WORLDS`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import uvloop

from gossamer.model.page import Failure, Request
from gossamer.ports.web import Web
from gossamer.sim.clock import VirtualClock
from gossamer.sim.loop import VirtualLoop
from gossamer.sim.ports import SimNet
from gossamer.sim.web import SimHost, SimWeb
from tests.contract.behaviours import Behaviour
from tests.http.raw_server import FixedClock, Peer, make_client, make_request, serve

NAME = "host.example"
ADDRESS = "127.0.0.1"
START = 1_700_000_000.0


@dataclass(frozen=True)
class Place:
    """A server that behaves in one way, and the adapter to reach it with."""

    web: Web
    port: int
    changes: dict[str, Any]
    asked: Callable[[], int]  # requests that have reached the server
    now: Callable[[], float]  # the time in `Outcome.started`
    gone: Callable[[], Awaitable[None]]  # returns when the server sees no connection any more

    def request(self, target: str = "/", **changes: Any) -> Request:
        """A request to the server, with deadlines of a few seconds unless the behaviour or the test says otherwise."""
        return make_request(self.port, target, **(self.changes | changes))


Body = Callable[[Place], Awaitable[Any]]


class World(Protocol):
    """Runs a test's coroutine at a place where a server behaves in one way."""

    def run(self, behaviour: Behaviour, body: Body) -> Any: ...


@contextmanager
def silent_port(*, is_full: bool) -> Iterator[int]:
    """A port where nobody answers: connections are refused, or with a full backlog dropped."""
    with socket.socket() as listener:
        listener.bind((ADDRESS, 0))
        port: int = listener.getsockname()[1]
        if is_full:
            listener.listen(0)
        waiting = [socket.socket() for _ in range(4 if is_full else 0)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex((ADDRESS, port))
        yield port
        for each in waiting:
            each.close()


class Real:
    """`HttpClient` against a socket."""

    def run(self, behaviour: Behaviour, body: Body) -> Any:
        return uvloop.run(asyncio.wait_for(self._run(behaviour, body), 20))

    async def _run(self, behaviour: Behaviour, body: Body) -> Any:
        clock = FixedClock(START)
        web = make_client(clock=clock)
        try:
            if behaviour.serve is None:
                with silent_port(is_full=behaviour.answer.failure is Failure.CONNECT_TIMEOUT) as port:
                    return await body(Place(web, port, behaviour.request, lambda: 0, clock.now, _at_once))
            open_now = 0

            async def counted(peer: Peer) -> None:
                nonlocal open_now
                open_now += 1
                try:
                    await behaviour.serve(peer)  # type: ignore[misc] # it is not None here
                    await peer.reader.read()
                finally:
                    open_now -= 1

            async def gone() -> None:
                while open_now:  # noqa: ASYNC110 - what is waited for has no event of its own
                    await asyncio.sleep(0.005)

            handler = counted if behaviour.is_slow else behaviour.serve
            async with serve(handler) as server:
                place = Place(web, server.port, behaviour.request, lambda: len(server.requests), clock.now, gone)
                return await body(place)
        finally:
            await web.close()


async def _at_once() -> None:
    return


class Simulated:
    """`SimNet` in virtual time."""

    def run(self, behaviour: Behaviour, body: Body) -> Any:
        clock = VirtualClock(START)
        host = SimHost(address=ADDRESS, robots=behaviour.answer, page=lambda _: behaviour.answer)
        net = SimNet(SimWeb({f"{NAME}:8080": host}), clock)
        place = Place(net, 8080, behaviour.request, lambda: len(net.begun), clock.now, _at_once)
        return VirtualLoop(clock).run_until_complete(asyncio.wait_for(_awaited(body(place)), 20))


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


WORLDS: dict[str, World] = {"http": Real(), "simulated": Simulated()}
