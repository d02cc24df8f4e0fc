"""One line of the crawl log: what a visit was, what came back, and what the crawl made of it.

Filled by the commit stage, written and read by `surface.crawllog`. No formatting here.
"""

from __future__ import annotations

import msgspec

from gossamer.model.page import Kind, Pointer


class FetchEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of one visit, or of one decision not to make it. Encoded as one JSON object on one line.

    Exactly one of these holds: `status` > 0 (a response came), `failure` is set (the exchange failed), or `reason`
    is set and `started` is 0 (refused before anything was sent).
    """

    time: float  # unix seconds when the outcome was committed
    url: str  # wire form
    key: str
    host: str
    site: str = ""
    kind: Kind
    started: float = 0.0  # unix seconds when the request was sent; 0: nothing was sent
    status: int = 0  # HTTP status; 0: no response
    failure: str = ""  # page.Failure
    failure_detail: str = ""  # one line from the network or the server: hostile text
    reason: str = ""  # reason.Reason: why it was refused or given up, or a note on a fetched page ("soft-404")
    detail: str = ""  # what the reason refers to: a robots line, a pattern, a limit
    robots: str = ""  # the rule of robots.txt by which it was asked for: "line 4: Allow: /a", "no rule against it"
    robots_at: float = 0.0  # unix seconds when that robots.txt was fetched
    verdict: str = ""  # "new" | "changed" | "unchanged" | "not-modified" | "duplicate" | "redirect" | "error" | ...
    http_version: str = ""
    media_type: str = ""
    charset: str = ""
    language: str = ""
    title: str = ""
    wire_bytes: int = 0  # received, head and framing included
    payload_bytes: int = 0  # after de-chunking, content-encoding intact
    truncated: str = ""
    connect_ms: float = 0.0
    first_byte_ms: float = 0.0
    elapsed_ms: float = 0.0
    digest_ms: float = 0.0  # CPU of the worker
    gap_s: float | None = None  # time since the end of this host's visit before; None: its first
    delay_s: float = 0.0  # gap in force when it was sent
    next_allowed: float = 0.0  # unix seconds; earliest next visit of the host
    depth: int = 0
    redirects: int = 0  # hops from the last page that was not a redirect
    level: int = 0
    refresh: bool = False
    attempt: int = 1
    retry: bool = False  # it goes back to its queue
    via: str = ""  # URL key of the page it was found on, "seed", "sitemap:KEY"
    address: str = ""
    lane: str = ""
    reused: bool = False  # on a connection that was already open
    tls_version: str = ""
    tls_cipher: str = ""
    tls_error: str = ""
    payload_digest: str = ""  # "sha1:BASE32"
    duplicate_of: str = ""  # URL key
    duplicate_kind: str = ""  # "exact" | "near"
    redirect_to: str = ""  # wire form or URL key
    canonical: str = ""
    pointer: Pointer | None = None
    links_found: int = 0
    links_admitted: int = 0
    refused: dict[str, int] = {}  # reason -> links of this page that were refused
    next_due: float = 0.0  # unix seconds; 0: no visit planned
    error: str = ""  # of digest or a hook: "digest-timeout", ...
