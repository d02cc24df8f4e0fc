"""Where a URL was found: what rows and the log say of it in the crawl's own keys, as the URL that others know."""

from __future__ import annotations

from gossamer.model.url import url_of_key


def referrer(via: str) -> str:
    """The URL of the page, sitemap or robots.txt in which a URL was found; "" where it was found in none.

    That is so for seeds, for what somebody has pinged or added, and for what a crawl asks for of its own accord.
    """
    return url_of_key(via.removeprefix("sitemap:").removeprefix("robots:"))
