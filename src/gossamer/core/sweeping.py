"""The sweep of a takedown: what it covers goes out of queues and calendar, a few rows at a time, and back when lifted.

What closes a target is `core.takedowns`; here the rows are made to say so.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core import halting
from gossamer.core.calendar import plan
from gossamer.core.changes import Changes, decode_stage
from gossamer.core.context import Context
from gossamer.core.dispatch import drop_place
from gossamer.core.hostqueue import Place
from gossamer.model.event import FetchEvent
from gossamer.model.limits import LEVELS, SWEPT_AT_ONCE_MAX, SWEPT_SCANNED_MAX
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, Entry, HostRow, State, UrlRow
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import compile_takedowns, covering, key_range

OK: Final = 200


def carry_on(context: Context, events: list[FetchEvent], now: float) -> bool:
    """Go on with a sweep, a bounded number of rows in one commit. False: nothing is left to do.

    `events` takes the log lines of what was refused.
    """
    kept = context.takedowns.sweeping()
    if kept is None:
        return False
    takedown = kept.takedown
    start, stop = key_range(takedown.target)
    found = context.store.scan(Cf.URL, max(start, kept.cursor or "").encode(), stop.encode(), SWEPT_SCANNED_MAX)
    own = compile_takedowns([msgspec.structs.replace(takedown, lifted=0.0)])
    changes, hosts, count, covered, visited = Changes(context.store), dict[str, HostRow](), 0, 0, 0.0
    more = found[-1][0] if len(found) == SWEPT_SCANNED_MAX else None
    for slot, raw in found:
        stage = decode_stage(raw)
        url = parse(stage.url)
        if not isinstance(url, Url) or not covering(own, url):
            continue
        key = slot.decode()
        row = changes.url(key)
        host = hosts.get(stage.host) or context.ledger.find(stage.host, changes)
        if row is None or host is None:
            continue
        hosts[stage.host] = host
        covered += 1
        visited = max(visited, row.visited)
        if takedown.in_force:
            count += not row.halted and _halt(context, changes, key, row, host, takedown.id, events, now)
        elif row.halted == takedown.id:
            count += _release(context, changes, key, row, host, now)
        if covered == SWEPT_AT_ONCE_MAX:
            more = slot
            break
    for host in hosts.values():
        context.ledger.put(changes, host)
    cursor = None if more is None else more.decode() + "\x00"
    context.takedowns.swept(changes, kept, cursor, count, visited, now)
    context.apply(changes)
    return True


def _halt(
    context: Context,
    changes: Changes,
    key: str,
    row: UrlRow,
    host: HostRow,
    takedown: str,
    events: list[FetchEvent],
    now: float,
) -> bool:
    """Take a URL out of queue and calendar. False: nothing was planned for it, or it is leased and stays."""
    queued = row.state is State.QUEUED or row.refresh
    if queued:
        level = row.level + LEVELS if row.refresh else row.level
        active = context.frontier.active.get(row.host)
        if active is not None and not active.queue.withdraw(level, row.sequence):
            return False
        drop_place(context, changes, host, Place(level, row.sequence, Entry(key, row.refresh)))
    planned = queued or bool(row.due) or bool(row.late)
    halting.rest(context, changes, key, row, host, takedown, now)
    if queued:
        events.append(halting.line(context, changes, key, row, host, now))
    changes.put_url(key, row)
    return planned


def _release(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, now: float) -> bool:
    """Let a URL be where it would be without the takedown that was lifted, unless another one covers it."""
    row.halted = context.takedowns.refusal(row.url)
    back = not row.halted
    if not back:
        pass
    elif row.state is State.REFUSED and row.reason == Reason.TAKEDOWN:
        row.state, row.reason, row.detail, row.attempts = State.QUEUED, "", "", 0
        row.sequence = context.counters.sequence()
        context.admission.queue(changes, host, key, row.level, row.sequence, refresh=False)
    elif row.state is State.FETCHED and not row.due:
        plan(context, changes, key, row, now, duplicate=row.status != OK)
        back = bool(row.due)
    changes.put_url(key, row)
    return back
