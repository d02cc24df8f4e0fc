"""How often a page changes: right at any intervals, bounded, and helped by the pages of its host."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.record import HostPace, Pace
from gossamer.policy.refresh_rate import (
    CHANGES_KEPT,
    DAY_S,
    FIRST,
    HOST_WEIGHT,
    LOG_RATE_MAX,
    LOG_RATE_MIN,
    OBSERVED_KEPT_S,
    Prior,
    bucket_of,
    estimate,
    observe,
    prior_of,
    prior_of_host,
)  # fmt: skip

VAGUE = Prior(FIRST.log_rate, 9.0)


def watched(chance: random.Random, rate: float, intervals: Callable[[random.Random], float], visits: int) -> Pace:
    """A page that changes at random `rate` times a day, visited at intervals in days."""
    pace, at = Pace(), 1.0
    observe(pace, at, changed=None)
    for _ in range(visits):
        days = intervals(chance)
        at += days * DAY_S
        observe(pace, at, changed=chance.random() < -math.expm1(-rate * days))
    return pace


INTERVALS: dict[str, Callable[[random.Random], float]] = {
    "short": lambda _: 0.3,
    "as long as a change takes": lambda _: 1.0,
    "long": lambda _: 2.0,
    "any": lambda chance: math.exp(chance.uniform(math.log(0.05), math.log(5.0))),
    "often short, seldom long": lambda chance: 0.1 if chance.random() < 0.8 else 4.0,
}


@pytest.mark.parametrize("intervals", INTERVALS.values(), ids=INTERVALS)
def test_the_rate_is_recovered_at_any_intervals(intervals: Callable[[random.Random], float]) -> None:
    chance = random.Random(3)
    logs = [estimate(watched(chance, 1.0, intervals, 60), VAGUE).log_rate + math.log(DAY_S) for _ in range(150)]
    assert sum(logs) / len(logs) == pytest.approx(0.0, abs=0.12)


def test_changes_divided_by_time_would_depend_on_the_interval() -> None:
    """What the estimator is there for: the plain ratio is too low by a factor that only the visits decide."""
    pace = watched(random.Random(5), 1.0, INTERVALS["long"], 60)
    seen = sum(visits for _, visits, _ in pace.changed)
    assert seen / (120 * 1.0) < 0.5
    assert math.exp(estimate(pace, VAGUE).log_rate) * DAY_S == pytest.approx(1.0, rel=0.5)


def test_the_peak_solves_the_likelihood_equation() -> None:
    """Without a prior worth mentioning: the sum of t / (e^(r t) - 1) over changed visits is the unchanged time."""
    pace = Pace(unchanged_s=9 * DAY_S, changed=((4, 3.0, 3 * DAY_S), (7, 2.0, 12 * DAY_S)))
    rate = math.exp(estimate(pace, Prior(FIRST.log_rate, 1e9)).log_rate) * DAY_S
    assert 3 / math.expm1(rate) + 2 * 6 / math.expm1(6 * rate) == pytest.approx(9.0, rel=1e-5)


def test_buckets_lose_next_to_nothing_against_the_list() -> None:
    chance = random.Random(7)
    for _ in range(20):
        visits = [(math.exp(chance.uniform(-2, 3)), chance.random() < 0.6) for _ in range(40)]
        pace, at = Pace(seen_at=1.0), 1.0
        for days, changed in visits:
            at += days * DAY_S
            observe(pace, at, changed=changed)
        rate = math.exp(estimate(pace, Prior(FIRST.log_rate, 1e9)).log_rate) * DAY_S
        listed = sum(days / math.expm1(rate * days) for days, changed in visits if changed)
        assert listed == pytest.approx(sum(days for days, changed in visits if not changed), rel=0.03)


def test_a_history_of_any_length_stays_small_and_forgets() -> None:
    pace, at, chance = Pace(seen_at=1.0), 1.0, random.Random(1)
    sizes = []
    for turn in range(5_000):
        at += chance.choice((1_800.0, DAY_S, 40 * DAY_S))
        observe(pace, at, changed=turn < 2_500)
        sizes.append(len(msgspec.msgpack.encode(pace)))
        assert sum(visits for _, visits, _ in pace.changed) <= CHANGES_KEPT
        assert pace.unchanged_s + sum(length for _, _, length in pace.changed) <= OBSERVED_KEPT_S
    assert max(sizes) < 150
    assert math.exp(-estimate(pace, FIRST).log_rate) > 100 * DAY_S  # it has stopped changing, and that is known


def test_a_first_sight_and_clocks_that_go_back_tell_nothing() -> None:
    pace = Pace()
    assert not observe(pace, 1_000.0, changed=None)
    assert not observe(pace, 400.0, changed=True)
    assert not observe(pace, 400.0, changed=True)
    assert (pace.unchanged_s, pace.changed, pace.seen_at) == (0.0, (), 400.0)
    assert observe(pace, 400.0 + DAY_S, changed=False)
    assert pace.unchanged_s == DAY_S


def test_every_change_seen_or_none_is_an_answer_too() -> None:
    """The bare likelihood has its peak at infinity or at zero then; the prior holds it back."""
    every, none = Pace(changed=((5, 30.0, 30 * DAY_S),)), Pace(unchanged_s=300 * DAY_S)
    assert 1.0 < math.exp(estimate(every, FIRST).log_rate) * DAY_S < 100.0
    assert 1 / 2_000 < math.exp(estimate(none, FIRST).log_rate) * DAY_S < 1 / 150


def test_a_new_page_is_like_its_host_and_a_known_page_is_like_itself() -> None:
    chance = random.Random(11)
    host = HostPace()
    for _ in range(60):  # pages that change four times a day, give or take
        found = estimate(watched(chance, math.exp(chance.gauss(math.log(4), 0.3)), INTERVALS["short"], 30), FIRST)
        host.pages, host.log_sum = host.pages + 1, host.log_sum + found.log_rate
        host.square_sum += found.log_rate**2 + found.variance
    prior = prior_of_host(host, FIRST)
    assert math.exp(prior.log_rate) * DAY_S == pytest.approx(4.0, rel=0.6)
    assert prior.variance < FIRST.variance
    assert prior_of_host(None, FIRST) == FIRST
    assert prior_of_host(HostPace(), FIRST).log_rate == pytest.approx(FIRST.log_rate)
    slow = Pace(unchanged_s=400 * DAY_S)
    assert math.exp(estimate(slow, prior).log_rate) * DAY_S < 0.2
    one_visit = Pace(unchanged_s=0.2 * DAY_S)
    assert math.exp(estimate(one_visit, prior).log_rate) * DAY_S > 1.0


def test_two_pages_do_not_make_a_host() -> None:
    far = FIRST.log_rate + 6
    prior = prior_of(2, 2 * far, 2 * (far**2 + 0.1), FIRST, HOST_WEIGHT)
    assert FIRST.log_rate + 1 < prior.log_rate < FIRST.log_rate + 3


@given(
    st.floats(0, 1e10),
    st.lists(st.tuples(st.floats(0.5, 64), st.floats(60, 1e8)), max_size=6),
    st.floats(LOG_RATE_MIN, LOG_RATE_MAX),
    st.floats(0.02, 9),
)
def test_an_estimate_is_always_a_rate(
    unchanged: float, seen: list[tuple[float, float]], log_rate: float, variance: float
) -> None:
    changed = tuple((bucket_of(length), visits, visits * length) for visits, length in seen)
    found = estimate(Pace(unchanged_s=unchanged, changed=changed), Prior(log_rate, variance))
    assert LOG_RATE_MIN <= found.log_rate <= LOG_RATE_MAX
    assert 0 < found.variance <= variance * 1.0001
