"""Feeds that a page names as its alternates, and what tells a feed's items from a sitemap's entries."""

from __future__ import annotations

import pytest

from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.sitemap import parse_sitemap
from gossamer.model.limits import FEEDS_PER_PAGE_MAX


def feeds(markup: str) -> list[str]:
    return scan(parse_html(markup), markup).feeds


@pytest.mark.parametrize(
    ("markup", "found"),
    [
        ('<link rel="alternate" type="application/rss+xml" href="/rss">', ["/rss"]),
        ('<LINK REL="Alternate" TYPE="Application/Atom+XML; charset=utf-8" HREF="/atom">', ["/atom"]),
        ('<link rel="alternate" type="text/html" href="/de/">', []),
        ('<link rel="alternate" href="/de/" hreflang="de">', []),
        ('<link rel="alternate nofollow" type="application/rss+xml" href="/rss">', []),
        ('<link rel="stylesheet" type="application/rss+xml" href="/rss">', []),
        ('<link rel="alternate" type="application/rss+xml">', []),
    ],
)
def test_alternates_that_are_feeds(markup: str, found: list[str]) -> None:
    assert feeds(f"<!DOCTYPE html><head>{markup}</head><body>x") == found


def test_feeds_of_a_page_are_bounded() -> None:
    links = "".join(f'<link rel="alternate" type="application/rss+xml" href="/{n}">' for n in range(100))
    assert len(feeds(links)) == FEEDS_PER_PAGE_MAX


def test_items_of_feeds_have_dates() -> None:
    rss = b"""<rss><channel>
    <item><link>https://a.example/1</link><pubDate>Tue, 03 Feb 2026 10:00:00 GMT</pubDate></item>
    </channel></rss>"""
    found = parse_sitemap(rss, "https://a.example/rss", "application/rss+xml")
    assert found.kind == "feed"
    assert found.entries[0][:2] == ("https://a.example/1", 1_770_112_800.0)
