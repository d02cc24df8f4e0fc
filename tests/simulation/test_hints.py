"""What a site says of changes: believed as far as its record goes, and never beyond what a page may be asked for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from gossamer.core.calendar import bring_forward
from gossamer.core.changes import Changes
from gossamer.model.limits import FEEDS_PER_HOST_MAX, HINTS_UNPROVEN_MAX
from gossamer.model.page import SitemapEntry
from gossamer.model.record import HintRecord, HostRow, UrlRow
from gossamer.model.url import Url, parse
from gossamer.policy import hints
from gossamer.policy.refresh_rate import FIRST
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, robots

HOUR_S = 3_600.0
DAY_S = 86_400.0
HOST = "a.example"
PAGES = 12


def entry(path: str, lastmod: float | None = None, changefreq: str = "", host: str = HOST) -> SitemapEntry:
    url = parse(f"http://{host}{path}")
    assert isinstance(url, Url)
    return SitemapEntry(url.wire, url.key, url.host, url.site, lastmod, changefreq)


class Site:
    """A host with a sitemap of its pages. Every page changes when `version` does."""

    def __init__(self, lastmod: Callable[[int], float | None], changefreq: str = "", pages: int = PAGES) -> None:
        self.lastmod, self.changefreq, self.pages = lastmod, changefreq, pages
        self.version: Callable[[int], int] = lambda _page: 0
        self.reads = 0

    def page(self, target: str) -> Answer:
        if target == "/sitemap.xml":
            self.reads += 1
            entries = tuple(entry(f"/p{n}", self.lastmod(n), self.changefreq) for n in range(self.pages))
            return Answer(body=b"sitemap %d" % self.reads, entries=entries)
        if target.startswith("/p"):
            return Answer(body=f"{target} {self.version(int(target[2:]))}".encode())
        return Answer()

    def crawl(self, clock: VirtualClock | None = None, **sections: dict[str, Any]) -> Run:
        host = SimHost(address="20.0.0.1", robots=robots(f"Sitemap: http://{HOST}/sitemap.xml\n"), page=self.page)
        settings: dict[str, dict[str, Any]] = {
            "refresh": {"policy": "uniform", "interval_s": 2 * DAY_S},
            **sections,
        }
        return Run(SimWeb({HOST: host}), config(**settings), [f"http://{HOST}/"], clock=clock)


def passing(run: Run, seconds: float) -> None:
    """Let time pass; the calendar is looked into every hour."""
    until = run.clock.now() + seconds
    while run.clock.now() < until:
        run.enqueue_due()
        assert run.go()
        run.wait(max(1.0, min(HOUR_S, until - run.clock.now())))
    run.enqueue_due()
    assert run.go()


def ledger(run: Run) -> HostRow:
    return host_rows(run.store)[HOST]


def read_sitemap(run: Run) -> None:
    """Let the sitemap be due now."""
    changes = Changes(run.store)
    for key, found in url_rows(run.store).items():
        if found.kind == "sitemap" and bring_forward(run.context, changes, key, found, run.clock.now()):
            changes.put_url(key, found)
    run.context.apply(changes)


def row(run: Run, path: str) -> UrlRow:
    return next(row for row in url_rows(run.store).values() if row.url == f"http://{HOST}{path}")


def visits(run: Run, path: str) -> list[float]:
    return [served.start for served in run.pages() if served.target == path]


def shortest_interval(run: Run) -> float:
    found = []
    for page in range(PAGES):
        times = visits(run, f"/p{page}")
        found += [b - a for a, b in pairwise(times)]
    return min(found)


def test_a_page_whose_date_is_newer_than_its_visit_is_visited_when_its_sitemap_is_read() -> None:
    clock = VirtualClock()
    changed_at: dict[int, float] = {}
    site = Site(lambda n: changed_at.get(n, clock.now() - 30 * DAY_S))
    site.version = lambda n: int(n in changed_at)
    run = site.crawl(clock)
    passing(run, 1.5 * DAY_S)
    before = len(run.pages())
    changed_at |= {3: clock.now(), 5: clock.now()}
    due = {n: row(run, f"/p{n}").due for n in range(PAGES)}
    read_sitemap(run)
    passing(run, HOUR_S)
    hinted = [served.target for served in run.pages()[before:] if served.target.startswith("/p")]
    assert set(hinted) == {"/p3", "/p5"}
    assert run.context.counters.totals.hints["followed"] == 2
    assert run.context.counters.totals.hints["borne-out"] == 2
    record = ledger(run).hints
    assert record is not None
    assert (record.tried, record.borne, record.open, record.doubted) == (2, 2, 0, 0)
    assert all(row(run, f"/p{n}").due == due[n] for n in range(PAGES) if f"/p{n}" not in hinted)
    assert recount(run.store) == []


def test_a_host_that_lies_gains_nothing_and_is_named() -> None:
    """Its dates are always an hour old, its pages never change."""
    clock = VirtualClock()
    site = Site(lambda _n: clock.now() - HOUR_S)
    run = site.crawl(clock, refresh={"policy": "uniform", "interval_s": 10 * DAY_S})
    honest = Site(lambda _n: None).crawl(refresh={"policy": "uniform", "interval_s": 10 * DAY_S})
    for each in (run, honest):
        for _ in range(40):
            passing(each, DAY_S)
            read_sitemap(each)
    record = ledger(run).hints
    assert record is not None
    assert record.doubted > 50
    assert hints.trust(record) < hints.TRUST_MIN
    assert shortest_interval(run) >= HOUR_S
    extra = len(run.pages()) - len(honest.pages())
    assert extra <= HINTS_UNPROVEN_MAX + record.doubted / hints.PROBE_EVERY + PAGES
    assert recount(run.store) == []


@pytest.mark.parametrize(
    ("lastmod", "why"),
    [
        (lambda now: now + 40 * DAY_S, "absurd"),
        (lambda _now: 0.0, "absurd"),
        (lambda now: now, "always-now"),
    ],
    ids=["future", "1970", "always now"],
)
def test_absurd_dates_are_ignored_and_counted(lastmod: Callable[[float], float], why: str) -> None:
    clock = VirtualClock()
    run = Site(lambda _n: lastmod(clock.now())).crawl(clock)
    passing(run, 5 * DAY_S)
    assert set(run.context.counters.totals.hints) == {why}
    record = ledger(run).hints
    assert record is not None
    assert record.absurd == run.context.counters.totals.hints[why] > PAGES


def test_dates_of_other_hosts_pages_move_nothing() -> None:
    clock = VirtualClock()

    def page(target: str) -> Answer:
        if target == "/sitemap.xml":
            return Answer(entries=(entry("/p1", clock.now() - 60.0, host="b.example"),), body=b"%f" % clock.now())
        return Answer()

    hosts = {
        HOST: SimHost(address="20.0.0.1", robots=robots(f"Sitemap: http://{HOST}/sitemap.xml\n"), page=page),
        "b.example": SimHost(address="20.0.1.1"),
    }
    settings = config(refresh={"policy": "uniform", "interval_s": 2 * DAY_S})
    run = Run(SimWeb(hosts), settings, [f"http://{HOST}/", "http://b.example/p1"], clock=clock)
    passing(run, 9 * DAY_S)
    assert run.context.counters.totals.hints == {}


def test_a_changefreq_leans_on_what_is_believed_of_a_page_seen_once() -> None:
    often, seldom = Site(lambda _n: None, "hourly"), Site(lambda _n: None, "yearly")
    dues = []
    for site in (often, seldom):
        run = site.crawl(refresh={"policy": "poisson", "interval_s": 10 * DAY_S})
        passing(run, HOUR_S)
        assert row(run, "/p1").claimed_s == hints.CHANGEFREQ_S[site.changefreq]
        dues.append(run.context.refreshing.rate(row(run, "/p1"), ledger(run)))
        disbelieved = ledger(run)
        disbelieved.hints = HintRecord(tried=50.0)
        assert run.context.refreshing.rate(row(run, "/p1"), disbelieved) != dues[-1]
    assert dues[0] > 4 * dues[1]


def test_a_feed_is_found_read_often_and_what_it_lists_comes_soon() -> None:
    clock = VirtualClock()
    published: list[float] = []

    def page(target: str) -> Answer:
        if target == "/feed":
            return Answer(
                feed=True,
                entries=tuple(entry(f"/item{n}", at) for n, at in enumerate(published)),
                body=b"feed %d" % len(published),
            )
        feeds = tuple(f"http://{HOST}/{name}" for name in ("feed", *(f"comments{n}" for n in range(20))))
        return Answer(feeds=feeds)

    run = Run(
        SimWeb({HOST: SimHost(address="20.0.0.1", page=page)}),
        config(refresh={"policy": "uniform", "interval_s": 30 * DAY_S}),
        [f"http://{HOST}/"],
        clock=clock,
    )
    found_after = []
    for _ in range(6):
        passing(run, 12 * HOUR_S)
        published.append(clock.now())
        passing(run, 12 * HOUR_S)
        found_after.append(visits_of(run, f"/item{len(published) - 1}") - published[-1])
    assert max(found_after) <= 7 * HOUR_S
    assert ledger(run).feeds == FEEDS_PER_HOST_MAX
    assert sum(served.target.startswith("/comments") for served in run.served) > 0
    reads = [served.start for served in run.served if served.target == "/feed"]
    assert min(b - a for a, b in pairwise(reads)) >= HOUR_S
    assert row(run, "/item3").level == 1
    quiet = len(reads)
    passing(run, 20 * DAY_S)
    later = [served.start for served in run.served if served.target == "/feed"]
    assert len(later) - quiet <= 30, "a feed that rests is read once a day"
    assert recount(run.store) == []


def visits_of(run: Run, target: str) -> float:
    return next(served.start for served in run.pages() if served.target == target)


def test_beliefs() -> None:
    record = HintRecord()
    assert hints.trust(None) == hints.trust(record) == 0.5
    for _ in range(1_000):
        hints.bear_out(record, changed=True)
    assert record.tried <= hints.TRIED_KEPT
    assert hints.trust(record) > 0.98
    for _ in range(300):
        hints.bear_out(record, changed=False)
    assert hints.trust(record) < hints.TRUST_MIN
    tried = sum(hints.believed(record) for _ in range(500))
    assert tried == 500 // hints.PROBE_EVERY
    leaned = hints.lean(FIRST, FIRST.log_rate + 2.0)
    assert FIRST.log_rate < leaned.log_rate <= FIRST.log_rate + 1.0
    assert leaned.variance < FIRST.variance
    assert hints.feed_interval_s(0.0) == hints.FEED_MIN_S
    assert hints.feed_interval_s(1e9) == hints.FEED_MAX_S
