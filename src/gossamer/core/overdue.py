"""More is due than a host can be asked for: what waits for room in its queue, by worth, and how late visits are made.

A host's queue holds a bounded number of refreshes. The others are put off: they stand in the store ordered by what
their visit is worth, and follow as places come free. So it is the least valuable visits that slip.
"""

from __future__ import annotations

import struct
from typing import Final

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import late_bounds, late_key, late_of
from gossamer.model.limits import LATENESS_KEPT, LEVELS, REFRESHES_QUEUED_MAX
from gossamer.model.record import Cf, HostRow, UrlRow

SLIPPED_S: Final = 3_600.0  # a visit made later than this after it was due has slipped
WORTH_MAX: Final = 1e300
_BITS: Final = struct.Struct(">d")
_TOP: Final = 2**64 - 1


def number_of(worth: float) -> int:
    """A place that is lower for what is worth more; never 0."""
    bits = int.from_bytes(_BITS.pack(max(0.0, min(WORTH_MAX, worth))), "big")  # of floats >= 0, in their order
    return _TOP - bits


def room(host: HostRow) -> int:
    """Refreshes that the queue of a host takes now."""
    return max(0, REFRESHES_QUEUED_MAX - sum(host.pending_by_level[LEVELS:]))


def put_off(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, worth: float) -> None:
    """Let a visit that is due wait outside the queue. The caller puts row and ledger."""
    row.late = number_of(worth)
    changes.put(Cf.META, late_key(host.host, row.late, key), b"")
    host.late += 1
    context.counters.totals.late += 1


def leave(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow) -> None:
    """Take a page out of those that are put off, if it is one. The caller puts row and ledger."""
    if row.late:
        changes.delete(Cf.META, late_key(host.host, row.late, key))
        row.late = 0
        host.late -= 1
        context.counters.totals.late -= 1


def follow(context: Context, changes: Changes, host: HostRow) -> None:
    """A place in a host's queue came free: let those in that are worth most. The caller puts the ledger.

    The queue is filled when it is half empty, so that one look at the store serves many visits.
    """
    free = room(host)
    if not host.late or free * 2 < REFRESHES_QUEUED_MAX:
        return
    start, stop = late_bounds(host.host)
    for slot, _ in context.store.scan(Cf.META, start, stop, 2 * REFRESHES_QUEUED_MAX):
        number, key = late_of(slot, host.host)
        row = changes.url(key)
        if not free:
            return
        if row is None or row.late != number:  # let in by this commit already
            continue
        leave(context, changes, key, row, host)
        queue(context, changes, key, row, host)
        changes.put_url(key, row)
        free -= 1


def queue(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow) -> None:
    """Queue a refresh. The caller puts row and ledger."""
    row.refresh, row.sequence, row.attempts = True, context.counters.sequence(), 0
    context.admission.queue(changes, host, key, row.level, row.sequence, refresh=True)


def made(context: Context, row: UrlRow, now: float) -> None:
    """A visit that was due is over: count how late it was. The caller puts the row."""
    if not row.wanted:
        return
    late_s, row.wanted = max(0.0, now - row.wanted), 0.0
    totals = context.counters.totals
    edge = 1
    while edge < late_s:
        edge *= 2
    totals.lateness[edge] = totals.lateness.get(edge, 0) + 1
    if sum(totals.lateness.values()) > LATENESS_KEPT:
        totals.lateness = {edge: count // 2 for edge, count in totals.lateness.items() if count > 1}
    totals.lateness_max_s = max(totals.lateness_max_s, late_s)
    if late_s > SLIPPED_S:
        totals.slipped[row.level] += 1
