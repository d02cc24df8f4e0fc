"""Visits that are due and not made: how many pages wait, since when, and whose."""

from __future__ import annotations

import msgspec

from gossamer.model.limits import LEVELS
from gossamer.model.record import State, UrlRow
from gossamer.model.view import Waiting


class WaitingPages(msgspec.Struct):
    """Counts pages whose visit is due, in bounded memory: by powers of two of the seconds they have waited."""

    now: float
    steps: dict[int, int] = {}  # upper edge in seconds -> pages
    levels: list[int] = msgspec.field(default_factory=lambda: [0] * LEVELS)
    most_s: float = 0.0

    def add(self, row: UrlRow) -> None:
        """Count a page, if it is due: queued, put off, or in the calendar and not yet taken out of it."""
        since = row.wanted if row.refresh or row.late else row.due
        if row.state is not State.FETCHED or not 0 < since <= self.now:
            return
        late_s = self.now - since
        edge = 1
        while edge < late_s:
            edge *= 2
        self.steps[edge] = self.steps.get(edge, 0) + 1
        self.levels[row.level] += 1
        self.most_s = max(self.most_s, late_s)

    def told(self) -> Waiting:
        """What a report shows of them."""
        pages = left = sum(self.steps.values())
        median_s = 0.0
        for edge, count in sorted(self.steps.items()):
            left -= count
            if 2 * left <= pages:
                median_s = min(float(edge), self.most_s)
                break
        return Waiting(pages=pages, median_s=median_s, most_s=self.most_s, by_level=self.levels)
