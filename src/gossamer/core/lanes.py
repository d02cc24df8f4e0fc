"""Lanes: one per server address, at most one request in flight in each. A two-level delay queue.

Invariant: a lane has exactly one valid entry in the heap when it is free and has a host that may take a turn, and
none otherwise. An entry's time is the later of the lane's and of its first host's next allowed time (BUbiNG's
Workbench orders the same way: address first, then host).
"""

from __future__ import annotations

import heapq
from collections import deque
from itertools import islice
from typing import Final

from gossamer.model.limits import LANE_RESIDENTS_MAX

PURGED_AT_ONCE_MAX: Final = 1_000  # lanes forgotten in one call


class Lane:
    """One server: who is being fetched from it, who is next, and when it may be asked again."""

    __slots__ = ("at", "busy", "hosts", "id", "next_at", "overflow", "residents", "stamp")

    def __init__(self, lane_id: str, next_at: float) -> None:
        """A free lane that may be used from `next_at` (unix seconds)."""
        self.id = lane_id
        self.next_at = next_at
        self.busy: str | None = None
        self.hosts: list[tuple[float, int, str]] = []
        self.residents: set[str] = set()
        self.overflow: deque[str] = deque()
        self.stamp = 0  # of its valid heap entry, 0 when it has none
        self.at = 0.0  # time of that entry

    @property
    def full(self) -> bool:
        """Whether another host would have to wait outside."""
        return len(self.residents) >= LANE_RESIDENTS_MAX


class Lanes:
    """All lanes in memory, and the heap of those that can go next."""

    def __init__(self) -> None:
        """No lanes yet."""
        self._lanes: dict[str, Lane] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._order = 0
        self.in_flight = 0

    def __len__(self) -> int:
        """Lanes held in memory."""
        return len(self._lanes)

    def get(self, lane_id: str) -> Lane | None:
        """A lane that is in memory."""
        return self._lanes.get(lane_id)

    def open(self, lane_id: str, next_at: float) -> Lane:
        """The lane of an address, made with `next_at` when it is not in memory."""
        lane = self._lanes.get(lane_id)
        if lane is None:
            lane = Lane(lane_id, next_at)
            self._lanes[lane_id] = lane
        return lane

    def join(self, lane: Lane, host: str, next_at: float) -> None:
        """Let a host take turns in a lane from `next_at` on. A resident may join again after its turn."""
        lane.residents.add(host)
        self._order += 1
        heapq.heappush(lane.hosts, (next_at, self._order, host))
        self._schedule(lane)

    def pop(self, now: float) -> tuple[Lane, str] | None:
        """The next lane and host that may go at `now`. Both are reserved in this one step: the lane is busy."""
        while self._heap and self._heap[0][0] <= now:
            _, stamp, lane_id = heapq.heappop(self._heap)
            lane = self._lanes.get(lane_id)
            if lane is None or lane.stamp != stamp or lane.busy is not None:
                continue
            _, _, host = heapq.heappop(lane.hosts)
            lane.busy = host
            lane.stamp = 0
            self.in_flight += 1
            return lane, host
        return None

    def release(self, lane: Lane, next_at: float) -> None:
        """End the turn of a lane; it may be used again from `next_at`."""
        if lane.busy is None:
            msg = f"lane {lane.id} released while free"
            raise AssertionError(msg)
        lane.busy = None
        self.in_flight -= 1
        lane.next_at = max(lane.next_at, next_at)
        self._schedule(lane)

    def next_time(self) -> float | None:
        """When the first lane can go, or None when no lane has a host to go."""
        while self._heap:
            at, stamp, lane_id = self._heap[0]
            lane = self._lanes.get(lane_id)
            if lane is not None and lane.stamp == stamp and lane.busy is None:
                return at
            heapq.heappop(self._heap)
        return None

    def purge(self, now: float) -> list[str]:
        """Forget lanes that are empty and owe nothing any more, a bounded number of them; their names."""
        passed = (
            lane.id
            for lane in self._lanes.values()
            if not lane.residents and lane.busy is None and not lane.overflow and lane.next_at <= now
        )
        empty = list(islice(passed, PURGED_AT_ONCE_MAX))
        for lane_id in empty:
            del self._lanes[lane_id]
        return empty

    def ready(self, now: float) -> int:
        """Lanes that could go at once. Linear: for reports only."""
        return sum(1 for at, stamp, lane_id in self._heap if at <= now and self._valid(stamp, lane_id))

    def _valid(self, stamp: int, lane_id: str) -> bool:
        lane = self._lanes.get(lane_id)
        return lane is not None and lane.stamp == stamp

    def _schedule(self, lane: Lane) -> None:
        if lane.busy is not None or not lane.hosts:
            lane.stamp = 0
            return
        at = max(lane.next_at, lane.hosts[0][0])
        if lane.stamp and lane.at == at:
            return
        self._order += 1
        lane.stamp = self._order
        lane.at = at
        heapq.heappush(self._heap, (at, lane.stamp, lane.id))
