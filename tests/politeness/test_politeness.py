"""Gaps, Retry-After, back-off, buckets and restarts, with what went wrong for others as cases."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.config import Politeness
from gossamer.model.limits import BACKOFF_BASE_S, BACKOFF_JITTER, BACKOFF_MAX_S
from gossamer.policy.politeness import (
    average,
    backoff_s,
    crawl_delay_refused,
    gap_s,
    gcra_ready_at,
    gcra_take,
    is_slow,
    resumed_next_allowed,
    retry_after_s,
    slow_estimate,
)

NOW = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT
DEFAULT = Politeness()
times = st.floats(0, 1e7, allow_nan=False)


@pytest.mark.parametrize(
    ("crawl_delay_s", "response_s", "expected"),
    [
        (None, 0.0, 1.0),
        (None, 0.05, 1.0),
        (None, 0.3, 3.0),
        (None, 20.0, 60.0),  # capped
        (10.0, 0.1, 10.0),
        (120.0, 0.1, 120.0),  # an explicit delay is not capped by max_delay
        (0.1, 0.01, 1.0),  # never lowers our own minimum
        (0.0, 0.01, 1.0),
        (2.0, 1.0, 10.0),  # the longest of the three
        (300.0, 0.1, 300.0),
        (1e6, 0.1, 300.0),
        (None, float("inf"), 60.0),
        (None, float("nan"), 1.0),
        (None, -1.0, 1.0),
    ],
)
def test_gap(crawl_delay_s: float | None, response_s: float, expected: float) -> None:
    assert gap_s(DEFAULT, crawl_delay_s, response_s) == pytest.approx(expected)


def test_reference_host_makes_five_sixths_of_a_page_a_second() -> None:
    assert 1 / (0.2 + gap_s(DEFAULT, None, 0.1)) == pytest.approx(0.833, abs=0.001)


@pytest.mark.parametrize(
    ("delay", "refused"), [(None, False), (300.0, False), (300.5, True), (1e6, True), (0.0, False)]
)
def test_crawl_delay_beyond_our_patience(delay: float | None, refused: bool) -> None:
    assert crawl_delay_refused(DEFAULT, delay) is refused


@given(st.none() | times, times)
@settings(deadline=None, max_examples=200)
def test_gap_is_bounded_and_never_below_the_minimum(crawl_delay_s: float | None, response_s: float) -> None:
    gap = gap_s(DEFAULT, crawl_delay_s, response_s)
    assert DEFAULT.min_delay_s <= gap <= DEFAULT.crawl_delay_max_s
    assert gap >= gap_s(DEFAULT, None, response_s)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", 120.0),
        (" 3120 ", 3120.0),  # in full
        ("0", 0.0),
        ("86400", 86_400.0),
        ("999999999999999999999999", 86_400.0),
        ("1.5", 1.5),
        ("120, 120", 120.0),
        ("-1", None),  # never switches back-off off
        ("-3120", None),
        ("", None),
        ("soon", None),
        ("1e9", None),
        ("inf", None),
        ("nan", None),
        ("٣", None),
        (".", None),
        ("Tue, 14 Nov 2023 22:15:20 GMT", 120.0),
        ("Tuesday, 14-Nov-23 22:15:20 GMT", 120.0),
        ("Tue Nov 14 22:15:20 2023", 120.0),
        ("Tue, 14 Nov 2023 22:15:20 +0000", 120.0),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0.0),  # past
        ("Tue, 14 Nov 2034 22:13:20 GMT", 86_400.0),  # years ahead
        ("Tue, 31 Feb 2034 22:13:20 GMT", None),
        ("Tue, 14 Nov 99999 22:13:20 GMT", None),
        ("Tue, 14 Nov 2023 25:13:20 GMT", None),
        ("9" * 100_000, 86_400.0),
        ("x:" * 100_000, None),
    ],
    ids=lambda value: str(value)[:40],
)
def test_retry_after(value: str, expected: float | None) -> None:
    assert retry_after_s(value, NOW) == expected


@given(st.text(max_size=80))
@settings(deadline=None, max_examples=300)
def test_retry_after_never_raises_and_is_bounded(value: str) -> None:
    for text in (value, f"Tue, {value}", f"{value}:00", f"14 Nov 2023 {value}"):
        result = retry_after_s(text, NOW)
        assert result is None or 0.0 <= result <= 86_400.0


@given(st.integers(-5, 10_000), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=200)
def test_backoff_grows_is_capped_and_jittered(errors: int, chance: random.Random) -> None:
    pause = backoff_s(errors, chance)
    if errors <= 0:
        assert pause == 0.0
        return
    plain = BACKOFF_MAX_S if errors > 20 else min(BACKOFF_BASE_S * 2 ** (errors - 1), BACKOFF_MAX_S)
    assert plain <= pause <= plain * (1 + BACKOFF_JITTER)


def test_backoff_differs_between_hosts() -> None:
    chance = random.Random(1)
    assert len({backoff_s(3, chance) for _ in range(50)}) == 50


@given(st.lists(times, min_size=1, max_size=50))
@settings(deadline=None, max_examples=100)
def test_estimates_stay_within_their_samples(samples: list[float]) -> None:
    mean = slow = 0.0
    for sample in samples:
        mean, slow = average(mean, sample), slow_estimate(slow, sample)
    assert mean <= max(samples) * (1 + 1e-9)
    assert slow <= max(samples) * (1 + 1e-9)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_a_broken_sample_changes_nothing(bad: float) -> None:
    assert average(2.0, bad) == 2.0
    assert slow_estimate(2.0, bad) == 2.0


def test_slow_is_about_the_slowest_hundredth() -> None:
    chance = random.Random(7)

    def estimate(share: float) -> float:
        value, total = 0.0, 0.0
        for turn in range(6000):
            value = slow_estimate(value, 25.0 if chance.random() < share else 0.2)
            total += value if turn >= 3000 else 0.0
        return total / 3000

    assert is_slow(estimate(0.05))
    assert not is_slow(estimate(0.001))
    assert not is_slow(10.0)


@given(
    st.floats(0.1, 1000),
    st.integers(1, 20),
    st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=80),
)
@settings(deadline=None, max_examples=150)
def test_bucket_never_passes_more_than_burst_and_rate(rate: float, burst: int, pauses: list[float]) -> None:
    tat, now, taken = 0.0, NOW, []
    for pause in pauses:
        now = gcra_ready_at(tat, now + pause / rate, rate, burst)
        tat = gcra_take(tat, now, rate, burst)
        taken.append(now)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            assert last - first + 1 <= burst + rate * (taken[last] - taken[first]) + 1e-3


def test_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    tat, starts = 0.0, []
    for _ in range(8):
        at = gcra_ready_at(tat, NOW if not starts else starts[-1], 20.0, 5)
        tat = gcra_take(tat, at, 20.0, 5)
        starts.append(at)
    assert starts[:5] == [NOW] * 5
    assert [b - a for a, b in pairwise(starts[4:])] == pytest.approx([0.05] * 3, abs=1e-6)


def test_bucket_without_rate_is_no_limit() -> None:
    assert gcra_ready_at(NOW + 99, NOW, 0.0) == NOW
    assert gcra_take(5.0, NOW, 0.0) == 5.0


def test_bucket_of_a_slower_configuration_heals() -> None:
    tat = gcra_take(NOW + 10_000, NOW, 20.0, 5)
    assert gcra_ready_at(tat, NOW, 20.0, 5) <= NOW + 0.2


@given(times, times, times, st.floats(0, 100), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=200)
def test_restart_never_hastens(ledger: float, delay: float, start: float, jitter: float, chance: random.Random) -> None:
    resumed = resumed_next_allowed(ledger, delay, start, jitter, chance)
    assert resumed >= ledger
    assert resumed >= start + delay
    assert resumed <= max(ledger, start + delay) + jitter
