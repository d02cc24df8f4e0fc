"""The refresh calendar: when a page is visited again, and moving what is due into its queue."""

from __future__ import annotations

import math
from typing import Final

from gossamer.core import overdue
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.early import visit_early
from gossamer.core.horizon import pull_in
from gossamer.core.keys import due_bound, due_key
from gossamer.model.limits import MISSING_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.policy.hints import feed_interval_s
from gossamer.policy.refresh import DUPLICATE_FACTOR

DUE_AT_ONCE_MAX: Final = 500


def plan(
    context: Context,
    changes: Changes,
    key: str,
    row: UrlRow,
    now: float,
    *,
    duplicate: bool,
    within_s: float = math.inf,
) -> None:
    """Enter the next visit of a page or sitemap; the caller puts row and ledger.

    `duplicate`: it need not be soon; `within_s`: it must be. A page that is missing is looked for at growing intervals,
    then it is gone and has no next visit. One that has moved for good is looked at as rarely as may be.
    """
    if row.kind is not Kind.PAGE and row.kind is not Kind.SITEMAP:
        return
    if row.due:
        changes.delete(Cf.DUE, due_key(row.due, key))
        row.due = 0.0
    host = context.ledger.find(row.host)
    assert host is not None  # it was visited
    overdue.leave(context, changes, key, row, host)
    overdue.made(context, row, now)
    if row.hinted:
        row.hinted = 0.0
        if host.hints is not None:
            host.hints.open -= 1
    if row.missing > MISSING_MAX:
        context.refreshing.forget(changes, row, host)
        said = "a not-found page" if row.reason == Reason.SOFT_404 else f"status {row.status}"
        row.state, row.reason, row.detail = State.GONE, Reason.GONE, f"{said} at {row.missing} visits"
        context.admission.known.forget(key)
        context.counters.refuse(Reason.GONE)
        return
    rarer = DUPLICATE_FACTOR if duplicate or host.mirror_of else 1.0
    if row.missing:
        rarer *= 2.0 ** (row.missing - 1)
    fixed_s = 0.0
    if row.moved_to:
        rarer = math.inf
    elif row.feed:
        fixed_s = max(context.config.refresh.min_interval_s, feed_interval_s(now - max(row.changed_at, row.discovered)))
    planned_s = context.refreshing.plan(changes, row, host, now, rarer=rarer, fixed_s=fixed_s)
    wait_s = min(context.config.refresh.max_interval_s, planned_s, within_s)
    context.refreshing.sooner(changes, planned_s, within_s)
    row.due = math.floor((now + wait_s) * 1000) / 1000
    _enter(context, changes, key, row)


def hasten(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, now: float) -> None:
    """Queue a page for a visit now, whatever the calendar says. The caller puts row and ledger.

    One that was visited just now is due when its least interval is over: what other pages of its site do is no way to
    have a page visited more often than that.
    """
    if row.refresh or row.state is not State.FETCHED or (row.kind is not Kind.PAGE and row.kind is not Kind.SITEMAP):
        return
    if 0 <= now - row.visited < context.config.refresh.min_interval_s:
        bring_forward(context, changes, key, row, now)
        return
    if row.due:
        context.refreshing.sooner(changes, row.due - row.visited, now - row.visited)
        changes.delete(Cf.DUE, due_key(row.due, key))
        row.due = 0.0
    overdue.leave(context, changes, key, row, host)
    overdue.queue(context, changes, key, row, host)
    context.refreshing.spend(changes, 1)


def bring_forward(context: Context, changes: Changes, key: str, row: UrlRow, now: float) -> bool:
    """Let a page be due now, or when its least interval is over. The caller puts the row.

    False: it is queued or due already, or not to be visited again.
    """
    if context.takedowns.refusal(row.url):
        return False
    due = max(now, row.visited + context.config.refresh.min_interval_s)
    due = math.ceil(due * 1000) / 1000
    if not row.due or row.due <= due:
        return False
    context.refreshing.sooner(changes, row.due - row.visited, due - row.visited)
    changes.delete(Cf.DUE, due_key(row.due, key))
    row.due = due
    _enter(context, changes, key, row)
    return True


def _enter(context: Context, changes: Changes, key: str, row: UrlRow) -> None:
    changes.put(Cf.DUE, due_key(row.due, key), row.host.encode())
    context.due_from = min(context.due_from, row.due)


def enqueue_due(context: Context, now: float) -> int:
    """Take pages whose next visit is due out of the calendar, a bounded number at a time. Returns how many.

    They are queued as far as the queues of their hosts have room; what is worth least waits outside.
    """
    context.refreshing.measure(now)
    pull_in(context, now)
    found = context.store.scan(Cf.DUE, due_key(context.due_from, ""), due_bound(now), DUE_AT_ONCE_MAX)
    context.due_from = _due(found[-1][0]) if len(found) == DUE_AT_ONCE_MAX else now
    changes = Changes(context.store)
    by_host: dict[str, list[tuple[str, UrlRow]]] = {}
    for slot, host in found:
        changes.delete(Cf.DUE, slot)
        key = slot[8:].decode()
        row = changes.url(key)
        if row is None:
            continue
        row.wanted, row.due = row.due, 0.0
        changes.put_url(key, row)
        if not row.refresh and not row.late and row.state is State.FETCHED:
            by_host.setdefault(host.decode(), []).append((key, row))
    count = 0
    for host_name, pages in by_host.items():
        ledger = context.ledger.find(host_name, changes)
        if ledger is not None:
            count += 0 if ledger.parked else len(pages)
            _take_in(context, changes, ledger, pages, now)
            context.ledger.put(changes, ledger)
    if found:
        context.refreshing.spend(changes, count)
        context.apply(changes)
    early = visit_early(context, now) if len(found) < DUE_AT_ONCE_MAX else 0
    return sum(map(len, by_host.values())) + early


def next_due(context: Context) -> float | None:
    """When the next planned visit is due; None when none is planned."""
    first = context.store.scan(Cf.DUE, due_key(context.due_from, ""), None, 1)
    return _due(first[0][0]) if first else None


def _due(slot: bytes) -> float:
    return int.from_bytes(slot[:8], "big") / 1000


def _take_in(context: Context, changes: Changes, host: HostRow, pages: list[tuple[str, UrlRow]], now: float) -> None:
    """Queue what is due of a host, what is worth most first; what finds no room is put off."""
    room = 0 if host.late else overdue.room(host)
    if len(pages) > room:
        worth = {key: context.refreshing.worth(row, host, now) for key, row in pages}
        pages.sort(key=lambda page: -worth[page[0]])
        for key, row in pages[room:]:
            overdue.put_off(context, changes, key, row, host, worth[key])
            changes.put_url(key, row)
    for key, row in pages[:room]:
        overdue.queue(context, changes, key, row, host)
        changes.put_url(key, row)
