"""Visits that are made before they are due, when fewer are due than the budget allows.

Pages found together are due together, so visits come in waves: what a trough leaves would be lost, and the next wave
would be as high. So policy optimal takes what is due next: a page waits no less than most of its interval, and no limit
of a page or a host is touched. Copies, missing pages and redirects are rare on purpose, and left.
"""

from __future__ import annotations

from typing import Final

from gossamer.core import overdue
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import due_bound
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.policy.refresh import EARLY_SHARE

LOOKED_AT_MAX: Final = 500  # pages in one look
LOOKED_TIMES: Final = 2  # as many as there is room for: not every one may be visited


def visit_early(context: Context, now: float) -> int:
    """Queue pages that are due next, as many as the budget has room for. Returns how many."""
    room = context.refreshing.spare(now)
    if not room:
        return 0
    begin = due_bound(max(now, context.early_from))
    found = context.store.scan(Cf.DUE, begin, None, min(LOOKED_AT_MAX, LOOKED_TIMES * room))
    changes, count = Changes(context.store), 0
    for slot, host_name in found:
        key = slot[8:].decode()
        row = changes.url(key)
        host = context.ledger.find(host_name.decode(), changes)
        if row is None or host is None or not _may(context, row, host, now):
            continue
        changes.delete(Cf.DUE, slot)
        row.due = 0.0
        overdue.queue(context, changes, key, row, host)
        changes.put_url(key, row)
        context.ledger.put(changes, host)
        count += 1
        context.early_from = int.from_bytes(slot[:8], "big") / 1000
        if count == room:
            break
    if count:
        context.refreshing.spend(changes, count)
        context.apply(changes)
    else:
        context.refreshing.rest(now)
        context.early_from = 0.0
    return count


def _may(context: Context, row: UrlRow, host: HostRow, now: float) -> bool:
    if row.refresh or row.late or row.state is not State.FETCHED or host.parked or host.late or not overdue.room(host):
        return False
    shows = bool(row.content_digest) and not (row.duplicate_of or row.missing or row.moved_to or host.mirror_of)
    soon = 0 < row.due - now <= EARLY_SHARE * (row.due - row.visited)
    return shows and soon and context.refreshing.may_be_sooner(host, now - row.visited)
