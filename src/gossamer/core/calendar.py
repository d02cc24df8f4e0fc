"""The refresh calendar: when a page is visited again, and moving what is due into its queue."""

from __future__ import annotations

import math
from typing import Final

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import due_bound, due_key
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, State, UrlRow
from gossamer.policy.refresh import DUPLICATE_FACTOR

DUE_AT_ONCE_MAX: Final = 500
MISSING_MAX: Final = 3  # 404s in a row that are looked at once more


def plan(context: Context, changes: Changes, key: str, row: UrlRow, now: float, *, duplicate: bool) -> None:
    """Enter the next visit of a page or sitemap; the caller puts row and ledger. `duplicate`: it need not be soon.

    A page that is missing is looked for at growing intervals, then it is gone and has no next visit.
    """
    if row.kind is not Kind.PAGE and row.kind is not Kind.SITEMAP:
        return
    if row.due:
        changes.delete(Cf.DUE, due_key(row.due, key))
        row.due = 0.0
    host = context.ledger.find(row.host)
    assert host is not None  # it was visited
    if row.missing > MISSING_MAX:
        context.refreshing.forget(changes, row, host)
        row.state, row.reason, row.detail = State.GONE, Reason.GONE, f"status {row.status} at {row.missing} visits"
        context.counters.refuse(Reason.GONE)
        return
    wait_s = context.refreshing.plan(changes, row, host, now)
    if duplicate:
        wait_s *= DUPLICATE_FACTOR
    if row.missing:
        wait_s *= 2.0 ** (row.missing - 1)
    wait_s = min(context.config.refresh.max_interval_s, wait_s)
    row.due = math.floor((now + wait_s) * 1000) / 1000
    changes.put(Cf.DUE, due_key(row.due, key), row.host.encode())


def enqueue_due(context: Context, now: float) -> int:
    """Queue pages whose next visit is due, a bounded number at a time. Returns how many."""
    context.refreshing.measure(now)
    found = context.store.scan(Cf.DUE, b"", due_bound(now), DUE_AT_ONCE_MAX)
    if not found:
        return 0
    changes = Changes(context.store)
    queued = 0
    for slot, host in found:
        changes.delete(Cf.DUE, slot)
        key = slot[8:].decode()
        row = changes.url(key)
        ledger = context.ledger.find(host.decode())
        if row is None or ledger is None:
            continue
        row.due = 0.0
        if not row.refresh and row.state is State.FETCHED:
            row.refresh, row.sequence, row.attempts = True, context.counters.sequence(), 0
            context.admission.queue(changes, ledger, key, row.level, row.sequence, refresh=True)
            context.ledger.put(changes, ledger)
            queued += 1
        changes.put_url(key, row)
    context.apply(changes)
    return queued
