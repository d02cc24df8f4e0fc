"""Real crawls of sitemaps: long and cut ones, indexes without end, what is named and not asked for, feeds as seeds."""

from __future__ import annotations

import gzip
import random

from gossamer.model.limits import SITEMAP_INDEX_DEPTH_MAX
from tests.hostile.conftest import MAX_BODY, SETTLE_S, TOTAL_S, MakeCrawl, sound
from tests.support.web import Reply, Web, pages, redirect, reply

TEXT = b"Content-Type: text/plain\r\n"
XML = b"Content-Type: application/xml\r\n"
LONG = 12 << 20  # more than a page may have, by default too
PAGE = "<title>a page</title><p>Here is a page that may be had.</p>"


def named(*locations: str) -> bytes:
    """A robots.txt that names sitemaps."""
    lines = "".join(f"Sitemap: {location}\n" for location in locations)
    return reply(f"User-agent: *\nDisallow:\n{lines}", headers=TEXT)


def urlset(*locations: str, padding: str = "") -> bytes:
    entries = [f"<url><loc>{location}</loc></url>" for location in locations]
    return f"<urlset>{padding.join(entries)}</urlset>".encode()


def index(*locations: str) -> bytes:
    entries = "".join(f"<sitemap><loc>{location}</loc></sitemap>" for location in locations)
    return reply(f"<sitemapindex>{entries}</sitemapindex>", headers=XML)


def test_what_stands_behind_twelve_mebibytes_of_a_sitemap_is_found(web: Web, make_crawl: MakeCrawl) -> None:
    noise = random.Random(12).randbytes(LONG // 2).hex()  # compresses by half: no bomb
    table: dict[str, Reply] = {}
    host = web.add("long.example", pages(table))
    plain = urlset(f"{host}/plain-0", f"{host}/plain-1", padding=f"<!-- {noise} -->")
    coded = urlset(f"{host}/coded-0", f"{host}/coded-1", padding=f"<!-- {noise} -->")
    lines = "\n".join((f"{host}/lines-0", *(noise[at : at + 4_000] for at in range(0, LONG, 4_000)), f"{host}/lines-1"))
    table |= {
        "/robots.txt": named("/plain.xml", "/coded.xml", "/lines.txt"),
        "/": PAGE,
        "/plain.xml": reply(plain, headers=XML),
        "/coded.xml": reply(gzip.compress(coded, 1), headers=XML + b"Content-Encoding: gzip\r\n"),
        "/lines.txt": reply(lines, headers=TEXT),
    }
    table |= {f"/{name}-{number}": f"<p>{name} {number}" for name in ("plain", "coded", "lines") for number in (0, 1)}
    crawl = make_crawl(host + "/")
    sound(crawl, crawl.run(timeout_s=3 * TOTAL_S + SETTLE_S))
    assert set(web.targets("long.example")) == set(table)
    read = [event for event in crawl.events() if event["kind"] == "sitemap"]
    assert len(read) == 3
    assert all(event["payload_bytes"] > MAX_BODY and not event.get("truncated") for event in read)
    assert [event["error"] for event in read if event.get("error")] == []


def test_a_sitemap_that_is_a_bomb_says_that_it_was_cut(web: Web, make_crawl: MakeCrawl) -> None:
    table: dict[str, Reply] = {}
    host = web.add("bomb.example", pages(table))
    blank = " " * (64 << 20)
    table |= {
        "/robots.txt": named("/bomb.txt"),
        "/": PAGE,
        "/bomb.txt": reply(
            gzip.compress(f"{host}/first\n{blank}\n{host}/last\n".encode(), 9),
            headers=TEXT + b"Content-Encoding: gzip\r\n",
        ),
        "/first": PAGE,
    }
    crawl = make_crawl(host + "/")
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    assert "/first" in web.targets("bomb.example")
    said = next(event["error"] for event in crawl.events() if event["kind"] == "sitemap")
    assert said.startswith("decoded: cut at ")
    assert said in crawl.ask("explain", f"{host}/bomb.txt").out
    assert "decoded" in crawl.ask("report").out.partition("Digest and hook errors")[2]


def test_every_sitemap_that_is_named_and_not_asked_for_is_counted(web: Web, make_crawl: MakeCrawl) -> None:
    table: dict[str, Reply] = {}
    host = web.add("named.example", pages(table))
    deep = SITEMAP_INDEX_DEPTH_MAX
    table |= {
        "/robots.txt": named("/index1.xml", "http://elsewhere.example/map.xml", "/robots.txt"),
        "/": PAGE,
        **{f"/index{n}.xml": index(f"{host}/index{n + 1}.xml", f"{host}/index{n}.xml") for n in range(1, deep + 1)},
    }
    table["/index1.xml"] = index(f"{host}/index2.xml", "http://elsewhere.example/other.xml", "http://[bad/")
    crawl = make_crawl(host + "/")
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    assert set(web.targets("named.example")) == set(table)
    report = " ".join(crawl.ask("report").out.split())
    for reason, count in {"scope-outside": 2, "no-sitemap": 1, "url-invalid": 1, "sitemap-index-depth": 1}.items():
        assert f"{reason} {count}" in report, report
    assert "sitemap-index-depth" in crawl.ask("explain", f"{host}/index{deep}.xml").out
    assert "scope-outside" in crawl.ask("explain", "http://elsewhere.example/map.xml").out


def test_a_feed_that_is_a_seed_leads_on_and_one_that_is_linked_to_is_a_page(web: Web, make_crawl: MakeCrawl) -> None:
    table: dict[str, Reply] = {}
    host = web.add("feed.example", pages(table))

    def feed(target: str) -> bytes:
        item = f"<item><link>{host}{target}</link></item>"
        return reply(f"<?xml version='1.0'?><rss version='2.0'><channel>{item}</channel></rss>", headers=XML)

    table |= {
        "/feed": redirect("/feed.xml", "301 Moved Permanently"),
        "/feed.xml": feed("/story"),
        "/story": '<a href="/comments.xml">comments</a>',
        "/comments.xml": feed("/comment"),
    }
    crawl = make_crawl(host + "/feed")
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    assert web.targets("feed.example") == ["/robots.txt", "/feed", "/feed.xml", "/story", "/comments.xml"]
