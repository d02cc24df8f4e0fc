"""Virtual time."""

from __future__ import annotations

import heapq
from collections.abc import Callable


class VirtualClock:
    """A clock that moves only when told, and the events that wait for it. Ties run in the order they were made."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        """Start at `start` unix seconds."""
        self._now = start
        self._order = 0
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def now(self) -> float:
        """The virtual time in unix seconds."""
        return self._now

    def call_at(self, at: float, event: Callable[[], None]) -> None:
        """Run `event` when the time comes."""
        self._order += 1
        heapq.heappush(self._events, (max(at, self._now), self._order, event))

    def next_at(self) -> float | None:
        """When the next event is, None when there is none."""
        return self._events[0][0] if self._events else None

    def step(self, until: float | None = None) -> bool:
        """Move to the next event and run it. False when there is none, or none before `until`."""
        if not self._events or (until is not None and self._events[0][0] > until):
            return False
        at, _, event = heapq.heappop(self._events)
        self.jump(at)
        event()
        return True

    def jump(self, to: float) -> None:
        """Move to a time and run nothing on the way: events that are passed run late. Never goes back."""
        self._now = max(self._now, to)
