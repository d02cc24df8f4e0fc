"""The network goes away while the routes of this machine stand: nothing answers any more, and later everything does."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from gossamer.core.connectivity import NO_NETWORK, SILENT_HOSTS_MIN, SILENT_MAX_S
from gossamer.core.turn import Turn
from gossamer.model.control import Fetched
from gossamer.model.limits import DNS_DOUBTFUL_S
from gossamer.model.page import Failure, Resolution
from gossamer.model.record import State
from gossamer.sim.check import gaps, host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.make import config, farm, listing, names, roots
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, refused
from gossamer.stage.dispatch import PAUSE_MAX_S
from tests.simulation.test_orders import complete, lease

START = 1_700_000_000.0
BEGINS = START + 20.0
HOSTS = names(25)
PAGES = 40
TTL_S = 60.0  # of names: many expire while nobody can be asked
DEADLINES = [(Failure.CONNECT_TIMEOUT, 10.0), (Failure.FIRST_BYTE_TIMEOUT, 20.0), (Failure.CONNECT, 0.1),
             (Failure.DISCONNECTED, 3.0)]  # fmt: skip


class Outage(SimWeb):
    """Hosts that nobody reaches until a time, and a nameserver nearby that can ask nobody meanwhile."""

    def __init__(self, web: SimWeb, ends: float, refusal: Answer, ttl_s: float, reaches: frozenset[str]) -> None:
        super().__init__(web.hosts)
        self.ends = ends
        self._refusal = refusal
        self._ttl_s = ttl_s
        self._reaches = reaches  # hosts that answer all the time

    def is_out(self, name: str, now: float) -> bool:
        return BEGINS <= now < self.ends and name not in self._reaches

    def answer(self, turn: Turn) -> Answer:
        return self._refusal if self.is_out(turn.host, turn.started) else super().answer(turn)

    def resolve(self, name: str, now: float) -> Resolution:
        if self.is_out(name, now):
            return Resolution(name=name, error="servfail", expires=now + DNS_DOUBTFUL_S)
        return msgspec.structs.replace(super().resolve(name, now), expires=now + self._ttl_s)


def crawl(lasts_s: float, refusal: Answer, *, ttl_s: float = TTL_S, reaches: frozenset[str] = frozenset()) -> Run:
    web = Outage(farm(HOSTS, lambda name: listing(name, PAGES - 1)), BEGINS + lasts_s, refusal, ttl_s, reaches)
    return Run(web, config(), roots(HOSTS), dns_s=0.05)


def blames_nobody(run: Run) -> None:
    """But for what was missed before it was plain that everybody is silent."""
    rows = host_rows(run.store)
    assert {row.parked for row in rows.values()} == {""}
    assert max(row.failed for row in rows.values()) <= 2
    assert {row.state for row in url_rows(run.store).values()} == {State.FETCHED}
    assert recount(run.store) == []
    assert gaps(run.served, 1.0) == []
    assert one_at_a_time(run.served) == []


@pytest.mark.parametrize("ttl_s", [TTL_S, 1e6], ids=["names expire", "names are known"])
@pytest.mark.parametrize(("failure", "seconds"), DEADLINES)
def test_an_outage_of_everything_blames_nobody(failure: Failure, seconds: float, ttl_s: float) -> None:
    lasts_s = 1_500.0  # long enough to park every host and to give up its pages
    run = crawl(lasts_s, refused(failure, seconds), ttl_s=ttl_s)
    assert not run.go(300.0)
    assert run.pipeline.dispatch.paused == NO_NETWORK
    assert run.go()
    assert run.pipeline.dispatch.paused == ""
    blames_nobody(run)
    assert {row.errors for row in host_rows(run.store).values()} == {0}
    assert len([served for served in run.pages() if served.status == 200 and served.end < BEGINS]) < 25 * PAGES / 2
    ends = BEGINS + lasts_s
    assert min(served.end for served in run.pages() if served.start >= ends) < ends + PAUSE_MAX_S + 1
    assert run.clock.now() < ends + PAUSE_MAX_S + 2 * 1.2 * PAGES
    for host in HOSTS:
        late = [start for name, _, start in run.begun if name == host and BEGINS + 180 < start < ends]
        assert bool(late) is (ttl_s > TTL_S)
        assert min((after - before for before, after in pairwise(late)), default=PAUSE_MAX_S) >= PAUSE_MAX_S


def test_time_outs_are_held_against_the_first_few_only() -> None:
    run = crawl(1_500.0, refused(Failure.CONNECT_TIMEOUT, 10.0))
    assert run.go()
    assert sum(run.context.counters.totals.failures.values()) <= SILENT_HOSTS_MIN
    assert sum(row.failed > 0 for row in host_rows(run.store).values()) <= SILENT_HOSTS_MIN


def test_a_restart_in_the_middle_finds_out_anew() -> None:
    first = crawl(1_500.0, refused(Failure.CONNECT_TIMEOUT, 10.0))
    first.go(400.0)
    first.stop()
    again = Run(first.web, config(), roots(HOSTS), store=first.store, clock=first.clock, dns_s=0.05)
    again.go(100.0)
    assert again.pipeline.dispatch.paused == NO_NETWORK
    assert again.go()
    assert {row.parked for row in host_rows(again.store).values()} == {""}
    assert {row.state for row in url_rows(again.store).values()} == {State.FETCHED}


def test_most_hosts_die_while_one_answers_and_they_are_told_so() -> None:
    run = crawl(1e9, refused(Failure.CONNECT_TIMEOUT, 10.0), reaches=frozenset({HOSTS[0]}))
    web = run.web
    web.hosts[HOSTS[0]].page = listing(HOSTS[0], 2_000)  # it has work all the time
    paused = set()
    while run.clock.now() < BEGINS + 2_000 and not run.go(5.0):
        paused.add(run.pipeline.dispatch.paused)
    assert paused == {""}
    assert sum(bool(row.parked) for row in host_rows(run.store).values()) == len(HOSTS) - 1


def test_hosts_that_have_really_died_are_waited_for_an_hour_and_the_crawl_ends() -> None:
    run = crawl(1e9, refused(Failure.CONNECT_TIMEOUT, 10.0))
    assert run.go()
    assert SILENT_MAX_S < run.clock.now() - BEGINS < 3 * SILENT_MAX_S
    assert all(row.parked for row in host_rows(run.store).values())
    assert run.pipeline.dispatch.paused == ""


def test_seeds_that_are_dead_are_told_so_at_once() -> None:
    web = farm(HOSTS, lambda _name: lambda _target: refused(Failure.CONNECT_TIMEOUT, 10.0),
               robots=refused(Failure.CONNECT_TIMEOUT, 10.0))  # fmt: skip
    run = Run(web, config(), roots(HOSTS))
    assert run.go()
    assert run.clock.now() - START < 120
    assert all(row.parked for row in host_rows(run.store).values())


def test_a_failure_of_somebody_else_does_not_end_a_pause_for_a_fault_of_ours() -> None:
    asked = []

    def resolve(name: str, now: float) -> Resolution:
        if now < START + 100:
            asked.append(now)
            return Resolution(name=name, error="no nameserver answers", ours=True)
        return Resolution(name=name, addresses=("20.0.0.1",), expires=now + 9e5)

    lost, dead = "lost.example", "20.0.0.2"  # an address: nobody is asked for it
    no = refused(Failure.CONNECT)
    hosts = {lost: SimHost(address="", page=listing(lost, 2), resolve=resolve),
             dead: SimHost(address=dead, page=lambda _target: no, robots=no)}  # fmt: skip
    run = Run(SimWeb(hosts), config(), roots(hosts))
    assert run.go()
    assert len([name for name, _, start in run.begun if name == dead and start < START + 100]) == 3
    assert [b - a for a, b in pairwise(asked)] == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0])


def test_what_external_fetchers_miss_says_nothing_of_our_own_network() -> None:
    run = Run(farm(HOSTS, lambda name: listing(name, 9)), config(fetch={"external": True}), roots(HOSTS))
    failed: set[str] = set()
    while len(failed) < len(HOSTS):
        leases = lease(run, count=8, wait_s=30.0)
        run.go(15.0, stay=True)
        complete(run, *(Fetched(lease=one.lease, failure="timeout", elapsed_s=15.0) for one in leases))
        failed |= {one.host for one in leases}
        assert run.pipeline.dispatch.paused == ""
    assert all(row.reached and row.errors for row in host_rows(run.store).values())
