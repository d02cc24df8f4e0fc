"""Explaining URLs of crawls that the real core made: every branch names its reason and shows its evidence."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.core.counters import load_totals
from gossamer.core.keys import queue_key, shape_key
from gossamer.core.turn import Turn
from gossamer.model.config import Fetch, Identity, Limits, Politeness, Refresh, Robots, Scope
from gossamer.model.page import Failure
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, SiteRow, State, UrlRow
from gossamer.model.url import Url, parse
from gossamer.model.view import Explanation, Step
from gossamer.sim.web import Answer, SimHost, SimWeb, refused
from gossamer.surface import explainhost, settings
from gossamer.surface.explainurl import CHAIN_MAX
from gossamer.surface.reader import Reader
from tests.reader.making import NOARCHIVE, START, Made, html, plain_config, site

ROBOTS = Answer(
    body=b"# ours\nUser-agent: *\nDisallow: /private\nAllow: /private/but\nCrawl-delay: 3\n",
    headers=(("content-type", "text/plain"),),
)
PAGES = {
    "/": html("home", "https://a.example/1", "https://a.example/2", "https://a.example/private/x"),
    "/1": html("one", "https://a.example/deep", "https://a.example/old"),
    "/2": html("one"),
    "/deep": html("deep"),
    "/old": Answer(status=301, headers=(("location", "https://a.example/1"),), body=b"moved"),
    "/hidden": html("not kept", title=NOARCHIVE),
}
SEED = "https://a.example/"


def web(**hosts: SimHost) -> SimWeb:
    return SimWeb({"a.example": SimHost(address="93.184.216.34", robots=ROBOTS, page=site(PAGES)), **hosts})


def step(explanation: Explanation, name: str) -> Step:
    found = [step for step in explanation.steps if step.name == name]
    assert len(found) == 1, (name, [step.name for step in explanation.steps])
    return found[0]


def fact(found: Step, label: str) -> str:
    return dict(found.facts)[label]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Made:
    made = Made(
        tmp_path_factory.mktemp("explain") / "crawl",
        plain_config((SEED, SEED + "hidden"), refresh=Refresh(policy="uniform")),
        web(),
    )
    made.run()
    return made


@pytest.fixture(scope="module")
def reader(crawled: Made) -> Reader:
    return crawled.reader(at=START + 3_600)


def test_a_fetched_page_shows_every_step_and_the_way_back_to_its_seed(reader: Reader) -> None:
    found = reader.explain(SEED + "deep")
    assert found.known
    assert found.mark == "ok"
    assert found.verdict.startswith("fetched with status 200 at 2026-01-01 00:00:")
    assert [s.name for s in found.steps] == [
        "canonical form", "scope", "type", "traps", "growth", "budgets", "discovered", "robots.txt", "host", "lane",
        "outcome", "next visit",
    ]  # fmt: skip
    assert {s.mark for s in found.steps} == {"ok"}
    assert fact(step(found, "canonical form"), "URL key") == "example,a)/deep" == found.key
    assert step(found, "discovered").facts == (
        ("found on", SEED + "1"), ("found on", SEED), ("seed", "named when the crawl was started"),
    )  # fmt: skip
    assert "depth 2 of 16" in step(found, "traps").text
    assert step(found, "next visit").text.startswith("due at 2026-01-31 ")
    assert [visit.status for visit in found.visits] == [200]


def test_another_spelling_finds_the_same_row(reader: Reader) -> None:
    found = reader.explain("https://A.example:443/deep?utm_source=x#there")
    assert found.known
    assert found.key == "example,a)/deep"
    assert fact(step(found, "canonical form"), "on the wire") == SEED + "deep"


def test_robots_txt_names_line_rule_and_group(reader: Reader) -> None:
    found = reader.explain(SEED + "private/x")
    assert found.verdict == "never fetched, refused: robots-disallowed: robots.txt line 3: Disallow: /private"
    assert found.mark == "no"
    robots = step(found, "robots.txt")
    assert (robots.mark, robots.text) == ("no", "robots-disallowed: line 3: Disallow: /private")
    assert fact(robots, "group") == "*"
    assert fact(robots, "Crawl-delay") == "3 s"
    assert fact(robots, "fetched") == "2026-01-01 00:00:00Z"
    assert step(reader.explain(SEED + "private/but"), "robots.txt").text == "allowed by line 4: Allow: /private/but"
    assert step(reader.explain(SEED + "robots.txt"), "robots.txt").mark == "ok"
    assert "Crawl-delay 3 s" in fact(step(found, "host"), "gap")


def test_a_url_never_seen_is_judged_all_the_same(reader: Reader) -> None:
    found = reader.explain(SEED + "nowhere")
    assert not found.known
    assert found.mark == "note"
    assert "never seen" in found.verdict
    assert "depth 1 of 16, if a seed links to it" in step(found, "traps").text
    assert step(found, "next visit").text == "none is planned"
    assert found.visits == ()


@pytest.mark.parametrize(
    ("url", "name", "reason"),
    [
        ("https://other.example/", "scope", Reason.SCOPE_OUTSIDE),
        (SEED + "photo.jpg", "type", Reason.TYPE_NOT_WANTED),
        (SEED + "a/b/a/b/a/b/a/b", "traps", Reason.TRAP_REPEATED_SEGMENTS),
        (SEED + "x" * 1_100, "traps", Reason.URL_TOO_LONG),
        (SEED + "private/new", "robots.txt", Reason.ROBOTS),
    ],
)
def test_what_would_be_refused_says_where(reader: Reader, url: str, name: str, reason: Reason) -> None:
    found = reader.explain(url)
    assert found.verdict.startswith(f"never fetched; it would be refused at {name}: {reason}: ")
    assert found.mark == "no"
    assert step(found, name).mark == "no"


@pytest.mark.parametrize(
    ("text", "reason"),
    [("mailto:a@b.example", "url-scheme"), ("https://", "url-invalid"), ("h" * 20_000, "url-too-long"), ("", "url-")],
)
def test_no_url_is_answered_too(reader: Reader, text: str, reason: str) -> None:
    found = reader.explain(text)
    assert found.verdict.startswith(f"never fetched: {reason}")
    assert [s.mark for s in found.steps] == ["no"]


def test_the_other_scheme_is_pointed_out(reader: Reader) -> None:
    found = reader.explain("http://a.example/1")
    assert found.verdict == f"never seen under this scheme, but as {SEED}1"
    assert fact(step(found, "discovered"), "known instead") == SEED + "1"
    assert step(found, "robots.txt").text == "not known yet: it is fetched before anything else of http://a.example"


def test_copies_redirects_and_noarchive_are_told(reader: Reader) -> None:
    copy = reader.explain(SEED + "2")
    assert copy.verdict.endswith(f", an exact copy of {SEED}1")
    assert fact(step(copy, "relations"), "original") == SEED + "1 (status 200)"
    assert copy.visits[0].revisit
    moved = reader.explain(SEED + "old")
    assert "status 301" in moved.verdict
    assert moved.verdict.endswith(f", a redirect to {SEED}1")
    hidden = reader.explain(SEED + "hidden")
    assert "noarchive: only that it was visited is kept" in hidden.verdict
    assert fact(step(hidden, "outcome"), "directives") == "noarchive"


def test_host_and_lane_show_what_they_rest_on(reader: Reader) -> None:
    found = reader.explain(SEED)
    assert fact(step(found, "host"), "visits").startswith("7 answered, 0 failed; last 2026-01-01 00:00:")
    assert fact(step(found, "lane"), "93.184.216.34").startswith("lane shared by all hosts of the address")


def test_a_queued_url_shows_its_place(tmp_path: Path) -> None:
    pages = {"/": html("home", *(f"{SEED}p/{n}" for n in range(40)))}
    host = SimHost(address="93.184.216.34", robots=Answer(status=404, body=b""), page=site(pages))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": host}))
    made.run(12.0)
    reader = made.reader()
    found = reader.explain(SEED + "p/39")
    assert found.mark == "wait"
    place = step(found, "queue")
    left = load_totals(RocksStore(made.directory / "state", read_only=True)).queued
    assert 30 < left < 40
    assert place.text == f"level 1, {left - 1} URLs before it in this level"
    assert fact(place, "queue of a.example") == f"{left} URLs (level 1: {left})"
    assert "0 hosts before it; 1 host with work for 10,000 slots" in fact(place, "host")
    assert step(found, "next visit").text == "when its turn comes"
    assert "queued" in found.verdict
    late = made.reader(at=START + 9_999).explain(SEED + "p/39")
    assert late.verdict == f"queued: {place.text}; the crawl is not running"
    assert step(late, "robots.txt").text == "allows everything: robots.txt answered 404"


def test_a_long_queue_is_counted_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explainhost, "BEFORE_MAX", 5)
    pages = {"/": html("home", *(f"{SEED}p/{n}" for n in range(40)))}
    made = Made(
        tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": SimHost(address="1.1.1.1", page=site(pages))})
    )
    made.run(5.0)
    assert "at least 5 URLs before it" in step(made.reader().explain(SEED + "p/39"), "queue").text


def test_a_lost_queue_entry_is_called_lost(tmp_path: Path) -> None:
    pages = {"/": html("home", SEED + "1", SEED + "2", SEED + "3")}
    made = Made(
        tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": SimHost(address="1.1.1.1", page=site(pages))})
    )
    made.run(3.0)

    def lose(store: RocksStore) -> None:
        row = msgspec.msgpack.decode(store.get(Cf.URL, b"example,a)/3") or b"", type=UrlRow)
        assert row.state is State.QUEUED
        store.write([(Cf.QUEUE, queue_key(row.host, row.level, row.sequence), None)])

    made.change(lose)
    assert made.reader().explain(SEED + "3").verdict.startswith("lost: it should be queued and is not")


def test_waiting_for_the_gap_and_for_a_parked_host(tmp_path: Path) -> None:
    dead = SimHost(address="1.1.1.1", page=lambda _: Answer(failure=Failure.CONNECT, seconds=1.0))
    slow = SimHost(address="1.1.1.2", page=lambda _: Answer(status=503, seconds=0.5, body=b"later"))
    config = plain_config(("https://dead.example/", "https://slow.example/"))
    made = Made(tmp_path / "crawl", config, SimWeb({"dead.example": dead, "slow.example": slow}))
    made.run(5.0)
    found = made.reader().explain("https://slow.example/")
    assert found.verdict.startswith("queued, but waits (host): may be asked again at ")
    host = step(found, "host")
    assert "1 failure, back-off" in fact(host, "in a row")
    assert "10 × its average response time" in fact(host, "gap")
    assert fact(step(found, "queue"), "tried") == "1 visit failed; it is given up after 5 (fetch.retries = 4)"
    assert step(found, "lane").mark in {"ok", "wait"}
    made.run(2_000.0)
    found = made.reader().explain("https://slow.example/")
    assert "FETCHED" not in found.verdict
    assert "status 503" in found.verdict


def test_a_parked_host_says_why_and_until_when(tmp_path: Path) -> None:
    gone = SimHost(address="1.1.1.1", robots=Answer(failure=Failure.CONNECT, seconds=1.0))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": gone}))
    made.run(3_600.0)
    found = made.reader().explain(SEED)
    assert found.verdict.startswith("queued, but waits (host): parked until 2026-01-01 ")
    assert "host-parked: 3 failures in a row, the last one connect" in found.verdict
    assert fact(step(found, "host"), "visits").startswith("0 answered, 3 failed; last 2026-01-01 ")
    assert fact(step(found, "host"), "visits").endswith(", no answer")
    snapshot = made.reader().snapshot()
    assert snapshot.seed_failures.keys() == {SEED}
    assert "host-parked" in snapshot.seed_failures[SEED]
    view = next(made.reader().hosts())
    assert (view.state, view.pending) == ("parked", 1)
    assert "set aside until" in view.why


def test_an_address_that_could_not_be_connected_to_says_so(tmp_path: Path) -> None:
    def rules(turn: Turn) -> Answer:
        return refused(Failure.CONNECT) if turn.address == "93.184.216.34" else ROBOTS

    twice = SimHost(address="93.184.216.34", more_addresses=("93.184.216.35",), robots=rules, page=site(PAGES))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": twice}))
    made.run(3_600.0)
    found = step(made.reader().explain(SEED), "lane")
    assert "could not be connected to" in fact(found, "93.184.216.34")
    assert "could not be connected to" not in fact(found, "93.184.216.35")


def test_an_unknown_name_says_so(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config(("https://nx.example/",)), SimWeb({}))
    made.run(3_600.0)
    found = made.reader().explain("https://nx.example/")
    assert "dns-failed: nxdomain" in found.verdict
    assert step(found, "lane").text == "its address was not looked up yet"


def test_an_unreachable_robots_txt_closes_the_host(tmp_path: Path) -> None:
    host = SimHost(address="1.1.1.1", robots=Answer(status=500, body=b"oops"))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": host}))
    made.run(60.0)
    found = made.reader().explain(SEED)
    assert found.verdict.startswith("queued, but waits (robots.txt): robots-unreachable: unreachable: status 500")
    assert "1 attempt failed, the next is at 2026-01-01 00:0" in found.verdict
    assert next(made.reader().hosts()).robots == "disallow: unreachable: status 500"


def test_a_robots_txt_that_came_in_part_says_so(tmp_path: Path) -> None:
    host = SimHost(address="1.1.1.1", robots=Answer(body=b"User-agent: *\n", breaks_off=True))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": host}))
    made.run(60.0)
    found = made.reader().explain(SEED)
    said = "queued, but waits (robots.txt): robots-unreachable: unreachable: cut off by its server; nothing is allowed"
    assert found.verdict.startswith(said)
    assert next(made.reader().hosts()).robots == "disallow: unreachable: cut off by its server"
    rules = made.reader().explain(SEED + "robots.txt")
    assert "robots-unreachable: cut off by its server" in rules.verdict


def test_a_robots_txt_that_is_a_web_page_disallows(tmp_path: Path) -> None:
    host = SimHost(address="1.1.1.1", robots=Answer(body=b"<html>welcome</html>"))
    config = plain_config((SEED,), robots=Robots(unparseable="disallow"))
    made = Made(tmp_path / "crawl", config, SimWeb({"a.example": host}))
    made.run(60.0)
    found = made.reader().explain(SEED)
    assert found.verdict == "never fetched, refused: robots-disallowed: robots.txt: html"
    text = "robots-disallowed: nothing is allowed: robots.txt: html (robots.unparseable)"
    assert step(found, "robots.txt").text == text


def test_given_up_after_retries(tmp_path: Path) -> None:
    def pages(target: str) -> Answer:
        if target == "/x":
            return Answer(failure=Failure.TIMEOUT, seconds=1.0)
        return html("home", SEED + "x", *(f"{SEED}p/{n}" for n in range(30)))

    config = plain_config((SEED,), fetch=Fetch(retries=2), politeness=Politeness(park_after=50, start_jitter_s=0.0))
    made = Made(tmp_path / "crawl", config, SimWeb({"a.example": SimHost(address="1.1.1.1", page=pages)}))
    made.run()
    found = made.reader().explain(SEED + "x")
    assert found.verdict == "given up: fetch-failed: timeout: simulated (3 attempts)"
    assert found.mark == "no"
    assert found.visits == ()


def test_a_redirect_that_is_not_followed(tmp_path: Path) -> None:
    away = Answer(status=302, headers=(("location", "https://elsewhere.example/"),), body=b"")
    host = SimHost(address="1.1.1.1", page=lambda _: away)
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": host}))
    made.run()
    found = made.reader().explain(SEED)
    assert "scope-outside: redirect to https://elsewhere.example/" in found.verdict
    assert found.mark == "note"
    assert fact(step(found, "relations"), "leads to") == "example,elsewhere)/ (never admitted)"


def test_budgets_and_growth(tmp_path: Path) -> None:
    pages = {"/": html("home", *(f"{SEED}p/{n}" for n in range(9)))}
    config = plain_config(
        (SEED,),
        limits=Limits(site_pages=3),
        scope=Scope(mode="any"),
        identity=Identity(contact="https://a.example/bot"),
    )
    made = Made(tmp_path / "crawl", config, SimWeb({"a.example": SimHost(address="1.1.1.1", page=site(pages))}))
    made.run(500.0)
    settings.save(msgspec.structs.replace(made.config, limits=Limits(pages=3, site_pages=3)))
    reader = made.reader(at=made.clock.now() + 1_000)
    waits = reader.explain(SEED + "p/8")
    budget = step(waits, "budgets")
    assert budget.mark == "no"
    assert budget.text.startswith("site-budget: used up until 2026-01-31 ")
    assert fact(budget, "pages") == "3 of 3 (limits.pages)"
    assert fact(budget, "pages of its site in 30 days") == "3 of 3 (limits.site_pages)"

    def exhaust(store: RocksStore) -> None:
        store.write([
            (Cf.HOST, shape_key("a.example", "/p/{n}"), encode((60, 1))),
            (Cf.SITE, b"a.example", encode(SiteRow())),
        ])  # fmt: skip

    reader.close()
    made.change(exhaust)
    found = made.reader(at=made.clock.now() + 1_000).explain(SEED + "p/99")
    assert step(found, "growth").text == "trap-shape-without-new-content: its shape is exhausted"
    assert fact(step(found, "growth"), "pages of this shape") == "60 fetched, 1 of them brought something new"
    assert found.verdict.startswith("never fetched; it would be refused at growth: trap-shape")


def test_a_chain_of_referrers_is_bounded_and_may_loop(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": SimHost(address="1.1.1.1")}))
    made.run(20.0)
    url = parse(SEED)
    assert isinstance(url, Url)

    def chain(store: RocksStore) -> None:
        for n in range(CHAIN_MAX + 10):
            row = UrlRow(url=f"{SEED}{n}", host="a.example", state=State.FETCHED, via=f"example,a)/{n + 1}")
            store.write([(Cf.URL, f"example,a)/{n}".encode(), encode(row))])
        for one, other in (("x", "y"), ("y", "x")):
            row = UrlRow(url=SEED + one, host="a.example", state=State.FETCHED, via=f"sitemap:example,a)/{other}")
            store.write([(Cf.URL, f"example,a)/{one}".encode(), encode(row))])

    made.change(chain)
    reader = made.reader()
    facts = step(reader.explain(SEED + "0"), "discovered").facts
    assert len(facts) == CHAIN_MAX + 1
    assert facts[-1] == ("and before that", "more pages")
    assert step(reader.explain(SEED + "x"), "discovered").facts == (
        ("listed in sitemap", SEED + "y"), ("listed in sitemap", SEED + "x"),
    )  # fmt: skip


def test_a_seed_refused_by_the_configuration_says_so(tmp_path: Path) -> None:
    config = plain_config((SEED, SEED + "skip/1"), scope=Scope(exclude=("*/skip/*",)))
    made = Made(tmp_path / "crawl", config, web())
    made.run()
    reader = made.reader()
    assert reader.snapshot().seed_failures == {SEED + "skip/1": "scope-excluded: out: exclude pattern */skip/* matches"}
    assert reader.explain(SEED + "skip/1").verdict.startswith("never fetched; it would be refused at scope: scope-excl")
