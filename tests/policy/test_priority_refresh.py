"""Levels, and when a page is visited again."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.config import Refresh
from gossamer.model.limits import LEVELS
from gossamer.policy.priority import link_level, redirect_level, sitemap_level
from gossamer.policy.refresh import DUPLICATE_FACTOR, change_rate, interval_s

DAY_S = 86_400.0
POISSON = Refresh(policy="poisson")


@pytest.mark.parametrize(
    ("depth", "plain", "query", "of_copy"), [(1, 1, 2, 4), (5, 5, 6, 8), (9, 9, 9, 9), (16, 9, 9, 9)]
)
def test_links_go_down_with_depth_queries_and_copies(depth: int, plain: int, query: int, of_copy: int) -> None:
    assert link_level(depth) == plain
    assert link_level(depth, has_query=True) == query
    assert link_level(depth, parent_duplicate=True) == of_copy


def test_a_redirects_target_goes_before_its_peers() -> None:
    assert [redirect_level(level) for level in range(LEVELS)] == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("priority", "level"), [(None, 4), (1.0, 2), (0.5, 4), (0.0, 6), (7.0, 2), (-1.0, 6)])
def test_sitemap_priorities(priority: float | None, level: int) -> None:
    assert sitemap_level(priority) == level


@given(st.integers(0, 100), st.booleans(), st.booleans(), st.none() | st.floats(0, 1))
def test_levels_are_levels(depth: int, query: bool, copy: bool, priority: float | None) -> None:
    for level in (link_level(depth, has_query=query, parent_duplicate=copy), sitemap_level(priority)):
        assert 0 <= redirect_level(level) <= level < LEVELS


def test_the_rate_is_recovered_from_visits() -> None:
    """A page that changes at random, once a day on average, seen every 12 hours for 200 visits."""
    chance = random.Random(3)
    rates = []
    for _ in range(200):
        changes = sum(chance.random() < 1 - 2.718281828 ** (-0.5) for _ in range(200))
        rates.append(change_rate(changes, 200 - changes, 200 * DAY_S / 2) * DAY_S)
    assert sum(rates) / len(rates) == pytest.approx(1.0, rel=0.03)


def test_without_history_the_prior_stands() -> None:
    assert 1 / change_rate(0, 0, 0.0) == pytest.approx(60 * DAY_S)
    assert interval_s(POISSON, changes=0, unchanged=0, observed_s=0.0, duplicate=False) == 60 * DAY_S


def test_what_changes_more_is_visited_more_within_limits() -> None:
    waits = [
        interval_s(POISSON, changes=n, unchanged=20 - n, observed_s=20 * DAY_S, duplicate=False) for n in range(21)
    ]
    assert waits == sorted(waits, reverse=True)
    assert len(set(waits)) > 15
    often = interval_s(POISSON, changes=1_000, unchanged=0, observed_s=1_000.0, duplicate=False)
    seldom = interval_s(POISSON, changes=0, unchanged=1_000, observed_s=1e12, duplicate=False)
    assert (often, seldom) == (POISSON.min_interval_s, POISSON.max_interval_s)


def test_uniform_and_copies() -> None:
    uniform = Refresh(policy="uniform", interval_s=7 * DAY_S)
    assert interval_s(uniform, changes=9, unchanged=1, observed_s=DAY_S, duplicate=False) == 7 * DAY_S
    assert interval_s(uniform, changes=9, unchanged=1, observed_s=DAY_S, duplicate=True) == 7 * DAY_S * DUPLICATE_FACTOR


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e12), st.booleans())
def test_an_unmodified_page_is_never_due_at_once(changes: int, unchanged: int, observed_s: float, copy: bool) -> None:
    wait = interval_s(POISSON, changes=changes, unchanged=unchanged, observed_s=observed_s, duplicate=copy)
    assert POISSON.min_interval_s <= wait <= POISSON.max_interval_s
