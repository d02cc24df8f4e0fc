"""Sitemaps that robots.txt names: redirected, of other sites, longer than pages may be, and many at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gossamer.core import dispatch
from gossamer.model.limits import SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.sim.check import gaps, host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.make import config, farm, names, roots
from gossamer.sim.ports import Served
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect, robots

A, B = "a.example", "b.example"
SITE = {"mode": "site"}
HOSTS = 12


def web(rules: str, **pages: Callable[[str], Answer]) -> SimWeb:
    """Hosts of which the first has a robots.txt with these lines."""
    return SimWeb(
        {
            f"{name.replace('_', '.')}.example": SimHost(
                address=f"20.0.{number}.1", page=page, robots=robots("" if number else f"User-agent: *\n{rules}")
            )
            for number, (name, page) in enumerate(pages.items())
        }
    )


def sound(run: Run) -> None:
    assert recount(run.store) == []
    assert one_at_a_time(run.served) == []
    assert gaps(run.served, 1.0) == []


def refused(run: Run) -> dict[str, int]:
    """What the first host was refused, and the totals with it: nobody else was refused anything."""
    assert host_rows(run.store)[A].refused == run.context.counters.totals.refused
    return host_rows(run.store)[A].refused


@pytest.mark.parametrize("name", ["/sitemap.xml", "/sitemap.xml.gz", "/a/a/a/a/a/map.xml.gz"])
def test_a_sitemap_that_is_redirected_is_read_whatever_its_name(name: str) -> None:
    def moved(target: str) -> Answer:
        return redirect(f"http://www.{A}{name}", 301) if target == name else Answer()

    def there(target: str) -> Answer:
        return Answer(links=(f"http://{A}/listed",)) if target == name else Answer()

    run = Run(web(f"Sitemap: http://{A}{name}\n", a=moved, www_a=there), config(scope=SITE), [f"http://{A}/"])
    assert run.go()
    assert run.targets(f"www.{A}") == ["/robots.txt", name]
    assert "/listed" in run.targets(A)
    assert refused(run) == {}
    sound(run)


def test_a_page_that_is_redirected_to_an_archive_is_not_followed_there() -> None:
    def page(target: str) -> Answer:
        return redirect(f"http://{A}/all.tar.gz") if target == "/" else Answer()

    run = Run(web("", a=page), config(), [f"http://{A}/"])
    assert run.go()
    assert run.targets(A) == ["/robots.txt", "/"]
    assert run.context.counters.totals.refused == {Reason.TYPE_NOT_WANTED: 1}


def test_a_sitemap_of_another_site_is_read_where_the_scope_has_it() -> None:
    """What may be a page there stays one: its links are followed, and it is no higher than a link would be."""

    def there(target: str) -> Answer:
        links = {"/map.xml": f"http://{A}/listed", "/": f"http://{B}/next"}
        return Answer(links=(links[target],) if target in links else ())

    named = web(f"Sitemap: http://{B}/map.xml\nSitemap: http://{B}/\n", a=lambda _target: Answer(), b=there)
    run = Run(named, config(), [f"http://{A}/"])
    assert run.go()
    assert "/listed" in run.targets(A)
    assert set(run.targets(B)) == {"/robots.txt", "/map.xml", "/", "/next"}
    rows = {row.url: row for row in url_rows(run.store).values()}
    assert (rows[f"http://{B}/map.xml"].kind, rows[f"http://{B}/"].kind) == (Kind.SITEMAP, Kind.PAGE)
    assert rows[f"http://{B}/map.xml"].level == rows[f"http://{B}/"].level == 1
    assert host_rows(run.store)[A].sitemaps == 2
    assert refused(run) == {}
    sound(run)


def test_each_sitemap_that_is_not_asked_for_is_counted_with_its_reason() -> None:
    own = "".join(f"Sitemap: /s{number}.xml\n" for number in range(SITEMAPS_PER_HOST_MAX - 3))
    rules = f"Sitemap: http://{B}/map.xml\nSitemap: /robots.txt\nSitemap: http://[bad/\n{own}"
    beyond = "".join(f"Sitemap: /more{number}.xml\n" for number in range(7))
    run = Run(
        web(rules + beyond, a=lambda _target: Answer()), config(scope=SITE, limits={"pages": 1}), [f"http://{A}/"]
    )
    assert run.go()
    assert refused(run) == {
        Reason.SCOPE_OUTSIDE: 1,
        Reason.NO_SITEMAP: 1,
        Reason.URL_INVALID: 1,
        Reason.SITEMAPS_FULL: 7,
    }
    assert host_rows(run.store)[A].sitemaps == SITEMAPS_PER_HOST_MAX - 3
    assert set(host_rows(run.store)) == {A}


def test_a_host_that_has_named_as_many_as_are_taken_gets_no_more_when_its_robots_txt_changes() -> None:
    rules = ["".join(f"Sitemap: /{letter}{n}.xml\n" for n in range(SITEMAPS_PER_HOST_MAX - 10)) for letter in "xy"]
    simulated = web("", a=lambda _target: Answer())
    answers = iter(rules)
    simulated.hosts[A].robots = lambda _turn: robots(f"User-agent: *\n{next(answers, rules[-1])}")
    run = Run(simulated, config(robots={"ttl_s": 30.0}), [f"http://{A}/"])
    run.go(45.0)
    assert host_rows(run.store)[A].sitemaps == SITEMAPS_PER_HOST_MAX
    assert refused(run) == {Reason.SITEMAPS_FULL: SITEMAPS_PER_HOST_MAX - 20}


def test_a_sitemap_may_be_longer_than_a_page() -> None:
    run = Run(
        web("Sitemap: /map.xml\n", a=lambda _target: Answer(body=b"x" * 5_000)),
        config(fetch={"max_body_bytes": 4_000}),
        [f"http://{A}/"],
    )
    assert run.go()
    lengths = {event.kind: (event.truncated, event.payload_bytes) for event in run.events}
    assert lengths[Kind.PAGE] == ("length", 4_000)
    assert lengths[Kind.SITEMAP] == ("", 5_000)


def test_few_sitemaps_are_under_way_at_once_and_all_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They count from their turn to their commit: as long, their bodies are in memory."""
    monkeypatch.setattr(dispatch, "SITEMAPS_UNDER_WAY_MAX", 3)
    slow = Answer(seconds=5.0, digest_s=4.0)
    hosts = names(HOSTS)
    simulated = farm(
        hosts,
        lambda _name: lambda target: slow if target == "/map.xml" else Answer(),
        robots=robots("Sitemap: /map.xml\n"),
    )
    run = Run(simulated, config(), roots(hosts))
    assert run.go()
    sitemaps = [served for served in run.served if served.kind is Kind.SITEMAP]
    assert len(sitemaps) == len({served.host for served in sitemaps}) == HOSTS

    def under_way(at: float) -> list[Served]:
        return [served for served in sitemaps if served.start <= at < served.end + 4.0]

    assert max(len(under_way(served.start)) for served in sitemaps) == 3
    pages = [served for served in run.pages() if served.target == "/"]
    assert max(served.start for served in pages) < sitemaps[-1].start, "pages do not wait for them"
    sound(run)


def test_a_feed_that_is_a_seed_is_read_and_read_again() -> None:
    def page(target: str) -> Answer:
        if target == "/feed.xml":
            return Answer(links=(f"http://{A}/story",), feed=True, body=b"a feed")
        return Answer()

    run = Run(web("", a=page), config(), [f"http://{A}/feed.xml"])
    assert run.go()
    assert run.targets(A) == ["/robots.txt", "/feed.xml", "/story"]
    row = next(row for row in url_rows(run.store).values() if row.url.endswith("/feed.xml"))
    assert (row.kind, row.feed) == (Kind.PAGE, True)
    assert row.due - row.visited < 2 * 86_400.0
    assert run.context.counters.totals.pages == 2
    sound(run)
