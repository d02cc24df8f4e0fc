"""Seeds → frontier."""

from __future__ import annotations

from gossamer.model.page import Kind
from gossamer.model.url import Url

_SITEMAP_ENDS = ("sitemap.xml", "sitemap.xml.gz", "sitemap_index.xml", "sitemap.txt", "sitemap-index.xml")


def seed_kind(url: Url) -> Kind:
    """Whether a seed is a page or, by its name, a sitemap."""
    path = url.canonical.partition("?")[0].lower()
    return Kind.SITEMAP if path.endswith(_SITEMAP_ENDS) else Kind.PAGE
