"""The names of every reason for which a URL is not fetched. Printed by `explain`, counted in reports."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a URL was refused, dropped or given up. The value is what a person reads."""

    # not a URL we can fetch
    URL_INVALID = "url-invalid"
    URL_SCHEME = "url-scheme"
    URL_TOO_LONG = "url-too-long"
    # scope
    SCOPE_OUTSIDE = "scope-outside"
    SCOPE_EXCLUDED = "scope-excluded"
    SCOPE_HOOK = "scope-hook"
    TYPE_NOT_WANTED = "type-not-wanted"
    # what the operator ordered
    TAKEDOWN = "taken-down"
    HOST_BUDGET = "host-budget"
    # traps
    TRAP_DEPTH = "trap-depth"
    TRAP_REPEATED_SEGMENTS = "trap-repeated-segments"
    TRAP_GROWING_QUERY = "trap-growing-query"
    TRAP_CALENDAR = "trap-calendar"
    TRAP_SESSION = "trap-session-id"
    TRAP_FACETS = "trap-facets"
    TRAP_SHAPE = "trap-shape-without-new-content"
    TRAP_DUPLICATES = "trap-duplicate-ratio"
    TRAP_HOSTS = "trap-hosts-without-new-content"
    # budgets
    HOST_PENDING_FULL = "host-pending-full"
    SITE_BUDGET = "site-budget"
    TWIN = "twin-of-known"  # the same page under http/https or www/apex is known, and the site serves both alike
    SITE_HOSTS = "site-hosts-full"
    PAGE_BUDGET = "page-budget"
    # sitemaps that robots.txt or an index names
    SITEMAPS_FULL = "sitemaps-per-host"
    SITEMAP_DEPTH = "sitemap-index-depth"
    NO_SITEMAP = "no-sitemap"  # it is a robots.txt
    # robots and page directives
    ROBOTS = "robots-disallowed"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    NOFOLLOW = "nofollow"
    PAGE_LINKS = "links-per-page"
    # network
    ADDRESS_FORBIDDEN = "address-forbidden"
    DNS_FAILED = "dns-failed"
    HOST_PARKED = "host-parked"
    FETCH_FAILED = "fetch-failed"
    # redirects
    REDIRECT_LIMIT = "redirect-limit"
    REDIRECT_LOOP = "redirect-loop"
    REDIRECT_INVALID = "redirect-invalid"
    # outcome
    SOFT_404 = "soft-404"
    GONE = "gone"
