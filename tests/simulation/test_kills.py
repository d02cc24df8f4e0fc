"""Killed after every single effect of a run: the second process comes to the same end, and nobody is asked too soon.

Each kill is one point: a commit written, a request sent, an answer there, a digest back, a look-up answered, a sync.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from gossamer.model.url import HTTP_SUFFIX
from gossamer.ports.store import Store
from gossamer.sim.check import url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.crash import ERRAND, Killed, Trace, go_on, kills, record, settled
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.witness import Digested, Sent, Synced, Written
from tests.conftest import LONG
from tests.simulation.killwebs import CASES, Case
from tests.simulation.wild import wild_web

REBOOT_S = 90.0
SOME = 1 if LONG else 5  # of so many effects one is tried in most webs; the proof tries all, in all of them
KINDS = {"Written", "Synced", "Sent", "Arrived", "Digested"}  # behind each of them some kill must come
Note = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def watches() -> None:
    """Nothing: these runs are watched by what records and resumes them."""


def test_there_are_webs() -> None:
    assert len(CASES) == 8


def same_end(case: Case, trace: Trace, killed: Killed, delay_s: float) -> None:
    go_on(killed, case.make, case.drive, delay_s)
    wanted, found = settled(trace.store, timed=case.timed), settled(killed.store, timed=case.timed)
    for part, value in wanted.items():
        assert found[part] == value, f"{part} after a kill behind event {killed.after}, {killed.last}"


@pytest.mark.parametrize("name", CASES)
def test_killed_after_every_effect(name: str, record_property: Note) -> None:
    case = CASES[name]
    trace = record(case.make, case.drive)
    kinds = Counter(type(event) for event in trace.events)
    assert min(kinds[kind] for kind in (Written, Synced, Sent, Digested)) >= 10
    every = 1 if name == "plain" else SOME
    behind: Counter[str] = Counter()
    for count, killed in enumerate(kills(trace, every=every), 1):
        same_end(case, trace, killed, (0.0, 0.4, 7.0)[count % 3])
        behind[killed.last] += 1
    record_property("kills", behind.total())
    assert behind.total() * every >= 100
    assert behind.keys() >= KINDS


@pytest.mark.parametrize("name", CASES)
def test_the_machine_goes_down_after_every_effect(name: str, record_property: Note) -> None:
    """What was written and not synced is gone as well."""
    case = CASES[name]
    trace = record(case.make, case.drive)
    behind: Counter[str] = Counter()
    for killed in kills(trace, power=True, every=SOME):
        same_end(case, trace, killed, REBOOT_S)
        behind[killed.last] += 1
    record_property("kills", behind.total())
    assert behind.total() * SOME >= 100
    assert behind.keys() >= KINDS


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("name", CASES)
def test_killed_twice(name: str, record_property: Note) -> None:
    """After every ninth effect, and the process that goes on from there after each of its own."""
    case = CASES[name]
    trace = record(case.make, case.drive)
    count = 0
    for number, killed in enumerate(kills(trace)):
        if number % 9:
            continue
        second = record_from(case, killed)
        for again in second:
            same_end(case, trace, again, 0.2)
            count += 1
    record_property("kills", count)
    assert count >= 500


def record_from(case: Case, killed: Killed) -> Iterator[Killed]:
    """Kills of the process that goes on after a kill."""
    trace = record(case.make, case.drive, killed, 0.1)
    return kills(trace)


@pytest.mark.long
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_wild_web_killed_after_every_effect(seed: int, record_property: Note) -> None:
    """Which of two schemes is met first, and which page is the copy, depends on the order: what is known does not.

    No host is parked, since a streak of failures depends on the order too.
    """
    settings = config(frontier={"slots": 3 + seed}, fetch={"retries": 2}, politeness={"park_after": 60})

    def make(store: Store, clock: VirtualClock) -> Run:
        return Run(wild_web(seed), settings, ["http://w0.example/"], store=store, clock=clock, digest_s=0.4, seed=seed)

    def drive(run: Run) -> None:
        assert run.go()

    trace = record(make, drive)
    known = pages_known(trace.store)
    count = 0
    for count, killed in enumerate(kills(trace), 1):
        go_on(killed, make, drive, (0.0, 0.4)[count % 2])
        assert pages_known(killed.store) == known, f"after event {killed.after}, {killed.last}"
    record_property("kills", count)
    assert count > 500


def pages_known(store: Store) -> set[str]:
    """Keys of pages without their scheme, but for what errands asked for."""
    return {key.removesuffix(HTTP_SUFFIX) for key, row in url_rows(store).items() if not row.via.startswith(ERRAND)}
