"""Arithmetic of politeness: gaps, Retry-After, back-off, slow hosts, rate buckets, and restarts.

Pure functions of values. Not here: who waits for whom (core), and where the numbers are kept (the ledger).
All times are Unix seconds, all durations seconds.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from gossamer.model.config import Politeness
from gossamer.model.limits import (
    BACKOFF_BASE_S,
    BACKOFF_JITTER,
    BACKOFF_MAX_S,
    GCRA_BURST,
    RETRY_AFTER_MAX_S,
    SLOW_HOST_S,
)
from gossamer.model.record import HostRow
from gossamer.policy.dates import http_date

__all__ = [
    "GCRA_BURST",
    "Chance",
    "average",
    "backoff_s",
    "crawl_delay_refused",
    "gap_s",
    "gcra_ready_at",
    "gcra_take",
    "host_gap_s",
    "is_slow",
    "resumed_next_allowed",
    "retry_after_s",
    "slow_estimate",
]

_AVERAGE_WEIGHT: Final = 0.2  # of a new sample: five fetches make a host's average follow a change
_SLOW_RISE: Final = 0.495  # the ratio of rise and fall is that of the 99 % expectile (Newey and Powell 1987)
_SLOW_FALL: Final = 0.005


class Chance(Protocol):
    """A source of random numbers; `random.Random` is one."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


def gap_s(politeness: Politeness, crawl_delay_s: float | None, response_s: float) -> float:
    """Gap between the end of one fetch of a host and the start of the next.

    `max(minimum, Crawl-delay, factor x average response time)`; the last is capped, an explicit Crawl-delay only by
    `crawl_delay_max_s` (beyond it the host is to be parked, see `crawl_delay_refused`). A Crawl-delay never shortens.
    """
    measured = politeness.response_factor * response_s
    gap = max(politeness.min_delay_s, min(measured, politeness.max_delay_s) if measured > 0 else 0.0)
    return gap if crawl_delay_s is None else max(gap, min(crawl_delay_s, politeness.crawl_delay_max_s))


def crawl_delay_refused(politeness: Politeness, crawl_delay_s: float | None) -> bool:
    """Whether a Crawl-delay is longer than we wait: the host is parked and reported instead of crawled faster."""
    return crawl_delay_s is not None and crawl_delay_s > politeness.crawl_delay_max_s


def retry_after_s(value: str, now: float) -> float | None:
    """Seconds that a Retry-After header asks for, at most a day; None when it says nothing that can be followed.

    Seconds or an HTTP date (RFC 9110 section 10.2.3). A date in the past asks for 0. A negative number or junk is None:
    the caller backs off as if there were no header.
    """
    text = value.strip()
    number = text.partition(",")[0].strip()  # two headers that a server sent as one
    if number.isascii() and number.replace(".", "", 1).isdigit():
        return min(float(number[:32]), RETRY_AFTER_MAX_S)
    date = http_date(text)
    return None if date is None else min(max(date - now, 0.0), RETRY_AFTER_MAX_S)


def backoff_s(errors: int, chance: Chance) -> float:
    """Pause after `errors` failures in a row: doubled by each, capped, then lengthened by up to a quarter at random."""
    if errors <= 0:
        return 0.0
    pause = min(BACKOFF_BASE_S * 2.0 ** min(errors - 1, 32), BACKOFF_MAX_S)
    return pause * (1.0 + BACKOFF_JITTER * chance.random())


def average(old: float, sample: float) -> float:
    """Moving average of response times, in seconds; `old` 0 stands for none yet."""
    if not (sample >= 0.0 and math.isfinite(sample)):
        return old
    return sample if old <= 0.0 else old + _AVERAGE_WEIGHT * (sample - old)


def slow_estimate(old: float, sample: float) -> float:
    """Running estimate of a host's 99th percentile response time in seconds, in constant memory.

    An expectile rather than a percentile: one sample in a hundred above it holds it up. `old` 0 stands for none yet.
    """
    if not (sample >= 0.0 and math.isfinite(sample)):
        return old
    if old <= 0.0:
        return sample
    return old + (_SLOW_RISE if sample > old else _SLOW_FALL) * (sample - old)


def is_slow(estimate_s: float) -> bool:
    """Whether a host of this slow estimate belongs among those that may use only a share of the slots."""
    return estimate_s > SLOW_HOST_S


def host_gap_s(politeness: Politeness, row: HostRow) -> float:
    """Gap of a host: the configured one, or the operator's own. Its Crawl-delay holds against both."""
    if row.orders is None or row.orders.delay_s is None:
        return gap_s(politeness, row.crawl_delay_s, row.response_s)
    asked_s = 0.0 if row.crawl_delay_s is None else min(row.crawl_delay_s, politeness.crawl_delay_max_s)
    return max(row.orders.delay_s, asked_s)


def gcra_ready_at(tat: float, now: float, rate: float, burst: int = GCRA_BURST) -> float:
    """When a bucket lets the next request through: `now` when it does already.

    `tat` is its theoretical arrival time (0: unused), `rate` requests per second (0: no limit), `burst` how many may
    go at once after a pause. Source: generic cell rate algorithm, ITU-T I.371.
    """
    return now if rate <= 0.0 else max(now, tat - (burst - 1) / rate)


def gcra_take(tat: float, now: float, rate: float, burst: int = GCRA_BURST) -> float:
    """The theoretical arrival time after a request at `now`.

    A request sent although the bucket was not ready (its address changed on the way) still counts. A time that no
    sequence of ready requests could have left, such as one of a lower rate in an earlier configuration, is forgotten
    down to one full burst.
    """
    if rate <= 0.0:
        return tat
    return min(max(tat, now), now + burst / rate) + 1.0 / rate


def resumed_next_allowed(
    ledger_next: float, delay_s: float, started_at: float, jitter_s: float, chance: Chance
) -> float:
    """When a host may first be fetched after a restart: never sooner than without one, and spread by jitter.

    A request of the run before may have ended, unseen, at the very moment of the start; so its gap is waited for too.
    """
    return max(ledger_next, started_at + delay_s) + jitter_s * chance.random()
