"""Hints of sitemaps and feeds that a page has changed: visits brought forward, and the record of what came of them."""

from __future__ import annotations

from typing import Final

from gossamer.core.calendar import bring_forward
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.model.limits import HINTS_PER_SITEMAP_MAX, HINTS_UNPROVEN_MAX
from gossamer.model.page import Digest, SitemapEntry
from gossamer.model.record import HintRecord, HostRow, UrlRow
from gossamer.policy import hints
from gossamer.policy.refresh_rate import DAY_S

PROVEN: Final = 10.0  # visits on a host's word after which it has a record; before, few are made at once


def take(context: Context, changes: Changes, digest: Digest, sitemap: UrlRow, host: HostRow) -> None:
    """What a sitemap or feed that was just read says of known pages of its own host. The caller puts the ledger.

    Dates that were there when it was read before are passed over: they were looked at then. A page is visited no
    sooner than its least interval after its last visit, whatever is said.
    """
    now = sitemap.visited
    dated = [
        (entry.lastmod, entry) for entry in digest.entries if entry.lastmod is not None and entry.host == host.host
    ]
    if not dated:
        return
    record = host.hints = host.hints or HintRecord()
    sound = [(date, entry) for date, entry in dated if not hints.absurd(date, now)]
    _ignore(context, record, "absurd", len(dated) - len(sound))
    if hints.always_now([date for date, _ in sound], now):
        _ignore(context, record, "always-now", len(sound))
        return
    since = sitemap.history[-1][0] - 2 * DAY_S if sitemap.history else 0.0
    fresh = sorted(((date, entry) for date, entry in sound if date > since), key=lambda pair: -pair[0])
    for date, entry in fresh[:HINTS_PER_SITEMAP_MAX]:
        _follow(context, changes, sitemap, entry, date, host, record)


def _follow(
    context: Context,
    changes: Changes,
    sitemap: UrlRow,
    entry: SitemapEntry,
    date: float,
    host: HostRow,
    record: HintRecord,
) -> None:
    row = changes.url(entry.key)
    if row is None or row.host != host.host or row.hinted or not 0 < row.visited < date or row.moved_to:
        return
    if record.tried < PROVEN and record.open >= HINTS_UNPROVEN_MAX:
        bump(context.counters.totals.hints, "unproven")
        return
    if not hints.believed(record):
        record.doubted += 1
        bump(context.counters.totals.hints, "doubted")
        return
    if bring_forward(context, changes, entry.key, row, sitemap.visited):
        row.hinted, row.called = date, (sitemap.visited, sitemap.url)
        record.open += 1
        changes.put_url(entry.key, row)
        bump(context.counters.totals.hints, "followed")


def _ignore(context: Context, record: HintRecord, why: str, count: int) -> None:
    if count:
        record.absurd += count
        bump(context.counters.totals.hints, why, count)


def visited(context: Context, row: UrlRow, host: HostRow, *, changed: bool | None) -> None:
    """A page was seen: was it on a hint, and was that borne out? The caller puts row and ledger."""
    if row.hinted and changed is not None and host.hints is not None:
        hints.bear_out(host.hints, changed=changed)
        bump(context.counters.totals.hints, "borne-out" if changed else "unfounded")
