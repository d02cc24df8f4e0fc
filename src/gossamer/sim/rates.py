"""Pages a second against hosts in flight: small runs whose outcome arithmetic tells beforehand."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.sim.make import chain, config, farm, names, roots
from gossamer.sim.run import Run

FETCH_S: Final = 0.2
GAP_S: Final = 1.0
WARM_S: Final = 10.0  # until every host is under way
MEASURED_S: Final = 12.0  # about ten periods of each host


class Rate(msgspec.Struct, frozen=True):
    """One run."""

    hosts: int
    slots: int
    expected: float  # pages a second: min(hosts, slots) / (fetch + gap)
    measured: float


RUNS: Final = ((800, 10_000), (50, 50), (50, 800), (50, 10_000))  # hosts, slots


def measure(hosts: int, slots: int) -> Rate:
    """Crawl hosts without end that all answer in FETCH_S and are asked again GAP_S later.

    Hosts that answer alike go in step, so the rate is summed over hosts: periods of each, and the time they took.
    """
    listed = names(hosts)
    run = Run(farm(listed, chain), config(frontier={"slots": slots}), roots(listed))
    start = run.clock.now()
    run.go(WARM_S + MEASURED_S)
    ends: dict[str, list[float]] = {}
    for page in run.pages():
        if page.end - start >= WARM_S:
            ends.setdefault(page.host, []).append(page.end)
    rate = sum((len(times) - 1) / (times[-1] - times[0]) for times in ends.values() if len(times) > 1)
    return Rate(hosts, slots, min(hosts, slots) / (FETCH_S + GAP_S), rate)


def measure_all() -> list[Rate]:
    """All of RUNS."""
    return [measure(hosts, slots) for hosts, slots in RUNS]
