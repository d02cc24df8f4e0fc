"""A URL that a takedown covers, out of its queue: it rests. The sweep that finds such URLs is `core.sweeping`."""

from __future__ import annotations

from gossamer.core import clusters, overdue
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import due_key
from gossamer.model.event import FetchEvent
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, State, UrlRow


def rest(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, takedown: str, now: float) -> None:
    """A URL that stands in no queue has no next visit until a takedown is lifted. The caller puts row and ledger.

    What is a copy of it is judged anew, as if it were gone: nobody is shown it any more.
    """
    if row.due:
        changes.delete(Cf.DUE, due_key(row.due, key))
        row.due = 0.0
    overdue.leave(context, changes, key, row, host)
    context.refreshing.forget(changes, row, host)
    if row.hinted:
        row.hinted = 0.0
        if host.hints is not None:
            host.hints.open -= 1
    row.wanted, row.refresh, row.halted = 0.0, False, takedown
    if row.state is State.QUEUED:
        row.state, row.reason, row.detail = State.REFUSED, Reason.TAKEDOWN, f"takedown {takedown}"
        context.counters.refuse(Reason.TAKEDOWN)
        host.refused[Reason.TAKEDOWN] = host.refused.get(Reason.TAKEDOWN, 0) + 1
    elif row.content_digest or row.filed or row.copied or row.duplicate_of:
        clusters.gone(context, changes, host, key, row, now)


def line(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, now: float) -> FetchEvent:
    """The line of the crawl log which says that a URL was taken out of its queue, entered in the commit."""
    event = FetchEvent(
        time=now,
        url=row.url,
        key=key,
        host=host.host,
        site=host.site,
        kind=row.kind,
        reason=Reason.TAKEDOWN,
        detail=f"takedown {row.halted}",
        verdict="refused",
        depth=row.depth,
        level=row.level,
        via=row.via,
    )
    context.logbook.put(changes, event)
    return event
