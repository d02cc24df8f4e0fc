"""The part of a snapshot that is read off the counters, whether the crawl runs or not."""

from __future__ import annotations

from gossamer.core.counters import Totals
from gossamer.model.config import Config
from gossamer.model.limits import LEVELS
from gossamer.model.view import Snapshot


def counted(totals: Totals, config: Config) -> Snapshot:
    """What the counters say; everything else has its default."""
    levels = totals.queued_by_level
    return Snapshot(
        directory=config.directory,
        elapsed_s=totals.elapsed_s,
        runs=max(1, totals.runs),
        pages=totals.pages,
        visits=totals.visits,
        bytes=totals.bytes,
        concurrency=config.fetch.concurrency,
        hosts_known=totals.hosts,
        hosts_waiting=totals.hosts_with_work,
        hosts_parked=totals.parked,
        slots=config.frontier.slots,
        urls_known=totals.urls,
        queued=totals.queued,
        queue_by_level=[levels[level] + levels[level + LEVELS] for level in range(LEVELS)],
        refresh_queued=sum(levels[LEVELS:]),
        refresh_late=totals.late,
        refreshes=sum(totals.lateness.values()),
        lateness_p50_s=_quantile(totals, 0.5),
        lateness_p99_s=_quantile(totals, 0.99),
        lateness_max_s=totals.lateness_max_s,
        slipped_by_level=list(totals.slipped),
        statuses=dict(totals.statuses),
        failures=dict(totals.failures),
        duplicates_exact=totals.exact,
        duplicates_near=totals.near,
        not_modified=totals.not_modified,
        refusals=dict(totals.refused),
        errors=sum(totals.errors.values()),
        notifications_lost=totals.errors.get("notify-lost", 0) + totals.errors.get("notify-full", 0),
    )


def _quantile(totals: Totals, share: float) -> float:
    """The lateness that this share of the refreshes does not exceed, to a power of two of seconds."""
    left = share * sum(totals.lateness.values())
    for edge, count in sorted(totals.lateness.items()):
        left -= count
        if left <= 0:
            return min(float(edge), totals.lateness_max_s)
    return 0.0
