"""Digests → commits → log lines. Groups commits for up to 50 ms into one sync of the store's log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from gossamer.core.partition import Committed, Partition
from gossamer.model.event import FetchEvent
from gossamer.model.limits import COMMIT_GROUP_S, LINES_UNSYNCED_MAX
from gossamer.model.page import Digest, Job
from gossamer.ports.clock import Clock

SYNC_WEIGHT: Final = 0.2  # of the newest sync in the average

Emit = Callable[[list[FetchEvent]], None]
Deliver = Callable[[Committed], None]


class CommitStage:
    """Commits pages as their digests come, and lets their log lines out once they are durable."""

    def __init__(
        self,
        partition: Partition,
        clock: Clock,
        *,
        sync: Callable[[], Awaitable[None]],
        emit: Emit,
        deliver: Deliver,
        caught_up: Callable[[], None] = lambda: None,
    ) -> None:
        """`sync` makes all writes so far durable, `emit` takes log lines that are, `deliver` every committed page;
        `caught_up` is called when it is `behind` no more.
        """
        self._partition = partition
        self._clock = clock
        self._sync = sync
        self._emit = emit
        self._deliver = deliver
        self._caught_up = caught_up
        self._held: list[FetchEvent] = []
        self._syncing = 0  # lines whose sync is under way
        self._since = 0.0  # when that began
        self._wake = asyncio.Event()
        self._halted = False
        self._sync_s = 0.0

    @property
    def sync_s(self) -> float:
        """How long a sync takes: a moving average, or the time that one under way has taken if that is more."""
        return max(self._sync_s, self._clock.now() - self._since) if self._syncing else self._sync_s

    @property
    def behind(self) -> bool:
        """Whether so much is committed and not yet durable that nothing more is to be fetched."""
        return len(self._held) + self._syncing >= LINES_UNSYNCED_MAX

    def commit(self, digest: Digest) -> list[Job]:
        """Write the commit of one page. Returns jobs that waited for it."""
        if self._halted:
            return []
        committed = self._partition.digested(digest, self._clock.now())
        self.note([committed.event])
        self._deliver(committed)
        return committed.jobs

    def halt(self) -> None:
        """Commit nothing more: an event failed half-way, and what it left in memory must not be written with others."""
        self._halted = True

    def note(self, events: list[FetchEvent]) -> None:
        """Hold log lines until what they tell is durable."""
        if events:
            self._held += events
            self._wake.set()

    async def run(self) -> None:
        """Sync while there is something to sync, at most every 50 ms. Ends when cancelled; errors end the crawl."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await asyncio.sleep(COMMIT_GROUP_S)
            await self.flush()

    async def flush(self) -> None:
        """Sync now and let the held lines out."""
        events, self._held = self._held, []
        begun = self._clock.now()
        if not self._syncing:
            self._since = begun
        self._syncing += len(events)
        try:
            await self._sync()
            self._sync_s += SYNC_WEIGHT * (self._clock.now() - begun - self._sync_s)
        except BaseException:
            self._held = events + self._held
            raise
        finally:
            was_behind = self.behind
            self._syncing -= len(events)
        self._emit(events)
        self._partition.logged(len(events))
        if was_behind and not self.behind:
            self._caught_up()

    def let_out(self) -> None:
        """Let the held lines out although no sync succeeds: what they tell is written, if not certain to stay."""
        events, self._held = self._held, []
        self._emit(events)
