"""Killed after any commit: the state is sound, nothing is lost, nothing is done twice, and nobody is asked too soon."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache
from itertools import pairwise

import pytest

from gossamer.model.record import State
from gossamer.sim.check import gaps, one_at_a_time, recount, url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import chain, config, farm, names, roots
from gossamer.sim.memstore import JournalStore, MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.web import Answer
from tests.conftest import LONG
from tests.simulation.wild import wild_web

SEEDS = ["http://w0.example/"]
SETTINGS = config(frontier={"slots": 5}, fetch={"retries": 2}, limits={"depth": 16})


def test_the_state_is_sound_after_every_single_commit() -> None:
    store = JournalStore()
    run = Run(wild_web(), SETTINGS, SEEDS, store=store, digest_s=0.4)
    assert run.go()
    assert len(run.pages()) > 80
    assert len(store.journal) > 200
    replayed = MemoryStore()
    for number, commit in enumerate(store.journal, 1):
        replayed.write(commit)
        assert recount(replayed) == [], f"after commit {number}"


@cache
def reference() -> dict[str, tuple[State, int]]:
    run = Run(wild_web(), SETTINGS, SEEDS, digest_s=0.4)
    assert run.go()
    return {key: (row.state, row.status) for key, row in url_rows(run.store).items()}


def counts(key: str) -> bool:
    """Errands leave a row when their response is archived, which a kill may prevent; queued URLs always do."""
    return "gossamer-" not in key and "/robots.txt" not in key


@pytest.mark.parametrize("chunk", range(6))
def test_stopped_anywhere_and_started_again(chunk: int) -> None:
    """Random stops, several in one crawl; afterwards every URL is where it is without any."""
    wanted = {key for key in reference() if counts(key)}
    for number in range(5 if LONG else 2):
        chance = random.Random(chunk * 100 + number)
        store, clock = JournalStore(), VirtualClock()
        served, begun, committed = [], [], Counter()
        for _ in range(chance.randrange(1, 5)):
            run = Run(wild_web(), SETTINGS, SEEDS, store=store, clock=clock, digest_s=0.4, seed=chance.randrange(99))
            assert recount(store) == []
            finished = run.go(steps=chance.randrange(1, 250))
            served += run.served
            begun += run.begun
            committed.update(e.key for e in run.events if e.status and not e.retry and e.kind == "page")
            if finished:
                break
            clock = VirtualClock(clock.now() + chance.choice((0.0, 0.3, 5.0, 4_000.0)))
        run = Run(wild_web(), SETTINGS, SEEDS, store=store, clock=clock, digest_s=0.4)
        assert run.go()
        served += run.served
        committed.update(e.key for e in run.events if e.status and not e.retry and e.kind == "page")
        assert recount(store) == []
        assert gaps(served, 1.0) == []
        assert gaps([s for s in served if s.host in ("w1.example", "w7.example")], 3.0) == []
        assert one_at_a_time(served) == []
        rows = {key: row for key, row in url_rows(store).items() if counts(key)}
        assert wanted == set(rows)
        assert all(count == 1 for count in committed.values())
        closed = "w4.example"  # its robots.txt cannot be read
        assert {row.host for row in rows.values() if row.state is State.QUEUED} == {closed}


@pytest.mark.parametrize("seed", range(2, 12 if LONG else 7))
def test_other_webs_of_that_kind(seed: int) -> None:
    settings = config(frontier={"slots": 1 + seed % 7}, politeness={"net_rate": 2.0, "response_factor": 3.0})
    run = Run(wild_web(seed, hosts=20), settings, SEEDS, digest_s=0.1 * (seed % 4), seed=seed)
    assert run.go()
    assert len(run.pages()) > 30
    assert recount(run.store) == []
    assert gaps(run.served, 1.0) == []
    assert gaps(run.served, 1.0, "lane") == []
    assert one_at_a_time(run.served) == []
    assert one_at_a_time(run.served, "host") == []
    assert all(count == 1 for count in Counter(
        event.key for event in run.events if event.kind == "page" and event.status and not event.retry
    ).values())  # fmt: skip


def test_after_a_restart_starts_are_spread_and_no_gap_is_forgotten() -> None:
    hosts = names(200)
    settings = config(limits={"depth": 10**6}, politeness={"start_jitter_s": 2.0})
    first = Run(farm(hosts, chain), settings, roots(hosts))
    first.go(9.0)
    again = Run(farm(hosts, chain), settings, roots(hosts), store=first.store, clock=VirtualClock(first.clock.now()))
    started = again.clock.now()
    again.go(9.0)
    starts = sorted({s.host: s.start for s in reversed(again.served)}.values())
    assert len(starts) == 200
    assert started + 1.0 <= starts[0] < started + 1.2
    assert started + 2.8 < starts[-1] <= started + 3.2
    assert max(b - a for a, b in pairwise(starts)) < 0.2  # evenly, not in one burst
    assert gaps([*first.served, *again.served], 1.0) == []


def test_a_lane_owes_its_gap_over_a_restart_to_hosts_that_are_new() -> None:
    """The address was asked a moment ago, by a host that has nothing more to do."""
    web = farm(names(2), lambda _name: lambda _target: Answer(), where=lambda _number: "20.0.0.1")
    settings = config(politeness={"min_delay_s": 8.0})
    first = Run(web, settings, ["http://h0.example/"])
    assert first.go()
    clock = VirtualClock(first.clock.now() + 0.5)
    again = Run(web, settings, ["http://h1.example/"], store=first.store, clock=clock)
    assert again.go()
    assert gaps([*first.served, *again.served], 8.0, "lane") == []


def test_a_host_that_is_new_after_a_restart_is_put_off_once_not_at_each_return() -> None:
    settings = config(politeness={"start_jitter_s": 2.0})
    web = farm(names(20), lambda _name: lambda _target: Answer())
    first = Run(web, settings, ["http://h0.example/"])
    assert first.go()
    again = Run(web, settings, roots(names(20)), store=first.store, clock=VirtualClock(first.clock.now()))
    started = again.clock.now()
    assert again.go(10.0)
    assert {s.host for s in again.served} == set(names(20)[1:])
    assert max(s.start for s in again.served if s.target == "/robots.txt") <= started + 3.2


def test_an_address_that_is_allowed_now_is_not_held_against_its_host() -> None:
    web = farm(names(1), lambda _name: lambda _target: Answer(), where=lambda _number: "127.0.0.1")
    first = Run(web, config(), roots(names(1)), allow=())
    assert first.go()
    assert first.served == []
    still = Run(web, config(), [], store=first.store, clock=VirtualClock(first.clock.now() + 1), allow=())
    assert still.go()
    assert still.served == []
    again = Run(web, config(), [], store=first.store, clock=VirtualClock(still.clock.now() + 1), allow=("127.0.0.0/8",))
    assert again.go()
    assert [s.target for s in again.served] == ["/robots.txt", "/"]
    assert recount(first.store) == []


def test_a_name_that_resolves_after_a_restart_is_fetched() -> None:
    first = Run(farm([], chain), config(), ["http://h0.example/"])
    assert first.go()
    web = farm(names(1), lambda _name: lambda _target: Answer())
    again = Run(web, config(), [], store=first.store, clock=VirtualClock(first.clock.now() + 1))
    started = again.clock.now()
    assert again.go()
    assert [s.target for s in again.served] == ["/robots.txt", "/"]
    assert started + 1 <= again.served[0].start < started + 2
    assert recount(first.store) == []
