"""Evidence that a site serves the same under http and https, or with and without www: pairs of pages, compared."""

from __future__ import annotations

from typing import Final

from gossamer.core.calendar import hasten
from gossamer.core.changes import Changes, decode_site, encode
from gossamer.core.context import Context
from gossamer.core.twins import OK
from gossamer.model.record import Cf, HostRow, SiteRow, State, UrlRow
from gossamer.policy.duplicates import is_near
from gossamer.policy.twins import Pair, are_merged, twin_keys

SAME_TIME_S: Final = 86_400.0  # two visits not farther apart are taken to have seen a site in the same state


def note_pair(
    context: Context, changes: Changes, key: str, host: HostRow, row: UrlRow, now: float, *, changed: bool
) -> None:
    """Compare a page with its twins that are fetched, and count the pairs in the site's row.

    Each pair counts once, when its second page is seen first. Later, a pair of a merged site that is found to differ
    ends the merge; but the twin of a page that has changed may have changed alike, so it is visited first.
    """
    for pair, twin in twin_keys(key, host.site):
        other = changes.url(twin)
        if other is None or other.state is not State.FETCHED or other.status != OK:
            continue
        same = _same(row, other)
        if row.visits == 1:
            _count(changes, host.site, pair, now, same=same)
        elif not same and _merged(changes, host.site, pair):
            if changed and now - other.changed_at > SAME_TIME_S:
                _look_at(context, changes, twin, other, now)
            elif now - other.visited <= SAME_TIME_S:
                _count(changes, host.site, pair, now, same=False)


def _merged(changes: Changes, site: str, pair: Pair) -> bool:
    raw = changes.get(Cf.SITE, site.encode())
    return raw is not None and are_merged(*decode_site(raw).twins.get(pair, (0, 0)))


def _count(changes: Changes, site: str, pair: Pair, now: float, *, same: bool) -> None:
    slot = site.encode()
    raw = changes.get(Cf.SITE, slot)
    ledger = decode_site(raw) if raw is not None else SiteRow(window_start=now)
    equal, unequal = ledger.twins.get(pair, (0, 0))
    ledger.twins[pair] = (equal + same, unequal + (not same))
    changes.put(Cf.SITE, slot, encode(ledger))


def _look_at(context: Context, changes: Changes, key: str, row: UrlRow, now: float) -> None:
    ledger = context.ledger.find(row.host, changes)
    if ledger is not None:
        hasten(context, changes, key, row, ledger, now)
        changes.put_url(key, row)
        context.ledger.put(changes, ledger)


def _same(row: UrlRow, other: UrlRow) -> bool:
    if row.payload_digest == other.payload_digest or (row.content_hash and row.content_hash == other.content_hash):
        return True
    return row.simhash is not None and other.simhash is not None and is_near(row.simhash, other.simhash)
