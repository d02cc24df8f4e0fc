"""Four policies: the reference figures, the budget, the limits, and what is best."""

from __future__ import annotations

import math
import random
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.limits import LEVELS
from gossamer.policy.refresh import (
    THRIFT_MAX,
    Name,
    Policy,
    bias,
    fit,
    host_cap,
    importance_of,
    in_vain,
    page_cap,
    spent,
    thriftier,
)  # fmt: skip
from gossamer.policy.refresh_class import CLASSES, FIXED, NUMBERS, Group, group_of, group_of_fixed, groups_of
from gossamer.policy.refresh_value import age, changes_between, freshness, gain

DAY_S = 86_400.0
HOUR_S = 3_600.0
NAMES = get_args(Name)
FEED_AND_BLOG = [Group(10 / DAY_S, 1.0, 1), Group(0.1 / DAY_S, 1.0, 1)]


def policy(name: Name, **more: float) -> Policy:
    return Policy(name=name, scale=1.0, **{"min_s": HOUR_S, "max_s": 90 * DAY_S, **more})  # type: ignore[arg-type]


def total(fitted: Policy, groups: list[Group]) -> float:
    return sum(
        one.count * one.importance * freshness(one.rate * fitted.interval_s(one.rate, one.importance)) for one in groups
    )


@pytest.mark.parametrize(("x", "expected"), [(0.1, 0.952), (1.0, 0.632), (7.0, 0.143), (30.0, 0.033), (0.0, 1.0)])
def test_freshness_as_in_the_reference(x: float, expected: float) -> None:
    assert freshness(x) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("name", "expected"), [("proportional", 0.198), ("uniform", 0.956), ("optimal", 0.962)])
def test_a_feed_and_a_blog_share_one_visit_a_day(name: Name, expected: float) -> None:
    fitted = fit(policy(name, max_s=1_000 * DAY_S), FEED_AND_BLOG, 1 / DAY_S)
    assert total(fitted, FEED_AND_BLOG) == pytest.approx(expected, abs=5e-4)
    assert spent(fitted, FEED_AND_BLOG) == pytest.approx(1 / DAY_S, rel=1e-3)
    if name == "optimal":
        share = DAY_S / fitted.interval_s(10 / DAY_S, 1.0)
        assert 0.28 <= share <= 0.38  # a third for the page that changes a hundred times as often


@pytest.mark.parametrize("x", [1e-6, 1e-3, 0.1, 1.0, 5.0, 30.0])
def test_gain_and_its_inverse_and_age_agree_with_their_definitions(x: float) -> None:
    assert gain(changes_between(gain(x))) == pytest.approx(gain(x), rel=1e-6)
    step = 1e-4 * x  # w F as a function of f = rate / x has the slope gain(x) for rate 1
    slope = (freshness(x - step) - freshness(x + step)) / (1 / (x - step) - 1 / (x + step))
    assert gain(x) == pytest.approx(slope, rel=1e-2, abs=1e-9)
    parts = [(n + 0.5) / 2_000 for n in range(2_000)]  # age at share p of the interval: p - mean of the first change
    mean = sum(p - -math.expm1(-x * p) / x for p in parts) / 2_000
    assert age(x) == pytest.approx(mean, rel=2e-3, abs=1e-9)
    assert math.isinf(changes_between(1.0))


def mixed(chance: random.Random, count: int = 40) -> list[Group]:
    return [
        Group(math.exp(chance.gauss(math.log(1 / 20), 2)) / DAY_S, chance.paretovariate(1.2), chance.randint(1, 50))
        for _ in range(count)
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("days", [2, 15, 30, 60])
def test_a_budget_is_kept_and_used(name: Name, days: float) -> None:
    for seed in range(3):
        groups = mixed(random.Random(seed))
        budget = sum(one.count for one in groups) / (days * DAY_S)
        cost = spent(fit(policy(name), groups, budget), groups)
        assert cost <= budget * (1 + 1e-9)
        assert cost >= 0.97 * budget
        for near in (0.1, 0.9, 1.2, 50.0):
            fitted = fit(policy(name), groups, budget)
            assert spent(fit(policy(name), groups, budget, fitted.scale * near), groups) == pytest.approx(
                cost, rel=1e-3
            )


def test_no_split_that_was_tried_is_better_than_the_optimal_one() -> None:
    for seed in range(10):
        chance = random.Random(seed)
        groups = mixed(chance, 12)
        budget = sum(one.count for one in groups) / (20 * DAY_S)
        best = fit(policy("optimal", min_s=1.0, max_s=1e12), groups, budget)
        intervals = [best.interval_s(one.rate, one.importance) for one in groups]
        worth = total(best, groups)
        for name in ("uniform", "proportional", "poisson"):
            assert total(fit(policy(name, min_s=1.0, max_s=1e12), groups, budget), groups) <= worth * (1 + 1e-9)
        for _ in range(50):
            visits = [one.count / interval * math.exp(chance.gauss(0, 0.2)) for one, interval in
                      zip(groups, intervals, strict=True)]  # fmt: skip
            scale = budget / sum(visits)
            tried = sum(
                one.count * one.importance * freshness(one.rate * one.count / (visit * scale))
                for one, visit in zip(groups, visits, strict=True)
            )
            assert tried <= worth * (1 + 1e-6)


def test_fast_movers_are_given_up_and_importance_brings_them_back() -> None:
    groups = [Group(2.0**power / DAY_S, 1.0, 100) for power in range(-8, 7)]
    fitted = fit(policy("optimal"), groups, 1_500 / (15 * DAY_S))
    intervals = [fitted.interval_s(one.rate, 1.0) for one in groups]
    soonest = intervals.index(min(intervals))
    assert 0 < soonest < len(groups) - 1  # effort first rises with the rate, then falls
    assert intervals[-1] == 90 * DAY_S
    assert fitted.interval_s(groups[-1].rate, 1_000.0) == DAY_S  # all that one page may claim
    assert all(fitted.interval_s(one.rate, 9.0) <= fitted.interval_s(one.rate, 1.0) for one in groups)


def test_thrift_moves_visits_to_where_something_changes() -> None:
    groups = [Group(1 / (3_000 * DAY_S), 5.0, 600), *mixed(random.Random(4))]
    pages = sum(one.count for one in groups)
    budget, thrift = pages / (20 * DAY_S), 0.0
    plain = fit(policy("optimal"), groups, budget)
    assert in_vain(plain, groups) > 0.5
    fitted = plain
    for _ in range(60):
        thrift = thriftier(thrift, in_vain(fitted, groups), 0.45)
        fitted = fit(policy("optimal", thrift=thrift), groups, budget)
    assert in_vain(fitted, groups) < 0.47
    assert 0 < thrift <= THRIFT_MAX
    assert total(fitted, groups) > 0.97 * total(plain, groups)
    assert total(fitted, groups) > total(fit(policy("uniform"), groups, budget), groups)
    assert spent(fitted, groups) == pytest.approx(budget, rel=0.03)
    for _ in range(100):  # it goes back to nothing when nothing is in vain
        thrift = thriftier(thrift, 0.1, 0.45)
    assert thrift == 0.0


def test_estimates_that_foresee_too_much_are_corrected() -> None:
    assert bias(0.0, 0.0) == 1.0
    assert bias(900.0, 600.0) == pytest.approx(1.5, abs=0.02)
    assert 1.0 < bias(3.0, 1.0) < 1.15  # a few visits say little


def test_nothing_to_plan_and_nothing_to_spend() -> None:
    assert fit(policy("optimal"), [], 1.0).interval_s(1 / DAY_S, 1.0) == 90 * DAY_S
    assert fit(policy("uniform"), FEED_AND_BLOG, 0.0).interval_s(1 / DAY_S, 1.0) == 90 * DAY_S
    too_little = fit(policy("optimal"), mixed(random.Random(1)), 1e-9)
    assert too_little.interval_s(1 / DAY_S, 1.0) == 90 * DAY_S


def test_no_page_and_no_host_takes_it_all() -> None:
    rich = [Group(1 / DAY_S, 1e9, 1), Group(1 / DAY_S, 1.0, 9_999)]
    budget = 10_000 / (30 * DAY_S)
    fitted = fit(policy("optimal", min_s=60.0), rich, budget)
    assert 1 / fitted.interval_s(rich[0].rate, rich[0].importance) <= page_cap(budget, 10_000) * (1 + 1e-9)
    assert page_cap(budget, 10_000) == pytest.approx(budget / 100)
    assert page_cap(1.0, 2) == 5.0  # two pages: ten times a half, so it binds nobody
    assert host_cap(1.0, 1_000, 10, 2.0, 0.5) == pytest.approx(0.1)
    assert host_cap(1.0, 1_000, 1_000, 2.0, 0.5) == pytest.approx(0.25)  # the only host: what its gap leaves


@given(st.sampled_from(NAMES), st.floats(-80, 80), st.floats(1e-13, 1e-1), st.floats(1e-6, 1e9), st.floats(0, 50))
def test_an_interval_is_always_within_its_limits(
    name: Name, log_scale: float, rate: float, importance: float, thrift: float
) -> None:
    tried = Policy(name=name, scale=math.exp(log_scale), min_s=HOUR_S, max_s=90 * DAY_S, thrift=thrift)
    assert HOUR_S <= tried.interval_s(rate, importance) <= 90 * DAY_S


@given(st.floats(1e-30, 1e3), st.floats(1e-9, 1e9))
def test_classes_are_bounded_and_near(rate: float, importance: float) -> None:
    number = group_of(rate, importance)
    assert 0 <= number < CLASSES**2
    spread = groups_of(number, 10)
    assert sum(one.count for one in spread) == pytest.approx(10)
    if 1e-12 < rate < 1e-4 and 1e-4 < importance < 1e4:
        assert all(0.7 < one.rate / rate < 1.42 for one in spread)
        assert any(0.95 < one.rate / rate < 1.06 for one in spread)
        assert all(0.8 < one.importance / importance < 1.25 for one in spread)


@given(st.floats(1e-12, 1e-4), st.floats(1e-4, 1e4), st.floats(1.0, 100.0), st.floats(3_600.0, 90 * DAY_S))
def test_classes_of_rare_pages_and_of_feeds(rate: float, importance: float, rarer: float, interval_s: float) -> None:
    number = group_of(rate, importance, rarer)
    assert 0 <= number < FIXED
    spread = groups_of(number, 10)
    assert sum(one.count for one in spread) == pytest.approx(10)
    assert all(0.8 < one.rarer / rarer < 1.25 and not one.fixed_s for one in spread)
    assert groups_of(group_of(rate, importance, math.inf), 10)[0].rarer == math.inf
    fixed = group_of_fixed(interval_s)
    assert FIXED <= fixed < NUMBERS
    assert 0.8 < groups_of(fixed, 1)[0].fixed_s / interval_s < 1.25


def test_what_is_rare_costs_less_and_feeds_cost_the_same_at_any_scale() -> None:
    day = policy("uniform", min_s=DAY_S)
    assert spent(day, [Group(1 / DAY_S, 1.0, 8, 4.0)]) == pytest.approx(2 / DAY_S)
    assert spent(day, [Group(1 / DAY_S, 1.0, 90, math.inf)]) == pytest.approx(1 / DAY_S)
    for scale in (1.0, 5 * DAY_S):
        fitted = policy("uniform", min_s=DAY_S)
        assert spent(msgspec.structs.replace(fitted, scale=scale), [Group(1.0, 1.0, 3, fixed_s=DAY_S)]) == 3 / DAY_S
    assert in_vain(day, [Group(1.0, 1.0, 3, fixed_s=DAY_S)]) == 0.0, "the plan cannot move them"


def test_importance_halves_every_two_levels() -> None:
    assert [round(importance_of(level), 3) for level in (0, 2, 4)] == [1.0, 0.5, 0.25]
    assert importance_of(99) == importance_of(LEVELS - 1)
