"""The life of one page in a simulated year: when it appears, when it goes and how, and every time that it changes.

`laws` draws what lasts a month; here pages also come, die, move, fade after their first days, or change by the season.
All of it is drawn from the page's own bits, and worked out once.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from typing import Final, Literal

from gossamer.sim.laws import A_MOMENT_DAYS, mix, unit
from gossamer.sim.worldhost import Host
from gossamer.sim.worldpage import BRANCHING, Page, page_of

End = Literal["", "missing", "gone", "moved"]
Law = Literal["never", "poisson", "regular", "bursts", "season", "fading"]

# Shares and rates are ours, chosen so that everything happens.
BORN_SHARE: Final = 0.20  # of the pages without children: not there at first
_ENDS: Final[tuple[tuple[float, End], ...]] = ((0.08, "missing"), (0.12, "gone"), (0.16, "moved"))
_LAWS: Final[tuple[tuple[float, Law], ...]] = (
    (0.30, "never"), (0.68, "poisson"), (0.78, "regular"), (0.88, "bursts"), (0.95, "season"), (1.0, "fading"),
)  # fmt: skip
RATE_MIN: Final = 1 / 1_000  # changes a day
RATE_MAX: Final = 1.0
LIVED_MIN_DAYS: Final = 5.0
BURST: Final = 5
BURST_DAYS: Final = 1.0
SEASON_TIMES: Final = 8.0  # a page in season changes so many times as often, for a quarter of the year
SEASON_DAYS: Final = 91.0
FADING_DAYS: Final = 10.0  # e-folding time of what a new article is changed
CHANGES_MAX: Final = 5_000


class Life:
    """One page over the year; times in days after the start."""

    __slots__ = ("born", "changes", "end", "ends")

    def __init__(self, born: float, ends: float, end: End, changes: array[float]) -> None:
        """`ends`: infinite for a page that stays."""
        self.born = born
        self.ends = ends
        self.end = end
        self.changes = changes

    def version(self, day: float) -> int:
        """How often it has changed by then."""
        return bisect_right(self.changes, day)

    def stands(self, day: float) -> bool:
        """Whether it is there."""
        return self.born <= day < self.ends


def fate(host: Host, page: Page, days: float) -> tuple[float, float, End]:
    """When a page appears, when it goes (infinite: not in this year), and what stands in its place.

    Pages with children stay, so that no page is cut off by the fate of another.
    """
    if page.number * BRANCHING + 1 < host.size or page.kind not in ("page", "copy", "near"):
        return 0.0, math.inf, ""
    born = days * unit(mix(page.bits, 202)) if unit(mix(page.bits, 201)) < BORN_SHARE else 0.0
    point = unit(mix(page.bits, 203))
    end: End = next((end for upper, end in _ENDS if point < upper), "")
    at = days * unit(mix(page.bits, 204))
    if not end or at < born + LIVED_MIN_DAYS:
        return born, math.inf, ""
    return born, at, end


def live(host: Host, page: Page, days: float) -> Life:
    """The life of a page. What links to others changes whenever one of its children comes, goes or moves."""
    born, ends, end = fate(host, page, days)
    changes = _changes(page, born, days)
    first = page.number * BRANCHING + 1
    for number in range(first, min(first + BRANCHING, host.size)):
        came, went, _ = fate(host, page_of(host, number), days)
        changes += [at + A_MOMENT_DAYS for at in (came, went) if 0 < at < days]
    return Life(born, ends, end, array("d", sorted(changes)))


def _changes(page: Page, born: float, days: float) -> list[float]:
    """When a page changes by itself."""
    point = unit(mix(page.bits, 205))
    law = next(law for upper, law in _LAWS if point <= upper)
    lively = page.number == 0
    spread = unit(mix(page.bits, 206)) ** (0.3 if lively else 1.0)
    rate = RATE_MIN * (RATE_MAX / RATE_MIN) ** spread
    bits = mix(page.bits, 207)
    if law == "never":
        return _poisson(bits, rate, born, days) if lively else []
    if law == "poisson":
        return _poisson(bits, rate, born, days)
    if law == "season":
        begins = (days - SEASON_DAYS) * unit(mix(bits, 1))
        quiet = _poisson(bits, rate / SEASON_TIMES, born, days)
        return quiet + _poisson(mix(bits, 2), rate, max(born, begins), begins + SEASON_DAYS)
    if law == "fading":
        return _fading(bits, born)
    period = (1.0 if law == "regular" else BURST) / rate
    steps = (0.0,) if law == "regular" else tuple(min(BURST_DAYS, period) / BURST * step for step in range(BURST))
    at, found = born + period * unit(mix(bits, 1)), list[float]()
    while at < days and len(found) < CHANGES_MAX:
        found += [at + step for step in steps]
        at += period
    return found


def _poisson(bits: int, rate: float, start: float, days: float) -> list[float]:
    found: list[float] = []
    at = start
    while len(found) < CHANGES_MAX:
        at -= math.log(unit(mix(bits, len(found) + 10))) / rate
        if at >= days:
            break
        found.append(at)
    return found


def _fading(bits: int, born: float) -> list[float]:
    """A dozen changes after its appearance, ever more seldom."""
    return [born - FADING_DAYS * math.log(unit(mix(bits, step))) for step in range(1, 13)]
