"""The library: a crawl as an asynchronous stream of committed pages. The command line is a face of the same node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from gossamer.core.partition import Committed
from gossamer.model.config import Config
from gossamer.model.errors import UsageError
from gossamer.model.page import Kind
from gossamer.model.view import Snapshot
from gossamer.node import Node
from gossamer.surface import settings
from gossamer.surface.page import Page
from gossamer.surface.statusfile import StatusFile

__all__ = ["Crawl", "Page"]

PAGES_HELD_MAX: Final = 100  # committed pages not yet taken; more and no new requests are made


class Crawl:
    """A crawl in this process. Iterating yields pages as they are committed; it ends when the crawl does.

    A page that is not taken holds the crawl back: at most PAGES_HELD_MAX wait. Leaving the context stops the crawl in
    good order: everything fetched is kept, and another Crawl with the same directory goes on. A Crawl is entered once;
    loops over it share its pages, and all of them end when it does.
    """

    def __init__(self, config: Config) -> None:
        """Set up; nothing is opened or fetched before the context is entered."""
        self._config = config
        self._pages: asyncio.Queue[Page | None] = asyncio.Queue()
        self._node = Node(config, self._deliver)
        self._run: asyncio.Task[None] | None = None
        self._status = StatusFile(Path(config.directory) / "log")
        self._left = False
        self._entered = False
        self._seed_failures: dict[str, str] = {}
        self._last: Snapshot | None = None

    async def __aenter__(self) -> Self:
        """Open the crawl's directory and start. Raises GossamerError: a bad seed, a value that is not allowed, ..."""
        if self._entered:
            raise UsageError("a Crawl is entered once; make another with the same configuration to go on")
        self._config = self._node.config = settings.checked(self._config)
        self._entered = True
        try:
            await self._node.start()
        except BaseException as error:
            self._node.abort(error)
            await self._node.close()
            raise
        self._run = asyncio.create_task(self._crawl())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish what is in flight, save, close. Raises what ended the crawl badly."""
        if not self._node.ending:
            self.stop("its program has left it")
        self._node.pipeline.dispatch.hold(held=False)
        try:
            if self._run is not None:
                await self._run
        finally:
            await self._node.close()
        last = self._node.snapshot("interrupted" if self._left else "finished")
        self._last = msgspec.structs.replace(last, seed_failures=self._seed_failures)
        self._status.show(self._last)

    async def __aiter__(self) -> AsyncIterator[Page]:
        """Committed pages, without robots.txt files and sitemaps. Raises UsageError unless it was entered."""
        if not self._entered:
            raise UsageError('a Crawl yields pages only inside its context: "async with Crawl(config) as crawl"')
        while (page := await self._pages.get()) is not None:
            self._node.pipeline.dispatch.hold(held=self._pages.qsize() >= PAGES_HELD_MAX)
            yield page
        self._pages.put_nowait(None)  # for the other loops
        if self._run is not None:
            await self._run

    def snapshot(self) -> Snapshot:
        """The state of the crawl at this moment; its last one when it was left.

        Once iteration has ended `seed_failures` says of which seeds no page came, and why.
        """
        return self._last or msgspec.structs.replace(self._node.snapshot(), seed_failures=self._seed_failures)

    def stop(self, why: str = "stopped by its program") -> None:
        """End the crawl in good order; iteration ends when what is in flight is committed. `why` is for a person."""
        self._left = True
        self._node.stop(why)

    def _deliver(self, committed: Committed) -> None:
        if committed.turn.kind is Kind.PAGE:
            self._pages.put_nowait(Page(committed, self._config))
            self._node.pipeline.dispatch.hold(held=self._pages.qsize() >= PAGES_HELD_MAX)

    async def _crawl(self) -> None:
        try:
            await self._node.run(self._status)
            self._seed_failures = self._node.seed_failures()
        finally:
            self._pages.put_nowait(None)
