"""Sitemaps, indexes and feeds to digests: asked for as such, or found where a page was expected."""

from __future__ import annotations

import pytest

from gossamer.adapters.digest.links import LinkRules
from gossamer.model.config import Scope
from gossamer.model.limits import SITEMAP_URLS_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.policy.scope import compile_scope
from tests.digest.helpers import digest, url_of

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


def test_a_feed_is_entries_only_when_it_was_asked_for_as_a_sitemap() -> None:
    body = b"<rss version='2.0'><channel><item><link>http://example.org/story</link></item></channel></rss>"
    asked = digest(body, SITE, kind=Kind.SITEMAP, content_type="application/rss+xml")
    assert [entry.url for entry in asked.entries] == ["http://example.org/story"]
    assert digest(body, SITE, content_type="application/rss+xml").entries == ()


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
