"""The evaluation computes with the crawler's formulas: arrays and single pages give the same numbers."""

from __future__ import annotations

import math
import random
from typing import get_args

import numpy as np
import pytest

from gossamer.model.config import Refresh
from gossamer.model.record import Pace
from gossamer.policy import refresh_rate as rates
from gossamer.policy.refresh import Name, Policy, fit
from gossamer.policy.refresh_class import group_of, groups_of
from gossamer.sim.refreshlearn import Learner, Pacer, estimate, intervals

DAY_S = rates.DAY_S


def test_estimates() -> None:
    chance = random.Random(2)
    paces, unchanged, visits, length = [], [], np.zeros((200, rates.BUCKETS)), np.zeros((200, rates.BUCKETS))
    for page in range(200):
        kept = {}
        for _ in range(chance.randint(0, 4)):
            days, count = math.exp(chance.uniform(-2, 4)), float(chance.randint(1, 20))
            bucket = rates.bucket_of(days * DAY_S)
            kept[bucket] = (count, count * days)
            visits[page, bucket], length[page, bucket] = kept[bucket]
        unchanged.append(chance.choice((0.0, 3.0, 100.0)))
        paces.append(
            Pace(unchanged_s=unchanged[-1] * DAY_S, changed=tuple((b, n, d * DAY_S) for b, (n, d) in kept.items()))
        )
    mean, spread = np.full(200, rates.FIRST.log_rate), np.full(200, rates.FIRST.variance)
    theta, variance = estimate(np.array(unchanged), visits, length, mean, spread, np.zeros(200))
    single = [rates.estimate(pace, rates.FIRST) for pace in paces]
    assert theta == pytest.approx([one.log_rate for one in single], abs=1e-3)
    assert variance == pytest.approx([one.variance for one in single], rel=1e-2)


def test_learning_page_by_page() -> None:
    """Two hosts of three pages, visited over and over: sums, priors and estimates come out as the core's do."""
    chance, learner = random.Random(9), Learner(np.zeros(6, np.int64), np.array([0, 0, 0, 1, 1, 1]))
    paces = [Pace(seen_at=1.0) for _ in range(6)]
    sums = {name: [0.0, 0.0, 0.0] for name in ("world", 0, 1)}
    for _ in range(40):
        page, days, changed = chance.randrange(6), chance.uniform(0.1, 20), chance.random() < 0.5
        pace = paces[page]
        world = rates.prior_of(*sums["world"], rates.FIRST, rates.WORLD_WEIGHT)
        prior = rates.prior_of(*sums[page // 3], world, rates.HOST_WEIGHT)
        rates.observe(pace, pace.seen_at + days * DAY_S, changed=changed)
        found, known = rates.estimate(pace, prior), pace.variance > 0
        for name in ("world", page // 3):
            sums[name][0] += 1 - known
            sums[name][1] += found.log_rate - known * pace.log_rate
            sums[name][2] += found.log_rate**2 + found.variance - known * (pace.log_rate**2 + pace.variance)
        pace.log_rate, pace.variance = found.log_rate, found.variance
        learner.observe(np.array([page]), np.array([days]), np.array([changed]))
    known = [math.exp(pace.log_rate) * DAY_S for pace in paces]
    assert learner.rate() == pytest.approx(known, rel=1e-2)


@pytest.mark.parametrize("name", get_args(Name))
def test_intervals_and_budgets(name: Name) -> None:
    chance = random.Random(6)
    rate = np.array([math.exp(chance.gauss(math.log(1 / 20), 1.5)) for _ in range(500)])
    importance = np.array([chance.paretovariate(1.2) for _ in range(500)])
    one = Policy(name=name, scale=20.0, min_s=1e-9, max_s=1e9, thrift=0.7)
    listed = [one.interval_s(r, w) for r, w in zip(rate, importance, strict=True)]
    found = intervals(name, np.full(500, 20.0), rate, importance, 0.5, np.full(500, 0.7))
    assert np.clip(found, 1e-9, 1e9) == pytest.approx(listed, rel=1e-6)

    refresh = Refresh(vain_max=1.0)
    pacer = Pacer(name, 500 / 30, refresh)
    pacer.fit(np.zeros(500, np.int64), rate, importance)
    counts: dict[int, int] = {}
    for r, w in zip(rate / DAY_S, importance, strict=True):
        counts[group_of(r, w)] = counts.get(group_of(r, w), 0) + 1
    start = Policy(name=name, scale=1.0, min_s=refresh.min_interval_s, max_s=refresh.max_interval_s)
    fitted = fit(start, [one for number, count in counts.items() for one in groups_of(number, count)], 500 / 30 / DAY_S)
    days = pacer.after(np.zeros(500, np.int64), rate, importance)
    single = [fitted.interval_s(r / DAY_S, w) / DAY_S for r, w in zip(rate, importance, strict=True)]
    assert (1 / days).sum() == pytest.approx(sum(1 / wait for wait in single), rel=0.03)
    assert np.log(days) == pytest.approx(np.log(single), abs=0.1)
