"""How current the stored copies of one host are, told from its URL rows."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Final

import msgspec

from gossamer.core.changes import decode_url
from gossamer.model.record import Cf, HostRow, State
from gossamer.model.url import key_host_prefix
from gossamer.ports.store import Store
from gossamer.surface.storescan import decoded, pairs

ROWS_MAX: Final = 200_000  # of one host that are looked at


class HostFreshness(msgspec.Struct, frozen=True, kw_only=True):
    """How current what is known of a host is."""

    host: str
    last_fetched_at: float = 0.0  # unix seconds; 0: never
    known_urls: int = 0
    pages: int = 0  # known URLs of which a copy is kept
    fetched_this_month: int = 0  # pages whose last visit was in this calendar month (UTC)
    changed_this_month: int = 0  # pages that were seen to have changed in it
    due: int = 0  # pages whose next visit is overdue
    age_p50_s: float = 0.0  # since the last visit of a page
    age_p99_s: float = 0.0
    oldest_s: float = 0.0
    counted_all: bool = True  # False: only the first ROWS_MAX URLs were looked at


def host_freshness(store: Store, row: HostRow, now: float) -> HostFreshness:
    """One pass over the rows of a host; `now` in unix seconds. Raises StoreError for damaged rows."""
    month = datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
    prefix = key_host_prefix(row.host).encode()
    known = fetched = changed = due = 0
    ages: list[float] = []
    for key, value in islice(pairs(store, Cf.URL, prefix, prefix + b"\xff"), ROWS_MAX):
        page = decoded(decode_url, Cf.URL, key, value)
        known += 1
        if page.state is State.FETCHED and page.visited:
            ages.append(max(0.0, now - page.visited))
            fetched += page.visited >= month
            changed += page.changed_at >= month
            due += 0 < page.due <= now
    ages.sort()
    return HostFreshness(
        host=row.host,
        last_fetched_at=row.last_fetch,
        known_urls=known,
        pages=len(ages),
        fetched_this_month=fetched,
        changed_this_month=changed,
        due=due,
        age_p50_s=_quantile(ages, 0.5),
        age_p99_s=_quantile(ages, 0.99),
        oldest_s=ages[-1] if ages else 0.0,
        counted_all=known < ROWS_MAX,
    )


def _quantile(ages: list[float], share: float) -> float:
    return ages[min(len(ages) - 1, int(share * len(ages)))] if ages else 0.0
