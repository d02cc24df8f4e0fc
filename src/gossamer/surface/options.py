"""The table of options: TOML section and key, the field of `Config` it sets, what is allowed, what it is for.

Reading, checking and writing of configuration all run over this table; nothing else knows the keys.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.limits import GIB, MIB
from gossamer.surface import checks
from gossamer.surface.kinds import Choice, Duration, Flag, Kind, Number, Size, Text, TextList, Whole

_DAY_S: Final = 86400.0
_YEAR_S: Final = 366 * _DAY_S
_MANY: Final = 10**15


class Option(msgspec.Struct, frozen=True):
    """One configuration key."""

    key: str  # TOML key
    field: str  # attribute of the section's struct
    kind: Kind
    note: str  # one line for the written file


def _same(key: str, kind: Kind, note: str) -> Option:
    return Option(key, key, kind, note)


def _seconds(key: str, low_s: float, high_s: float, note: str, *, none: bool = False) -> Option:
    return Option(key, key + "_s", Duration(low_s, high_s, none), note)


_FILE: Final = Text(checks.existing_file, "the path of a file, relative to the configuration file")
_PATTERNS: Final = TextList(
    checks.pattern, 'a pattern on the canonical URL where * stands for any text ("*/private/*")'
)

SECTIONS: Final[dict[str, tuple[Option, ...]]] = {
    "identity": (
        _same(
            "product",
            Text(checks.product, "letters, - and _", empty=False),
            "robots.txt token and product in User-Agent",
        ),
        _same(
            "contact",
            Text(checks.contact, "an http(s) URL or a mail address"),
            'sent in User-Agent; required for scope "any"',
        ),
        Option("from", "sender", Text(checks.mail, "a mail address"), "the From header"),
        _same("accept", Text(checks.header, "an Accept header"), "the Accept header"),
        _same("accept_language", Text(checks.header, "an Accept-Language header"), "the Accept-Language header"),
        _same(
            "ranges",
            TextList(checks.network, 'an IP network or address such as "192.0.2.0/28"', 1_000),
            "addresses that requests come from; published for site owners (gossamer identity)",
        ),
        _same("rdns", Text(checks.domain, 'a domain such as "crawl.example.org"'), "names of these addresses end so"),
        _same("signing_key", _FILE, "the key that requests are signed with (gossamer identity key); empty: unsigned"),
        _same(
            "signature_agent",
            Text(checks.agent, "an https URL"),
            "where our public keys are found; empty: at the site of the contact",
        ),
    ),
    "scope": (
        _same(
            "mode", Choice(("host", "site", "prefix", "any")), "which links belong to the crawl, seen from the seeds"
        ),
        _same("include", _PATTERNS, "any match brings a URL in"),
        _same("exclude", _PATTERNS, "any match keeps a URL out, whatever else says"),
        _same(
            "surts",
            TextList(checks.surt, 'a SURT prefix such as "org,example," or "org,example)/path"'),
            "SURT prefixes that are in scope besides the seeds'",
        ),
    ),
    "limits": (
        _same("pages", Whole(1, _MANY, none=True), "pages fetched, over all runs"),
        _same("depth", Whole(0, 1000), "links from a seed"),
        _seconds("duration", 1.0, 100 * _YEAR_S, "crawling time of one run", none=True),
        _same("bytes", Size(1, _MANY, none=True), "received, from all hosts"),
        _same("site_pages", Whole(1, _MANY), 'fetches of one site in 30 days (scope "any")'),
        _same("continuous", Flag(), "true: go on when nothing is left to fetch, and visit pages as they become due"),
    ),
    "politeness": (
        _seconds("min_delay", 0.0, _DAY_S, "least gap between two fetches of a host"),
        _same("response_factor", Number(0, 1000), "gap in multiples of the host's average response time"),
        _seconds("max_delay", 0.0, _DAY_S, "most of that gap; a Crawl-delay may be longer"),
        _seconds("crawl_delay_max", 0.0, _DAY_S, "a host that asks for more is parked"),
        _same("net_rate", Number(0, 1e6), "requests a second to one /24 or IPv6 /48; 0: no limit"),
        _same("as_rate", Number(0, 1e6), "requests a second to one autonomous system; 0: no limit"),
        _same("as_table", _FILE, "iptoasn TSV or MaxMind mmdb"),
        _same("cdn_ranges", _FILE, "replaces the bundled list of CDN ranges"),
        _seconds("start_jitter", 0.0, 3600.0, "spread of first fetches after a start"),
        _same("park_after", Whole(1, 10_000), "failures in a row after which a host is parked"),
        _seconds("park", 1.0, _YEAR_S, "until a parked host is probed again"),
    ),
    "fetch": (
        _seconds("total_timeout", 0.1, 3600.0, "one exchange from connect to last byte"),
        _seconds("connect_timeout", 0.1, 3600.0, "until the connection stands, TLS included"),
        _seconds("first_byte_timeout", 0.1, 3600.0, "until the head begins"),
        Option(
            "max_body",
            "max_body_bytes",
            Size(1, 4 * GIB),
            "longest body, decompressed; beyond it is cut (a robots.txt never; a sitemap may have 50 MiB)",
        ),
        _same("concurrency", Whole(1, 100_000), "requests in flight"),
        _same(
            "types",
            TextList(checks.media_type, 'a media type, "type/" for all of a type, or "*"', 1_000),
            "types fetched although unwanted by default (images, audio, video, archives, fonts)",
        ),
        _same("cookies", Flag(), "keep and send cookies"),
        _same("proxy", Text(checks.proxy, "http://host:port or socks5://host:port"), "proxy for every request"),
        _same("verify_tls", Flag(), "true: a certificate that does not verify is a failure"),
        _same("retries", Whole(0, 100), "further attempts after a failure that may pass"),
        _same("external", Flag(), "leave pages to external fetchers, which lease them (docs/takedown.md)"),
    ),
    "robots": (
        _seconds("ttl", 1.0, 30 * _DAY_S, "how long a robots.txt is believed"),
        _seconds("retry", 1.0, 30 * _DAY_S, "until a robots.txt that could not be had whole is asked for again"),
        _same("unparseable", Choice(("disallow", "allow")), "what a robots.txt that is not one (HTML) means"),
    ),
    "net": (
        _same(
            "allow",
            TextList(checks.network, 'an IP network such as "127.0.0.0/8" or "fd00::/8"', 1_000),
            "special-purpose ranges that may be fetched: tests, intranets",
        ),
    ),
    "dns": (
        _same(
            "nameservers",
            TextList(
                checks.nameserver,
                'an IP address with an optional port ("192.0.2.1", "127.0.0.1:5353", "[::1]:53")',
                100,
            ),
            "empty: the system's",
        ),
        _same("hosts_file", _FILE, "names that are answered from a file in the form of /etc/hosts"),
        _seconds("timeout", 0.1, 300.0, "one query"),
        _seconds("ttl_min", 0.0, 30 * _DAY_S, "answers are kept at least this long"),
        _seconds("ttl_max", 0.0, 30 * _DAY_S, "answers are kept at most this long"),
        _seconds("negative_ttl", 0.0, 30 * _DAY_S, "no address: kept this long; a failed look-up, 5 s at most"),
    ),
    "frontier": (
        _same("slots", Whole(1, 10_000_000), "hosts held in memory as active"),
        _same("discovery_share", Number(0, 1), "share of new pages against refreshes, when both wait"),
    ),
    "refresh": (
        _same(
            "policy",
            Choice(("uniform", "proportional", "poisson", "optimal")),
            "how visits are spread over pages: docs/refresh.md",
        ),
        _seconds(
            "interval", 1.0, 10 * _YEAR_S, "between two visits of a page on average; the pages share these visits"
        ),
        _same(
            "budget_per_day", Whole(1, _MANY, none=True), "visits a day of all pages; none: what interval makes of it"
        ),
        _seconds("min_interval", 1.0, 10 * _YEAR_S, "soonest next visit"),
        _seconds("max_interval", 1.0, 10 * _YEAR_S, "latest next visit"),
        _same(
            "vain_max", Number(0.05, 1), "policy optimal: share of visits that may find nothing changed; 1: no bound"
        ),
        _same("importance_exponent", Number(0, 10), "policy poisson: how much importance counts"),
    ),
    "archive": (
        Option("segment_size", "segment_bytes", Size(1 * MIB, 1024 * GIB), "size at which a WARC file is closed"),
        _same("digest", Choice(("sha1",)), "algorithm of payload and block digests"),
    ),
    "workers": (
        _same("count", Whole(0, 1024), "digest processes; 0: cores - 1, at least 1"),
        Option("memory_max", "memory_max_bytes", Size(64 * MIB, 1024 * GIB), "a worker that needs more is ended"),
        _seconds("timeout", 0.1, 3600.0, "a page that takes longer is archived unparsed"),
    ),
    "notify": (
        _same("url", Text(checks.webhook, "an http or https URL"), "where what happens to the crawl is posted, signed"),
        _same("secret_file", _FILE, "the secret that messages are signed with, 16 bytes or more"),
    ),
}

SEEDS_MAX: Final = 1_000_000
SEEDS_INLINE_MAX: Final = 1_000  # more are written to a file of their own beside the configuration
FLAGS: Final = {  # options that have a flag on the command line
    "scope.mode": "--scope",
    "limits.pages": "--pages",
    "limits.depth": "--depth",
    "limits.duration": "--duration",
    "limits.continuous": "--continuous",
    "identity.contact": "--contact",
    "identity.product": "--user-agent-product",
}
