"""What is let in, what is refused and why, and where redirects lead."""

from __future__ import annotations

import zlib
from collections import Counter

import pytest

from gossamer.core import admission
from gossamer.core.admission import Admission, Candidate
from gossamer.core.changes import Changes
from gossamer.model.limits import LEVEL_WEIGHTS, LEVELS, REDIRECTS_MAX
from gossamer.model.reason import Reason
from gossamer.model.record import State, UrlRow
from gossamer.sim.check import gaps, host_rows, recount, url_rows
from gossamer.sim.make import config, farm, listing, names
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect

A, B = "a.example", "b.example"


def crawl(page: object, seeds: list[str] | None = None, **sections: dict[str, object]) -> Run:
    web = SimWeb({name: SimHost(address=f"20.0.0.{n}", page=page) for n, name in enumerate((A, B))})  # type: ignore[arg-type]
    run = Run(web, config(**sections), seeds or [f"http://{A}/"])
    assert run.go()
    assert recount(run.store) == []
    assert gaps(run.served, 1.0) == []
    return run


def row_of(run: Run, url: str) -> UrlRow:
    return next(row for row in url_rows(run.store).values() if row.url == url)


# -- redirects -----------------------------------------------------------------------------------------------------


def test_a_chain_of_ten_is_followed_and_the_eleventh_hop_is_named() -> None:
    run = crawl(lambda target: redirect(f"http://{A}/{int(target[1:] or 0) + 1}"))
    assert [s.target for s in run.pages()] == ["/", *(f"/{n}" for n in range(1, REDIRECTS_MAX + 1))]
    last = row_of(run, f"http://{A}/{REDIRECTS_MAX}")
    assert (last.reason, last.detail) == (Reason.REDIRECT_LIMIT, f"hop 11 of a chain, to http://{A}/11")
    assert run.context.counters.totals.refused == {Reason.REDIRECT_LIMIT: 1}


@pytest.mark.parametrize("length", [2, 3, 7])
def test_a_loop_is_named(length: int) -> None:
    run = crawl(lambda target: redirect(f"http://{A}/{(int(target[1:] or 0) + 1) % length or ''}"))
    assert len(run.pages()) == length
    last = row_of(run, f"http://{A}/{length - 1}")
    assert last.reason == Reason.REDIRECT_LOOP
    assert run.context.counters.totals.refused == {Reason.REDIRECT_LOOP: 1}


def test_a_redirect_to_itself_is_tried_once_more_and_no_further() -> None:
    run = crawl(redirect)
    assert [s.target for s in run.pages()] == ["/", "/"]
    assert row_of(run, f"http://{A}/").reason == Reason.REDIRECT_LOOP


def test_a_redirect_to_itself_that_only_set_a_cookie() -> None:
    answers = iter([redirect("/"), Answer(links=(f"http://{A}/x",))])
    run = crawl(lambda target: next(answers, Answer()))
    assert [s.target for s in run.pages()] == ["/", "/", "/x"]
    assert row_of(run, f"http://{A}/").reason == ""


def test_spellings_of_one_url_that_redirect_to_one_another_end() -> None:
    run = crawl(lambda target: redirect("/?a=1&sid=8" if "sid=9" in target else "/?a=1&sid=9"), [f"http://{A}/?a=1"])
    assert 1 < len(run.pages()) <= 3
    assert {row.reason for row in url_rows(run.store).values() if row.kind == "page"} == {Reason.REDIRECT_LOOP}


def test_thousands_of_pages_that_redirect_to_one_login_page_fetch_it_once() -> None:
    pages = listing(A, 2_000)
    run = crawl(
        lambda target: redirect("/login?next=1") if target.startswith("/p") else pages(target), limits={"depth": 3}
    )
    asked = Counter(run.targets(A))
    assert asked["/login?next=1"] == 1
    assert sum(asked.values()) == 2_003  # robots.txt, the root, 2,000 pages, the login page


@pytest.mark.parametrize("where", ["", "http://[", "ftp://a.example/", "javascript:alert(1)", "http:///"])
def test_a_redirect_that_leads_nowhere_is_named(where: str) -> None:
    run = crawl(lambda _target: redirect(where))
    assert len(run.pages()) == 1
    row = row_of(run, f"http://{A}/")
    assert (row.state, row.reason) == (State.FETCHED, Reason.REDIRECT_INVALID)


def test_a_location_in_utf_8_is_what_it_means() -> None:
    run = crawl(lambda target: redirect("/stra\u00dfe".encode().decode("latin-1")) if target == "/" else Answer())
    assert [s.target for s in run.pages()] == ["/", "/stra%C3%9Fe"]


def test_a_redirect_out_of_scope_is_named() -> None:
    run = crawl(lambda target: redirect(f"http://{B}/x"), scope={"mode": "host"})
    assert {s.host for s in run.served} == {A}
    row = row_of(run, f"http://{A}/")
    assert row.reason == Reason.SCOPE_OUTSIDE
    assert row.detail.startswith(f"redirect to http://{B}/x")


def test_a_redirect_is_a_turn_of_the_host_it_leads_to() -> None:
    pages = listing(A, 10)
    run = crawl(lambda target: redirect(f"http://{B}{target}x") if target[1:2] == "p" and "x" not in target else
                pages(target))  # fmt: skip
    assert len([s for s in run.pages() if s.host == B]) == 10
    first = next(s for s in run.served if s.host == B)
    assert first.kind == "robots"


# -- budgets and growth --------------------------------------------------------------------------------------------


def admit(run: Run, count: int, level: int, depth: int, start: int = 0) -> dict[str, int]:
    changes = Changes(run.store)
    candidates = [
        Candidate(url=f"http://{A}/n{n}", key=f"example,a)/n{n}", host=A, site=A, level=level, depth=depth, via="x")
        for n in range(start, start + count)
    ]
    refused = run.context.admission.admit(changes, candidates, run.clock.now()).refused
    run.context.apply(changes)
    assert recount(run.store) == []
    return refused


def test_past_the_pending_cap_only_higher_priority_gets_in_and_past_twice_the_cap_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "PENDING_PER_HOST_MAX", 100)
    run = Run(SimWeb({}), config(), [])
    assert admit(run, 150, level=6, depth=3) == {Reason.HOST_PENDING_FULL: 50}
    assert admit(run, 150, level=2, depth=3, start=1_000) == {Reason.HOST_PENDING_FULL: 50}
    assert admit(run, 5, level=0, depth=0, start=2_000) == {}  # what a person asks for
    row = host_rows(run.store)[A]
    assert row.pending == 205
    assert row.refused == {Reason.HOST_PENDING_FULL: 100}
    assert run.context.counters.totals.refused == {Reason.HOST_PENDING_FULL: 100}


def test_what_is_pending_is_not_reset_by_being_found_again() -> None:
    run = Run(SimWeb({}), config(), [])
    admit(run, 3, level=6, depth=3)
    before = url_rows(run.store)
    run.context.admission.known = admission.Known()  # not from memory
    admit(run, 3, level=1, depth=1)
    admit(run, 3, level=1, depth=1)
    assert url_rows(run.store) == before


def test_many_hosts_in_one_commit_share_no_row_and_lose_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sitemap names hosts in turn, more of them than the ledger's cache holds."""
    monkeypatch.setattr("gossamer.core.ledger.LEDGERS_CACHED_MAX", 4)
    run = Run(SimWeb({}), config(), [])
    changes = Changes(run.store)
    candidates = [
        Candidate(url=f"http://{name}/{n}", key=f"{name})/{n}", host=name, site=name, level=2, depth=1, via="x")
        for n in range(3) for name in names(20)
    ]  # fmt: skip
    assert run.context.admission.admit(changes, candidates, 0.0)[:2] == (60, {})
    run.context.apply(changes)
    assert recount(run.store) == []
    assert run.context.counters.totals.hosts == 20


def test_a_site_budget_parks_its_hosts_in_broad_crawls_only() -> None:
    hosts = [f"{name}.shop.example" for name in "abc"]

    def page(name: str) -> object:
        return lambda target: Answer(
            links=tuple(f"http://{h}/p{n}" for h in hosts for n in range(10)) if target == "/" else ()
        )

    run = Run(farm(hosts, page), config(limits={"site_pages": 12}), [f"http://{hosts[0]}/"])  # type: ignore[arg-type]
    assert run.go()
    assert 12 <= len(run.pages()) <= 14  # in flight at the limit: one a host
    assert {row.parked for row in host_rows(run.store).values()} == {Reason.SITE_BUDGET}
    assert run.context.counters.totals.parked == 3
    assert recount(run.store) == []
    done = len(run.pages())
    run.wait(31 * 86_400.0)
    assert run.go()
    assert 12 <= len(run.pages()) - done <= 14  # the next 30 days
    assert recount(run.store) == []
    narrow = Run(farm(hosts, page), config(limits={"site_pages": 12}, scope={"mode": "site"}), [f"http://{hosts[0]}/"])  # type: ignore[arg-type]
    assert narrow.go()
    assert len(narrow.pages()) == 31


def test_a_shape_that_brings_nothing_new_is_refused_by_name() -> None:
    def page(target: str) -> Answer:
        if "gossamer" in target:
            return Answer(status=404)
        number = int(target.rpartition("/")[2] or 0)
        return Answer(body=b"an empty day", links=tuple(f"http://{A}/day/{number + n}" for n in range(1, 4)))

    run = crawl(page, limits={"depth": 1_000, "pages": 600})
    assert len(run.pages()) < 150
    assert run.context.counters.totals.refused[Reason.TRAP_SHAPE] > 0
    assert "/day/{n}" in host_rows(run.store)[A].tired_shapes


def test_filters_that_combine_are_one_trap_and_what_is_queued_of_it_goes_too() -> None:
    names = ["color", "size", "brand", "price", "stock", "kind"]

    def page(target: str) -> Answer:
        if "gossamer" in target:
            return Answer(status=404)
        path, _, query = target.partition("?")
        if path != "/list":
            return Answer(links=tuple(f"http://{A}/list?{name}=1" for name in names))
        chosen = dict(pair.split("=") for pair in query.split("&"))
        more = [{**chosen, name: str((len(chosen) + at) % 9)} for at, name in enumerate(names)]
        return Answer(
            body=b"nothing found",
            links=tuple(f"http://{A}/list?" + "&".join(f"{k}={v}" for k, v in sorted(each.items())) for each in more),
        )

    run = crawl(page, limits={"depth": 1_000, "pages": 900})
    assert len(run.pages()) < 60  # 6 filters have 63 combinations of names, each a shape of 50 pages
    assert "/list?*" in host_rows(run.store)[A].tired_shapes
    refused = [row for row in url_rows(run.store).values() if row.reason == Reason.TRAP_SHAPE]
    assert refused
    assert all("/list?*" in row.detail or "/list?" in row.detail for row in refused)
    assert run.context.counters.totals.queued == 0
    assert recount(run.store) == []


def test_folders_without_end_are_one_trap_at_every_depth() -> None:
    def page(target: str) -> Answer:
        if target == "/":
            return Answer(links=(f"http://{A}/deep/0",))
        if "gossamer" in target:
            return Answer(status=404)
        more = [f"http://{A}{target}/{zlib.crc32(target.encode()) + at & 1023}" for at in range(2)]
        return Answer(body=b"nothing found", links=tuple(more))

    run = crawl(page, limits={"pages": 900})
    assert len(run.pages()) < 90  # 16 depths were a shape of 50 pages each
    assert "/deep/{*}" in host_rows(run.store)[A].tired_shapes
    refused = [row for row in url_rows(run.store).values() if row.reason == Reason.TRAP_SHAPE]
    assert refused
    assert all("/deep/{*}" in row.detail for row in refused)
    assert run.context.counters.totals.queued == 0


def test_a_host_of_copies_is_refused_by_name() -> None:
    words = ["".join(chr(97 + (n // 26**k) % 26) for k in range(3)) for n in range(2_000)]

    def page(target: str) -> Answer:
        if "gossamer" in target:
            return Answer(status=404)
        number = words.index(target[1:]) if target != "/" else 0
        return Answer(body=b"the same", links=tuple(f"http://{A}/{word}" for word in words[number + 1 : number + 4]))

    run = crawl(page, limits={"depth": 2_000, "pages": 700})
    assert len(run.pages()) < 200
    assert run.context.counters.totals.refused[Reason.TRAP_DUPLICATES] > 0


# -- soft 404 ------------------------------------------------------------------------------------------------------


def test_a_sites_own_not_found_page_is_learned_by_a_probe() -> None:
    missing = Answer(body=b"sorry", title="Page not found", content_hash=77, links=(f"http://{A}/more",))
    root = Answer(links=tuple(f"http://{A}/m{n}" for n in range(6)), content_hash=1)
    run = crawl(lambda target: root if target == "/" else missing)
    probes = [s for s in run.served if s.kind == "probe"]
    assert len(probes) == 1
    found = [row for row in url_rows(run.store).values() if row.reason == Reason.SOFT_404]
    assert len(found) == 7, "six pages, the first of which made us ask, and the one it linked to before we knew"
    assert host_rows(run.store)[A].soft404s == len(found)
    assert run.targets(A).count("/more") <= 1
    assert run.context.counters.totals.refused[Reason.SOFT_404] == len(found)


def test_an_honest_site_is_asked_once() -> None:
    run = crawl(lambda target: Answer(status=404) if "gossamer" in target else
                Answer(title="How to fix error 404", links=(f"http://{A}/x", f"http://{A}/y")))  # fmt: skip
    assert len([s for s in run.served if s.kind == "probe"]) == 1
    assert host_rows(run.store)[A].not_found_state == "honest"
    assert not [row for row in url_rows(run.store).values() if row.reason]


# -- levels --------------------------------------------------------------------------------------------------------


def levelled(run: Run, hosts: list[str], per_level: int) -> None:
    changes = Changes(run.store)
    gate: Admission = run.context.admission
    candidates = [
        Candidate(url=f"http://{host}/l{level}/{n}", key=f"{host})/l{level}/{n}", host=host, site=host, level=level,
                  depth=0, via="x")
        for host in hosts for level in range(LEVELS) for n in range(per_level)
    ]  # fmt: skip
    gate.admit(changes, candidates, run.clock.now())
    run.context.apply(changes)


def test_no_level_of_a_host_starves() -> None:
    run = Run(farm([A], lambda _name: lambda _target: Answer()), config(), [])
    levelled(run, [A], 1_500)
    run.go(1.2 * 1_500)
    shares = Counter(int(s.target[2]) for s in run.pages())
    total = sum(shares.values())
    for level, weight in enumerate(LEVEL_WEIGHTS):
        assert shares[level] == pytest.approx(total * weight / 100, abs=4 * (total * weight / 100) ** 0.5 + 1)


def test_no_level_of_waiting_hosts_starves() -> None:
    hosts = names(1_000)
    run = Run(farm(hosts, lambda _name: lambda _target: Answer()), config(frontier={"slots": 1}), [])
    changes = Changes(run.store)
    run.context.admission.admit(
        changes,
        [Candidate(url=f"http://{host}/", key=f"{host})/", host=host, site=host, level=n % LEVELS, depth=0, via="x")
         for n, host in enumerate(hosts)],
        run.clock.now(),
    )  # fmt: skip
    run.context.apply(changes)
    run.go(1.4 * 220)  # while every level still has hosts
    order = [hosts.index(s.host) % LEVELS for s in run.pages()][:200]
    shares = Counter(order)
    assert len(order) == 200
    for level, weight in enumerate(LEVEL_WEIGHTS):
        expected = 200 * weight / 100
        assert shares[level] == pytest.approx(expected, abs=4 * expected**0.5 + 1)


def test_discovery_and_refresh_share_and_neither_idles_while_the_other_has_work() -> None:
    run = crawl(listing(A, 200), refresh={"policy": "uniform", "interval_s": 3_600.0, "min_interval_s": 60.0})
    run.wait(3_700.0)
    assert run.enqueue_due() == 201
    levelled(run, [A], 100)
    run.go(1.2 * 200)
    recent = run.pages()[-180:]
    new = sum(s.target.startswith("/l") for s in recent)
    assert 60 <= new <= 120
    assert run.go()
    assert len(run.pages()) == 201 + 201 + 1_000
    assert recount(run.store) == []
