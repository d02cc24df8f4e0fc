"""Sitemaps, indexes and feeds to digests: asked for as such, or found where a page was expected."""

from __future__ import annotations

import gzip

import pytest

from gossamer.adapters.digest.links import LinkRules
from gossamer.model.config import Scope
from gossamer.model.limits import MIB, SITEMAP_MAX_BYTES, SITEMAP_URLS_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.policy.scope import compile_scope
from tests.digest.helpers import digest, url_of

CUT = "decoded: cut at "
SITE = LinkRules(scope=compile_scope(Scope(mode="site"), [url_of("http://example.org/")]), depth_max=3)
SITEMAP = """<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>http://example.org/a</loc><lastmod>2026-01-02</lastmod><priority>0.8</priority></url>
<url><loc>http://example.org/a#twice</loc></url>
<url><loc>http://elsewhere.example/</loc></url>
<url><loc>http://example.org/pic.jpg</loc></url></urlset>"""


def test_entries_of_a_sitemap_are_judged_like_links() -> None:
    found = digest(SITEMAP.encode(), SITE, kind=Kind.SITEMAP, content_type="application/xml", depth=0)
    assert [(entry.url, entry.host, entry.lastmod, entry.priority) for entry in found.entries] == [
        ("http://example.org/a", "example.org", 1767312000.0, 0.8)
    ]
    assert found.refused == {Reason.SCOPE_OUTSIDE.value: 1, Reason.TYPE_NOT_WANTED.value: 1}
    assert found.links == ()


def test_children_of_an_index_are_in_scope_and_once() -> None:
    body = """<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://example.org/s1.xml</loc>
    </sitemap><sitemap><loc>http://example.org/s1.xml</loc></sitemap><sitemap><loc>http://elsewhere.example/s.xml</loc></sitemap>
    <sitemap><loc>http://example.org/page</loc></sitemap></sitemapindex>"""
    found = digest(body.encode(), SITE, kind=Kind.SITEMAP, content_type="application/xml")
    assert [wire for wire, _ in found.sitemaps] == ["http://example.org/s1.xml"]
    assert found.refused == {Reason.SCOPE_OUTSIDE.value: 1}


def test_a_feed_is_entries_only_when_it_was_asked_for_as_one_or_is_a_seed() -> None:
    body = b"<rss version='2.0'><channel><item><link>http://example.org/story</link></item></channel></rss>"
    asked = digest(body, SITE, kind=Kind.SITEMAP, content_type="application/rss+xml")
    assert [entry.url for entry in asked.entries] == ["http://example.org/story"]
    assert digest(body, SITE, content_type="application/rss+xml").entries == ()
    seed = digest(body, SITE, content_type="application/rss+xml", depth=0)
    assert (seed.entries, seed.feed) == (asked.entries, True)


URLSET = "<urlset><url><loc>http://example.org/listed</loc></url></urlset>"
INDEX = "<sitemapindex><sitemap><loc>http://example.org/more.xml</loc></sitemap></sitemapindex>"


@pytest.mark.parametrize(
    ("body", "content_type", "entries", "sitemaps"),
    [
        (URLSET, "application/xml", 1, 0),
        ("\n" + URLSET, "text/plain", 1, 0),
        ('<?xml version="1.0"?>' + URLSET, "text/html", 1, 0),
        ('<?xml version="1.0"?>' + INDEX, "text/xml", 0, 1),
        ("<rss><channel><item><link>http://example.org/listed</link></item></channel></rss>", "text/xml", 0, 0),
        ('<?xml version="1.0"?><html><body><a href=/x>x</a></body></html>', "application/xhtml+xml", 0, 0),
        ("http://example.org/listed\n", "text/plain", 0, 0),
        ("<!doctype html><html><body>&lt;urlset></body></html>", "text/html", 0, 0),
    ],
)
def test_a_page_that_is_a_sitemap_is_read_as_one(body: str, content_type: str, entries: int, sitemaps: int) -> None:
    found = digest(body, content_type=content_type)
    assert (len(found.entries), len(found.sitemaps)) == (entries, sitemaps)


def test_a_sitemap_that_lists_more_than_is_taken_says_so() -> None:
    entries = "".join(f"<url><loc>http://example.org/{number}</loc></url>" for number in range(SITEMAP_URLS_MAX + 1))
    found = digest(f"<urlset>{entries}</urlset>", kind=Kind.SITEMAP, content_type="text/xml")
    assert len(found.entries) == SITEMAP_URLS_MAX
    assert "more than is taken" in found.error
    assert digest(URLSET, kind=Kind.SITEMAP, content_type="text/xml").error == ""


def test_sitemaps_of_an_index_beyond_what_is_taken_are_counted() -> None:
    count = SITEMAPS_PER_HOST_MAX + 5
    entries = "".join(f"<sitemap><loc>http://example.org/{number}.xml</loc></sitemap>" for number in range(count))
    found = digest(
        f"<sitemapindex>{entries}<sitemap><loc>http://[bad/</loc></sitemap></sitemapindex>", kind=Kind.SITEMAP
    )
    assert len(found.sitemaps) == SITEMAPS_PER_HOST_MAX
    assert found.refused == {Reason.SITEMAPS_FULL.value: 6}


def test_a_sitemap_may_decode_to_more_than_a_page() -> None:
    small = LinkRules(scope=SITE.scope, body_max_bytes=1_000)
    body = gzip.compress(URLSET.replace("<url>", f"<!-- {'x' * 50_000} --><url>").encode())
    asked = digest(body, small, kind=Kind.SITEMAP, content_type="text/xml", content_encoding=("gzip",))
    assert (len(asked.entries), asked.error) == (1, "")
    found = digest(body, small, content_type="text/xml", content_encoding=("gzip",))
    assert (len(found.entries), found.error) == (0, f"{CUT}1000 bytes")


LINES = b"http://example.org/one\nhttp://example.org/two\nhttp://example.org/thr"


@pytest.mark.parametrize(
    ("payload", "changes", "error"),
    [
        (LINES, {"truncated": "length"}, ""),
        (LINES, {"truncated": "time"}, ""),
        (gzip.compress(LINES + b"ee", mtime=0)[:-12], {"content_encoding": ("gzip",)}, "gzip: "),
        (gzip.compress(LINES + b"ee", mtime=0)[:-12], {}, "sitemap: "),
        (gzip.compress(LINES + b" " * 2 * MIB, 9, mtime=0), {"content_encoding": ("gzip",)}, CUT),
        (LINES + b" " * SITEMAP_MAX_BYTES, {}, CUT),
    ],
)
def test_the_half_of_a_url_that_a_cut_leaves_is_not_taken_for_one(
    payload: bytes, changes: dict[str, object], error: str
) -> None:
    found = digest(payload, kind=Kind.SITEMAP, content_type="text/plain", **changes)
    assert [entry.url for entry in found.entries] == ["http://example.org/one", "http://example.org/two"]
    assert found.error.startswith(error)
    assert bool(found.error) == bool(error)


def test_the_last_line_of_a_whole_sitemap_needs_no_end() -> None:
    found = digest(LINES, kind=Kind.SITEMAP, content_type="text/plain")
    assert [entry.url for entry in found.entries][2:] == ["http://example.org/thr"]
