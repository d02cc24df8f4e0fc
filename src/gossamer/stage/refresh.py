"""The calendar → queues: pages whose next visit is due; pings, which make some of them so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gossamer.core.counters import bump
from gossamer.core.partition import Partition
from gossamer.model.ping import Ping
from gossamer.ports.clock import Clock

CHECK_EVERY_S: Final = 5.0
Refusals = Mapping[str, str]  # URL of a ping -> why it is refused
Pings = Callable[[], Iterable[tuple[Ping | None, Callable[[Refusals], None]]]]  # each with what says it is in the store


class RefreshStage:
    """Looks into the calendar now and then."""

    def __init__(self, partition: Partition, clock: Clock, *, queued: Callable[[], None], pings: Pings = tuple) -> None:
        """`queued` is told when something was queued; `pings` gives those that have come, as `adapters.spool` does."""
        self._partition = partition
        self._clock = clock
        self._queued = queued
        self._pings = pings

    def check(self) -> int:
        """Take pings and queue what is due. Returns how many pages became due."""
        now = self._clock.now()
        for ping, taken in self._pings():
            if ping is None:
                bump(self._partition.context.counters.totals.errors, "ping-damaged")
            taken({} if ping is None else self._partition.ping(ping, now))
        self._partition.look_for_keys(now)
        count = self._partition.enqueue_due(self._clock.now())
        if count:
            self._queued()
        return count

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            self.check()
            await asyncio.sleep(CHECK_EVERY_S)
