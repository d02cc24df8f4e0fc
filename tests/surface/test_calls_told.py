"""What has brought a visit forward is told: a ping, a date in a sitemap, a ping that waits for its key."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core import pings
from gossamer.model.page import SitemapEntry
from gossamer.model.ping import Ping
from gossamer.model.url import Url, parse
from gossamer.model.view import Step
from gossamer.policy.networks import RangeSet
from gossamer.sim.check import host_rows, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, robots
from gossamer.surface import explainend, explainurl
from gossamer.surface.evidence import Crawled, Evidence, gather
from gossamer.surface.hostview import hint_words

DAY_S = 86_400.0
HOST, OTHER = "a.example", "b.example"
KEY = "0123456789abcdef"
SITEMAP = f"http://{HOST}/sitemap.xml"


class Site:
    """Ten pages, a key, and a sitemap that says of page 5 when it changed."""

    def __init__(self) -> None:
        self.changed = 0.0
        self.reads = 0
        rules = robots(f"Sitemap: {SITEMAP}\n")
        web = SimWeb(
            {
                HOST: SimHost(address="20.0.0.1", page=self.page, robots=rules),
                OTHER: SimHost(address="20.0.1.1", page=lambda target: Answer(status=404 if "txt" in target else 200)),
            }
        )
        sections: dict[str, Any] = {
            "refresh": {"policy": "uniform", "interval_s": 2 * DAY_S},
            "limits": {"continuous": True},
        }
        self.run = Run(web, config(**sections), [f"http://{HOST}/", f"http://{OTHER}/"], refresh=True)
        self.run.go(600.0, stay=True)

    def page(self, target: str) -> Answer:
        if target == f"/{KEY}.txt":
            return Answer(body=KEY.encode())
        if target == "/sitemap.xml":
            self.reads += 1
            url = parse(f"http://{HOST}/p5")
            assert isinstance(url, Url)
            listed = SitemapEntry(url.wire, url.key, url.host, url.site, self.changed or 1e9, "")
            return Answer(body=b"%d" % self.reads, entries=(listed,))
        if target == "/p7" and self.changed:
            return Answer(status=404)
        return Answer(body=target.encode(), links=tuple(f"http://{HOST}/p{n}" for n in range(10)))

    def ping(self, *urls: str, key: str = KEY) -> dict[str, str]:
        return self.run.partition.ping(Ping(key=key, urls=urls), self.run.clock.now())

    def evidence(self, url: str) -> Evidence:
        run = self.run
        crawl = Crawled(
            config=run.context.config,
            scope=run.context.scope,
            store=run.store,
            totals=run.context.counters.totals,
            cdn=RangeSet(()),
            now=run.clock.now(),
            running=True,
        )
        parsed = parse(url)
        assert isinstance(parsed, Url)
        return gather(crawl, url, parsed)

    def step(self, path: str) -> Step:
        return explainend.next_visit(self.evidence(f"http://{HOST}{path}"))


@pytest.fixture
def site() -> Site:
    return Site()


def test_a_ping_that_brings_a_page_forward_is_named_before_the_visit_and_after(site: Site) -> None:
    url = f"http://{HOST}/p3"
    site.ping(f"http://{HOST}/p1")
    site.run.go(60.0, stay=True)
    assert "brought forward" not in dict(site.step("/p3").facts)
    assert site.ping(url) == {}
    told = dict(site.step("/p3").facts)["brought forward"]
    assert told.endswith("by a ping")
    site.run.go(2 * 3_600.0, stay=True)
    evidence = site.evidence(url)
    assert evidence.row is not None
    assert evidence.row.visits == 2
    assert "brought forward" not in dict(site.step("/p3").facts)
    assert dict(explainend.outcome(evidence).facts)["hint"].endswith("by a ping")
    assert "hint" not in dict(explainend.outcome(site.evidence(f"http://{HOST}/p4")).facts)


def test_a_date_in_a_sitemap_is_named_with_what_it_says(site: Site) -> None:
    site.run.go(1.9 * DAY_S, stay=True)
    site.changed = site.run.clock.now()
    while "brought forward" not in (facts := dict(site.step("/p5").facts)):
        assert site.run.clock.now() < site.changed + DAY_S, facts
        site.run.go(5.0, stay=True)
    assert facts["brought forward"].endswith(f"by a date in {SITEMAP}")
    assert "as its site says" in facts["it changed"]


def test_a_ping_that_waits_for_its_key_and_one_that_let_a_page_in(site: Site) -> None:
    new = f"http://{HOST}/new"
    site.ping(new)
    assert "until its host shows the key" in dict(site.step("/new").facts)["ping"]
    site.run.go(60.0, stay=True)
    assert "ping" not in dict(site.step("/new").facts)
    assert explainurl.origin(site.evidence(new)).facts == (("named by", "a ping"),)


def test_a_host_for_which_others_ping_is_named(site: Site) -> None:
    site.ping(f"http://{OTHER}/")
    site.run.go(60.0, stay=True)
    site.ping(f"http://{OTHER}/", f"http://{OTHER}/x")
    rows = host_rows(site.run.store)
    assert hint_words(rows[OTHER]) == f"pinged URLs refused: {pings.NO_KEY} 3"
    assert hint_words(rows[HOST]) == ""
    assert len(url_rows(site.run.store)) > 10


def test_a_page_that_is_missing_says_how_often_and_when_it_is_given_up(site: Site) -> None:
    assert "missing" not in dict(site.step("/p7").facts)
    site.changed = 1e9
    site.run.go(3 * DAY_S, stay=True)
    assert dict(site.step("/p7").facts)["missing"].startswith("at 1 visit in a row; after 4 it is gone")
