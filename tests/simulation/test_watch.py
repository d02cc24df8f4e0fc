"""The watch sees what it is there for: each of these breaks one rule in a crawl that is sound otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from gossamer.core import frontier as frontier_module
from gossamer.core.admission import Admission
from gossamer.core.changes import Changes, decode_host, decode_url, encode
from gossamer.core.context import Context
from gossamer.core.dispatch import Dispatch
from gossamer.core.lanes import Lanes
from gossamer.core.robotsdesk import RobotsDesk
from gossamer.model.record import Cf, State
from gossamer.ports.store import Op, Store
from gossamer.sim.clock import VirtualClock
from gossamer.sim.crash import Trace, record
from gossamer.sim.make import config, farm, listing, names, roots
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.oracle import allowed, read
from gossamer.sim.run import Run
from gossamer.sim.shadow import Shadow
from gossamer.sim.watch import FaultError, Watch
from gossamer.sim.web import robots
from gossamer.sim.witness import Written

RULES = robots("User-agent: *\nDisallow: /p1\nCrawl-delay: 3\n")
Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def watches() -> None:
    """Nothing: these runs are watched by their tests."""


def crawl() -> Watch:
    web = farm(names(4), lambda name: listing(name, 6), where=lambda n: f"20.0.{n // 2}.1", robots=RULES)
    run = Run(web, config(), roots(names(4)), digest_s=0.5)
    watch = Watch(run.partition, run.store, run.clock.now)
    assert run.go()
    watch.whole()
    return watch


def test_a_sound_crawl_has_no_faults_and_every_step_was_looked_at() -> None:
    watch = crawl()
    assert watch.faults == []
    assert watch.witness.manners.requests == 4 * 7  # robots.txt, the front page, and five of six
    assert watch.steps >= 3 * watch.witness.manners.requests
    assert watch.recounts > watch.steps // 8


def no_gap(patch: Patch) -> None:
    patch.setattr("gossamer.core.account.host_gap_s", lambda *_: 0.0)


def no_lane_gap(patch: Patch) -> None:
    patch.setattr(Context, "lane_gap_s", lambda _self, _row: 0.0)


def no_crawl_delay(patch: Patch) -> None:
    patch.setattr("gossamer.core.rulesfetch.RulesFetch._delays", lambda *_: None)


def lanes_of_hosts(patch: Patch) -> None:
    """Two hosts of one address are two servers: only the address in the turn gives it away."""
    release = Lanes.release

    def early(self: Lanes, lane: Any, next_at: float) -> None:
        release(self, lane, next_at)
        lane.next_at = 0.0

    patch.setattr(Lanes, "release", early)


def no_rules(patch: Patch) -> None:
    patch.setattr(RobotsDesk, "refusal", lambda *_: None)


def no_robots(patch: Patch) -> None:
    patch.setattr("gossamer.core.dispatch.Dispatch._queue_turn", unruled)


def unruled(self: Dispatch, host: Any, address: str, changes: Changes, now: float) -> Any:
    place = host.queue.take(self._c.chance, 0.5)
    row = changes.url(place.key) if place is not None else None
    if place is None or row is None:
        return None
    return self._queue_entry_turn(host, address, changes, now, place, row)


def uncounted(patch: Patch) -> None:
    enter = Admission._enter

    def entered(self: Admission, *arguments: Any) -> None:
        enter(self, *arguments)
        self._counters.totals.urls -= 1

    patch.setattr(Admission, "_enter", entered)


def endless_reading(patch: Patch) -> None:
    patch.setattr("gossamer.core.hostqueue.READ_AHEAD", 1_000)


def endless_digests(patch: Patch) -> None:
    patch.setattr(frontier_module, "UNCOMMITTED_PER_HOST_MAX", 10**9)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (no_gap, "too soon"),
        (no_lane_gap, "lane 20.0.0.1 is asked for"),
        (no_crawl_delay, "too soon"),
        (lanes_of_hosts, "lane 20.0.0.1 is asked for"),
        (no_rules, "its robots.txt forbids it"),
        (no_robots, "no robots.txt of it has been read"),
        (uncounted, "counter urls says"),
    ],
)
def test_a_broken_rule_is_seen(monkeypatch: Patch, broken: Callable[[Patch], None], said: str) -> None:
    broken(monkeypatch)
    with pytest.raises(FaultError, match=said):
        crawl()


def test_rules_that_came_in_part_are_seen_to_be_taken_for_all(monkeypatch: Patch) -> None:
    monkeypatch.setattr("gossamer.stage.fetch.incomplete", lambda *_: "")
    web = farm(names(1), lambda name: listing(name, 6), robots=msgspec.structs.replace(RULES, breaks_off=True))
    run = Run(web, config(), roots(names(1)))
    Watch(run.partition, run.store, run.clock.now)
    with pytest.raises(FaultError, match=r"its robots\.txt could not be read"):
        run.go()


@pytest.mark.parametrize(("broken", "said"), [(endless_reading, "queue read ahead"), (endless_digests, "leases: 9")])
def test_a_bound_that_does_not_hold_is_seen(monkeypatch: Patch, broken: Callable[[Patch], None], said: str) -> None:
    broken(monkeypatch)
    hosts = names(4)
    web = farm(hosts, lambda name: listing(name, 400), robots=robots("User-agent: *\nAllow: /\n"))
    run = Run(web, config(), roots(hosts), digest_s=60.0)
    Watch(run.partition, run.store, run.clock.now)
    with pytest.raises(FaultError, match=said):
        run.go()


def lost_entry(op: Op) -> Op | None:
    return None if op[0] is Cf.QUEUE and op[2] is not None and b"h2" in op[1] else op


def lost_due(op: Op) -> Op | None:
    return None if op[0] is Cf.DUE else op


def no_reason(op: Op) -> Op | None:
    cf, key, value = op
    if cf is not Cf.URL or value is None:
        return op
    row = decode_url(value)
    row.reason = ""
    return cf, key, encode(row)


def no_record(op: Op) -> Op | None:
    cf, key, value = op
    if cf is not Cf.URL or value is None:
        return op
    row = decode_url(value)
    row.pointer = None
    return cf, key, encode(row)


def no_bytes(op: Op) -> Op | None:
    cf, key, value = op
    if cf is not Cf.HOST or value is None or b"\x00" in key:
        return op
    row = decode_host(value)
    row.bytes = 0
    return cf, key, encode(row)


def forgotten(op: Op) -> Op | None:
    """A fetched page is deleted."""
    cf, key, value = op
    fetched = cf is Cf.URL and value is not None and decode_url(value).state is State.FETCHED
    return (cf, key, None) if fetched else op


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lost_entry, "queue"),
        (lost_due, "in the calendar at"),
        (no_reason, "for no reason"),
        (no_record, "has no record"),
        (no_bytes, "counter bytes says"),
        (forgotten, "is deleted"),
    ],
)
def test_books_that_are_wrong_are_seen(change: Callable[[Op], Op | None], said: str) -> None:
    """By what follows the commits."""
    shadow = Shadow(MemoryStore())
    found = shadow.faults
    for event in sound_trace().events:
        if isinstance(event, Written):
            found += shadow.apply([op for op in map(change, event.ops) if op is not None])
    assert any(said in fault for fault in found), found[:5]


@cache
def sound_trace() -> Trace:
    """Every event of a crawl in which nothing is wrong."""
    web = farm(names(4), lambda name: listing(name, 6), robots=RULES)

    def make(store: Store, clock: VirtualClock) -> Run:
        return Run(web, config(), roots(names(4)), store=store, clock=clock)

    def drive(run: Run) -> None:
        assert run.go()

    return record(make, drive)


def test_the_second_opinion_on_robots_knows_the_standard() -> None:
    lines = ["User-agent: other", "Disallow: /", "", "User-agent: *", "Disallow: /a", "Allow: /a/b$", "Disallow: /*.x?"]
    rules, delay_s = read("\n".join([*lines, "Crawl-delay: 2.5"]).encode(), "Gossamer")
    assert delay_s == 2.5
    told = {"/": True, "/a": False, "/a/b": True, "/a/b/c": False, "/%61": False, "/q.x?1": False, "/q.x": True}
    assert {target: allowed(rules, target) for target in told} == told
    assert read(b"User-agent: gossamer/2\nDisallow: /\nUser-agent: *\nAllow: /\n", "Gossamer")[0] == [(False, "/")]
