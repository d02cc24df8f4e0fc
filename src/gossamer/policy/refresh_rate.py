"""How often a page changes, estimated from visits at any intervals; what pages of one host have in common.

A visit sees whether a page has changed since the visit before, not how often. When changes come at random at a rate r,
it sees one with probability 1 - e^(-r t) after an interval t. Changes divided by time is therefore too low, the more so
the longer the intervals, and the estimator for regular intervals (-ln of the unchanged share) is wrong once a scheduler
chooses them. What is used here is the likelihood for irregular intervals (Cho and Garcia-Molina, "Estimating Frequency
of Change", 2003, section 5.3), whose maximum solves: sum over changed visits of t / (e^(r t) - 1) = sum of unchanged t.
It is consistent whatever the intervals are. A page with few visits leans on a log-normal prior for the pages of its
host, and this on one for all hosts; both are learned as the visits come in (one step of expectation maximisation each).
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.model.record import HostPace, Pace

HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0
BUCKETS: Final = 16  # of interval lengths; bucket b is [2^b, 2^(b+1)) hours, the first and last take what is beyond
CHANGES_KEPT: Final = 64.0  # visits with a change after which the past counts half
OBSERVED_KEPT_S: Final = 2 * 365 * DAY_S  # observed time after which the past counts half
PRIOR_LOG_RATE: Final = -math.log(60 * DAY_S)  # before anything is known: once in two months, give or take ...
PRIOR_VARIANCE: Final = 4.0  # ... a factor of 7
VARIANCE_MIN: Final = 0.02  # pages are never taken to be all alike, nor ...
VARIANCE_MAX: Final = 9.0  # ... to have nothing in common
WORLD_WEIGHT: Final = 20.0  # pages that the first prior weighs
HOST_WEIGHT: Final = 5.0  # pages that the prior of all hosts weighs against a host's own
LOG_RATE_MIN: Final = -math.log(1_000 * 365 * DAY_S)
LOG_RATE_MAX: Final = -math.log(60.0)
STEP_MAX: Final = 2.0  # of one Newton step
STEPS: Final = 40
CLOSE: Final = 1e-6
OVERFLOW: Final = 500.0  # e^x is not formed beyond


class Prior(msgspec.Struct, frozen=True):
    """A log-normal belief about a rate."""

    log_rate: float
    variance: float


FIRST: Final = Prior(PRIOR_LOG_RATE, PRIOR_VARIANCE)


def prior_of(pages: float, log_sum: float, square_sum: float, above: Prior, weight: float) -> Prior:
    """The belief that `pages` estimates make, where `above` counts as `weight` of them.

    `log_sum` is the sum of the pages' log rates, `square_sum` that of their squares and variances.
    """
    mean = (weight * above.log_rate + log_sum) / (weight + pages)
    spread = square_sum - 2 * mean * log_sum + pages * mean * mean
    apart = weight * (above.variance + (above.log_rate - mean) ** 2 * (weight < pages))
    variance = (apart + max(0.0, spread)) / (weight + pages)
    return Prior(mean, max(VARIANCE_MIN, min(VARIANCE_MAX, variance)))


def prior_of_host(host: HostPace | None, world: Prior) -> Prior:
    """What to expect of a page of a host before it is known itself."""
    if host is None:
        return world
    return prior_of(host.pages, host.log_sum, host.square_sum, world, HOST_WEIGHT)


def bucket_of(interval_s: float) -> int:
    """The bucket of an interval."""
    return max(0, min(BUCKETS - 1, math.frexp(interval_s / HOUR_S)[1] - 1))


def observe(pace: Pace, at: float, *, changed: bool | None) -> bool:
    """Take a visit that saw the content into the statistics. Returns whether it told anything.

    `changed` is None at a first sight. A clock that went back tells nothing.
    """
    interval_s, first = at - pace.seen_at, not pace.seen_at
    pace.seen_at = at
    if first or changed is None or interval_s <= 0:
        return False
    if changed:
        kept = {bucket: (visits, length_s) for bucket, visits, length_s in pace.changed}
        visits, length_s = kept.get(bucket_of(interval_s), (0.0, 0.0))
        kept[bucket_of(interval_s)] = visits + 1, length_s + interval_s
        pace.changed = tuple((bucket, *kept[bucket]) for bucket in sorted(kept))
    else:
        pace.unchanged_s += interval_s
    _bound(pace)
    return True


def add(pace: Pace, other: Pace) -> None:
    """Take what was seen of another page as seen of this one."""
    kept = {bucket: (visits, length_s) for bucket, visits, length_s in pace.changed}
    for bucket, visits, length_s in other.changed:
        before = kept.get(bucket, (0.0, 0.0))
        kept[bucket] = before[0] + visits, before[1] + length_s
    pace.changed = tuple((bucket, *kept[bucket]) for bucket in sorted(kept))
    pace.unchanged_s += other.unchanged_s
    _bound(pace)


def _bound(pace: Pace) -> None:
    """Let the past fade: how often a page changed long ago says little."""
    seen = sum(visits for _, visits, _ in pace.changed)
    if seen > CHANGES_KEPT or pace.unchanged_s + sum(length for _, _, length in pace.changed) > OBSERVED_KEPT_S:
        pace.changed = tuple((bucket, visits / 2, length / 2) for bucket, visits, length in pace.changed)
        pace.unchanged_s /= 2


def estimate(pace: Pace, prior: Prior) -> Prior:
    """The rate of a page: the peak of the posterior of its logarithm, and its variance there (Laplace).

    The posterior is log-concave, so that Newton's method finds the one peak.
    """
    seen = [(visits, length_s / visits) for _, visits, length_s in pace.changed if visits > 0]
    theta = prior.log_rate
    bend = -1.0 / prior.variance
    for _ in range(STEPS):
        rate = math.exp(theta)
        slope = -pace.unchanged_s * rate - (theta - prior.log_rate) / prior.variance
        bend = -pace.unchanged_s * rate - 1.0 / prior.variance
        for visits, interval_s in seen:
            x = rate * interval_s
            if x < OVERFLOW:
                share = x / math.expm1(x) if x > 0 else 1.0
                slope += visits * share
                bend += visits * share * (1.0 - x - share)
        step = max(-STEP_MAX, min(STEP_MAX, -slope / bend))
        theta = max(LOG_RATE_MIN, min(LOG_RATE_MAX, theta + step))
        if abs(step) < CLOSE:
            break
    return Prior(theta, -1.0 / bend)
