"""Permanent redirects move a page: its history, its links, its visits. Temporary ones move nothing. Loops are safe."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.core.moves import CONFIRM_S, TAKEN_MAX
from gossamer.model.record import HostRow, UrlRow
from gossamer.policy.importance import votes
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect

A, B = "a.example", "b.example"
INTERVAL_S = 4 * 86_400.0
DAY_S = 86_400.0
Pages = dict[str, Answer]


def crawl(pages: dict[str, Pages], seeds: list[str]) -> Run:
    def page(own: Pages) -> Callable[[str], Answer]:
        return lambda target: own.get(target, Answer(status=404))

    web = SimWeb({name: SimHost(address=f"20.0.{n}.1", page=page(own)) for n, (name, own) in enumerate(pages.items())})
    run = Run(web, config(refresh={"policy": "uniform", "interval_s": INTERVAL_S, "min_interval_s": 3_600.0}), seeds)
    assert run.go()
    assert recount(run.store) == []
    return run


def row(run: Run, url: str) -> UrlRow:
    return next(row for row in url_rows(run.store).values() if row.url == url)


def host(run: Run, name: str) -> HostRow:
    return host_rows(run.store)[name]


def visit(run: Run, url: str) -> UrlRow:
    """Let a page become due, and visit it and whatever else is due."""
    run.wait(max(0.0, row(run, url).due - run.clock.now()) + 1)
    run.enqueue_due()
    assert run.go()
    assert recount(run.store) == []
    return row(run, url)


OLD, NEW = f"http://{A}/old", f"http://{A}/new"
NEW_KEY = "example,a)/new http"


@pytest.mark.parametrize("status", [301, 308])
def test_a_page_that_moved_hands_its_history_to_its_target_at_the_second_look(status: int) -> None:
    own: Pages = {"/old": Answer(body=b"1")}
    run = crawl({A: own}, [OLD])
    own["/old"] = Answer(body=b"2")
    before = visit(run, OLD)
    assert (before.visits, before.changes) == (2, 1)
    own |= {"/old": redirect("/new", status), "/new": Answer(body=b"3")}
    first = visit(run, OLD)
    assert (first.moved_to, first.moving) == ("", NEW_KEY)
    assert first.due - first.visited <= CONFIRM_S + 1, "looked at again soon, whatever its pace"
    assert row(run, NEW).status == 200, "the target is fetched at once"
    second = visit(run, OLD)
    assert second.moved_to == NEW_KEY
    assert second.due - second.visited > 80 * DAY_S, "and not at its own pace any more"
    target = row(run, NEW)
    assert target.moved_from == ("example,a)/old http",)
    assert (target.changes, target.discovered) == (1, before.discovered)
    assert target.pace is not None
    assert sum(visits for _, visits, _ in target.pace.changed) == 1
    assert (target.level, target.depth) == (0, 0)
    assert run.context.counters.totals.moved == 1
    again = visit(run, NEW)
    assert again.moved_from == ("example,a)/old http",)


@pytest.mark.parametrize("status", [302, 303, 307])
def test_a_temporary_redirect_moves_nothing(status: int) -> None:
    own: Pages = {"/old": Answer(body=b"1"), "/new": Answer(body=b"2")}
    run = crawl({A: own}, [OLD, NEW])
    own["/old"] = redirect("/new", status)
    for _ in range(3):
        page = visit(run, OLD)
    assert (page.moved_to, page.moving) == ("", "")
    assert row(run, NEW).moved_from == ()
    assert page.due - page.visited <= 4 * INTERVAL_S + 1


def test_a_redirect_of_one_day_costs_one_more_look() -> None:
    own: Pages = {"/old": Answer(body=b"1"), "/new": Answer(body=b"2")}
    run = crawl({A: own}, [OLD, NEW])
    own["/old"] = redirect("/new", 301)
    visit(run, OLD)
    own["/old"] = Answer(body=b"1")
    page = visit(run, OLD)
    assert (page.status, page.moving, page.moved_to) == (200, "", "")
    assert row(run, NEW).moved_from == ()


def test_an_address_that_never_showed_a_page_moves_at_once_and_its_links_count_for_the_target() -> None:
    deep = f"http://{A}/3"
    own: Pages = {f"/{n}": Answer(links=(f"http://{A}/{n + 1}",)) for n in range(3)}
    own |= {"/3": Answer(body=b"deep"), "/short": redirect("/3", 301)}
    run = crawl({A: own}, [f"http://{A}/0"])
    assert (row(run, deep).depth, row(run, deep).level) == (3, 3)
    run = Run(run.web, run.context.config, [f"http://{A}/short"], store=run.store, clock=run.clock)
    assert run.go()
    assert row(run, f"http://{A}/short").moved_to == "example,a)/3 http"
    assert (row(run, deep).depth, row(run, deep).level) == (0, 0)
    assert row(run, deep).moved_from == (), "there is no history to take over"


def test_a_chain_moves_to_its_end_and_a_loop_moves_nothing() -> None:
    own: Pages = {"/old": Answer(body=b"1"), "/mid": Answer(body=b"2"), "/new": Answer(body=b"3")}
    run = crawl({A: own}, [OLD, f"http://{A}/mid", NEW])
    own |= {"/old": redirect("/mid", 301), "/mid": redirect("/new", 301)}
    for _ in range(2):
        visit(run, OLD)
        visit(run, f"http://{A}/mid")
    assert visit(run, OLD).moved_to == NEW_KEY
    loop: Pages = {"/old": Answer(body=b"1"), "/new": Answer(body=b"2")}
    run = crawl({A: loop}, [OLD, NEW])
    loop |= {"/old": redirect("/new", 301), "/new": redirect("/old", 301)}
    for _ in range(4):
        visit(run, OLD)
        visit(run, NEW)
    assert [row(run, url).moved_to for url in (OLD, NEW)] == ["", ""]
    assert run.context.counters.totals.moved == 0


def test_a_redirect_that_turns_round_is_followed_back() -> None:
    own: Pages = {"/old": Answer(body=b"1"), "/new": Answer(body=b"2")}
    run = crawl({A: own}, [OLD, NEW])
    own["/old"] = redirect("/new", 301)
    for _ in range(2):
        visit(run, OLD)
    assert row(run, OLD).moved_to == NEW_KEY
    own |= {"/old": Answer(body=b"1"), "/new": redirect("/old", 301)}
    looks = row(run, OLD).visits
    visit(run, NEW)
    assert (row(run, OLD).visits, row(run, OLD).status) == (looks + 1, 200), "looked at at once, not in 90 days"
    for _ in range(2):
        visit(run, NEW)
    assert row(run, NEW).moved_to == "example,a)/old http"
    assert row(run, OLD).moved_to == ""


def test_when_the_target_goes_the_old_address_is_asked_again() -> None:
    own: Pages = {"/old": Answer(body=b"1"), "/new": Answer(body=b"2")}
    run = crawl({A: own}, [OLD, NEW])
    own["/old"] = redirect("/new", 301)
    for _ in range(2):
        visit(run, OLD)
    del own["/new"]
    own["/old"] = Answer(body=b"1")
    visit(run, NEW)
    page = row(run, OLD)
    assert (page.status, page.moved_to) == (200, "")
    assert run.context.counters.totals.moved == 0


def test_a_page_that_many_are_sent_to_takes_the_place_of_few() -> None:
    count = 2 * TAKEN_MAX
    own: Pages = {f"/p{n:02}": Answer() for n in range(count)} | {"/login": Answer(body=b"please log in")}
    urls = [f"http://{A}/p{n:02}" for n in range(count)]
    run = crawl({A: own}, [*urls, f"http://{A}/login"])
    for path in [path for path in own if path != "/login"]:
        own[path] = redirect("/login", 301)
    for _ in range(3):
        visit(run, urls[-1])
        run.wait(INTERVAL_S)
        run.enqueue_due()
        assert run.go()
    moved = [row(run, url) for url in urls if row(run, url).moved_to]
    assert len(moved) == len(row(run, f"http://{A}/login").moved_from) == TAKEN_MAX
    left = [row(run, url) for url in urls if not row(run, url).moved_to]
    assert all(one.due - one.visited <= 4 * INTERVAL_S + 1 for one in left)


def test_votes_for_a_host_that_moved_count_for_the_new_one() -> None:
    fans = {f"fan{n}.example": {"/": Answer(links=(f"http://{A}/",))} for n in range(5)}
    pages: dict[str, Pages] = {A: {"/": Answer(body=b"1")}, B: {"/": Answer(body=b"2")}, **fans}
    run = crawl(pages, [f"http://{name}/" for name in pages])
    counted = host(run, A).votes
    assert round(votes(counted)) in (4, 5)  # a sketch
    assert host(run, B).votes == b""
    pages[A]["/"] = redirect(f"http://{B}/", 301)
    for _ in range(2):
        visit(run, f"http://{A}/")
    assert host(run, A).moved_to == B
    assert host(run, B).votes == counted
    pages["late.example"] = {"/": Answer(links=(f"http://{A}/",))}
    run.web.hosts["late.example"] = SimHost(address="20.0.99.1", page=lambda _target: pages["late.example"]["/"])
    run = Run(run.web, run.context.config, ["http://late.example/"], store=run.store, clock=run.clock)
    assert run.go()
    assert votes(host(run, B).votes) > votes(counted)
    assert host(run, A).votes == counted
    pages[A]["/"] = Answer(body=b"1")
    visit(run, f"http://{A}/")
    assert host(run, A).moved_to == ""
