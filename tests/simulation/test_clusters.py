"""Clusters over time: promotion, the level of a promoted page's links, rel=canonical, mirrors of whole hosts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.core.calendar import hasten
from gossamer.core.changes import Changes
from gossamer.core.clusters import MEMBERS_PER_COMMIT_MAX
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.policy.canonicals import ABUSED_MIN, Said
from gossamer.policy.mirrors import PAIRS_MIN
from gossamer.policy.priority import DUPLICATE_PENALTY, link_level
from gossamer.policy.refresh import DUPLICATE_FACTOR
from gossamer.sim.check import everything, host_rows, recount, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect

A, B, C = "a.example", "b.example", "c.example"
SKETCH = b"".join(n.to_bytes(4, "big") for n in range(1, 129))
HASH = 0x1234_5678_9ABC_DEF0
INTERVAL_S = 7_200.0
Pages = dict[str, Answer]


def near(simhash: int = HASH, **fields: object) -> Answer:
    return Answer(simhash=simhash, sketch=SKETCH, text_chars=5_000, title="Manual", content_hash=simhash, **fields)  # type: ignore[arg-type]


def crawl(
    pages: dict[str, Pages], seeds: list[str] | None = None, min_interval_s: float = 1.0, **sections: dict[str, object]
) -> Run:
    """A crawl of hosts whose pages may be changed as it goes on."""

    def page(own: Pages) -> Callable[[str], Answer]:
        return lambda target: own.get(target, Answer(status=404))

    web = SimWeb({name: SimHost(address=f"20.0.{n}.1", page=page(own)) for n, (name, own) in enumerate(pages.items())})
    refresh = {"policy": "uniform", "interval_s": INTERVAL_S, "min_interval_s": min_interval_s}
    made = config(refresh=refresh, **sections)
    run = Run(web, made, seeds or [f"http://{name}/" for name in pages])
    assert run.go()
    assert recount(run.store) == []
    return run


def row(run: Run, url: str) -> UrlRow:
    return next(row for row in url_rows(run.store).values() if row.url == url)


def host(run: Run, name: str) -> HostRow:
    return host_rows(run.store)[name]


def visit(run: Run, url: str) -> None:
    """Let a page become due, and visit it and what follows from that."""
    due = row(run, url).due
    run.wait(max(0.0, due - run.clock.now()) + 1)
    run.enqueue_due()
    assert run.go()
    assert recount(run.store) == []


def all_in_order(pages: dict[str, Pages], urls: list[str], **sections: dict[str, object]) -> Run:
    """A crawl of pages that are first seen in this order."""
    run = crawl(pages, [urls[0]], 1.0, **sections)
    for url in urls[1:]:
        run = Run(run.web, run.context.config, [url], store=run.store, clock=run.clock)
        assert run.go()
        run.wait(10.0)
    assert recount(run.store) == []
    return run


@pytest.mark.parametrize("lost", [Answer(status=404), Answer(status=410), redirect(f"http://{C}/new", 302)])
@pytest.mark.parametrize("kind", ["exact", "near"])
def test_the_earliest_copy_takes_the_place_of_an_original_at_once(lost: Answer, kind: str) -> None:
    names = [f"h{n}.example" for n in range(4)]
    answers = [near(body=b"same" if kind == "exact" else b"%d" % n) for n in range(4)]
    pages = {name: {"/": answer} for name, answer in zip(names, answers, strict=True)}
    run = all_in_order(pages | {C: {"/new": Answer(body=b"new")}}, [f"http://{name}/" for name in names])
    roots = [f"http://{name}/" for name in names]
    first_key = "example,h0)/ http"
    assert [row(run, url).duplicate_of for url in roots] == ["", *[first_key] * 3]
    assert row(run, roots[1]).duplicate_kind == kind
    pages[names[0]]["/"] = lost
    visits = [row(run, url).visits for url in roots]
    visit(run, roots[0])
    after = [row(run, url) for url in roots]
    assert [one.duplicate_of for one in after] == ["", "", "example,h1)/ http", "example,h1)/ http"]
    assert [one.visits for one in after[1:]] == [visits[1] + 1, *visits[2:]], "the new original alone is visited"
    assert run.context.counters.totals.promoted == 1
    wait_s = after[1].due - after[1].visited
    assert wait_s < 1.1 * INTERVAL_S < DUPLICATE_FACTOR * INTERVAL_S, "and as often as originals are from now on"
    assert sum(1 for _ in everything(run.store, Cf.FINGERPRINT)) == 10
    pages[names[0]]["/"] = answers[0]
    visit(run, roots[0])
    assert row(run, roots[0]).duplicate_of == "example,h1)/ http", "who comes back is a copy"


def test_a_copy_that_was_just_visited_takes_the_place_and_is_visited_no_sooner_than_any_page() -> None:
    pages = {A: {"/": near(body=b"1")}, B: {"/": near(body=b"1")}}
    run = crawl(pages, [f"http://{A}/"], min_interval_s=3_600.0)
    run.wait(4_000.0)
    run = Run(run.web, run.context.config, [f"http://{B}/"], store=run.store, clock=run.clock)
    assert run.go()
    assert row(run, f"http://{B}/").duplicate_of == "example,a)/ http"
    seen = row(run, f"http://{B}/").visited
    pages[A]["/"] = Answer(status=404)
    hasten_page(run, "example,a)/ http")
    assert run.go()
    copy = row(run, f"http://{B}/")
    assert (copy.duplicate_of, copy.visits, copy.promoted) == ("", 1, True)
    assert seen + 3_600.0 <= copy.due < seen + 3_601.0
    visit(run, f"http://{B}/")
    assert row(run, f"http://{B}/").visits == 2


def test_an_original_that_says_something_else_leaves_its_copies_to_the_earliest_of_them() -> None:
    pages = {A: {"/": near(body=b"1")}, B: {"/": near(body=b"2")}, C: {"/": near(body=b"3")}}
    run = all_in_order(pages, [f"http://{name}/" for name in pages])
    pages[A]["/"] = near(HASH ^ 0xFFFF_0000_FFFF, body=b"rewritten")
    visit(run, f"http://{A}/")
    assert [row(run, f"http://{name}/").duplicate_of for name in pages] == ["", "", "example,b)/ http"]
    pages[A]["/"] = near(HASH ^ 0xFFFF_0000_FFFE, body=b"rewritten a little")
    visit(run, f"http://{A}/")
    assert run.context.counters.totals.promoted == 1


def test_server_errors_of_an_original_promote_nobody() -> None:
    pages = {A: {"/": near(body=b"1")}, B: {"/": near(body=b"1")}}
    run = all_in_order(pages, [f"http://{name}/" for name in pages])
    pages[A]["/"] = Answer(status=500)
    visit(run, f"http://{A}/")
    visit(run, f"http://{B}/")
    assert row(run, f"http://{B}/").duplicate_of == "example,a)/ http"


def test_links_of_a_promoted_copy_go_up_to_their_own_level_where_they_wait() -> None:
    links = tuple(f"http://{B}/x{n}" for n in range(30))
    pages = {
        A: {"/": near(body=b"1")},
        B: {"/": near(body=b"2", links=links), **{f"/x{n}": Answer() for n in range(30)}},
    }
    run = crawl(pages, [f"http://{A}/"])
    run = Run(run.web, run.context.config, [f"http://{B}/"], store=run.store, clock=run.clock)
    assert not run.go(duration_s=12.0)
    waiting = [one for one in url_rows(run.store).values() if one.state is State.QUEUED and "/x" in one.url]
    low = link_level(1, parent_duplicate=True)
    assert len(waiting) > 10
    assert {one.level for one in waiting} == {low} == {link_level(1) + DUPLICATE_PENALTY}
    pages[A]["/"] = Answer(status=410)
    changes_before = run.context.counters.totals.promoted
    # The original is looked at while the links of its copy wait.
    run.partition.seed([], run.clock.now())
    hasten_page(run, "example,a)/ http")
    assert not run.go(duration_s=12.0)
    assert run.context.counters.totals.promoted == changes_before + 1
    assert row(run, f"http://{B}/").visits == 2
    left = [one for one in url_rows(run.store).values() if one.state is State.QUEUED and "/x" in one.url]
    assert left
    assert {one.level for one in left} == {link_level(1)}
    assert run.go()
    assert recount(run.store) == []
    assert all(row(run, url).visits for url in links)


def hasten_page(run: Run, key: str) -> None:
    """Make a page due now."""
    changes = Changes(run.store)
    page = changes.url(key)
    assert page is not None
    ledger = run.context.ledger.find(page.host)
    assert ledger is not None
    hasten(run.context, changes, key, page, ledger, run.clock.now())
    changes.put_url(key, page)
    run.context.ledger.put(changes, ledger)
    run.context.apply(changes)


def test_a_large_cluster_is_judged_a_few_at_a_time() -> None:
    count = 3 * MEMBERS_PER_COMMIT_MAX
    names = [f"h{n:02}.example" for n in range(count)]
    pages = {name: {"/": Answer(body=b"parked")} for name in names}
    run = all_in_order(pages, [f"http://{names[0]}/"])
    run = Run(run.web, run.context.config, [f"http://{name}/" for name in names[1:]], store=run.store, clock=run.clock)
    assert run.go()
    rows = url_rows(run.store)
    assert sum(one.duplicate_of == "example,h00)/ http" for one in rows.values()) == count - 1
    pages[names[0]]["/"] = Answer(status=404)
    run.wait(row(run, f"http://{names[0]}/").due - run.clock.now() + 1)
    run.enqueue_due()
    assert run.go()
    assert any(one.duplicate_of == "example,h00)/ http" for one in url_rows(run.store).values())
    assert recount(run.store) == []
    run.enqueue_due()
    originals = {one.duplicate_of for one in url_rows(run.store).values() if one.duplicate_of}
    assert len(originals) == 1
    assert originals != {"example,h00)/ http"}
    assert run.context.counters.totals.promoted == 1
    assert recount(run.store) == []


def test_a_canonical_link_is_honoured_when_the_target_shows_the_same() -> None:
    said = f"http://{A}/page"
    pages = {
        A: {"/page?from=mail": Answer(body=b"same", canonical=said), "/page": Answer(body=b"same", canonical=said)}
    }
    run = all_in_order(pages, [f"http://{A}/page?from=mail", said])
    copy, original = row(run, f"http://{A}/page?from=mail"), row(run, said)
    assert (original.duplicate_of, copy.duplicate_of) == ("", "example,a)/page http"), "although it was seen first"
    assert (copy.canonical_said, copy.duplicate_kind) == (Said.HONOURED, "exact")
    assert host(run, A).canonicals == {Said.HONOURED: 1}
    assert host(run, A).duplicates == 1
    visit(run, f"http://{A}/page?from=mail")
    assert row(run, f"http://{A}/page?from=mail").duplicate_of == "example,a)/page http"


def test_a_canonical_link_that_comes_later_changes_who_is_the_original() -> None:
    pages = {A: {"/1": near(body=b"1"), "/2": near(body=b"2"), "/3": near(body=b"3")}}
    run = all_in_order(pages, [f"http://{A}/{n}" for n in (1, 2, 3)])
    assert [row(run, f"http://{A}/{n}").duplicate_of for n in (1, 2, 3)] == ["", *["example,a)/1 http"] * 2]
    pages[A]["/1"] = near(body=b"1", canonical=f"http://{A}/2")
    visit(run, f"http://{A}/1")
    assert [row(run, f"http://{A}/{n}").duplicate_of for n in (1, 2, 3)] == [
        "example,a)/2 http", "", "example,a)/2 http",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (Answer(body=b"other", content_hash=9), Said.DIFFERS),
        (Answer(body=b"same", canonical=f"http://{A}/x"), Said.CHAIN),
        (Answer(body=b"same", canonical=f"http://{B}/third"), Said.CHAIN),
        (Answer(status=404), Said.UNSEEN),
        (redirect(f"http://{A}/x"), Said.UNSEEN),
    ],
)
def test_a_canonical_link_is_ignored_when_the_target_does_not_agree(target: Answer, said: Said) -> None:
    pages = {A: {"/x": Answer(body=b"same", content_hash=1, canonical=f"http://{B}/y")}, B: {"/y": target}}
    run = all_in_order(pages, [f"http://{B}/y", f"http://{A}/x"])
    page = row(run, f"http://{A}/x")
    assert page.canonical_said == said
    assert host(run, A).canonicals == {said: 1}
    if said in (Said.DIFFERS, Said.UNSEEN):
        assert page.duplicate_of == ""


def test_a_host_whose_canonical_links_are_mostly_false_is_not_believed_until_they_are_gone() -> None:
    count = 3 * ABUSED_MIN
    elsewhere = f"http://{B}/"
    own: Pages = {f"/p{n:02}": Answer(canonical=elsewhere) for n in range(count)}
    own |= {"/one": Answer(body=b"same", canonical=f"http://{A}/two"), "/two": Answer(body=b"same")}
    pages = {A: own, B: {"/": Answer(body=b"victim")}}
    seeds = [f"http://{A}{path}" for path in own if path not in {"/one", "/two"}]
    run = crawl(pages, [elsewhere])
    run = Run(run.web, run.context.config, seeds, store=run.store, clock=run.clock)
    assert run.go()
    run = Run(run.web, run.context.config, [f"http://{A}/one"], store=run.store, clock=run.clock)
    assert run.go()
    run = Run(run.web, run.context.config, [f"http://{A}/two"], store=run.store, clock=run.clock)
    assert run.go()
    assert host(run, A).canonicals[Said.DIFFERS] == count
    assert host(run, B).duplicates == 0
    visit(run, f"http://{A}/one")
    assert row(run, f"http://{A}/one").canonical_said == Said.DISTRUSTED
    assert row(run, f"http://{A}/two").duplicate_of == "example,a)/one http", "what it says changes nothing"
    for path in list(own):
        if path.startswith("/p"):
            own[path] = Answer()
    for _ in range(3):
        visit(run, f"http://{A}/one")
    assert row(run, f"http://{A}/one").duplicate_of == "example,a)/two http"


def mirrored(count: int, *, differ: int = 0) -> tuple[dict[str, Pages], list[str]]:
    def own(name: str) -> Pages:
        pages = {f"/p{n:02}": Answer(body=f"{n} {name if n < differ else ''}".encode()) for n in range(count)}
        return pages | {"/": Answer(body=name.encode(), links=tuple(f"http://{name}{path}" for path in pages))}

    return {A: own(A), B: own(B)}, [f"http://{A}/", f"http://{B}/"]


def test_a_mirror_is_noticed_and_deprioritised_whichever_was_fetched_first() -> None:
    pages, seeds = mirrored(2 * PAIRS_MIN)
    run = crawl(pages, seeds)
    marks = {name: host(run, name).mirror_of for name in (A, B)}
    assert sorted(marks.values()) in (["", A], ["", B])
    mirror = next(name for name, of in marks.items() if of)
    other = marks[mirror]
    assert run.context.counters.totals.mirrors == 1
    assert 0 < host(run, A).duplicates + host(run, B).duplicates <= 2 * PAIRS_MIN
    pages[mirror]["/"] = Answer(body=b"more", links=(f"http://{mirror}/new",))
    pages[other]["/"] = Answer(body=b"more too", links=(f"http://{other}/new",))
    for name in (A, B):
        pages[name]["/new"] = Answer()
        visit(run, f"http://{name}/")
    assert row(run, f"http://{mirror}/new").level == row(run, f"http://{other}/new").level + DUPLICATE_PENALTY
    new = [row(run, f"http://{name}/new") for name in (mirror, other)]
    assert new[0].due - new[0].visited > 0.9 * DUPLICATE_FACTOR * (new[1].due - new[1].visited)


def test_a_mirror_that_goes_its_own_way_is_one_no_more() -> None:
    pages, seeds = mirrored(2 * PAIRS_MIN)
    run = crawl(pages, seeds)
    assert run.context.counters.totals.mirrors == 1
    mirror = next(name for name in (A, B) if host(run, name).mirror_of)
    for path in list(pages[mirror]):
        pages[mirror][path] = Answer(body=f"own {path}".encode())
    for _ in range(3):
        run.wait(DUPLICATE_FACTOR**2 * INTERVAL_S)
        run.enqueue_due()
        assert run.go()
    assert recount(run.store) == []
    assert [host(run, name).mirror_of for name in (A, B)] == ["", ""]
    assert run.context.counters.totals.mirrors == 0


def test_hosts_that_share_some_pages_are_no_mirrors() -> None:
    pages, seeds = mirrored(3 * PAIRS_MIN, differ=PAIRS_MIN)
    run = crawl(pages, seeds)
    assert host(run, A).duplicates + host(run, B).duplicates == 2 * PAIRS_MIN
    assert [host(run, name).mirror_of for name in (A, B)] == ["", ""]
