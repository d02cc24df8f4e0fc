"""Refresh policies tried on made-up pages whose rates they must learn: freshness, age and waste of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from gossamer.model.config import Refresh
from gossamer.policy.refresh import EARLY_SHARE, Name
from gossamer.sim.refreshlearn import Learner, Pacer
from gossamer.sim.refreshmix import MIXES, Floats, Ints, Mix, Pages, make_pages

POLICIES: Final[tuple[Name, ...]] = ("uniform", "proportional", "poisson", "optimal")
KNOWN: Final = "known rates"  # optimal, told what nobody can know: what is left to be learned
Wide = tuple[float, float]  # mean over seeds, and half the width of its 95 % confidence interval
T_95: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # Student's t by degrees - 1


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """How large an evaluation is."""

    seeds: int = 8
    pages: int = 1_000  # for each seed
    days: float = 360.0
    learning_days: float = 180.0  # at the start, not measured: a page must be seen a few times
    first_seed: int = 1
    refresh: Refresh = Refresh()


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One policy on one mix."""

    mix: str
    policy: str
    freshness: Wide  # weighted by importance
    age_days: Wide  # the same
    wasted: Wide  # share of visits that found nothing changed
    visits_per_day: Wide  # for each page
    against_uniform: Wide  # freshness / uniform's - 1, seed by seed


def evaluate(
    trial: Trial,
    mixes: Sequence[Mix] = MIXES,
    progress: Callable[[str], None] = lambda _text: None,
    policies: Sequence[str] = (*POLICIES, KNOWN),
) -> list[Result]:
    """Every policy on every mix; the first of the policies is uniform, with which the others are compared."""
    results = []
    for mix in mixes:
        progress(f"{mix.name}: making pages")
        pages = make_pages(
            mix, seeds=trial.seeds, pages=trial.pages, days=trial.days, first_seed=trial.first_seed
        )  # fmt: skip
        uniform: Floats | None = None
        for name in policies:
            progress(f"{mix.name}: {name}")
            run = _Run(pages, name, trial)
            run.go()
            fresh, aged, wasted, visits = run.told()
            uniform = fresh if uniform is None else uniform
            results.append(
                Result(
                    mix=mix.name,
                    policy=name,
                    freshness=interval(fresh),
                    age_days=interval(aged),
                    wasted=interval(wasted),
                    visits_per_day=interval(visits),
                    against_uniform=interval(fresh / uniform - 1),
                )
            )
    return results


def interval(values: Floats) -> Wide:
    """Mean, and half the width of the 95 % confidence interval."""
    seeds = len(values)
    if seeds < 2:
        return float(values.mean()), 0.0
    t = T_95[seeds - 2] if seeds - 2 < len(T_95) else 1.96 + 2.4 / (seeds - 1)
    return float(values.mean()), float(t * values.std(ddof=1) / np.sqrt(seeds))


class _Run:
    """One policy on the pages of all seeds.

    Visits are made when due. What the budget of a day does not pay waits; what it leaves goes to what is due next.
    """

    def __init__(self, pages: Pages, name: str, trial: Trial) -> None:
        refresh = trial.refresh
        self._pages, self._trial, self._name = pages, trial, name
        count = len(pages.seed)
        self._budget = pages.mix.budget * count / pages.seeds
        self._pacer = Pacer(
            "optimal" if name == KNOWN else next(policy for policy in POLICIES if policy == name),
            self._budget,
            refresh,
        )
        self._learner = None if name == KNOWN else Learner(pages.seed, pages.host)
        chance = np.random.default_rng((trial.first_seed, 7))
        self._last = chance.random(count) / pages.mix.budget  # the first visits are spread over an equal interval
        self._due = self._last.copy()
        self._next = np.zeros(count)
        self._begun = np.zeros(count, np.bool_)
        self._fresh, self._aged = np.zeros(count), np.zeros(count)
        self._visits, self._wasted = np.zeros(count), np.zeros(count)

    def go(self) -> None:
        """All days."""
        paid = np.zeros(self._pages.seeds)
        for day in range(int(self._trial.days)):
            self._pacer.fit(self._pages.seed, self._rates(), self._pages.importance)
            paid = np.minimum(paid, 0.0) + self._budget  # what was not used is lost, as a crawler's idle time is
            while True:
                due = np.flatnonzero(self._due < day + 1)
                if not len(due):
                    break
                due = self._affordable(due, paid)
                if not len(due):
                    break
                paid -= np.bincount(self._pages.seed[due], minlength=self._pages.seeds)
                self._visit(due, np.maximum(self._due[due], float(day)))
            if self._pacer.name == "optimal":
                self._visit_early(float(np.nextafter(day + 1.0, 0.0)), paid)
        end = np.full(len(self._due), self._trial.days)
        self._settle(np.arange(len(end)), end)

    def _rates(self) -> Floats:
        return self._pages.rate if self._learner is None else self._learner.rate()

    def _visit_early(self, now: float, paid: Floats) -> None:
        """What a day leaves goes to what is due next, as in `core.early`."""
        waited = now - self._last
        soon = self._due - now <= EARLY_SHARE * (self._due - self._last)
        page = np.flatnonzero(self._begun & soon & (waited >= self._pacer.least))
        page = self._affordable(page, np.maximum(paid, 0.0))
        if len(page):
            paid -= np.bincount(self._pages.seed[page], minlength=self._pages.seeds)
            self._visit(page, np.full(len(page), now))

    def _affordable(self, due: Ints, paid: Floats) -> Ints:
        """The first due of each seed, as many as the budget pays for."""
        seed = self._pages.seed[due]
        order = np.lexsort((self._due[due], seed))
        due, seed = due[order], seed[order]
        place = np.arange(len(due)) - np.searchsorted(seed, seed)
        return due[place < np.ceil(paid)[seed]]

    def _visit(self, page: Ints, day: Floats) -> None:
        changed = self._next[page] <= day
        again = self._begun[page]
        interval_days = np.maximum(day - self._last[page], 1e-9)
        self._settle(page, day)
        counted = again & (day >= self._trial.learning_days)
        self._visits[page] += counted
        self._wasted[page] += counted & ~changed
        foreseen = np.exp(-self._rates()[page] * interval_days)
        self._pacer.compare(self._pages.seeds, self._pages.seed[page[again]], foreseen[again], changed[again])
        if self._learner is not None:
            self._learner.observe(page[again], interval_days[again], changed[again])
        self._begun[page] = True
        self._last[page] = day
        self._next[page] = self._pages.next_change(page, day)
        rate = self._rates()[page]
        self._due[page] = day + self._pacer.after(self._pages.seed[page], rate, self._pages.importance[page])

    def _settle(self, page: Ints, day: Floats) -> None:
        """Count freshness and age since the last visits, as far as they are measured."""
        start = np.maximum(self._last[page], self._trial.learning_days)
        stale = np.clip(self._next[page], start, day)
        begun = self._begun[page] & (day > start)
        self._fresh[page] += np.where(begun, stale - start, 0.0)
        behind = np.minimum(self._next[page], day)
        aged = ((day - behind) ** 2 - np.maximum(0.0, stale - behind) ** 2) / 2
        self._aged[page] += np.where(begun, aged, 0.0)

    def told(self) -> tuple[Floats, Floats, Floats, Floats]:
        """For each seed: weighted freshness, weighted age in days, share of wasted visits, visits a page and day."""
        seed, worth = self._pages.seed, self._pages.importance
        measured = self._trial.days - self._trial.learning_days

        def total(values: Floats) -> Floats:
            return np.asarray(np.bincount(seed, values), np.float64)

        weight = total(worth) * measured
        visits = total(self._visits)
        pages = np.bincount(seed)
        return (
            total(self._fresh * worth) / weight,
            total(self._aged * worth) / weight,
            total(self._wasted) / np.maximum(1.0, visits),
            visits / pages / measured,
        )
