"""Which of the ten levels a URL is queued at. Level 0 is the highest."""

from __future__ import annotations

from typing import Final

from gossamer.model.limits import LEVELS

SITEMAP_LEVEL: Final = 2
FEED_LEVEL: Final = 1  # of feeds, and of what they list: it is new
DUPLICATE_PENALTY: Final = 3  # levels that links of a near-duplicate lose
REDIRECT_GAIN: Final = 1  # a redirect's target goes before its source's peers: its place was already waited for
QUERY_PENALTY: Final = 1  # URLs with a query are more often views of something known
HOST_GAIN: Final = 2  # levels that links to the most important hosts gain


def link_level(depth: int, *, has_query: bool = False, parent_duplicate: bool = False, importance: float = 0.0) -> int:
    """Level of a link found on a page.

    Args:
        depth: the link's own distance from its seed.
        has_query: whether it has a query.
        parent_duplicate: whether the page is a copy of another, or the host that it leads to a mirror.
        importance: of the host it leads to, from 0 to 1 (policy.importance). No link goes before the seeds for it.
    """
    level = max(min(depth, 1), depth - round(HOST_GAIN * importance))
    if has_query:
        level += QUERY_PENALTY
    if parent_duplicate:
        level += DUPLICATE_PENALTY
    return max(0, min(LEVELS - 1, level))


def redirect_level(level: int) -> int:
    """Level of a redirect's target, from the level of its source."""
    return max(0, level - REDIRECT_GAIN)


def sitemap_level(priority: float | None, *, mirror: bool = False, feed: bool = False) -> int:
    """Level of a sitemap entry, from the site's own priority (0.0-1.0, default 0.5).

    Args:
        priority: as the sitemap says.
        mirror: whether its host is one.
        feed: whether it is the item of a feed, which are those that came last.
    """
    value = 0.5 if priority is None else min(1.0, max(0.0, priority))
    level = FEED_LEVEL if feed else SITEMAP_LEVEL + round((1.0 - value) * 4)
    return min(LEVELS - 1, level + DUPLICATE_PENALTY) if mirror else level
