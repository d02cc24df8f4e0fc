"""A crawl that does not end: new pages and refreshes side by side in their shares, and what slips for want of room."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gossamer.core import overdue
from gossamer.core.admission import Candidate
from gossamer.core.changes import Changes
from gossamer.core.waiting import Shares
from gossamer.model.limits import HOST_QUANTUM, LEVELS, REFRESHES_QUEUED_MAX
from gossamer.model.record import HostRow
from gossamer.policy.refresh_value import worth
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import config, farm, listing, roots
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface.counted import counted

HOUR_S = 3_600.0
DAY_S = 86_400.0


def all_due(run: Run) -> None:
    """Take everything that is due out of the calendar."""
    while run.enqueue_due():
        pass


def new_pages(run: Run, hosts: list[str], count: int) -> None:
    """Let so many pages of each host in."""
    changes = Changes(run.store)
    candidates = [
        Candidate(url=f"http://{host}/new{n}", key=f"{host})/new{n}", host=host, site=host, level=2, depth=0, via="x")
        for host in hosts
        for n in range(count)
    ]
    run.context.admission.admit(changes, candidates, run.clock.now())
    run.context.apply(changes)


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("mixed", [0, 6])
def test_slots_are_given_in_the_shares_of_discovery_and_refresh(share: float, mixed: int) -> None:
    old, new = [f"old{n}.example" for n in range(12)], [f"new{n}.example" for n in range(12)]
    run = Run(
        farm([*old, *new], lambda name: listing(name, 100 if name.startswith("old") else 0)),
        config(frontier={"slots": 3, "discovery_share": share}, refresh={"policy": "uniform", "interval_s": DAY_S}),
        roots(old),
    )
    assert run.go()
    run.wait(DAY_S)
    all_due(run)
    new_pages(run, [*new, *old[:mixed]], 100)
    before = len(run.pages())
    run.go(1.2 * 1_000 / 3)
    made = [served.target.startswith("/new") for served in run.pages()[before:]]
    assert len(made) > 850
    assert sum(made) / len(made) == pytest.approx(share, abs=0.06)
    assert recount(run.store) == []


def test_slots_are_not_kept_free_for_work_that_is_not_there() -> None:
    hosts = [f"new{n}.example" for n in range(6)]
    run = Run(farm(hosts, lambda name: listing(name, 80)), config(frontier={"slots": 2, "discovery_share": 0.1}),
              roots(hosts))  # fmt: skip
    assert run.go()
    assert len(run.pages()) == 6 * 81
    assert run.clock.now() - run.pages()[0].start < 1.2 * 6 * 82 / 2 * 1.1


def test_a_share_is_kept_whatever_the_hosts_that_come() -> None:
    shares, given = Shares(0.3), [0.0, 0.0]
    for n in range(2_000):
        discovery = shares.discovery_next()
        both = n % 3 == 0
        row = HostRow(host="h", site="h", pending=60, pending_by_level=[0] * 20)
        row.pending_by_level[0 if discovery else LEVELS] = 30 if both else 60
        row.pending_by_level[LEVELS if discovery else 0] += 30 if both else 0
        new = min(row.pending_by_level[0], max(0.3 * HOST_QUANTUM, HOST_QUANTUM - row.pending_by_level[LEVELS]))
        given[0] += new
        given[1] += HOST_QUANTUM - new
        shares.given(row)
    assert given[0] / sum(given) == pytest.approx(0.3, abs=0.01)


def tree(target: str) -> Answer:
    """A root, 20 pages below it, and 20 below each of these."""
    if target == "/":
        return Answer(links=tuple(f"http://a.example/p{n}" for n in range(20)))
    if "." not in target:
        return Answer(links=tuple(f"http://a.example{target}.{n}" for n in range(20)))
    return Answer()


def overdue_run(delay_s: float = 20.0) -> Run:
    """A host all of whose 421 pages become due within an hour: it takes 2.3 hours to visit them."""
    run = Run(
        SimWeb({"a.example": SimHost(address="20.0.0.1", page=tree)}),
        config(
            politeness={"min_delay_s": delay_s, "response_factor": 0.0},
            refresh={"policy": "uniform", "interval_s": 10 * DAY_S},
            limits={"continuous": True},
        ),
        ["http://a.example/"],
    )
    assert not run.go(3 * HOUR_S, stay=True)
    assert len(run.pages()) == 421
    run.wait(10 * DAY_S)
    return run


def test_what_is_worth_least_slips_and_the_report_says_how_late() -> None:
    run = overdue_run()
    dues = {row.url: row.due for row in url_rows(run.store).values()}
    all_due(run)
    host, totals = host_rows(run.store)["a.example"], run.context.counters.totals
    assert sum(host.pending_by_level[LEVELS:]) == REFRESHES_QUEUED_MAX
    assert totals.late == host.late == 421 - REFRESHES_QUEUED_MAX
    begun, before = run.clock.now(), len(run.pages())
    run.go(3 * HOUR_S, stay=True)
    made = run.pages()[before:]
    assert len(made) == 421
    assert totals.late == 0
    ended = [served.end for served in made]
    assert max(b - a for a, b in pairwise(ended)) < 21.0, "no turn is left unused"
    levels = [served.target.count(".") for served in made]
    assert sum(levels[:21]) <= 10, "those near the root are worth more"
    assert ended[-1] - begun > 2 * HOUR_S
    shot = counted(totals, run.context.config)
    late = [served.end - dues[f"http://a.example{served.target}"] for served in made]
    assert sum(shot.slipped_by_level) == sum(late_s > HOUR_S for late_s in late) > 200
    assert shot.slipped_by_level[2] > 0.9 * sum(shot.slipped_by_level)
    assert shot.refreshes == 421
    assert shot.lateness_max_s == pytest.approx(max(late))
    assert HOUR_S < shot.lateness_p50_s <= shot.lateness_p99_s <= shot.lateness_max_s
    assert recount(run.store) == []


def test_what_was_put_off_outlives_a_kill() -> None:
    run = overdue_run()
    all_due(run)
    run.go(HOUR_S, stay=True)
    late = run.context.counters.totals.late
    assert 0 < late < 421 - REFRESHES_QUEUED_MAX
    run.stop()
    again = Run(run.web, run.context.config, [], store=run.store, clock=run.clock, refresh=True)
    assert again.context.counters.totals.late == late
    again.go(3 * HOUR_S, stay=True)
    assert again.context.counters.totals.late == 0
    rows = [row for row in url_rows(run.store).values() if row.kind == "page"]
    assert len(rows) == 421
    assert all(row.due > run.clock.now() - DAY_S and not row.late for row in rows)


def test_a_continuous_crawl_is_never_over_and_goes_on_with_the_calendar() -> None:
    run = Run(
        farm(["a.example"], lambda name: listing(name, 5)),
        config(limits={"continuous": True}, refresh={"policy": "uniform", "interval_s": DAY_S}),
        ["http://a.example/"],
        refresh=True,
    )
    run.go(3.5 * DAY_S, stay=True)
    assert not run.over()
    assert len(run.pages()) == 6 * 4
    due = run.partition.next_due()
    assert due is not None
    assert run.clock.now() < due < run.clock.now() + DAY_S


def test_worth_orders_as_numbers_do() -> None:
    worths = [0.0, 1e-300, 0.1, 0.5, 1.0, 7.0, 1e6, 1e299]
    numbers = [overdue.number_of(value) for value in worths]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == len(numbers)
    assert all(0 < number < 2**64 for number in numbers)


def test_a_visit_is_worth_more_later_and_less_of_what_will_not_stay() -> None:
    assert worth(1 / DAY_S, 1.0, HOUR_S) < worth(1 / DAY_S, 1.0, DAY_S)
    assert worth(1 / DAY_S, 0.5, DAY_S) < worth(1 / DAY_S, 1.0, DAY_S)
    assert worth(1 / 60.0, 1.0, DAY_S) < worth(1 / DAY_S, 1.0, DAY_S)
