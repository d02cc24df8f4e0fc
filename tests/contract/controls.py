"""The worlds that the suite of the port Control runs in: a crawl asked where it runs, over its socket and by its
directory, and the fake that the server's tests stand on. Another way to a crawl needs a world of its own in `WORLDS`.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gossamer.adapters.control import ControlClient
from gossamer.api import Crawl as LibraryCrawl
from gossamer.model.config import Config, Dns, Limits, Net, Politeness, Workers
from gossamer.model.control import Host, ReadHost, Stop
from gossamer.ports.control import Control
from gossamer.surface.controlling import Crawl
from gossamer.surface.operating import Operator
from tests.serve.fakes import FakeControl
from tests.support.web import Web, pages

Body = Callable[[Control], Awaitable[Any]]
BEGIN_MAX_S = 40.0
KNOWN = "a.example"  # a host that every crawl here has seen; a real one has a port besides


class Running:
    """A real crawl of one small site, in a thread beside the test. It goes on until it is told to stop."""

    def __init__(self, folder: Path) -> None:
        self._web = Web(folder, "127.94")
        seed = self._web.add(KNOWN, pages({"/": "<title>home</title><p>Here is a page."})) + "/"
        self.host = seed.split("/")[2]
        self.directory = folder / "crawl"
        self.config = Config(
            seeds=(seed,),
            directory=str(self.directory),
            limits=Limits(continuous=True),
            politeness=Politeness(min_delay_s=0.02, start_jitter_s=0.0, response_factor=0.0),
            net=Net(allow=("127.0.0.0/8",)),
            dns=Dns(hosts_file=str(self._web.hosts_file)),
            workers=Workers(count=1),
        )
        self.loop: asyncio.AbstractEventLoop | None = None
        self.operator: Operator | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._await_host()

    def _run(self) -> None:
        try:
            asyncio.run(self._crawl())
        except BaseException as error:  # noqa: BLE001 - told by `ended`, in the test's own thread
            self._error = error

    async def _crawl(self) -> None:
        self.loop = asyncio.get_running_loop()
        async with LibraryCrawl(self.config) as crawl:
            self.operator = crawl._node.operator
            async for _ in crawl:
                pass

    def _await_host(self) -> None:
        until = time.monotonic() + BEGIN_MAX_S
        while not isinstance(asyncio.run(ControlClient(self.directory).ask(ReadHost(host=self.host))), Host):
            assert self._thread.is_alive(), self._error
            assert time.monotonic() < until, "the crawl has not begun"
            time.sleep(0.05)

    def ended(self) -> None:
        """Until the crawl has come to its end."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "the crawl goes on"
        assert self._error is None, self._error

    def close(self) -> None:
        """End the crawl, if it has not ended, and its site."""
        try:
            asyncio.run(ControlClient(self.directory).ask(Stop()))
            self.ended()
        finally:
            self._web.close()


def _where_it_runs(running: Running, body: Body) -> Any:
    """The operator himself, in the crawl's own loop; in another one when that has ended."""
    assert running.operator is not None
    if running.loop is None or not running.loop.is_running():
        return asyncio.run(_awaited(body(running.operator)))
    return asyncio.run_coroutine_threadsafe(_awaited(body(running.operator)), running.loop).result(60)


def _over_its_socket(running: Running, body: Body) -> Any:
    return asyncio.run(_awaited(body(ControlClient(running.directory))))


def _by_its_directory(running: Running, body: Body) -> Any:
    return asyncio.run(_awaited(body(Crawl(running.directory))))


def _fake(_running: Running, body: Body) -> Any:
    return asyncio.run(_awaited(body(FakeControl())))


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


REAL: dict[str, Callable[[Running, Body], Any]] = {
    "operator": _where_it_runs,
    "socket": _over_its_socket,
    "directory": _by_its_directory,
}
WORLDS = {**REAL, "fake": _fake}
