"""What hosts ask of us, and what their distress does: Crawl-delay, Retry-After, back-off, parking, faults of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from gossamer.model.page import Failure, Resolution
from gossamer.model.reason import Reason
from gossamer.sim.check import gaps, host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.make import chain, config, listing
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, refused, robots

HOST = "h0.example"
START = 1_700_000_000.0  # Tue, 14 Nov 2023 22:13:20 GMT


def one_host(page: Callable[[str], Answer], **fields: object) -> SimWeb:
    return SimWeb({HOST: SimHost(address="20.0.0.1", page=page, **fields)})  # type: ignore[arg-type]


def crawl(page: Callable[[str], Answer], duration_s: float | None = None, **sections: dict[str, object]) -> Run:
    run = Run(one_host(page), config(**sections), [f"http://{HOST}/"])
    run.go(duration_s)
    assert recount(run.store) == []
    assert one_at_a_time(run.served) == []
    return run


def answers(*of_each_visit: Answer) -> Callable[[str], Answer]:
    """The root answers so, visit by visit; the last answer stays."""
    left: Iterator[Answer] = iter(of_each_visit)
    last = of_each_visit[-1]
    return lambda _target: next(left, last)


@pytest.mark.parametrize(("asked", "kept"), [("10", 10.0), ("0.1", 1.0), ("2.5", 2.5), ("300", 300.0), ("-5", 1.0)])
def test_crawl_delay(asked: str, kept: float) -> None:
    web = one_host(listing(HOST, 5), robots=robots(f"User-agent: *\nCrawl-delay: {asked}\n"))
    run = Run(web, config(), [f"http://{HOST}/"])
    assert run.go()
    assert len(run.pages()) == 6
    waits = [b.start - a.end for a, b in pairwise(run.served)]
    assert waits == pytest.approx([kept] * 6)  # from the fetch of robots.txt itself on


def test_a_crawl_delay_beyond_what_we_wait_parks_the_host_and_is_reported() -> None:
    web = one_host(listing(HOST, 5), robots=robots("User-agent: *\nCrawl-delay: 400\n"))
    run = Run(web, config(), [f"http://{HOST}/"])
    assert run.go()
    assert run.targets(HOST) == ["/robots.txt"]
    row = host_rows(run.store)[HOST]
    assert row.parked == f"{Reason.HOST_PARKED}: Crawl-delay of 400 s is more than we wait"
    assert run.context.counters.totals.parked == 1
    assert recount(run.store) == []
    web.hosts[HOST].robots = robots("User-agent: *\nCrawl-delay: 4\n")
    run.wait(25 * 3_600.0)  # it is asked again when its robots.txt has expired
    assert run.go()
    assert len(run.pages()) == 6
    assert run.context.counters.totals.parked == 0
    assert recount(run.store) == []


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("value", "at_least", "at_most"),
    [
        ("120", 120.0, 120.0),
        ("3120", 3_120.0, 3_120.0),  # never clamped
        ("86400", 86_400.0, 86_400.0),
        ("999999999", 86_400.0, 86_400.0),  # absurd: a day
        ("Tue, 14 Nov 2023 23:13:20 GMT", 3_590.0, 3_600.0),
        ("Fri, 14 Nov 2053 22:13:20 GMT", 86_400.0, 86_400.0),
        ("Mon, 13 Nov 2023 22:13:20 GMT", 10.0, 12.5),  # past: our own back-off
        ("-1", 10.0, 12.5),
        ("soon", 10.0, 12.5),
        ("0", 10.0, 12.5),
    ],
)
def test_retry_after(status: int, value: str, at_least: float, at_most: float) -> None:
    run = crawl(answers(Answer(status=status, headers=(("retry-after", value),)), Answer()))
    if at_least > 3_600.0:
        assert len(run.pages()) == 1
        run.wait(86_400.0)
        assert run.go()
    first, second = run.pages()
    following = run.served[run.served.index(first) + 1]  # after a day that is robots.txt
    assert at_least - 1e-6 <= following.start - first.end <= at_most + 1e-6
    assert (first.status, second.status) == (status, 200)


def test_a_retry_after_within_the_hour_keeps_the_crawl_alive_a_longer_one_does_not() -> None:
    soon = crawl(answers(Answer(status=503, headers=(("retry-after", "3000"),)), Answer()))
    assert [s.status for s in soon.pages()] == [503, 200]
    late = crawl(answers(Answer(status=503, headers=(("retry-after", "4000"),)), Answer()))
    assert [s.status for s in late.pages()] == [503]
    late.wait(4_000.0)
    assert late.go()
    assert [s.status for s in late.pages()] == [503, 200]


@pytest.mark.parametrize("bad", [Answer(status=500), Answer(status=429), Answer(status=503), refused(Failure.TIMEOUT),
                                 refused(Failure.CONNECT), refused(Failure.DISCONNECTED)])  # fmt: skip
def test_distress_backs_off_exponentially_and_is_forgiven_after_an_answer(bad: Answer) -> None:
    run = crawl(answers(bad, bad, bad, Answer(links=(f"http://{HOST}/a", f"http://{HOST}/b")), Answer()))
    waits = [b.start - a.end for a, b in pairwise(run.pages())]
    for wait, base in zip(waits, (10.0, 20.0, 40.0), strict=False):
        assert base <= wait <= base * 1.25
    assert waits[3:] == pytest.approx([1.0, 1.0])
    assert host_rows(run.store)[HOST].errors == 0


def test_a_streak_parks_and_a_probe_unparks() -> None:
    down = {"now": True}
    pages = listing(HOST, 30)
    run = crawl(lambda target: Answer(status=500) if down["now"] and target != "/" else pages(target))
    assert len(run.pages()) == 1 + 8  # park_after
    row = host_rows(run.store)[HOST]
    assert row.parked.startswith(f"{Reason.HOST_PARKED}: 8 failures in a row, the last one status 500")
    assert run.context.counters.totals.parked == 1
    assert run.partition.exhausted(run.clock.now())  # a parked host does not keep the crawl alive
    assert row.pending == 30
    parked_at = run.served[-1].end
    down["now"] = False
    run.wait(6 * 3_600.0)
    assert run.go()
    assert recount(run.store) == []
    assert run.pages()[9].start - parked_at >= 6 * 3_600.0
    assert run.context.counters.totals.parked == 0
    assert all(row.status == 200 for row in url_rows(run.store).values() if row.kind == "page")
    assert gaps(run.served, 1.0) == []


def test_a_host_that_never_answered_is_given_less() -> None:
    web = one_host(lambda _target: refused(Failure.CONNECT), robots=refused(Failure.CONNECT))
    run = Run(web, config(), [f"http://{HOST}/"])
    assert run.go()
    assert len(run.served) == 3
    assert host_rows(run.store)[HOST].parked
    assert recount(run.store) == []


def test_a_url_is_given_up_after_its_retries_with_its_reason() -> None:
    pages = listing(HOST, 3)
    run = crawl(lambda target: refused(Failure.PROTOCOL) if target == "/p1" else pages(target), fetch={"retries": 2})
    row = next(row for row in url_rows(run.store).values() if row.url.endswith("/p1"))
    assert (row.state.name, row.reason, row.attempts) == ("FAILED", Reason.FETCH_FAILED, 3)
    assert row.detail == "protocol: simulated (3 attempts)"
    assert run.targets(HOST).count("/p1") == 3
    assert run.context.counters.totals.refused[Reason.FETCH_FAILED] == 1


# -- faults of ours ------------------------------------------------------------------------------------------------


def test_a_fault_of_ours_is_held_against_nobody() -> None:
    pages = listing(HOST, 4)
    left = {"faults": 6}

    def page(target: str) -> Answer:
        if target != "/" and left["faults"]:
            left["faults"] -= 1
            return refused(Failure.OURS, 0.01)
        return pages(target)

    run = crawl(page)
    row = host_rows(run.store)[HOST]
    assert left["faults"] == 0
    assert (row.failed, row.errors, row.backoff_s, row.parked) == (0, 0, 0.0, "")
    assert sorted(run.targets(HOST)) == ["/", "/p0", "/p1", "/p2", "/p3", "/robots.txt"]  # each once, none lost
    assert run.context.counters.totals.failures == {}
    assert all(row.attempts == 0 for row in url_rows(run.store).values())


def test_faults_of_ours_while_robots_are_fetched() -> None:
    left = iter([refused(Failure.OURS), refused(Failure.OURS), Answer(status=404)])
    web = one_host(listing(HOST, 1), robots=lambda _turn: next(left))
    run = Run(web, config(), [f"http://{HOST}/"])
    assert run.go()
    assert run.targets(HOST) == ["/robots.txt", "/", "/p0"]
    assert recount(run.store) == []


def test_no_resolver_is_a_fault_of_ours() -> None:
    def resolve(name: str, now: float) -> Resolution:
        if now < START + 100:
            return Resolution(name=name, error="no nameserver answers", ours=True)
        return Resolution(name=name, addresses=("20.0.0.1",), expires=now + 300)

    run = Run(one_host(listing(HOST, 2), resolve=resolve), config(), [f"http://{HOST}/"])
    assert run.go()
    row = host_rows(run.store)[HOST]
    assert (row.failed, row.errors, row.parked) == (0, 0, "")
    assert len(run.pages()) == 3
    assert run.served[0].start >= START + 100
    assert recount(run.store) == []


# -- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "looked_up"), [("nxdomain", 1), ("no address", 1), ("servfail", 3), ("timeout", 3)])
def test_a_name_that_does_not_resolve_is_tried_a_little_and_parked(error: str, looked_up: int) -> None:
    """Once is enough where asking again soon changes nothing."""
    host = SimHost(address="", resolve=lambda name, _: Resolution(name=name, error=error))
    run = Run(SimWeb({"nowhere.example": host}), config(), ["http://nowhere.example/"])
    assert run.go()
    row = host_rows(run.store)["nowhere.example"]
    assert row.parked == f"{Reason.DNS_FAILED}: {error}"
    assert (row.errors, row.failed) == (looked_up, looked_up)
    assert run.served == []
    assert [row.state.name for row in url_rows(run.store).values()] == ["QUEUED"]
    assert recount(run.store) == []


@pytest.mark.parametrize("bad", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1", "0.0.0.0"])
def test_a_name_that_leads_inside_is_never_asked(bad: str) -> None:
    run = Run(SimWeb({HOST: SimHost(address=bad)}), config(), [f"http://{HOST}/"], allow=())
    assert run.go()
    assert run.served == []
    assert host_rows(run.store)[HOST].parked.startswith(f"{Reason.ADDRESS_FORBIDDEN}: {bad} is ")
    assert recount(run.store) == []


def test_a_name_that_stops_resolving_while_pages_are_digested_counts_once() -> None:
    asked = []

    def resolve(name: str, now: float) -> Resolution:
        asked.append(now)
        if now > START + 2.5:
            return Resolution(name=name, error="SERVFAIL")
        return Resolution(name=name, addresses=("20.0.0.1",), expires=now + 2.5)

    run = Run(one_host(listing(HOST, 9), resolve=resolve), config(), [f"http://{HOST}/"], digest_s=0.9)
    run.go(8.0)
    assert len(asked) == 2
    assert host_rows(run.store)[HOST].errors == 1
    run.go()
    assert recount(run.store) == []


# -- slots ---------------------------------------------------------------------------------------------------------


def test_hosts_that_rest_long_hold_no_slot() -> None:
    rules = robots("User-agent: *\nCrawl-delay: 100\n")
    resting = {
        f"r{n}.example": SimHost(address=f"20.1.{n}.1", page=chain(f"r{n}.example"), robots=rules) for n in range(20)
    }
    busy = {name: SimHost(address=f"20.2.{name[1]}.1", page=chain(name)) for name in ("b0.example", "b1.example")}
    web = SimWeb(resting | busy)
    run = Run(web, config(limits={"depth": 10**6}, frontier={"slots": 4}), [f"http://{name}/" for name in web.hosts])
    run.go(2_000.0)
    by_host = {name: len(run.targets(name)) for name in web.hosts}
    assert min(by_host[name] for name in busy) > 0.7 * 2_000 / 1.2
    assert min(by_host[name] for name in resting) >= 17  # of 20: they are not forgotten either
    assert gaps([s for s in run.served if s.host in resting], 100.0) == []


def test_hosts_that_return_get_slots_from_hosts_that_never_end() -> None:
    """Nobody waits on disk; the only ones in need of a slot come back from sleep."""
    web = SimWeb({f"b{n}.example": SimHost(address=f"20.2.{n}.1", page=chain(f"b{n}.example")) for n in range(2)})
    web.hosts["r.example"] = SimHost(address="20.1.0.1", page=chain("r.example"),
                                     robots=robots("User-agent: *\nCrawl-delay: 100\n"))  # fmt: skip
    run = Run(web, config(limits={"depth": 10**6}, frontier={"slots": 2}), [f"http://{name}/" for name in web.hosts])
    run.go(3_000.0)
    assert len(run.targets("r.example")) >= 15
