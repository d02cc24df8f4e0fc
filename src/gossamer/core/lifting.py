"""Links of a page that is no copy any more: those that still wait at the level of a copy's links go up to their own."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.admission import Candidate
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.dispatch import drop_place
from gossamer.core.hostqueue import Place
from gossamer.model.record import Entry, State, UrlRow


def lift(context: Context, changes: Changes, candidates: Iterable[Candidate]) -> None:
    """Move links that the page of these candidates brought in, and that are still queued, to the candidates' levels."""
    for candidate in candidates:
        row = changes.url(candidate.key)
        if row is None or row.state is not State.QUEUED or row.refresh:
            continue
        if row.via == candidate.via and row.level > candidate.level:
            _move(context, changes, candidate.key, row, candidate.level)


def _move(context: Context, changes: Changes, key: str, row: UrlRow, level: int) -> None:
    host = context.ledger.find(row.host, changes)
    active = context.frontier.active.get(row.host)
    if host is None or (active is not None and not active.queue.withdraw(row.level, row.sequence)):
        return
    drop_place(context, changes, host, Place(row.level, row.sequence, Entry(key)))
    row.level, row.sequence = level, context.counters.sequence()
    context.admission.queue(changes, host, key, level, row.sequence, refresh=False)
    changes.put_url(key, row)
    context.ledger.put(changes, host)
