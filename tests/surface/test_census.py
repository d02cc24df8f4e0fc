"""What the hosts in slots are counted as."""

from __future__ import annotations

from gossamer.core.active import ActiveHost, Phase
from gossamer.core.lanes import Lane
from gossamer.model.record import HostRow, RobotsState
from gossamer.sim.memstore import MemoryStore
from gossamer.surface.census import Census, census

NOW = 1_700_000_000.0


def host(phase: Phase, lane: Lane | None = None, *, rules: bool = True, **fields: float) -> ActiveHost:
    row = HostRow(host="one.example", site="one.example", **fields)  # type: ignore[arg-type] # times, all of them
    if rules:
        row.robots["https"] = RobotsState()
    found = ActiveHost(MemoryStore(), row)
    found.phase, found.lane = phase, lane
    return found


def test_each_host_counts_once_by_what_it_waits_for() -> None:
    shared, own = Lane("192.0.2.1", NOW), Lane("192.0.2.2", NOW)
    elsewhere = host(Phase.ROBOTS, own)
    elsewhere.robots_elsewhere.add("https")
    hosts = [
        host(Phase.RESOLVING, rules=False, delay_s=1.0),  # without rules, but that is not what it waits for
        host(Phase.LANE, shared, rules=False, delay_s=2.0),
        host(Phase.LANE, shared, delay_s=1.0, response_s=0.5, next_allowed=NOW),
        host(Phase.LANE, own, next_allowed=NOW + 0.1),
        host(Phase.IN_FLIGHT, own, next_allowed=NOW + 0.1),
        elsewhere,
    ]
    found = census(hosts, NOW)
    assert found == Census(active=6, ready=2, resting=1, resolving=1, ruleless=2, lanes=2, period_s=found.period_s)
    assert found.period_s == (1.0 + 2.0 + 1.5 + 1.0 + 1.0 + 1.0) / 6


def test_without_hosts_a_period_is_a_second() -> None:
    assert census([], NOW) == Census(0, 0, 0, 0, 0, 0, 1.0)
