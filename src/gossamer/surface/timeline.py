"""Pages, failures and bytes over time, from the crawl log: one pass, as many steps as fit, equally long."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

from gossamer.model.page import Kind
from gossamer.model.view import Slice
from gossamer.surface.logreader import read_events

SLICES_MAX: Final = 600
FIRST_SLICE_S: Final = 1.0
EVENTS_MAX: Final = 5_000_000  # log lines read for one report: about half a minute


class Steps:
    """Counts by equal steps of time; when the steps become too many, two become one."""

    def __init__(self) -> None:
        """No steps yet."""
        self.width_s = FIRST_SLICE_S
        self._counts: dict[int, list[int]] = {}
        self._first = self._last = 0

    def add(self, time: float, pages: int, failures: int, size: int) -> None:
        """Count something that happened at `time` (unix seconds)."""
        index = int(time // self.width_s)
        if not self._counts:
            self._first = self._last = index
        self._first, self._last = min(self._first, index), max(self._last, index)
        step = self._counts.setdefault(index, [0, 0, 0])
        step[0] += pages
        step[1] += failures
        step[2] += size
        while self._last - self._first >= SLICES_MAX:
            self._double()

    def _double(self) -> None:
        self.width_s *= 2
        self._first, self._last = self._first // 2, self._last // 2
        halves, self._counts = self._counts, {}
        for index, (pages, failures, size) in halves.items():
            step = self._counts.setdefault(index // 2, [0, 0, 0])
            step[0] += pages
            step[1] += failures
            step[2] += size

    def slices(self) -> tuple[Slice, ...]:
        """All steps from the first to the last, empty ones too."""
        if not self._counts:
            return ()
        steps = range(self._first, self._last + 1)
        return tuple(Slice(index * self.width_s, *self._counts.get(index, (0, 0, 0))) for index in steps)


def timeline(log: Path) -> tuple[tuple[Slice, ...], float]:
    """The steps of a crawl's log directory, and how many seconds each is long."""
    steps = Steps()
    for event in islice(read_events(log), EVENTS_MAX):
        page = event.status > 0 and event.kind is Kind.PAGE
        if page or event.failure or event.wire_bytes:
            steps.add(event.time, int(page), int(bool(event.failure)), event.wire_bytes)
    return steps.slices(), steps.width_s
