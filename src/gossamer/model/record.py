"""Rows of the store: what is kept of a URL, a host, a fingerprint, and how they are encoded.

Structs are msgpack arrays; new fields go at the end with a default, so that older rows still decode.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec

from gossamer.model.page import Kind, Pointer

SCHEMA_VERSION = 1
Sketch = bytes  # by another name, since a ledger has a field `bytes`


class Cf(StrEnum):
    """Column families; docs/decisions/state.md explains the less obvious ones."""

    URL = "url"  # URL key -> UrlRow
    QUEUE = "queue"  # host NUL level(1) sequence(8) -> Entry
    HOST = "host"  # host -> HostRow
    WAITING = "waiting"  # level(1; 10-19: for its refreshes) sequence(8) -> host
    DUE = "due"  # due time (8, milliseconds) URL key -> host
    FINGERPRINT = "fingerprint"  # table(1) block key(5) -> list of (simhash, URL key)
    PAYLOAD = "payload"  # payload digest -> Copy
    LANE = "lane"  # lane or bucket -> next allowed time
    SITE = "site"  # site -> SiteRow
    RULE = "rule"  # kind NUL pattern -> rule
    OUTBOX = "outbox"
    META = "meta"  # name -> value


class State(IntEnum):
    """Where a URL is on its road."""

    QUEUED = 0
    FETCHED = 1  # a response of any status has its record
    REFUSED = 2  # never fetched; `reason` says why
    FAILED = 3  # given up after retries; `reason` says why
    GONE = 4  # 404 or 410, re-checked and confirmed


class Pace(msgspec.Struct, array_like=True, kw_only=True):
    """How often a page changes, as its visits tell, and its place in the plan of visits. No list that grows.

    A visit sees only whether the page has changed since the one before. Times without a change add up to one number;
    those with one are kept by powers of two of their length, which is enough for the likelihood at any intervals.
    """

    seen_at: float = 0.0  # start of the last visit that saw the content; unix seconds
    unchanged_s: float = 0.0  # summed length of the intervals without a change
    changed: tuple[tuple[int, float, float], ...] = ()  # (log2 of the interval in hours, visits, their seconds)
    log_rate: float = 0.0  # logarithm of changes a second, as estimated
    variance: float = 0.0  # of that logarithm; 0: no visit has told anything yet
    group: int = -1  # class of rate and importance it is counted in; -1: not in the calendar
    claim: float = 0.0  # visits it would have for each of the average page, counted in its host's


class HostPace(msgspec.Struct, array_like=True, kw_only=True):
    """What the pages of a host have in common, and what they claim."""

    pages: int = 0  # whose rate is estimated
    log_sum: float = 0.0  # of their log_rate
    square_sum: float = 0.0  # of log_rate squared plus variance
    planned: int = 0  # pages in the calendar
    claim: float = 0.0  # visits a second they would have, when the average page has ...
    mean: float = 0.0  # ... so many


class HintRecord(msgspec.Struct, array_like=True, kw_only=True):
    """What came of a host's hints that its pages have changed."""

    tried: float = 0.0  # visits made on its word; halved past a bound, with those borne out
    borne: float = 0.0  # of them, those that found a change
    open: int = 0  # brought forward and not yet made
    skipped: int = 0  # claims that were not believed since one was tried
    doubted: int = 0  # claims not followed because of this record
    absurd: int = 0  # dates that can be no page's


class PingRecord(msgspec.Struct, array_like=True, kw_only=True):
    """Pings for a host: how many of late, and what it said of their key."""

    window_start: float = 0.0
    urls: int = 0  # taken since
    key: str = ""  # the last one that it showed
    verified: float = 0.0  # when
    refuted: float = 0.0  # when it did not show one that was named
    refused: dict[str, int] = {}  # why pinged URLs of it were refused (core.pings) -> how many


class HostOrders(msgspec.Struct, array_like=True, kw_only=True):
    """What the operator has ordered for a host."""

    delay_s: float | None = None  # gap in place of the configured one
    budget_left: int | None = None  # page visits that it may still have
    parked_until: float = 0.0  # no answer of the host ends this
    park_reason: str = ""


class UrlRow(msgspec.Struct, array_like=True, kw_only=True):
    """One known URL."""

    url: str  # wire form
    host: str
    state: State = State.QUEUED
    kind: Kind = Kind.PAGE
    depth: int = 0
    level: int = 0  # queue level
    sequence: int = 0  # place in the queue while QUEUED, or while a refresh is queued
    discovered: float = 0.0
    via: str = ""  # URL key of the page it was found on, or "seed", "sitemap:KEY", ...
    redirects: int = 0  # hops from the last page that was not a redirect
    reason: str = ""  # Reason, when REFUSED or FAILED, or a note on a FETCHED row ("soft-404")
    detail: str = ""
    attempts: int = 0  # failed visits since the last good one
    visits: int = 0  # visits with a response
    visited: float = 0.0  # start of the last visit
    status: int = 0
    media_type: str = ""
    etag: str = ""
    last_modified: str = ""
    payload_digest: str = ""
    payload_bytes: int = 0
    content_hash: int = 0
    simhash: int | None = None
    sketch: bytes = b""
    title: str = ""
    language: str = ""
    changes: int = 0
    unchanged: int = 0
    changed_at: float = 0.0
    due: float = 0.0  # 0: no visit planned
    duplicate_of: str = ""  # URL key of the original
    duplicate_kind: str = ""  # "exact" | "near"
    redirect_to: str = ""  # URL key
    canonical: str = ""  # key that rel=canonical names
    pointer: Pointer | None = None  # last record
    history: tuple[tuple[float, int, Pointer], ...] = ()  # earlier captures: (date, status, record), newest last
    noindex: bool = False
    noarchive: bool = False
    truncated: str = ""
    digest_error: str = ""
    original_url: str = ""  # WARC-Target-URI of the capture with this payload, when this one is a revisit
    refresh: bool = False  # queued for a refresh
    text_chars: int = 0  # of the main text
    filed: bool = False  # in the near-duplicate index
    self_redirects: int = 0  # times it redirected to itself
    charset: str = ""
    missing: int = 0  # visits in a row that were answered 404 or 410
    pace: Pace | None = None  # of a page that was visited
    content_digest: str = ""  # payload digest of the page it showed last, kept over errors; "": it shows none
    copied_at: float = 0.0  # since when it is a copy, of whichever page: its place among the copies of that page
    copied: bool = False  # others may be copies of it
    promoted: bool = False  # it was a copy until its original went: the links of its next visit count in full
    moving: str = ""  # key that a permanent redirect named at the last visit
    moved_to: str = ""  # key of the page that has taken its place for good
    moved_from: tuple[str, ...] = ()  # keys of pages whose history it has taken over; bounded
    canonical_said: str = ""  # what became of its rel=canonical: policy.canonicals.Said, "" when it names no other page
    wanted: float = 0.0  # when the visit was due that is queued for a refresh or put off; 0: none is
    late: int = 0  # place among the visits of its host that are put off (core.overdue); 0: not among them
    hinted: float = 0.0  # date of a change, as its site says, for which its next visit was brought forward; 0: none
    claimed_s: float = 0.0  # time between changes as its sitemap's changefreq says; 0: it says nothing
    feed: bool = False  # a feed that is read again and again
    halted: str = ""  # id of the takedown that keeps it out of queue and calendar
    called: tuple[float, str] | None = None  # when a visit was brought forward, by what: "ping", a sitemap's URL
    response_date: float = 0.0  # WARC-Date of its own response with this payload; 0: it has none, or an older row


class NewUrlRow(msgspec.Struct, array_like=True):
    """The first fields of a UrlRow, all that a URL just admitted has; decodes as one, and is cheaper to make."""

    url: str
    host: str
    state: State
    kind: Kind
    depth: int
    level: int
    sequence: int
    discovered: float
    via: str
    redirects: int


class UrlStage(msgspec.Struct, array_like=True):
    """The first fields of a UrlRow, for those who ask no more; decodes from one, and sooner."""

    url: str
    host: str
    state: State


class Entry(msgspec.Struct, array_like=True):
    """One place in a host's queue."""

    key: str
    refresh: bool = False


class RobotsState(msgspec.Struct, array_like=True, kw_only=True):
    """robots.txt of one scheme and authority, as last fetched."""

    body: bytes = b""  # the first 500 KiB; kept beside the ledger, empty in it
    verdict: str = "rules"  # "rules" | "allow" | "disallow"
    why: str = ""  # "404", "timeout", "html", ...
    fetched: float = 0.0
    expires: float = 0.0
    changes: int = 0  # times the body differed from the one before
    failures: int = 0
    redirects: tuple[str, ...] = ()
    crawl_delay_s: float | None = None


class HostRow(msgspec.Struct, array_like=True, kw_only=True):
    """Ledger of one host: survives restart."""

    host: str
    site: str
    next_allowed: float = 0.0  # unix seconds
    delay_s: float = 1.0  # gap in force
    crawl_delay_s: float | None = None
    response_s: float = 0.0  # moving average of response times
    response_p99_s: float = 0.0  # slow-host estimate
    robots: dict[str, RobotsState] = {}  # "https" -> state
    errors: int = 0  # failures in a row
    backoff_s: float = 0.0
    addresses: tuple[str, ...] = ()
    addresses_expire: float = 0.0
    parked: str = ""  # reason, empty when not parked
    parked_until: float = 0.0
    pending: int = 0  # URLs queued
    pending_by_level: list[int] = []
    cursor: list[int] = []  # per level: no live entry has a lower sequence
    waiting_level: int = -1  # for its new pages; -1: not in a waiting queue
    waiting_sequence: int = 0
    fetched: int = 0
    failed: int = 0
    duplicates: int = 0
    soft404s: int = 0
    statuses: dict[str, int] = {}
    bytes: int = 0
    seconds: float = 0.0  # summed response time
    refused: dict[str, int] = {}
    sitemaps: int = 0  # sitemaps admitted
    not_found: tuple[int, int, int] | None = None  # (content hash, simhash or 0, text chars) of its not-found page
    not_found_state: str = ""  # "", "asked", "known", "honest" (a real 404)
    last_fetch: float = 0.0
    last_status: int = 0
    tls_error: str = ""
    reached: bool = False  # some response has come from it
    tired_shapes: list[str] = []  # URL shapes that have stopped bringing new content; bounded
    pace: HostPace | None = None
    votes: Sketch = b""  # sketch of the sites that link to it (policy.importance)
    rank: float | None = None  # importance from 0 to 1 as `gossamer rank` found it; None: not seen by it
    ranked: float = 0.0  # when; unix seconds
    mirrors: dict[str, int] = {}  # other host -> pages that are copies of the page of the same path there; bounded
    shown: int = 0  # URLs that have shown a page
    mirror_of: str = ""  # host whose pages it shows
    moved_to: str = ""  # host to which its home page has moved for good: links to it count for that one
    canonicals: dict[str, int] = {}  # policy.canonicals.Said -> pages whose rel=canonical came to this
    refresh_waiting_level: int = -1  # the same as waiting_level, for its refreshes
    refresh_waiting_sequence: int = 0
    late: int = 0  # refreshes that are due and wait for room in its queue
    hints: HintRecord | None = None
    feeds: int = 0  # feeds admitted
    pings: PingRecord | None = None
    orders: HostOrders | None = None
    stalled: int = 0  # refreshes that are due while it is parked, counted in the totals
    addresses_failed: int = 0  # so many of `addresses`, the last ones, could not be connected to (core.addresses)


class SiteRow(msgspec.Struct, array_like=True, kw_only=True):
    """Budget of one site over a window of 30 days, and how many hosts it has shown."""

    window_start: float = 0.0
    fetched: int = 0
    hosts: int = 0  # host names let in, ever
    fronts: int = 0  # hosts whose first page was judged
    copied_fronts: int = 0  # those whose first page was a copy
    twins: dict[str, tuple[int, int]] = {}  # policy.twins.Pair -> pairs of pages seen to be equal, and to differ


class Copy(msgspec.Struct, array_like=True):
    """The first capture of a payload."""

    key: str
    url: str
    date: float
    pointer: Pointer


class FingerprintEntry(msgspec.Struct, array_like=True):
    """One page in a near-duplicate table."""

    simhash: int
    key: str
