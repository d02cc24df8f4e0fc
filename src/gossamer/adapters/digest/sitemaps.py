"""A sitemap's digest: its entries and child sitemaps, resolved and judged. Reading the formats is `sitemap`'s."""

from __future__ import annotations

import time
from typing import Final

from gossamer.adapters.decode import Decoded
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.links import Judged, LinkRules, judge_links
from gossamer.adapters.digest.sitemap import parse_sitemap
from gossamer.model.limits import SITEMAP_MAX_BYTES, SITEMAP_URLS_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Job, SitemapEntry
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url
from gossamer.policy.scope import judge

ERROR_MAX_CHARS: Final = 300
WHOLE: Final = frozenset(("", "unspecified"))  # how a body is marked that does not end in the middle


def read_sitemap(job: Job, decoded: Decoded, content_type: str, rules: LinkRules, hooks: Hooks) -> dict[str, object]:
    """Fields of the digest of a sitemap or feed: entries, sitemaps, what was refused, what was wrong with it.

    Args: the job; its decoded body; its Content-Type; rules and hooks as for links. Entries count as links of a page
    of the sitemap's depth. What was read before a fault is kept.
    """
    whole = not decoded.truncated and not decoded.error and job.truncated in WHOLE
    result = parse_sitemap(decoded.body, job.url, content_type, whole=whole)
    base = Base(job.url)
    judged = Judged()
    details: dict[str, tuple[float | None, str, float | None]] = {}
    urls: list[Url] = []
    for loc, lastmod, changefreq, priority in result.entries[:SITEMAP_URLS_MAX]:
        judged.found += 1
        url = base.parse(loc)
        if isinstance(url, Reason):
            judged.refuse(url)
        elif url.key not in details:
            details[url.key] = (lastmod, changefreq, priority)
            urls.append(url)
    year = time.gmtime(job.date).tm_year
    judge_links(urls, rules, hooks, depth=job.depth, via=job.url, year=year, judged=judged)
    sitemaps = _children(result.children, base, rules, job.key, judged)
    fields: dict[str, object] = {
        "entries": tuple(SitemapEntry(url.wire, url.key, url.host, url.site, *details[url.key]) for url in judged.kept),
        "sitemaps": sitemaps,
        "refused": judged.refused,
        "links_found": judged.found,
        "feed": result.kind == "feed",
    }
    error = result.error
    if not error and (result.truncated or len(result.children) > SITEMAPS_PER_HOST_MAX):
        most = f"{SITEMAP_URLS_MAX:,} URLs, {SITEMAPS_PER_HOST_MAX:,} sitemaps, {SITEMAP_MAX_BYTES >> 20} MiB"
        error = f"lists more than is taken of one ({most})"
    if error:
        fields["error"] = f"sitemap: {error}"[:ERROR_MAX_CHARS]
    return fields


def _children(
    locations: list[str], base: Base, rules: LinkRules, own_key: str, judged: Judged
) -> tuple[tuple[str, str], ...]:
    """Child sitemaps in scope, without repeats and without the sitemap itself; `judged` counts the others."""
    found: dict[str, str] = {}
    seen = {own_key}
    for location in locations[:SITEMAPS_PER_HOST_MAX]:
        url = base.parse(location)
        if isinstance(url, Reason):
            judged.refuse(url)
        elif url.key not in seen:
            seen.add(url.key)
            reason = judge(rules.scope, url)
            if reason is None:
                found[url.key] = url.wire
            else:
                judged.refuse(reason)
    judged.refuse(Reason.SITEMAPS_FULL, max(0, len(locations) - SITEMAPS_PER_HOST_MAX))
    return tuple((wire, key) for key, wire in found.items())
