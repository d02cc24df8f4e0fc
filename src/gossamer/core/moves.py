"""Permanent redirects: a page that has moved hands what is known of it to the page that has taken its place.

At once where the old address never showed a page: there is nothing to lose. Where it did, only when two visits in a row
were sent to the same place for good, and that place shows a page: a redirect set by mistake costs a second look, a day
later. A page that many addresses are redirected to (a login, a home page) takes the place of a few of them only.
docs/decisions/permanent-redirects.md has the reasons.
"""

from __future__ import annotations

import math
from typing import Final

from gossamer.core.calendar import hasten
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.copies import shown
from gossamer.model.limits import REDIRECTS_MAX
from gossamer.model.reason import Reason
from gossamer.model.record import HostRow, State, UrlRow
from gossamer.policy.importance import merged

PERMANENT: Final = frozenset((301, 308))
CONTENT: Final = frozenset((200, 203))
CONFIRM_S: Final = 86_400.0  # until the second look at a page that says for the first time that it has moved
TAKEN_MAX: Final = 8  # pages whose history one page takes over


def note(context: Context, changes: Changes, host: HostRow, key: str, row: UrlRow, now: float) -> float:
    """A visit was answered with a redirect, which stands in the row. Returns within how many seconds to look again.

    The caller puts row and ledger.
    """
    target = row.redirect_to
    if row.status not in PERMANENT or row.reason or not target or target == key:
        if row.reason == Reason.REDIRECT_LOOP:
            _ask_again(context, changes, target, now)
        forget(context, row, host)
        return math.inf
    again = row.moving == target
    row.moving = target
    place = _place(changes, key, target)
    page = changes.url(place) if place is not None else None
    was_page = _was_page(row)
    if place is None or page is None or (was_page and not (again and _hand_history(context, changes, key, row, page))):
        context.counters.totals.moved -= bool(row.moved_to)
        row.moved_to = ""
        return CONFIRM_S if was_page and not again else math.inf
    context.counters.totals.moved += not row.moved_to
    row.moved_to = place
    _hand_place(row, page)
    _hand_votes(context, changes, host, row, page)
    changes.put_url(place, page)
    return math.inf


def forget(context: Context, row: UrlRow, host: HostRow) -> None:
    """A page has not moved, or not for good: it is visited at its own pace again. The caller puts row and ledger."""
    context.counters.totals.moved -= bool(row.moved_to)
    if row.moved_to and host.moved_to and _is_root(row):
        host.moved_to = ""
    row.moving = row.moved_to = ""


def lost(context: Context, changes: Changes, row: UrlRow, now: float) -> None:
    """A page that has taken the place of others is gone: are they back?"""
    for key in row.moved_from:
        other = changes.url(key)
        ledger = context.ledger.find(other.host, changes) if other is not None else None
        if other is not None and ledger is not None and other.moved_to:
            hasten(context, changes, key, other, ledger, now)
            changes.put_url(key, other)
            context.ledger.put(changes, ledger)


def _was_page(row: UrlRow) -> bool:
    return bool(row.content_digest) or any(status in CONTENT for _, status, _ in row.history)


def _is_root(row: UrlRow) -> bool:
    return row.url.count("/") == 3 and row.url.endswith("/")


def _place(changes: Changes, key: str, target: str) -> str | None:
    """The page at the end of a chain of permanent redirects, if it shows one. Loops and long chains have no end."""
    seen = {key}
    for _ in range(REDIRECTS_MAX):
        page = changes.url(target)
        if page is None or target in seen:
            return None
        if shown(page):
            return target
        seen.add(target)
        if page.status not in PERMANENT or not page.moving:
            return None
        target = page.moving
    return None


def _hand_place(row: UrlRow, page: UrlRow) -> None:
    """Links to the old address count for the new one: it stands where the better of the two does."""
    page.depth = min(page.depth, row.depth)
    if page.state is State.FETCHED and not page.refresh and not page.late:  # else its level says where it is queued
        page.level = min(page.level, row.level)


def _hand_history(context: Context, changes: Changes, key: str, row: UrlRow, page: UrlRow) -> bool:
    """Give what is known of a page to the one that takes its place. False when that has taken as many as it may.

    Its captures stay its own: they are found through the new page's `moved_from`.
    """
    if key in page.moved_from:
        return True
    if len(page.moved_from) >= TAKEN_MAX:
        return False
    page.moved_from = (*page.moved_from, key)
    page.discovered = min(page.discovered, row.discovered) or page.discovered
    page.changes += row.changes
    page.unchanged += row.unchanged
    page.changed_at = max(page.changed_at, row.changed_at)
    ledger = context.ledger.find(page.host, changes)
    if ledger is not None and row.pace is not None:
        context.refreshing.inherit(changes, page, ledger, row.pace)
        context.ledger.put(changes, ledger)
    return True


def _hand_votes(context: Context, changes: Changes, host: HostRow, row: UrlRow, page: UrlRow) -> None:
    """A host whose home page has moved to another host: links to it count for that one. The caller puts its ledger."""
    if page.host == host.host or not _is_root(row):
        return
    ledger = context.ledger.find(page.host, changes)
    if ledger is None:
        return
    host.moved_to = page.host
    ledger.votes = merged(ledger.votes, host.votes)
    context.ledger.put(changes, ledger)


def _ask_again(context: Context, changes: Changes, target: str, now: float) -> None:
    """Two pages lead to each other, as far as is known: the other was seen to move long ago, and may have come back."""
    other = changes.url(target)
    ledger = context.ledger.find(other.host, changes) if other is not None else None
    if other is None or ledger is None or not other.moved_to or now - other.visited < CONFIRM_S:
        return
    hasten(context, changes, target, other, ledger, now)
    changes.put_url(target, other)
    context.ledger.put(changes, ledger)
