"""The crawler's refresh formulas over arrays of pages: what `policy.refresh*` does for one page, for thousands at once.

tests/policy/test_refresh_arrays.py holds both to be equal. Times are days here.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from gossamer.model.config import Refresh
from gossamer.policy import refresh_rate as rates
from gossamer.policy.refresh import COMPARED_KEPT, LOG_SCALE_MAX, Name, bias, page_cap, thriftier
from gossamer.policy.refresh_class import CLASSES, IMPORTANCE_ZERO, OFFSETS, PER_OCTAVE, SPREAD
from gossamer.policy.refresh_rate import BUCKETS, DAY_S, HOST_WEIGHT, HOUR_S, WORLD_WEIGHT
from gossamer.policy.refresh_value import NEWTON_STEPS, SMALL
from gossamer.sim.refreshmix import Bools, Floats, Ints

LOG_DAY: Final = math.log(DAY_S)
ESTIMATE_STEPS: Final = 8
RATE_MIN: Final = 2.0**-26  # changes a day, for classes
RATE_ZERO: Final = 52


class Learner:
    """What is known of every page and host."""

    def __init__(self, seed: Ints, host: Ints) -> None:
        """Nothing yet."""
        pages, hosts, seeds = len(seed), int(host.max()) + 1, int(seed.max()) + 1
        self._seed, self._host = seed, host
        self._seed_of_host = np.zeros(hosts, np.int64)
        self._seed_of_host[host] = seed
        self._unchanged = np.zeros(pages)
        self._visits = np.zeros((pages, BUCKETS))
        self._length = np.zeros((pages, BUCKETS))
        self._of_world = np.zeros((seeds, 3))
        self._of_host = np.zeros((hosts, 3))
        self._theta = np.zeros(pages)
        self._variance = np.zeros(pages)

    def rate(self) -> Floats:
        """Changes a day, as believed."""
        mean, _ = self._priors()
        known = self._variance > 0
        return np.asarray(np.exp(np.where(known, self._theta, mean[self._host]) + LOG_DAY))

    def observe(self, page: Ints, interval: Floats, changed: Bools) -> None:
        """Visits of different pages, `interval` days after those before."""
        bucket = np.clip(np.frexp(interval * DAY_S / HOUR_S)[1] - 1, 0, BUCKETS - 1)
        self._unchanged[page] += np.where(changed, 0.0, interval)
        self._visits[page, bucket] += changed
        self._length[page, bucket] += np.where(changed, interval, 0.0)
        observed = self._unchanged[page] + self._length[page].sum(1)
        full = (self._visits[page].sum(1) > rates.CHANGES_KEPT) | (observed > rates.OBSERVED_KEPT_S / DAY_S)
        self._unchanged[page[full]] /= 2
        self._visits[page[full]] /= 2
        self._length[page[full]] /= 2
        self._estimate(page)

    def _estimate(self, page: Ints) -> None:
        mean, spread = self._priors()
        theta, variance = estimate(
            self._unchanged[page], self._visits[page], self._length[page], mean[self._host[page]],
            spread[self._host[page]], self._theta[page],
        )  # fmt: skip
        known = self._variance[page] > 0
        before = np.stack([known, known * self._theta[page], known * (self._theta[page] ** 2 + self._variance[page])])
        after = np.stack([np.ones(len(page)), theta, theta**2 + variance])
        np.add.at(self._of_host, self._host[page], (after - before).T)
        np.add.at(self._of_world, self._seed[page], (after - before).T)
        self._theta[page], self._variance[page] = theta, variance

    def _priors(self) -> tuple[Floats, Floats]:
        """Mean and variance of the log rate (changes a second) for every host."""
        seeds = len(self._of_world)
        mean, spread = _prior(
            self._of_world, np.full(seeds, rates.FIRST.log_rate), np.full(seeds, rates.FIRST.variance), WORLD_WEIGHT
        )
        return _prior(self._of_host, mean[self._seed_of_host], spread[self._seed_of_host], HOST_WEIGHT)


def _prior(sums: Floats, mean_above: Floats, variance_above: Floats, weight: float) -> tuple[Floats, Floats]:
    pages, log_sum, square_sum = sums.T
    mean = (weight * mean_above + log_sum) / (weight + pages)
    spread = np.maximum(0.0, square_sum - 2 * mean * log_sum + pages * mean * mean)
    apart = weight * (variance_above + (mean_above - mean) ** 2 * (weight < pages))
    return mean, np.clip((apart + spread) / (weight + pages), rates.VARIANCE_MIN, rates.VARIANCE_MAX)


def estimate(
    unchanged: Floats, visits: Floats, length: Floats, mean: Floats, spread: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """`policy.refresh_rate.estimate` for many pages. Days; the result is the logarithm of changes a second."""
    used = np.flatnonzero(visits.any(0))
    count, total = visits[:, used], length[:, used]
    interval = np.divide(total, count, out=np.ones_like(total), where=count > 0) * DAY_S
    theta = np.where(start != 0.0, start, mean)
    bend = -1.0 / spread
    for _ in range(ESTIMATE_STEPS):
        rate = np.exp(theta)
        x = np.minimum(rate[:, None] * interval, rates.OVERFLOW)
        share = x / np.expm1(x)
        calm = -unchanged * DAY_S * rate
        slope = calm - (theta - mean) / spread + (count * share).sum(1)
        bend = calm - 1.0 / spread + (count * share * (1.0 - x - share)).sum(1)
        step = np.clip(-slope / bend, -rates.STEP_MAX, rates.STEP_MAX)
        theta = np.clip(theta + step, rates.LOG_RATE_MIN, rates.LOG_RATE_MAX)
        if float(np.abs(step).max(initial=0.0)) < 1e-5:
            break
    return theta, -1.0 / bend


def intervals(name: Name, scale: Floats, rate: Floats, importance: Floats, alpha: float, thrift: Floats) -> Floats:
    """`policy.refresh.Policy.interval_s` without the limits, for many pages, in days."""
    if name == "uniform":
        return np.broadcast_to(scale, rate.shape).copy()
    if name == "proportional":
        return np.asarray(scale / rate)
    if name == "poisson":
        return np.asarray(scale / (rate * importance**alpha))
    price = np.minimum(scale * rate / importance, 1.0)
    wanted = np.minimum(price * (1 + thrift) / (1 + thrift * price), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = -np.log1p(-wanted)
        x = s + np.sqrt(2 * s)
        for _ in range(NEWTON_STEPS):
            x = np.where(x < SMALL, x, x - (x - np.log1p(x) - s) * (1 + x) / x)
    return np.asarray(np.where(wanted >= 1.0, np.inf, x / rate))


class Pacer:
    """A policy kept to a budget for each seed: its scale is sought again from classes of pages."""

    def __init__(self, name: Name, budget: float, refresh: Refresh) -> None:
        """`budget`: visits a day of all pages of a seed."""
        self.name, self._budget, self._alpha = name, budget, refresh.importance_exponent
        self._low, self._high = refresh.min_interval_s / DAY_S, refresh.max_interval_s / DAY_S
        self._vain_max = refresh.vain_max if name == "optimal" else 1.0
        self._scale: Floats | None = None
        self._thrift = np.zeros(0)
        self._compared: Floats | None = None  # unchanged and foreseen visits of each seed
        self.least = self._low  # days between two visits of a page, as the budget allows

    def fit(self, seed: Ints, rate: Floats, importance: Floats) -> None:
        """Seek the scale at which the pages cost the budget."""
        seeds = int(seed.max()) + 1
        by_rate = np.clip(np.rint(PER_OCTAVE * np.log2(np.maximum(rate, RATE_MIN))) + RATE_ZERO, 0, CLASSES - 1)
        by_worth = np.clip(np.rint(PER_OCTAVE * np.log2(importance)) + IMPORTANCE_ZERO, 0, CLASSES - 1)
        number = ((seed * CLASSES + by_rate.astype(np.int64)) * CLASSES) + by_worth.astype(np.int64)
        groups, count = np.unique(number, return_counts=True)
        owner, rest = np.divmod(groups, CLASSES * CLASSES)
        first, second = np.divmod(rest, CLASSES)
        of_rate, worth = 2.0 ** ((first - RATE_ZERO) / PER_OCTAVE), 2.0 ** ((second - IMPORTANCE_ZERO) / PER_OCTAVE)
        owner, worth = np.repeat(owner, SPREAD), np.repeat(worth, SPREAD)
        share: Floats = np.repeat(count / SPREAD, SPREAD)
        of_rate = (of_rate[:, None] * 2.0 ** np.array(OFFSETS)).ravel()
        pages = len(seed) // seeds
        self.least = max(self._low, 1.0 / page_cap(self._budget, pages))
        if self._scale is None:
            self._thrift = np.zeros(seeds)
            low, high, rounds = np.full(seeds, -LOG_SCALE_MAX), np.full(seeds, LOG_SCALE_MAX), 50
        else:
            low, high, rounds = np.log(self._scale) - 0.5, np.log(self._scale) + 0.5, 14
            self._thrift = self._next_thrift(owner, of_rate, worth, share)
        for _ in range(rounds):
            middle = (low + high) / 2
            wanted = intervals(self.name, np.exp(middle)[owner], of_rate, worth, self._alpha, self._thrift[owner])
            cost = np.bincount(owner, share / np.clip(wanted, self.least, self._high), minlength=seeds)
            over = cost > self._budget
            low, high = np.where(over, middle, low), np.where(over, high, middle)
        self._scale = np.exp(high)

    def _next_thrift(self, owner: Ints, rate: Floats, worth: Floats, count: Floats) -> Floats:
        assert self._scale is not None
        wanted = intervals(self.name, self._scale[owner], rate, worth, self._alpha, self._thrift[owner])
        visits = count / np.clip(wanted, self.least, self._high)
        vain = np.bincount(owner, visits * np.exp(-rate / visits * count)) / np.bincount(owner, visits)
        if self._compared is not None:
            vain *= [bias(unchanged, foreseen) for unchanged, foreseen in self._compared.T]
        return np.array(
            [thriftier(thrift, share, self._vain_max) for thrift, share in zip(self._thrift, vain, strict=True)]
        )

    def compare(self, seeds: int, seed: Ints, foreseen: Floats, changed: Bools) -> None:
        """Visits: the chance that each would find nothing changed, as it was foreseen, and whether it did not."""
        if self._compared is None:
            self._compared = np.zeros((2, seeds))
        self._compared[0] += np.bincount(seed, ~changed, minlength=seeds)
        self._compared[1] += np.bincount(seed, foreseen, minlength=seeds)
        self._compared[:, self._compared[1] > COMPARED_KEPT] /= 2

    def after(self, seed: Ints, rate: Floats, importance: Floats) -> Floats:
        """Days until the next visits of pages."""
        assert self._scale is not None
        wanted = intervals(
            self.name, self._scale[seed], np.maximum(rate, RATE_MIN), importance, self._alpha, self._thrift[seed]
        )
        return np.clip(wanted, self.least, self._high)
