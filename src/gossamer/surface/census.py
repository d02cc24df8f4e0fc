"""What the hosts in slots are doing, counted in one pass: there are thousands, and twice a second is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gossamer.core.active import ActiveHost, Phase


class Census(NamedTuple):
    """Counts of the hosts in slots."""

    active: int  # all of them
    ready: int  # in their lanes, and may be asked now
    resting: int  # in their lanes, their gap still running
    resolving: int  # their names are looked up
    ruleless: int  # their robots.txt is still to come
    lanes: int  # server addresses among them
    period_s: float  # fetch and gap, the mean; 1.0 when none is known


def census(hosts: Iterable[ActiveHost], now: float) -> Census:
    """Count hosts. `now`: unix seconds."""
    active = ready = resting = resolving = ruleless = 0
    periods_s = 0.0
    lanes = set()
    for host in hosts:
        row = host.row
        active += 1
        periods_s += row.delay_s + row.response_s
        if host.lane is not None:
            lanes.add(host.lane.id)
        if host.phase is Phase.RESOLVING:
            resolving += 1
            continue
        if host.phase is Phase.LANE:
            if row.next_allowed > now:
                resting += 1
            else:
                ready += 1
        if not row.robots or host.robots_elsewhere:
            ruleless += 1
    period_s = periods_s / active if periods_s > 0 else 1.0
    return Census(active, ready, resting, resolving, ruleless, len(lanes), period_s)
