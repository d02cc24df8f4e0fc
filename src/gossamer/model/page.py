"""What goes out and what comes back: a request, its outcome, a digest job and its result."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec


class Failure(StrEnum):
    """How a fetch failed without a usable response."""

    DNS = "dns"
    ADDRESS = "address-forbidden"
    CONNECT = "connect"
    CONNECT_TIMEOUT = "connect-timeout"
    TLS = "tls"
    FIRST_BYTE_TIMEOUT = "first-byte-timeout"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"  # closed or reset before a whole head
    PROTOCOL = "protocol"  # what came back is not HTTP
    HEAD_TOO_LARGE = "head-too-large"
    PROXY = "proxy"
    STALE = "stale-connection"  # a connection kept from a visit before was over: it says nothing of host or page
    CUT_OFF = "cut-off"  # by us, on purpose: a takedown, or a lease that ran out
    OURS = "ours"  # EMFILE, no network, no buffer space: never held against a host

    @property
    def means_nothing(self) -> bool:
        """Whether nothing was learned of the host: its URL goes back to its queue and takes another turn."""
        return self in (Failure.STALE, Failure.OURS, Failure.CUT_OFF)

    @property
    def is_unreached(self) -> bool:
        """Whether no connection came about: the address has failed, and the host may be there at another of its own."""
        return self in (Failure.CONNECT, Failure.CONNECT_TIMEOUT, Failure.ADDRESS, Failure.PROXY)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One GET of one URL to one vetted address."""

    url: str  # the wire form
    scheme: Literal["http", "https"]
    name: str  # host name for Host and SNI; IPv6 literals in brackets
    port: int
    target: str  # path and query, never empty
    address: str  # the IP address to connect to, already vetted once; the adapter vets it again
    headers: tuple[tuple[str, str], ...] = ()  # sent after Host, in this order
    total_timeout_s: float = 30.0
    connect_timeout_s: float = 10.0
    first_byte_timeout_s: float = 20.0
    body_max_bytes: int = 10 * 1024 * 1024  # decompressed
    raw_max_bytes: int = 10 * 1024 * 1024
    unwanted_types: tuple[str, ...] = ()  # content-type prefixes whose body is cut at the head
    fresh: bool = False  # on a connection of its own, not on one kept from a visit before


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one exchange brought. `failure` is None exactly when a response head was understood."""

    failure: Failure | None = None
    failure_detail: str = ""  # one line for a person, escaped by whoever prints it
    status: int = 0
    reason: str = ""
    http_version: str = ""  # "HTTP/1.1" as received
    headers: tuple[tuple[str, str], ...] = ()  # names lower-cased, values stripped, latin-1 text
    request_bytes: bytes = b""  # exactly as sent
    head_bytes: bytes = b""  # exactly as received, with its closing empty line
    payload: bytes = b""  # entity after de-chunking, content-encoding intact
    framed: bytes | None = None  # the body as on the wire when it was chunked, else None
    content_encoding: tuple[str, ...] = ()  # codings that really apply and decode ("gzip", "br", ...)
    truncated: Literal["", "length", "time", "disconnect", "unspecified"] = ""  # WARC-Truncated
    damaged: bool = False  # the chunks of the body are damaged before the last one: the rest of it is lost
    incomplete: str = ""  # why a robots.txt is not all there, in a few words; "" when it is
    cut_by_type: bool = False  # the body was not read because its type is not wanted
    address: str = ""
    reused: bool = False
    tls_version: str = ""
    tls_cipher: str = ""  # IANA name
    tls_error: str = ""  # verification error that policy let pass
    started: float = 0.0  # unix seconds
    connect_s: float = 0.0
    first_byte_s: float = 0.0
    elapsed_s: float = 0.0
    wire_bytes: int = 0
    faults: tuple[str, ...] = ()  # what the server did against the standard and we put up with, for a person

    def header(self, name: str) -> str | None:
        """First value of a header, by its lower-case name, or None."""
        for key, value in self.headers:
            if key == name:
                return value
        return None


class Resolution(msgspec.Struct, frozen=True, kw_only=True):
    """What DNS said of one name."""

    name: str  # lower case, without a last dot
    addresses: tuple[str, ...] = ()
    expires: float = 0.0  # unix seconds, after clamping
    error: str = ""  # empty when addresses were found
    ours: bool = False  # our resolver or network failed: hold it against nobody
    asked: bool = False  # a nameserver gave the addresses just now: not a cache, a hosts file or the name itself


class Kind(StrEnum):
    """What a queued URL is fetched for."""

    PAGE = "page"
    ROBOTS = "robots"
    SITEMAP = "sitemap"
    KEY = "key"  # what shows that a ping is the host's own
    PROBE = "probe"  # a made-up path, to learn the site's own not-found page


class Pointer(msgspec.Struct, frozen=True, array_like=True):
    """Where a WARC record starts: segment file name (without `.open`), offset and length in bytes."""

    segment: str
    offset: int
    length: int


class Original(msgspec.Struct, frozen=True, array_like=True):
    """The earlier capture a revisit record refers to."""

    url: str  # WARC-Target-URI of the first copy
    date: float  # its WARC-Date, unix seconds
    digest: str  # its payload digest, "sha1:BASE32"
    pointer: Pointer | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A fetched response on its way to a digest worker."""

    id: int
    kind: Kind
    url: str  # wire form
    key: str
    depth: int
    date: float  # WARC-Date, unix seconds
    status: int
    headers: tuple[tuple[str, str], ...]
    request_bytes: bytes
    head_bytes: bytes
    payload: bytes
    framed: bytes | None
    content_encoding: tuple[str, ...]
    truncated: str
    address: str
    http_version: str
    tls_version: str
    tls_cipher: str
    payload_digest: str  # "sha1:BASE32" over `payload`
    original: Original | None = None  # set: write a revisit instead of a response
    revisit: Literal["", "identical", "not-modified"] = ""
    via: str = ""  # WARC metadata: the referring URL
    parse: bool = True
    elapsed_s: float = 0.0
    tell_all: bool = False  # links that were told lately are told again: they count more now


class Links(msgspec.Struct, frozen=True, array_like=True):
    """Links of a page that lead to one host and survived the pure checks, in page order."""

    host: str
    site: str
    links: tuple[tuple[str, str], ...]  # (wire form, URL key)


class SitemapEntry(msgspec.Struct, frozen=True, array_like=True):
    """One `<url>` or feed item. `url` is the wire form, already canonicalised into `key`."""

    url: str
    key: str
    host: str
    site: str
    lastmod: float | None = None  # unix seconds
    changefreq: str = ""
    priority: float | None = None


# Why the archive took no page: no room; no descriptors or memory for now; whatever else keeps a worker from writing.
Unwritten = Literal["", "full", "lacking", "broken"]


class Digest(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What a worker made of a job. Its records are durable when this is sent."""

    id: int
    pointer: Pointer | None  # the response, revisit or metadata record of this visit
    committed_end: int = 0  # segment length after this page's last record
    error: str = ""  # "digest-crash", "digest-timeout", "digest-memory", "archive: ..." or a parser's words
    unwritten: Unwritten = ""  # it is the archive that failed, not the page
    media_type: str = ""  # without parameters
    charset: str = ""
    language: str = ""  # ISO 639-1 or ""
    title: str = ""
    text_chars: int = 0
    content_hash: int = 0  # of the words of the main text; 0 when there is none
    simhash: int | None = None  # None: too short to judge
    sketch: bytes = b""  # MinHash sketch, the confirming second signal
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    canonical: tuple[str, str] | None = None  # rel=canonical: (wire form, key)
    links: tuple[Links, ...] = ()
    refused: dict[str, int] = {}  # reason -> links refused by the pure checks
    links_found: int = 0
    sitemaps: tuple[tuple[str, str], ...] = ()  # child sitemaps: (wire form, key)
    entries: tuple[SitemapEntry, ...] = ()
    hook_errors: tuple[str, ...] = ()
    extra: dict[str, str] = {}  # what digest hooks returned, bounded
    cpu_s: float = 0.0
    closed: tuple[str, ...] = ()  # segments that the worker has finished since its last answer
    votes: tuple[str, ...] = ()  # hosts of other sites it leads to, of which its site's vote was not told lately
    feeds: tuple[tuple[str, str], ...] = ()  # feeds that a page names as its alternates: (wire form, key)
    feed: bool = False  # its entries are the items of a feed
