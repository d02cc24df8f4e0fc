"""Servers rather than names: lanes, CDN ranges, /24 and AS buckets, slow hosts, addresses that are dead."""

from __future__ import annotations

from collections import Counter

import pytest

from gossamer.core import frontier as frontier_module
from gossamer.core.turn import Turn
from gossamer.model.limits import BACKOFF_BASE_S, LANE_RESIDENTS_MAX
from gossamer.model.page import Failure, Resolution
from gossamer.model.record import Cf
from gossamer.policy.networks import RangeSet
from gossamer.sim.check import gaps, one_at_a_time, recount
from gossamer.sim.make import chain, config, farm, listing, names, roots
from gossamer.sim.run import Run, Served
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb, refused

ONE = "20.0.0.1"


def test_thousands_of_names_on_one_address_are_one_server() -> None:
    hosts = names(5_000)
    web = farm(hosts, lambda _name: lambda _target: Answer(), where=lambda _number: ONE)
    run = Run(web, config(), roots(hosts))
    run.go(1_200.0)
    assert len(run.served) == pytest.approx(1_200 / 1.2, rel=0.01)
    assert one_at_a_time(run.served) == []
    assert gaps(run.served, 1.0, "lane") == []
    assert len(run.context.frontier.active) <= LANE_RESIDENTS_MAX
    run.go()  # and nobody is forgotten outside
    assert {s.host for s in run.pages()} == set(hosts)
    assert len(run.served) == 2 * len(hosts)
    assert gaps(run.served, 1.0, "lane") == []
    assert recount(run.store) == []


def test_a_crowd_on_one_address_leaves_slots_to_others() -> None:
    crowd, others = names(500), [f"o{number}.example" for number in range(20)]
    web = farm(crowd, lambda _name: lambda _target: Answer(), where=lambda _number: ONE)
    web.hosts |= farm(others, chain, where=lambda number: f"20.9.{number}.1").hosts
    run = Run(web, config(limits={"depth": 10**6}, frontier={"slots": 100}), [*roots(crowd), *roots(others)])
    run.go(200.0)
    by_host = Counter(s.host for s in run.served)
    assert min(by_host[name] for name in others) > 100  # of 166 possible
    assert sum(by_host[name] for name in crowd) == pytest.approx(200 / 1.2, rel=0.03)


@pytest.mark.parametrize("fails", ["for ever", "for a while"])
def test_those_outside_get_in_although_those_let_in_go_elsewhere(fails: str) -> None:
    """Names let into a lane whose address has expired meanwhile, and that then do not resolve."""
    hosts = names(400)
    started = 1_700_000_000.0

    def resolve(name: str, now: float) -> Resolution:
        down = now > started + 60 and (fails == "for ever" or now < started + 600)
        if down and int(name[1:].partition(".")[0]) % 10:
            return Resolution(name=name, error="SERVFAIL")
        return Resolution(name=name, addresses=(ONE,), expires=now + 30)

    web = SimWeb({name: SimHost(address=ONE, resolve=resolve) for name in hosts})
    run = Run(web, config(), roots(hosts))
    run.go()
    assert recount(run.store) == []
    reached = {s.host for s in run.pages()}
    assert {name for name in hosts if int(name[1:].partition(".")[0]) % 10 == 0} <= reached
    assert not run.context.frontier.active
    assert set(run.context.frontier.asleep()) == set(hosts) - reached  # parked, every one of them
    run.wait(7 * 3_600.0)
    run.go()
    if fails == "for a while":
        assert {s.host for s in run.pages()} == set(hosts)
    assert gaps(run.served, 1.0, "lane") == []


def test_more_outside_and_asleep_than_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier_module, "OVERFLOW_MAX", 50)
    monkeypatch.setattr(frontier_module, "SLEEPERS_MAX", 20)
    hosts = names(300)
    web = farm(hosts, lambda name: listing(name, 2), where=lambda _number: ONE,
               robots=Answer(body=b"User-agent: *\nCrawl-delay: 60\n"))  # fmt: skip
    run = Run(web, config(), roots(hosts))
    while not run.go(steps=200):
        assert len(run.context.frontier.asleep()) <= 20
        assert len(run.context.frontier._outside) <= 50
    assert {s.host for s in run.pages()} == set(hosts)
    assert len(run.pages()) == 3 * len(hosts)
    assert recount(run.store) == []
    assert gaps(run.served, 60.0) == []


CDN = RangeSet.from_lines(["20.5.0.0/16"], "test")


def test_a_cdn_address_is_many_servers_but_every_host_keeps_its_gap() -> None:
    hosts = names(50)
    web = farm(hosts, chain, where=lambda _number: "20.5.0.1")
    strict = config(limits={"depth": 10**6}, politeness={"net_rate": 2.0, "as_rate": 1.0})
    run = Run(web, strict, roots(hosts), cdn=CDN, as_of=lambda _address: 64_500)
    run.go(48.0)
    assert len(run.served) == pytest.approx(50 * 48 / 1.2, rel=0.03)
    assert gaps(run.served, 1.0) == []
    assert one_at_a_time(run.served, "host") == []
    assert len({s.lane for s in run.served}) == 50


def starts_within(run: Run, window_s: float) -> int:
    """The most requests that began within any window."""
    starts = sorted(s.start for s in run.served)
    most = low = 0
    for high, start in enumerate(starts):
        while starts[low] <= start - window_s:
            low += 1
        most = max(most, high - low + 1)
    return most


@pytest.mark.parametrize(
    ("where", "limits"),
    [
        pytest.param(lambda number: f"20.0.7.{number}", {"net_rate": 5.0}, id="/24"),
        pytest.param(lambda number: f"20.{number}.0.1", {"as_rate": 5.0}, id="AS"),
        pytest.param(lambda number: f"2600:1:1:{number:x}::1", {"net_rate": 5.0}, id="/48"),
    ],
)
def test_networks_have_a_rate(where: object, limits: dict[str, float]) -> None:
    hosts = names(60)
    web = farm(hosts, chain, where=where)  # type: ignore[arg-type]
    run = Run(web, config(limits={"depth": 10**6}, politeness=limits), roots(hosts), as_of=lambda _address: 64_500)
    run.go(120.0)
    assert len(run.served) == pytest.approx(120 * 5.0, rel=0.03)
    assert starts_within(run, 1.0) <= 5 + 5  # one burst, one second
    assert starts_within(run, 10.0) <= 50 + 5
    assert recount(run.store) == []


def test_slow_hosts_share_a_tenth_of_the_fetches_in_flight() -> None:
    slow, fast = names(30), [f"f{number}.example" for number in range(10)]
    pages = {name: chain(name) for name in slow}
    web = farm(slow, lambda name: lambda target: Answer(seconds=15.0, links=pages[name](target).links),
               where=lambda number: f"20.1.{number}.1", robots=Answer(status=404, seconds=15.0))  # fmt: skip
    web.hosts |= farm(fast, chain, where=lambda number: f"20.2.{number}.1").hosts
    run = Run(web, config(limits={"depth": 10**6}, fetch={"concurrency": 40}), [*roots(slow), *roots(fast)])
    run.go(240.0)
    late = [s for s in run.served if s.host in slow and s.start > 1_700_000_000.0 + 60]
    most = max(sum(1 for other in late if other.start <= s.start < other.end) for s in late)
    assert most == 4
    by_host = Counter(s.host for s in run.served)
    assert min(by_host[name] for name in fast) == pytest.approx(240 / 1.2, rel=0.02)
    assert min(by_host[name] for name in slow) >= 1


def test_a_host_may_move_and_the_lane_moves_with_it() -> None:
    def resolve(name: str, now: float) -> Resolution:
        moved = now > 1_700_000_000.0 + 30
        return Resolution(name=name, addresses=("20.0.0.2" if moved else "20.0.0.1",), expires=now + 10)

    web = SimWeb({"h0.example": SimHost(address="", resolve=resolve, page=chain("h0.example"))})
    run = Run(web, config(limits={"depth": 10**6}), ["http://h0.example/"])
    run.go(60.0)
    assert {s.address for s in run.served} == {"20.0.0.1", "20.0.0.2"}
    assert gaps(run.served, 1.0) == []
    assert len(run.context.frontier.lanes) == 1


def test_several_addresses_are_used_one_at_a_time() -> None:
    web = SimWeb({"h0.example": SimHost(address="20.0.0.1", more_addresses=("20.0.0.2",), page=chain("h0.example"),
                                        robots=NO_ROBOTS)})  # fmt: skip
    run = Run(web, config(limits={"depth": 10**6}), ["http://h0.example/"])
    run.go(60.0)
    assert len({s.address for s in run.served}) == 1
    assert gaps(run.served, 1.0) == []


def test_the_store_has_the_servers_that_owe_something_and_no_others() -> None:
    """Each row is read at a start: a million servers asked over months would take seconds."""
    hosts = names(300)
    run = Run(farm(hosts, lambda name: listing(name, 3)), config(), roots(hosts))

    def kept() -> set[str]:
        return {slot.decode() for slot, _ in run.store.scan(Cf.LANE, b"", None, 10_000)}

    run.go(duration_s=3.0)
    owing = {s.lane for s in run.served if s.end + 1.0 > run.clock.now()}
    assert owing
    assert owing <= kept()
    run.go()
    run.wait(120.0)
    run.partition.forget_lanes(run.clock.now())
    assert len({s.lane for s in run.served}) == 300
    assert kept() == set()


HOST = "h0.example"
A, B, C = "20.0.0.1", "20.0.0.2", "20.0.0.3"
SIX = "2600:1:1::1"
TIMEOUT = refused(Failure.CONNECT_TIMEOUT, 10.0)
ENDLESS = {"depth": 10**6}


class HalfDead(SimWeb):
    """A web where what is asked of some addresses ends as it does there, whoever is meant."""

    def __init__(self, hosts: dict[str, SimHost], dead: dict[str, Answer]) -> None:
        super().__init__(hosts)
        self.dead = dead

    def answer(self, turn: Turn) -> Answer:
        return self.dead.get(turn.address) or super().answer(turn)


def host(first: str, *others: str) -> SimHost:
    return SimHost(address=first, more_addresses=others, page=listing(HOST, 5))


def asked(served: list[Served]) -> list[str]:
    return [each.address for each in served if each.host == HOST]


@pytest.mark.parametrize("failure", [Failure.CONNECT, Failure.CONNECT_TIMEOUT, Failure.PROXY, Failure.ADDRESS])
@pytest.mark.parametrize("first", [A, SIX])
def test_a_host_whose_first_address_is_dead_is_fetched_from_the_next(first: str, failure: Failure) -> None:
    run = Run(HalfDead({HOST: host(first, B)}, {first: refused(failure, 10.0)}), config(), roots([HOST]))
    run.go()
    assert asked(run.served) == [first] + [B] * 7  # robots.txt and six pages
    assert run.served[1].start - run.served[0].end >= BACKOFF_BASE_S
    assert len({page.target for page in run.pages()}) == 6
    assert gaps(run.served, 1.0) == []
    assert gaps(run.served, 1.0, "lane") == []
    assert recount(run.store) == []


def test_a_dead_address_is_left_however_crowded_the_next_one_is() -> None:
    others = names(6)[1:]
    hosts = farm(others, lambda name: listing(name, 20), where=lambda _number: B).hosts | {HOST: host(A, B)}
    run = Run(HalfDead(hosts, {A: TIMEOUT}), config(), roots(names(6)))
    run.go()
    assert asked(run.served) == [A] + [B] * 7
    assert len(run.served) == 8 + 5 * 22
    assert one_at_a_time(run.served) == []
    assert gaps(run.served, 1.0, "lane") == []


def test_behind_a_cdn_each_address_is_tried_and_the_host_keeps_its_gap() -> None:
    first, second = "20.5.0.1", "20.5.0.2"
    web = HalfDead({HOST: host(first, second)}, {first: TIMEOUT})
    run = Run(web, config(), roots([HOST]), cdn=CDN)
    run.go()
    assert [request.lane for request in run.served] == [f"{HOST}|{first}"] + [f"{HOST}|{second}"] * 7
    assert gaps(run.served, 1.0) == []


@pytest.mark.parametrize("failure", [Failure.DISCONNECTED, Failure.FIRST_BYTE_TIMEOUT, Failure.TLS])
def test_what_fails_after_the_connection_stood_says_nothing_of_the_address(failure: Failure) -> None:
    run = Run(HalfDead({HOST: host(A, B)}, {A: refused(failure)}), config(), roots([HOST]))
    run.go()
    assert asked(run.served) == [A] * 3
    assert run.partition._parked(HOST, run.clock.now())


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12])
def test_dead_addresses_are_tried_in_turn_and_then_the_host_is_parked(count: int) -> None:
    """Three failures park a host that never answered, or as many as it has addresses, at most those of any host."""
    where = [f"20.0.0.{number + 1}" for number in range(count)]
    tries = min(max(3, count), config().politeness.park_after)
    run = Run(HalfDead({HOST: host(*where)}, dict.fromkeys(where, TIMEOUT)), config(), roots([HOST]))
    for parked_before in range(4):
        assert run.go()
        assert asked(run.served) == [where[number % count] for number in range(tries + parked_before)]
        assert run.partition._parked(HOST, run.clock.now())
        run.wait(7 * 3_600.0)
    assert gaps(run.served, BACKOFF_BASE_S) == []
    assert recount(run.store) == []


def moved(served: list[Served], there: str) -> int:
    """After at most what was in flight and one failure all goes to one address; how much did."""
    where = asked(served)
    first = where.index(there)
    assert first <= 2
    assert set(where[first:]) == {there}
    return len(where) - first


def test_an_address_that_dies_and_one_that_comes_back() -> None:
    web = HalfDead({HOST: SimHost(address=A, more_addresses=(B,), page=chain(HOST))}, {})
    run = Run(web, config(limits=ENDLESS), roots([HOST]))
    run.go(30.0)
    assert set(asked(run.served)) == {A}
    web.dead, before = {A: refused(Failure.CONNECT)}, len(run.served)
    run.go(60.0)
    assert moved(run.served[before:], B) > 30
    run.stop()
    again = Run(web, config(limits=ENDLESS), roots([HOST]), store=run.store, clock=run.clock)
    again.go(60.0)
    assert set(asked(again.served)) == {B}, "a restart does not forget"
    web.dead, before = {B: refused(Failure.CONNECT)}, len(again.served)
    again.go(60.0)
    assert moved(again.served[before:], A) > 30
    assert gaps(run.served + again.served, 1.0) == []


def test_a_name_that_is_looked_up_often_does_not_lead_to_the_dead_address_each_time() -> None:
    """The dead one is named by each look-up; one that is new is tried like any."""
    started = 1_700_000_000.0

    def resolve(name: str, now: float) -> Resolution:
        found = (A, B) if now < started + 200 else (A, C)
        return Resolution(name=name, addresses=found, expires=now + 5)

    web = HalfDead({HOST: SimHost(address="", resolve=resolve, page=chain(HOST))}, {A: TIMEOUT})
    run = Run(web, config(limits=ENDLESS), roots([HOST]))
    run.go(400.0)
    where = asked(run.served)
    turns = where.index(C)
    assert where == [A] + [B] * (turns - 1) + [C] * (len(where) - turns)
    assert min(turns, len(where) - turns) > 100
