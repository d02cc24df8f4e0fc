"""Takedowns → the partition, requests in flight, queues. What is done is told step by step.

The partition holds to a takedown from the call on. What was in flight then is cut off in the same moment; queues are
swept in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from gossamer.core.partition import Partition
from gossamer.model.event import FetchEvent
from gossamer.model.takedown import Step, StepName, Takedown
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import TakedownRules, compile_takedowns, covering
from gossamer.ports.clock import Clock

SWEEP_EVERY_S: Final = 0.02  # between two commits of a sweep: a page's events come in between

CutOff = Callable[[Callable[[str], bool], str], Awaitable[tuple[int, float]]]


class TakedownStage:
    """Carries takedowns out."""

    def __init__(
        self,
        partition: Partition,
        clock: Clock,
        *,
        cut_off: CutOff,
        note: Callable[[list[FetchEvent]], None],
        wake: Callable[[], None],
        told: Callable[[list[Takedown]], None],
    ) -> None:
        """`cut_off` breaks off requests for covered URLs; `note` takes log lines, `told` takedowns with new steps;
        `wake` is called when queues have changed.
        """
        self._partition = partition
        self._clock = clock
        self._cut_off = cut_off
        self._note = note
        self._wake_dispatch = wake
        self._told = told
        self._wake = asyncio.Event()
        self._wake.set()  # a run before may have left something

    def enforce(self, takedowns: Sequence[Takedown]) -> bool:
        """Hold to this list from now on. Returns whether anything begins or ceases to hold with it."""
        moved = self._partition.orders.take_down(takedowns, self._clock.now())
        if moved:
            self._tell()
            self._wake.set()
            self._wake_dispatch()
        return bool(moved)

    async def run(self) -> None:
        """Carry out what was ordered, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._cut()
            while self._partition.orders.sweep(self._clock.now()):
                self._note(self._partition.take_events())
                self._tell()
                self._wake_dispatch()
                await asyncio.sleep(SWEEP_EVERY_S)
                await self._cut()

    async def _cut(self) -> None:
        for takedown in self._partition.context.takedowns.without_abort():
            rules = compile_takedowns([takedown])

            def covered(wire: str, rules: TakedownRules = rules) -> bool:
                url = parse(wire)
                return isinstance(url, Url) and bool(covering(rules, url))

            count, last_request = await self._cut_off(covered, f"takedown {takedown.id}")
            step = Step(StepName.ABORTED, self._clock.now(), count)
            self._partition.orders.take_step(takedown.id, step, last_request)
            self._tell()

    def _tell(self) -> None:
        changed = self._partition.context.takedowns.take_changed()
        if changed:
            self._told(changed)
