"""How current the copies of a crawl are: a sample of pages, compared with what stands there now.

Freshness and age as Cho and Garcia-Molina define them ("Synchronizing a Database to Improve Freshness", 2000): a copy
is fresh while its page has not changed since the visit; the age of a stale copy is the time since that first change.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.sim.laws import Change, draw
from gossamer.sim.world import World, content_law
from gossamer.sim.worldhost import path_of
from gossamer.sim.worldpage import number_of, page_of

READ: Final = (200, 304)


class Freshness(msgspec.Struct, frozen=True):
    """The sample at one time."""

    day: float
    pages: int
    fresh: float  # share
    age_days: float  # mean over all pages of the sample, 0 for fresh ones
    poisson_pages: int  # those that change as a Poisson process
    poisson_fresh: float  # share of those
    poisson_expected: float  # the share that e^(-rate x time since the visit) makes one expect


class _Copy(msgspec.Struct):
    change: Change
    day: float  # of the last visit
    version: int


class Currency:
    """The newest visit of every page in the sample."""

    def __init__(self, world: World, share: float) -> None:
        """`share` of all pages are followed, always the same ones for one seed."""
        self._world = world
        self._limit = int(share * 2**64)
        self._copies: dict[str, _Copy] = {}
        self.measured: list[Freshness] = []

    def note(self, event: FetchEvent) -> None:
        """A line of the crawl log."""
        if event.status not in READ or event.kind is not Kind.PAGE or draw(self._world.seed, event.key) >= self._limit:
            return
        day = self._world.days_at(event.started)
        copy = self._copies.get(event.key)
        if copy is None:
            change = self._change(event)
            if change is None:
                return
            copy = self._copies[event.key] = _Copy(change, day, 0)
        copy.day, copy.version = day, copy.change.at(day)[0]

    def _change(self, event: FetchEvent) -> Change | None:
        host = self._world.find(event.host)
        if host is None or host.trap or host.mirror_of >= 0:
            return None
        path = path_of(event.key)
        found = number_of(path, host.size)
        if found is None:
            return None
        page = page_of(host, found[0])
        return content_law(host, page) if page.kind in ("page", "copy", "near") and page.path == path else None

    def measure(self, day: float) -> Freshness:
        """Compare the sample with the web as it is now, and keep the result."""
        fresh = poisson = poisson_fresh = 0
        age = expected = 0.0
        for copy in self._copies.values():
            current = copy.change.at(day)[0] == copy.version
            fresh += current
            if not current:
                age += day - copy.change.after(copy.day, day)
            if copy.change.law == "poisson":
                poisson += 1
                poisson_fresh += current
                expected += math.exp(-copy.change.rate * (day - copy.day))
        pages = len(self._copies)
        result = Freshness(
            day,
            pages,
            fresh / max(1, pages),
            age / max(1, pages),
            poisson,
            poisson_fresh / max(1, poisson),
            expected / max(1, poisson),
        )
        self.measured.append(result)
        return result
