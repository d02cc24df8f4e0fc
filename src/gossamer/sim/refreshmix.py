"""Made-up pages for judging refresh policies: how often they change, by which law, what they are worth, whose they are.

A batch holds all seeds at once, so that a policy is one pass over arrays. Every policy meets the same changes.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Law = Literal["poisson", "regular", "bursts", "daytime"]

PAGES_PER_HOST: Final = 25
CHANGES_PER_DAY_MAX: Final = 24.0  # of a simulated page; faster ones are as lost
BURST: Final = 5  # changes of a burst, ...
BURST_DAYS: Final = 0.5  # ... which take half a day
DAYTIME: Final = 1 / 3  # of the day in which pages of law "daytime" change


class Mix(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of web. Rates are log-normal around a median, part of the spread being the host's."""

    name: str
    about: str
    median_days: float = 20.0  # between changes
    spread: float = 1.7  # standard deviation of the logarithm of the rate
    host_part: float = 0.5  # of its variance that pages of a host share
    never: float = 0.0  # share of pages that do not change at all
    tail: float = 0.0  # Pareto exponent of the importance; 0: all pages count alike
    follow: float = 0.0  # importance grows with the rate to this power
    laws: tuple[Law, ...] = ("poisson",)  # in equal parts
    budget: float = 1 / 30  # visits a day for each page


MIXES: Final = (
    Mix(name="even", about="all pages change every 20 days on average and count alike", spread=0.0),
    Mix(name="mixed", about="rates spread over three powers of ten, all pages count alike"),
    Mix(name="heavy-tailed", about="the same rates, importance by a Pareto law", tail=1.2),
    Mix(name="news", about="important pages change more often", tail=1.2, follow=0.4),
    Mix(name="archive", about="six of ten pages never change", never=0.6, tail=1.2),
    Mix(name="not random", about="a third changes by the clock, in bursts, by day only", tail=1.2,
        laws=("regular", "bursts", "daytime")),
    Mix(name="plenty", about="heavy-tailed, with twice the budget", tail=1.2, budget=1 / 15),
)  # fmt: skip


class Pages(msgspec.Struct, frozen=True):
    """The pages of all seeds: page p belongs to seed `seed[p]` and host `host[p]`."""

    mix: Mix
    seeds: int
    days: float
    seed: Ints
    host: Ints
    rate: Floats  # changes a day, on average
    importance: Floats
    changes: Floats  # page * (days + 1) + day of every change, in order

    def next_change(self, page: Ints, day: Floats) -> Floats:
        """When each page changes first after a day; infinite when it does not any more."""
        width = self.days + 1
        place = np.searchsorted(self.changes, page * width + day, side="right")
        found = self.changes[np.minimum(place, len(self.changes) - 1)] - page * width
        return np.where((place < len(self.changes)) & (found < width), found, np.inf)


def make_pages(mix: Mix, *, seeds: int, pages: int, days: float, first_seed: int = 1) -> Pages:
    """`pages` pages for each of `seeds` seeds, and all their changes within `days`."""
    parts = [_one(mix, np.random.default_rng((first_seed + seed, 5)), pages, days) for seed in range(seeds)]
    width = days + 1
    changes = [
        owner_and_day[0] + seed * pages * width for seed, owner_and_day in enumerate((part[2],) for part in parts)
    ]
    hosts = -(-pages // PAGES_PER_HOST)
    return Pages(
        mix=mix,
        seeds=seeds,
        days=days,
        seed=np.repeat(np.arange(seeds), pages),
        host=np.concatenate([np.arange(pages) // PAGES_PER_HOST + seed * hosts for seed in range(seeds)]),
        rate=np.concatenate([part[0] for part in parts]),
        importance=np.concatenate([part[1] for part in parts]),
        changes=np.concatenate(changes),
    )


def _one(mix: Mix, chance: np.random.Generator, pages: int, days: float) -> tuple[Floats, Floats, Floats]:
    hosts = -(-pages // PAGES_PER_HOST)
    shared = chance.normal(size=hosts)[np.arange(pages) // PAGES_PER_HOST] * np.sqrt(mix.host_part)
    own = chance.normal(size=pages) * np.sqrt(1 - mix.host_part)
    rate = np.minimum(np.exp(mix.spread * (shared + own)) / mix.median_days, CHANGES_PER_DAY_MAX)
    importance = np.ones(pages)
    if mix.tail:
        importance = (1 - chance.random(pages)) ** (-1 / mix.tail)
    importance *= (rate * mix.median_days) ** mix.follow
    rate[chance.random(pages) < mix.never] = 0.0
    laws = chance.integers(len(mix.laws), size=pages)
    found = [_changes(law, chance, np.flatnonzero((laws == number) & (rate > 0)), rate, days)
             for number, law in enumerate(mix.laws)]  # fmt: skip
    return rate, importance, np.sort(np.concatenate(found))


def _changes(law: Law, chance: np.random.Generator, page: Ints, rate: Floats, days: float) -> Floats:
    """Changes of some pages as page * (days + 1) + day, in any order."""
    width = days + 1
    if law in ("poisson", "daytime"):
        owner = np.repeat(page, chance.poisson(rate[page] * days))
        day = chance.random(len(owner)) * days
        if law == "daytime":  # the same number of changes, all within the first hours of their days
            day = np.floor(day) + (day % 1.0) * DAYTIME
        return owner * width + day
    step = (BURST if law == "bursts" else 1) / rate[page]
    owner = np.repeat(page, (days / step).astype(np.int64) + 1)
    turn = np.arange(len(owner)) - np.searchsorted(owner, owner)
    start = (chance.random(len(page)) * step)[np.searchsorted(page, owner)] + turn * np.repeat(
        step, (days / step).astype(np.int64) + 1
    )
    if law == "bursts":
        span = np.minimum(BURST_DAYS, BURST / rate[owner])
        owner, start, span = (np.repeat(values, BURST) for values in (owner, start, span))
        start = start + span * (np.arange(len(owner)) % BURST) / BURST
    inside = start < days
    return np.asarray(owner[inside] * width + start[inside], np.float64)
