"""Nothing in the refresh calendar lies further ahead than the longest interval.

What does was written while the clock was ahead, or under a longer `refresh.max_interval`: it would not be seen for as
long as that. It is spread over the time in which pages come round, since it may be all there is.
"""

from __future__ import annotations

import math
from typing import Final

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import due_key
from gossamer.model.record import Cf

SLACK_S: Final = 60.0  # a look counts from a moment later than the plan did
PULLED_AT_ONCE_MAX: Final = 500


def pull_in(context: Context, now: float) -> int:
    """Plan anew what is planned too far ahead, a bounded number at a time; one look at the store when nothing is."""
    refresh = context.config.refresh
    beyond = due_key(now + refresh.max_interval_s + SLACK_S, "")
    found = context.store.scan(Cf.DUE, beyond, None, PULLED_AT_ONCE_MAX)
    if not found:
        return 0
    changes = Changes(context.store)
    spread_s = min(refresh.interval_s, refresh.max_interval_s)
    for slot, host in found:
        changes.delete(Cf.DUE, slot)
        key = slot[8:].decode()
        row = changes.url(key)
        if row is None or due_key(row.due, key) != slot:
            continue
        row.due = math.floor((now + spread_s * context.chance.random()) * 1000) / 1000
        changes.put(Cf.DUE, due_key(row.due, key), host)
        changes.put_url(key, row)
        context.due_from = min(context.due_from, row.due)
    context.apply(changes)
    return len(found)
