"""The resolved configuration: every option with its type and default. Reading and checking it is `surface.settings`."""

from __future__ import annotations

from typing import Literal

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who we say we are."""

    product: str = "Gossamer"  # robots.txt token and product in User-Agent
    contact: str = ""  # URL or mail address; required for scope "any"
    sender: str = ""  # the From header; TOML key `from`
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    accept_language: str = "en;q=0.8,*;q=0.5"
    ranges: tuple[str, ...] = ()  # IP ranges that requests come from, as published
    rdns: str = ""  # names of these addresses end so
    signing_key: str = ""  # path of the key that requests are signed with
    signature_agent: str = ""  # URL of the directory of our keys; "": at the contact's site


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which links belong to the crawl."""

    mode: Literal["host", "site", "prefix", "any"] = "site"
    include: tuple[str, ...] = ()  # glob patterns on the canonical URL, * only; any match brings a URL in
    exclude: tuple[str, ...] = ()  # glob patterns; any match keeps a URL out, whatever else says
    surts: tuple[str, ...] = ()  # SURT prefixes that are in scope besides the seeds'


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """When to stop, and how much of one place to take. None means no limit."""

    pages: int | None = None
    depth: int = 16
    duration_s: float | None = None
    bytes: int | None = None  # received, all hosts
    site_pages: int = 10_000  # per 30 days, scope "any" only
    continuous: bool = False  # go on when nothing is left: pages become due


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """Gaps and rates."""

    min_delay_s: float = 1.0
    response_factor: float = 10.0
    max_delay_s: float = 60.0
    crawl_delay_max_s: float = 300.0
    net_rate: float = 20.0  # requests per second to one /24 or IPv6 /48; 0: no limit
    as_rate: float = 50.0  # requests per second to one autonomous system; 0: no limit
    as_table: str = ""  # path of an iptoasn TSV or MaxMind mmdb
    cdn_ranges: str = ""  # path of a list that replaces the bundled one
    start_jitter_s: float = 2.0  # spread of first fetches after a start
    park_after: int = 8  # failures in a row
    park_s: float = 6 * 3600.0  # until a parked host is probed again


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """One exchange."""

    total_timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    first_byte_timeout_s: float = 20.0
    max_body_bytes: int = 10 * 1024 * 1024
    concurrency: int = 1_000  # requests in flight
    types: tuple[str, ...] = ()  # media types (or "type/") fetched although unwanted by default; "*": all
    cookies: bool = False
    proxy: str = ""  # http://… or socks5://…
    verify_tls: bool = False  # True: a certificate that does not verify is a failure
    retries: int = 4
    external: bool = False  # pages are fetched by external fetchers alone, which lease them


class Robots(msgspec.Struct, frozen=True, kw_only=True):
    """robots.txt (RFC 9309)."""

    ttl_s: float = 24 * 3600.0
    retry_s: float = 300.0  # after an unreachable robots.txt
    unparseable: Literal["disallow", "allow"] = "disallow"


class Net(msgspec.Struct, frozen=True, kw_only=True):
    """Special-purpose ranges that may be fetched: tests and intranets."""

    allow: tuple[str, ...] = ()


class Dns(msgspec.Struct, frozen=True, kw_only=True):
    """Name resolution."""

    nameservers: tuple[str, ...] = ()  # "127.0.0.1:5353"; empty: the system's
    hosts_file: str = ""
    timeout_s: float = 5.0
    ttl_min_s: float = 300.0
    ttl_max_s: float = 24 * 3600.0
    negative_ttl_s: float = 300.0


class Frontier(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts held in memory and the shares of discovery and refresh."""

    slots: int = 10_000
    discovery_share: float = 0.5


class Refresh(msgspec.Struct, frozen=True, kw_only=True):
    """When a fetched page is visited again."""

    policy: Literal["uniform", "proportional", "poisson", "optimal"] = "optimal"
    interval_s: float = 30 * 86400.0  # between visits of a page, on average: what all pages together may cost
    budget_per_day: int | None = None  # visits a day; None: as many as `interval_s` for every page
    min_interval_s: float = 3600.0
    max_interval_s: float = 90 * 86400.0
    vain_max: float = 0.45  # policy optimal: share of visits that may find nothing changed; 1: no matter
    importance_exponent: float = 0.5  # of policy poisson: what importance counts


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """WARC files."""

    segment_bytes: int = 1024**3
    digest: Literal["sha1"] = "sha1"


class Workers(msgspec.Struct, frozen=True, kw_only=True):
    """Digest processes."""

    count: int = 0  # 0: cores - 1, at least 1
    memory_max_bytes: int = 1024**3
    timeout_s: float = 30.0


class Notify(msgspec.Struct, frozen=True, kw_only=True):
    """Where what happens to the crawl is posted."""

    url: str = ""  # http(s); empty: nowhere
    secret_file: str = ""  # path of the secret that messages are signed with


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a crawl is told. Sections are the tables of gossamer.toml."""

    identity: Identity = Identity()
    scope: Scope = Scope()
    limits: Limits = Limits()
    politeness: Politeness = Politeness()
    fetch: Fetch = Fetch()
    robots: Robots = Robots()
    net: Net = Net()
    dns: Dns = Dns()
    frontier: Frontier = Frontier()
    refresh: Refresh = Refresh()
    archive: Archive = Archive()
    workers: Workers = Workers()
    notify: Notify = Notify()
    seeds: tuple[str, ...] = ()
    directory: str = "crawl"
