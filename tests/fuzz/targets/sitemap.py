"""Sitemaps and feeds in all their forms."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from xml.sax.saxutils import escape

from gossamer.adapters.digest.sitemap import SitemapResult, parse_sitemap, types_of_sitemap
from gossamer.model.limits import SITEMAP_URLS_MAX
from tests.fuzz.harness import CASES, Target, seed

BASE = "https://a.example/dir/sitemap.xml"
SNIFFED_BYTES = 1024
FREQUENCIES = {"", "always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}


def check(control: bytes, content: bytes) -> None:
    """Nothing raises; entries are within their bounds and what they should be; a gzip of the file says the same; what
    its first bytes are taken for is what it is; locations written as XML come back.
    """
    content_type = ("application/xml", "text/plain", "", "text/html")[control[0] % 4]
    found = parse_sitemap(content, BASE, content_type)
    assert len(found.entries) + len(found.children) <= SITEMAP_URLS_MAX
    assert not (found.entries and found.children)
    assert found.kind != "none" or not found.entries
    for url, lastmod, frequency, priority in found.entries:
        assert url
        assert url == url.strip()
        assert lastmod is None or math.isfinite(lastmod)
        assert frequency in FREQUENCIES
        assert priority is None or 0 <= priority <= 1
    if content[:2] != b"\x1f\x8b":
        packed = gzip.compress(content, 1, mtime=0)
        assert parse_sitemap(packed, BASE, content_type) == found
        _sniffed(content, content_type, found)
    _comes_back(content)


def _sniffed(content: bytes, content_type: str, found: SitemapResult) -> None:
    """Of a short file the first bytes are all of it."""
    if len(content) <= SNIFFED_BYTES and found.kind != "none" and content_type != "text/html":
        assert types_of_sitemap(BASE, content_type, content) == found.kind


def _comes_back(content: bytes) -> None:
    words = [word for word in content.decode("utf-8", "ignore").split() if word.isprintable()][:20]
    locations = [f"https://a.example/{word[:200]}" for word in words]
    items = "".join(f"<url><loc> {escape(location)}\n</loc></url>" for location in locations)
    found = parse_sitemap(f"<urlset>{items}</urlset>".encode(), BASE, "")
    assert [entry[0] for entry in found.entries] == locations
    assert found.error == ""


def seeds() -> Iterator[bytes]:
    """The files of the fact files."""
    for line in (CASES / "sitemap" / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        yield from seed((CASES / "sitemap" / "files" / json.loads(line)["file"]).read_bytes())


SITEMAP = Target("sitemap", check, seeds, 60)
