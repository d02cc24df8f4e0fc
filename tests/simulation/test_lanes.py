"""Servers rather than names: lanes, CDN ranges, /24 and AS buckets, slow hosts."""

from __future__ import annotations

from collections import Counter

import pytest

from gossamer.core import frontier as frontier_module
from gossamer.model.limits import LANE_RESIDENTS_MAX
from gossamer.model.page import Resolution
from gossamer.model.record import Cf
from gossamer.policy.networks import RangeSet
from gossamer.sim.check import gaps, one_at_a_time, recount
from gossamer.sim.make import chain, config, farm, listing, names, roots
from gossamer.sim.run import Run
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb
from tests.conftest import LONG

ONE = "20.0.0.1"


def test_thousands_of_names_on_one_address_are_one_server() -> None:
    hosts = names(5_000 if LONG else 1_500)
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
