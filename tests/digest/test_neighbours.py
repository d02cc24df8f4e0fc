"""What a worker says of other hosts: settled or not, in scope or not, a link is a link; copies and nofollow are not."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.adapters import linklog
from gossamer.adapters.digest import neighbours
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.linkreader import SETTLED_S, LinkReader
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.neighbours import TOLD_S, Neighbours
from gossamer.adapters.digest.parse import parse
from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX
from gossamer.model.page import Digest, Kind, Pointer
from tests.digest.helpers import ANY, NOW, job
from tests.digest.test_worker import make_worker

SEGMENT = "T-00000.warc.gz"


class Site:
    """A reader and what watches it, page after page."""

    def __init__(self, directory: Path, rules: LinkRules = ANY) -> None:
        self.archive = directory / "archive"
        self.reader = LinkReader(rules, Hooks())
        self.rules = rules
        self.watched = Neighbours(self.archive, tell_refused=False)
        self.number = 0

    def page(self, *links: str, url: str = "http://www.example.org/p", head: str = "", **changes: Any) -> Digest:
        """One page archived; all its links are settled afterwards."""
        self.number += 1
        body = f"<html><head>{head}</head>" + "".join(
            f"<a {'rel=nofollow ' if link.startswith('!') else ''}href='{link.lstrip('!')}'>x</a>" for link in links
        )
        task = job(body.encode(), url, "text/html; charset=utf-8", **{"id": self.number, "date": NOW, **changes})
        self.reader.targets = {}
        digest = parse(task, self.rules, Hooks(), self.reader)
        digest = msgspec.structs.replace(digest, pointer=Pointer(SEGMENT, 0, 1))
        digest = self.watched.note(task, digest, self.reader.targets)
        self.reader.settle(self.number, (), task.date)
        return digest

    def logged(self) -> Counter[tuple[str, str]]:
        self.watched.flush()
        found: Counter[tuple[str, str]] = Counter()
        for batch in linklog.read(linklog.log_path(self.archive / SEGMENT)):
            for source, target, pages in zip(batch.sources, batch.targets, batch.pages, strict=True):
                found[batch.hosts[source], batch.hosts[target]] += pages
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_settled_links_are_left_out_of_the_digest_and_not_of_the_log(site: Site) -> None:
    first = site.page("http://a.example/1", "/own", "http://b.example/1", "http://a.example/2")
    again = site.page("http://a.example/1", "http://b.example/1", url="http://www.example.org/q")
    assert (len(first.links), len(again.links)) == (3, 0)
    assert site.logged() == {("www.example.org", "a.example"): 2, ("www.example.org", "b.example"): 2}


def test_a_sites_vote_is_told_once_in_a_while_and_each_sites_own(site: Site) -> None:
    assert site.page("http://a.example/1").votes == ("a.example",)
    assert site.page("http://a.example/2", url="http://www.example.org/q").votes == ()
    assert site.page("http://a.example/1", url="http://news.example.org/").votes == ()  # another host, the same site
    assert site.page("http://a.example/1", url="http://other.example/").votes == ("a.example",)
    later = NOW + 2 * TOLD_S
    assert site.page("http://a.example/1", date=later).votes == ()  # remembered for one generation more
    assert site.page("http://a.example/1", date=later + TOLD_S).votes == ("a.example",)
    assert site.page("http://a.example/1", date=later + TOLD_S).votes == ()


def test_hosts_of_the_own_site_get_no_vote_and_stand_in_the_log(site: Site) -> None:
    assert site.page("http://news.example.org/", "/x", "http://www.example.org/y").votes == ()
    assert site.logged() == {("www.example.org", "news.example.org"): 1}


def test_nofollow_counts_for_nothing(site: Site) -> None:
    assert site.page("!http://a.example/", "http://b.example/").votes == ("b.example",)
    assert site.page("http://c.example/", head="<meta name=robots content=nofollow>").votes == ()
    assert site.logged() == {("www.example.org", "b.example"): 1}


def test_a_copy_says_nothing_new(site: Site) -> None:
    assert site.page("http://a.example/", revisit="identical").votes == ()
    assert site.logged() == {}


def test_what_is_no_url_no_page_or_not_archived_says_nothing(site: Site) -> None:
    assert site.page("mailto:x@a.example", "javascript:void(0)", "http://[broken/").votes == ()
    assert site.page("http://a.example/", status=404).votes == ()
    assert site.page("http://a.example/", kind=Kind.SITEMAP).votes == ()
    assert site.logged() == {}


def test_links_out_of_scope_are_logged_and_not_told(tmp_path: Path) -> None:
    from gossamer.model.config import Scope
    from gossamer.policy.scope import compile_scope
    from tests.digest.helpers import url_of

    scope = compile_scope(Scope(mode="site"), (url_of("http://www.example.org/"),))
    narrow = Site(tmp_path, msgspec.structs.replace(ANY, scope=scope))
    assert narrow.page("http://a.example/").votes == ()
    assert narrow.logged() == {("www.example.org", "a.example"): 1}


def test_a_page_of_ten_thousand_hosts_is_bounded(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = site.page(*(f"http://h{number}.example/" for number in range(3_000)))
    assert len(digest.votes) == LINK_HOSTS_PER_PAGE_MAX
    assert len(site.logged()) == LINK_HOSTS_PER_PAGE_MAX
    monkeypatch.setattr(neighbours, "LINK_TOLD_MAX", 50)
    for number in range(500):
        site.page(f"http://g{number}.example/")
        assert len(site.watched._young) + len(site.watched._old) <= 100 + 2 * LINK_HOSTS_PER_PAGE_MAX


def test_a_worker_writes_the_log_beside_its_archive(tmp_path: Path) -> None:
    worker = make_worker(tmp_path)
    for number in range(3):
        body = f"<a href=http://hub.example/>hub</a> page {number}".encode()
        assert worker.take(job(body, f"http://s{number}.example/", id=number)) == []
    digests, _ = worker.sync()
    assert [digest.votes for digest in digests] == [("hub.example",)] * 3
    worker.finish()
    [segment] = (tmp_path / "archive").glob("*.warc.gz")
    [batch] = linklog.read(linklog.log_path(segment))
    assert (batch.noted, sorted(batch.hosts)) == (3, ["hub.example", "s0.example", "s1.example", "s2.example"])


@pytest.mark.serial
def test_it_costs_less_than_twenty_microseconds_a_page(site: Site) -> None:
    links = [f"http://h{number}.example/x" for number in range(12)] + [f"/page{number}" for number in range(138)]
    site.page(*links)
    task = job(b"x", "http://www.example.org/q", date=NOW + SETTLED_S / 2)
    digest = Digest(id=1, pointer=Pointer(SEGMENT, 0, 1))
    best_s = float("inf")
    for _ in range(30):
        started_s = time.process_time()
        for _ in range(100):
            site.watched.note(task, digest, site.reader.targets)
        best_s = min(best_s, (time.process_time() - started_s) / 100)
    print(f"neighbours: {best_s * 1e6:.1f} µs a page of 150 links, 12 of them to other hosts")
    assert best_s < 20e-6
