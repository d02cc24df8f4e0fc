"""robots.txt at the moment of fetching: first of all, per scheme, through redirects, over time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Kind
from gossamer.model.reason import Reason
from gossamer.model.record import State
from gossamer.model.url import parse as parse_url
from gossamer.sim.check import gaps, host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.make import chain, config, listing
from gossamer.sim.run import Run
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb, redirect, refused, robots

A, B, C = "a.example", "b.example", "c.example"
DISALLOW = robots("User-agent: *\nDisallow: /")


def web(**hosts: tuple[Callable[[str], Answer], Answer | Callable[[Turn], Answer]]) -> SimWeb:
    return SimWeb(
        {
            f"{name}.example": SimHost(address=f"20.0.{number}.1", page=page, robots=rules)
            for number, (name, (page, rules)) in enumerate(hosts.items())
        }
    )


def sound(run: Run) -> None:
    assert recount(run.store) == []
    assert one_at_a_time(run.served) == []
    assert gaps(run.served, 1.0) == []


def test_first_of_all_for_each_scheme() -> None:
    pages = lambda target: Answer(links=(f"https://{A}/s", f"http://{A}/t") if target == "/" else ())  # noqa: E731
    run = Run(web(a=(pages, NO_ROBOTS)), config(), [f"http://{A}/"])
    assert run.go()
    for scheme in ("http", "https"):
        assert next(s.kind for s in run.served if s.scheme == scheme) == "robots"
    assert [s.kind for s in run.served].count("robots") == 2
    sound(run)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418])
def test_4xx_opens_the_host(status: int) -> None:
    run = Run(web(a=(listing(A, 2), Answer(status=status))), config(), [f"http://{A}/"])
    assert run.go()
    assert len(run.pages()) == 3


@pytest.mark.parametrize(
    "trouble",
    [Answer(status=500), Answer(status=503), Answer(status=429), refused(Failure.TIMEOUT), refused(Failure.CONNECT)],
)
def test_trouble_closes_the_host_and_is_tried_again(trouble: Answer) -> None:
    answers = iter([trouble, trouble])
    run = Run(web(a=(listing(A, 2), lambda _turn: next(answers, NO_ROBOTS))), config(), [f"http://{A}/"])
    assert run.go()
    assert [s.kind for s in run.served][:4] == ["robots", "robots", "robots", "page"]
    assert len(run.pages()) == 3
    assert run.served[2].start - run.served[0].start < 700
    sound(run)


def test_a_host_that_stays_closed_is_parked_and_its_urls_stay() -> None:
    run = Run(web(a=(listing(A, 2), Answer(status=500)), b=(listing(B, 2), NO_ROBOTS)), config(),
              [f"http://{A}/", f"http://{B}/"])  # fmt: skip
    assert run.go()
    assert run.pages() == [s for s in run.pages() if s.host == B]
    assert set(run.targets(A)) == {"/robots.txt"}
    assert len(run.targets(A)) == 8
    rows = url_rows(run.store)
    assert [row.state for row in rows.values() if row.host == A and row.kind == "page"] == [State.QUEUED]
    assert host_rows(run.store)[A].parked
    sound(run)


def test_html_instead_of_rules_closes_the_host_unless_configured() -> None:
    html = Answer(headers=(("content-type", "text/html"),), body=b"<!doctype html><title>Welcome</title>")
    run = Run(web(a=(listing(A, 2), html)), config(), [f"http://{A}/"])
    assert run.go()
    assert run.pages() == []
    assert run.context.counters.totals.errors == {"robots-unparseable": 1}
    row = next(row for row in url_rows(run.store).values() if row.url == f"http://{A}/")
    assert (row.state, row.reason, row.detail) == (State.REFUSED, Reason.ROBOTS, "robots.txt: html")
    lenient = Run(web(a=(listing(A, 2), html)), config(robots={"unparseable": "allow"}), [f"http://{A}/"])
    assert lenient.go()
    assert len(lenient.pages()) == 3


def test_refused_urls_name_the_line_and_are_logged() -> None:
    rules = robots("User-agent: *\nAllow: /p1$\nDisallow: /p\n")
    run = Run(web(a=(listing(A, 12), rules)), config(), [f"http://{A}/"])
    assert run.go()
    assert sorted(s.target for s in run.pages()) == ["/", "/p1"]
    refused_events = [event for event in run.events if event.verdict == "refused"]
    assert len(refused_events) == 11
    assert {event.detail for event in refused_events} == {"robots.txt line 3: Disallow: /p"}
    assert run.context.counters.totals.refused[Reason.ROBOTS] == 11
    assert host_rows(run.store)[A].refused[Reason.ROBOTS] == 11
    sound(run)


def test_each_request_names_the_rule_that_let_it_be_made() -> None:
    rules = robots("User-agent: *\nAllow: /p1$\nDisallow: /p1\n")
    run = Run(web(a=(listing(A, 3), rules), b=(listing(B, 1), NO_ROBOTS)), config(), [f"http://{A}/", f"http://{B}/"])
    assert run.go()
    told = {event.url: event.robots for event in run.events if event.kind is Kind.PAGE and event.started}
    assert told == {
        f"http://{A}/": "no rule against it",
        f"http://{A}/p0": "no rule against it",
        f"http://{A}/p1": "line 2: Allow: /p1$",
        f"http://{A}/p2": "no rule against it",
        f"http://{B}/": "no rules: 404",
        f"http://{B}/p0": "no rules: 404",
    }
    fetched = {event.host: event.time for event in run.events if event.kind is Kind.ROBOTS}
    pages = [event for event in run.events if event.kind is Kind.PAGE and event.started]
    assert all(event.robots_at == fetched[event.host] <= event.started for event in pages)


def test_a_rule_without_end_is_not_kept_whole_with_each_url() -> None:
    rules = robots(f"User-agent: *\nDisallow: /p{'*' * 10_000}\nAllow: /{'*' * 10_000}\n")
    run = Run(web(a=(listing(A, 3), rules)), config(), [f"http://{A}/"])
    assert run.go()
    kept = [row.detail for row in url_rows(run.store).values()] + [event.robots + event.detail for event in run.events]
    assert any("Disallow: /p***" in text for text in kept)
    assert max(map(len, kept)) < 300


def test_thousands_of_refusals_do_not_hold_up_others() -> None:
    run = Run(web(a=(listing(A, 5_000), robots("User-agent: *\nDisallow: /p")), b=(chain(B), NO_ROBOTS)),
              config(limits={"depth": 10**6}), [f"http://{A}/", f"http://{B}/"])  # fmt: skip
    calls = []
    real = run.partition._dispatch._make
    run.partition._dispatch._make = lambda host, now: calls.append(host.name) or real(host, now)  # type: ignore[assignment]
    most = 0
    while run.clock.now() < 1_700_000_060.0:
        calls.clear()
        run.go(steps=1)
        most = max(most, len(calls))
    assert most < 200
    assert run.context.counters.totals.refused[Reason.ROBOTS] == 5_000
    assert len(run.targets(B)) == pytest.approx(60 / 1.2, abs=2)
    sound(run)


# -- redirects -----------------------------------------------------------------------------------------------------


def test_a_redirect_to_another_host_is_a_turn_of_that_host() -> None:
    """The rules found there are those of the host that was asked first, and of no other."""
    simulated = web(a=(listing(A, 2), redirect(f"http://{B}/a/robots.txt", 301)), b=(listing(B, 40), NO_ROBOTS))
    simulated.hosts[B].page = lambda target: DISALLOW if target == "/a/robots.txt" else listing(B, 40)(target)
    run = Run(simulated, config(), [f"http://{B}/", f"http://{A}/"])
    assert run.go()
    assert [s.target for s in run.served if s.host == A] == ["/robots.txt"]
    assert len([s for s in run.pages() if s.host == B]) == 41  # b is as open as before
    assert "/a/robots.txt" in run.targets(B)
    sound(run)


@pytest.mark.parametrize(("hops", "followed"), [(1, True), (5, True), (6, False)])
def test_up_to_five_hops(hops: int, followed: bool) -> None:
    def page(target: str) -> Answer:
        if target.startswith("/r"):
            number = int(target[2:])
            return DISALLOW if number == hops else redirect(f"http://{A}/r{number + 1}")
        return listing(A, 2)(target)

    run = Run(web(a=(page, redirect(f"http://{A}/r1"))), config(), [f"http://{A}/"])
    assert run.go()
    assert (run.pages() == []) is followed  # one that cannot be followed counts as unavailable: allow
    assert len([s for s in run.served if s.kind == "robots"]) == 1 + min(hops, 5)
    sound(run)


@pytest.mark.parametrize("where", [f"http://{A}/robots.txt", f"http://{B}/robots.txt", "http://[bad", ""])
def test_loops_and_broken_redirects_are_not_followed_for_ever(where: str) -> None:
    run = Run(web(a=(listing(A, 2), redirect(where)), b=(listing(B, 2), redirect(f"http://{A}/robots.txt"))), config(),
              [f"http://{A}/", f"http://{B}/"])  # fmt: skip
    assert run.go()
    assert {s.host for s in run.pages()} == {A, B}
    assert len([s for s in run.served if s.kind == "robots"]) <= 8
    sound(run)


def test_two_hosts_that_send_each_other_their_rules_both_go_on() -> None:
    simulated = web(a=(listing(A, 2), redirect(f"http://{B}/for-a")), b=(listing(B, 2), redirect(f"http://{A}/for-b")))
    own = {A: listing(A, 2), B: listing(B, 2)}
    for name in (A, B):
        simulated.hosts[name].page = lambda target, name=name: (  # type: ignore[misc]
            robots("User-agent: *\nDisallow: /p1") if target.startswith("/for-") else own[name](target)
        )
    run = Run(simulated, config(), [f"http://{A}/", f"http://{B}/"])
    assert run.go()
    assert sorted(s.target for s in run.pages()) == ["/", "/", "/p0", "/p0"]
    sound(run)


def test_a_host_that_serves_the_rules_of_others_and_does_not_answer() -> None:
    silent = refused(Failure.TIMEOUT)
    simulated = web(a=(listing(A, 2), redirect(f"http://{B}/for-a")), b=(lambda _target: silent, NO_ROBOTS))
    run = Run(simulated, config(), [f"http://{A}/"])
    assert run.go()  # it is not tried for ever
    assert run.pages() == []
    assert run.context.frontier.active == {}
    assert len([s for s in run.served if s.host == B]) >= 2
    assert host_rows(run.store)[A].parked.startswith(f"{Reason.ROBOTS_UNREACHABLE}: unreachable: ")
    assert recount(run.store) == []


@pytest.mark.parametrize("where", ["http://nowhere.example/robots.txt"])
def test_rules_at_a_name_that_does_not_exist(where: str) -> None:
    run = Run(web(a=(listing(A, 2), redirect(where))), config(), [f"http://{A}/"])
    assert run.go()
    assert run.pages() == []
    assert len(run.targets(A)) == 8
    assert not [host for host in run.context.frontier.active.values() if host.errands]
    assert host_rows(run.store)[A].robots["http"].why.startswith("unreachable")
    assert recount(run.store) == []


def test_a_long_retry_after_at_the_host_of_the_rules_holds_no_slots() -> None:
    busy = Answer(status=429, headers=(("retry-after", "80000"),))
    simulated = web(a=(listing(A, 2), redirect(f"http://{B}/for-a")), b=(lambda _t: busy, busy))
    run = Run(simulated, config(), [f"http://{B}/", f"http://{A}/"])
    run.go(duration_s=100.0)
    assert run.context.frontier.active == {}
    assert recount(run.store) == []


def test_rules_at_a_host_that_rests_between_its_fetches_are_waited_for() -> None:
    slow = robots("User-agent: *\nCrawl-delay: 100\n")
    own = listing(B, 30)
    simulated = web(
        a=(listing(A, 2), redirect(f"http://{B}/for-a")),
        b=(lambda target: DISALLOW if target == "/for-a" else own(target), slow),
    )
    run = Run(simulated, config(), [f"http://{B}/"])
    run.go(50.0)
    assert B in run.context.frontier.asleep()
    run.partition.seed([(parse_url(f"http://{A}/"), Kind.PAGE)], run.clock.now())
    run.go(400.0)
    assert run.targets(B).count("/for-a") == 1
    assert host_rows(run.store)[A].robots["http"].verdict == "rules"
    assert gaps([s for s in run.served if s.host == B], 100.0) == []
    sound(run)


# -- over time -----------------------------------------------------------------------------------------------------


def test_rules_expire_and_are_fetched_again() -> None:
    run = Run(web(a=(chain(A), robots("User-agent: *\nDisallow: /x"))),
              config(limits={"depth": 10**6}, robots={"ttl_s": 600.0}), [f"http://{A}/"])  # fmt: skip
    run.go(3_000.0)
    asked = [s.start for s in run.served if s.kind == "robots"]
    assert len(asked) == 5
    assert all(599.0 < b - a < 603.0 for a, b in pairwise(asked))
    sound(run)


def test_rules_that_change_hold_from_the_next_fetch_on() -> None:
    """URLs leased before are not fetched after: what counts is the moment of fetching."""
    rules = {"now": robots("User-agent: *\nDisallow:")}
    run = Run(web(a=(listing(A, 50), lambda _turn: rules["now"])), config(robots={"ttl_s": 30.0}), [f"http://{A}/"])
    run.go(15.0)
    before = len(run.pages())
    rules["now"] = DISALLOW
    assert run.go()
    changed = next(s.start for s in run.served if s.kind == "robots" and s.start > 1_700_000_015.0)
    assert [s for s in run.pages() if s.start > changed] == []
    assert before < len(run.pages()) < 51
    assert run.context.counters.totals.refused[Reason.ROBOTS] == 51 - len(run.pages())
    sound(run)


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_host_that_starts_to_refuse_has_its_rules_read_again(status: int) -> None:
    rules = {"now": robots("User-agent: *\nDisallow:")}
    bad = {"now": False}
    links = listing(A, 2_000)
    simulated = web(
        a=(lambda target: Answer(status=status) if bad["now"] else links(target), lambda _turn: rules["now"])
    )
    run = Run(simulated, config(), [f"http://{A}/"])
    run.go(700.0)
    bad["now"], rules["now"] = True, DISALLOW
    turned_at = run.clock.now()
    run.go(60.0)
    asked = [s for s in run.served if s.kind == "robots" and s.start > turned_at]
    assert len(asked) == 1
    assert len([s for s in run.pages() if s.start > turned_at]) <= 2
    sound(run)


def test_new_rules_slow_a_host_that_stands_in_its_lane_already() -> None:
    """Rules for https come from elsewhere with a Crawl-delay while an errand of http waits for its turn."""
    pages = lambda target: Answer(  # noqa: E731
        links=(f"http://{A}/x", f"https://{A}/y", f"http://{A}/z") if target == "/" else (), title="Not found"
    )
    slow = robots("User-agent: *\nCrawl-delay: 20\n")
    simulated = web(
        a=(pages, lambda turn: redirect(f"http://{B}/slow") if turn.scheme == "https" else NO_ROBOTS),
        b=(lambda target: slow if target == "/slow" else Answer(), NO_ROBOTS),
    )
    run = Run(simulated, config(), [f"http://{A}/"])
    assert run.go()
    told = next(s.end for s in run.served if s.target == "/slow")
    assert gaps([s for s in run.served if s.host == A and s.end > told - 1.3], 20.0) == []
    sound(run)


# -- sitemaps ------------------------------------------------------------------------------------------------------


def test_sitemaps_of_robots_are_read_once_and_never_recursively() -> None:
    def page(target: str) -> Answer:
        if target == "/map.xml":
            return Answer(links=(f"http://{A}/s1", f"http://{A}/s2"))
        return Answer()

    text = "Sitemap: /map.xml\nSitemap: /robots.txt\nSitemap: http://other.example/map.xml\nSitemap: map.xml\n"
    run = Run(
        web(a=(page, robots(f"User-agent: *\nDisallow:\n{text}"))),
        config(scope={"mode": "site"}, robots={"ttl_s": 2.0}),
        [f"http://{A}/"],
    )
    run.go(60.0)
    assert run.targets(A).count("/map.xml") == 1
    assert {"/s1", "/s2"} <= set(run.targets(A))
    assert host_rows(run.store)[A].sitemaps == 1
    assert set(host_rows(run.store)) == {A}
    sound(run)


def test_a_link_to_robots_txt_is_an_ordinary_page() -> None:
    pages = lambda target: Answer(links=(f"http://{A}/robots.txt",) if target == "/" else ())  # noqa: E731
    start = Answer(links=(f"http://{A}/robots.txt", f"http://{A}/"))
    simulated = web(a=(pages, NO_ROBOTS), b=(lambda _target: start, NO_ROBOTS))
    run = Run(simulated, config(), [f"http://{B}/"], digest_s=3.0)
    assert run.go()
    sound(run)


def test_an_exclude_pattern_that_comes_later_holds_for_what_is_queued() -> None:
    pages = web(a=(listing(A, 6), NO_ROBOTS), b=(listing(B, 6), NO_ROBOTS))
    seeds = [f"http://{A}/", f"http://{B}/"]
    first = Run(pages, config(limits={"pages": 4}), seeds)
    assert first.go()
    assert any(row.state is State.QUEUED for key, row in url_rows(first.store).items() if row.host == A)
    second = Run(pages, config(scope={"exclude": (f"*://{A}/*",)}), seeds, store=first.store, clock=first.clock, seed=2)
    assert second.go()
    assert {served.host for served in second.served} == {B}
    left = [row for row in url_rows(second.store).values() if row.host == A and not row.visits]
    assert {(row.state, row.reason) for row in left} == {(State.REFUSED, Reason.SCOPE_EXCLUDED)}
    assert all("exclude pattern" in row.detail for row in left)
    assert [event.reason for event in second.events if event.reason] == [Reason.SCOPE_EXCLUDED] * len(left)
    assert recount(second.store) == []
