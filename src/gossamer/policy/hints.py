"""What a site says of changes, and how far to believe it: lastmod, changefreq, dates in feeds.

lastmod says that a page has changed since it was seen; how often that was borne out by a visit is the record of its
host, and decides whether more is done on its word. changefreq says how often a page changes; it only leans on what is
believed of a page that was seen once. Source: sitemaps.org protocol 0.9, which promises neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gossamer.model.record import HintRecord
from gossamer.policy.refresh_rate import DAY_S, HOUR_S, Prior

ANCIENT: Final = 788_918_400.0  # 1 January 1995: before it there were no pages to change
AHEAD_MAX_S: Final = DAY_S  # a date without a time may be that of a zone ahead of ours
NOW_S: Final = 300.0  # as near to the fetch of the sitemap, a date says "now"
NOW_ENTRIES_MIN: Final = 10  # of so many dates ...
NOW_SHARE: Final = 0.5  # ... such a share being "now" tells of a generator that always says so
TRUST_MIN: Final = 0.4
TRIED_KEPT: Final = 200.0  # visits on a host's word after which the past counts half
PROBE_EVERY: Final = 50  # of the claims of a host that is not believed, one is tried
CHANGEFREQ_VARIANCE: Final = 4.0  # of the logarithm: right to a factor of 7
CHANGEFREQ_S: Final = {
    "always": HOUR_S,
    "hourly": HOUR_S,
    "daily": DAY_S,
    "weekly": 7 * DAY_S,
    "monthly": 30 * DAY_S,
    "yearly": 365 * DAY_S,
    "never": 3_650 * DAY_S,
}
FEED_MIN_S: Final = HOUR_S
FEED_MAX_S: Final = DAY_S
FEED_LOOKS: Final = 4.0  # at a feed in the time for which it has been as it is


def absurd(lastmod: float, now: float) -> bool:
    """Whether a date can be no page's: it lies ahead, or before there were pages."""
    return not ANCIENT <= lastmod <= now + AHEAD_MAX_S


def always_now(dates: Sequence[float], fetched: float) -> bool:
    """Whether the dates of a sitemap are those of its making instead of the pages'."""
    near = sum(abs(date - fetched) <= NOW_S for date in dates)
    return len(dates) >= NOW_ENTRIES_MIN and near > NOW_SHARE * len(dates)


def trust(record: HintRecord | None) -> float:
    """The share of claims of a host that may be expected to be borne out; one half before anything is known."""
    return 0.5 if record is None else (record.borne + 1.0) / (record.tried + 2.0)


def believed(record: HintRecord) -> bool:
    """Whether the next claim of a host is followed: it is trusted, or this is one of the few that are tried anyway."""
    if trust(record) >= TRUST_MIN:
        record.skipped = 0
        return True
    record.skipped += 1
    if record.skipped < PROBE_EVERY:
        return False
    record.skipped = 0
    return True


def bear_out(record: HintRecord, *, changed: bool) -> None:
    """A visit on the word of a host has found a change, or none."""
    record.tried += 1.0
    record.borne += changed
    if record.tried > TRIED_KEPT:
        record.tried, record.borne = record.tried / 2, record.borne / 2


def lean(prior: Prior, log_claimed: float) -> Prior:
    """A belief about a rate after its changefreq is heard: both log-normal, weighed by their variances."""
    weight, claim_weight = 1.0 / prior.variance, 1.0 / CHANGEFREQ_VARIANCE
    mean = (weight * prior.log_rate + claim_weight * log_claimed) / (weight + claim_weight)
    return Prior(mean, 1.0 / (weight + claim_weight))


def feed_interval_s(unchanged_s: float) -> float:
    """Seconds until a feed is read again that has been as it is for so long."""
    return max(FEED_MIN_S, min(FEED_MAX_S, unchanged_s / FEED_LOOKS))
