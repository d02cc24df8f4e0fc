"""The calendar → queues: pages whose next visit is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from gossamer.core.partition import Partition
from gossamer.ports.clock import Clock

CHECK_EVERY_S: Final = 5.0


class RefreshStage:
    """Looks into the calendar now and then."""

    def __init__(self, partition: Partition, clock: Clock, *, queued: Callable[[], None]) -> None:
        """`queued` is told when something was queued."""
        self._partition = partition
        self._clock = clock
        self._queued = queued

    def check(self) -> int:
        """Queue what is due. Returns how many."""
        count = self._partition.enqueue_due(self._clock.now())
        if count:
            self._queued()
        return count

    async def run(self) -> None:
        """Check until cancelled."""
        while True:
            self.check()
            await asyncio.sleep(CHECK_EVERY_S)
