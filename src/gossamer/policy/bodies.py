"""How long a body may be, by what it is fetched for: `fetch.max_body`, and more where a protocol promises more."""

from __future__ import annotations

from gossamer.model.limits import SITEMAP_MAX_BYTES
from gossamer.model.page import Kind


def body_max_bytes(kind: Kind, configured: int) -> int:
    """Most bytes that are read of a body, on the wire and decoded.

    Args:
        kind: what it is fetched for. A sitemap may have 50 MiB (sitemaps.org), however short pages are kept.
        configured: `fetch.max_body`.
    """
    return max(configured, SITEMAP_MAX_BYTES) if kind is Kind.SITEMAP else configured
