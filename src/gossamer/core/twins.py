"""Evidence that a site serves the same under http and https, or with and without www, and what follows from it."""

from __future__ import annotations

from gossamer.core.changes import Changes, decode_site, encode
from gossamer.model.record import Cf, SiteRow, State, UrlRow
from gossamer.policy.duplicates import is_near
from gossamer.policy.twins import are_merged, twin_keys

OK = 200


def note_pair(changes: Changes, key: str, site: str, row: UrlRow, now: float) -> None:
    """Compare a page, at its first visit, with its twins that are fetched, and count the pairs in the site's row."""
    if row.visits != 1:
        return
    for pair, twin in twin_keys(key, site):
        other = changes.url(twin)
        if other is None or other.state is not State.FETCHED or other.status != OK:
            continue
        slot = site.encode()
        raw = changes.get(Cf.SITE, slot)
        ledger = decode_site(raw) if raw is not None else SiteRow(window_start=now)
        equal, unequal = ledger.twins.get(pair, (0, 0))
        same = _same(row, other)
        ledger.twins[pair] = (equal + same, unequal + (not same))
        changes.put(Cf.SITE, slot, encode(ledger))


def known_twin(changes: Changes, site: SiteRow, key: str, site_name: str) -> str | None:
    """The key of a known page that a URL is merged with, or None."""
    for pair, twin in twin_keys(key, site_name):
        if are_merged(*site.twins.get(pair, (0, 0))):
            row = changes.url(twin)
            if row is not None and (row.state is State.QUEUED or (row.state is State.FETCHED and row.status == OK)):
                return twin
    return None


def _same(row: UrlRow, other: UrlRow) -> bool:
    if row.payload_digest == other.payload_digest or (row.content_hash and row.content_hash == other.content_hash):
        return True
    return row.simhash is not None and other.simhash is not None and is_near(row.simhash, other.simhash)
