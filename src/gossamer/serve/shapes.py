"""Queries, bodies and answers of the API. Names and meaning are the reference interface's where it has them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer.model.control import Fetched, Freshness, HostPolicy
from gossamer.model.limits import (
    LEASED_AT_ONCE_MAX,
    PING_URLS_MAX,
    SEED_URL_MAX_BYTES,
    TAKEDOWN_TEXT_MAX_CHARS,
    URL_INPUT_MAX_CHARS,
)
from gossamer.model.takedown import Takedown
from gossamer.model.view import HostView
from gossamer.serve.endpoint import CrawlQuery
from gossamer.surface.hostfreshness import HostFreshness
from gossamer.surface.hoststory import HostStory

Name = Annotated[str, Meta(max_length=300, description="a host name or address, with its port when that is not usual")]
Text = Annotated[str, Meta(max_length=2_000)]
Reason = Annotated[str, Meta(max_length=TAKEDOWN_TEXT_MAX_CHARS)]
AnyUrl = Annotated[str, Meta(min_length=1, max_length=URL_INPUT_MAX_CHARS)]
SeedUrl = Annotated[str, Meta(min_length=1, max_length=SEED_URL_MAX_BYTES)]
Priority = Literal["high", "normal", "low"]
LEVELS_OF: dict[Priority, int] = {"high": 0, "normal": 3, "low": 7}


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is sent with a change."""


# -- queries -----------------------------------------------------------------------------------------------------------


class HostsQuery(CrawlQuery, frozen=True, kw_only=True):
    """A page of hosts, in the order of their names."""

    after: Annotated[str, Meta(max_length=300, description="the last name of the page before")] = ""
    limit: Annotated[int, Meta(ge=1, le=1_000)] = 100
    state: Literal["", "ready", "resting", "waiting", "parked", "idle"] = ""


class HostQuery(CrawlQuery, frozen=True, kw_only=True):
    """One host."""

    host: Annotated[str, Meta(min_length=1, max_length=300)]


class VisitsQuery(CrawlQuery, frozen=True, kw_only=True):
    """How many visits are told."""

    visits: Annotated[int, Meta(ge=1, le=10_000)] = 200


class UrlQuery(CrawlQuery, frozen=True, kw_only=True):
    """One URL."""

    url: AnyUrl


class LeaseQuery(CrawlQuery, frozen=True, kw_only=True):
    """Who fetches, and how much."""

    worker_id: Annotated[str, Meta(min_length=1, max_length=100)]
    n: Annotated[int, Meta(ge=1, le=LEASED_AT_ONCE_MAX)] = 32
    wait_s: Annotated[int, Meta(ge=0, le=20, description="wait so long for the first one")] = 0


# -- bodies ------------------------------------------------------------------------------------------------------------


class SeedsBody(Body, frozen=True, kw_only=True):
    """Seeds to add."""

    urls: Annotated[tuple[SeedUrl, ...], Meta(max_length=10_000)] = ()
    sitemaps: Annotated[tuple[SeedUrl, ...], Meta(max_length=1_000)] = ()
    priority: Priority = "high"


class TakedownBody(Body, frozen=True, kw_only=True):
    """What must not be fetched or given out any more."""

    scope: Literal["host", "site", "prefix", "pattern"]
    value: Annotated[str, Meta(min_length=1, max_length=2_083)]
    reason: Annotated[str, Meta(min_length=1, max_length=TAKEDOWN_TEXT_MAX_CHARS)]
    ticket: Annotated[str, Meta(max_length=200)] = ""


class ReasonBody(Body, frozen=True, kw_only=True):
    """Why."""

    reason: Reason = ""


class StopBody(Body, frozen=True, kw_only=True):
    """How a crawl is to end."""

    reason: Reason = ""
    at_once: bool = False


class OfferedUrl(Body, frozen=True, kw_only=True):
    """A URL for the frontier."""

    url: AnyUrl
    priority: Annotated[int, Meta(ge=0, le=9, description="level of the queue; 0 is the highest")] = 3


class UrlsBody(Body, frozen=True, kw_only=True):
    """URLs for the frontier: scope, traps and budgets decide, as for links of pages."""

    urls: Annotated[tuple[OfferedUrl, ...], Meta(min_length=1, max_length=10_000)]


class CompleteBody(Body, frozen=True, kw_only=True):
    """How leases ended."""

    worker_id: Annotated[str, Meta(min_length=1, max_length=100)]
    results: Annotated[tuple[Fetched, ...], Meta(min_length=1, max_length=1_000)]


class PingBody(Body, frozen=True, kw_only=True):
    """Pages that have changed, in the form of IndexNow."""

    key: Annotated[str, Meta(min_length=8, max_length=128)]
    urlList: Annotated[tuple[AnyUrl, ...], Meta(min_length=1, max_length=PING_URLS_MAX)]  # noqa: N815 - IndexNow's name
    host: Annotated[str, Meta(max_length=300)] = ""
    keyLocation: Annotated[str, Meta(max_length=URL_INPUT_MAX_CHARS)] = ""  # noqa: N815


class HostBody(Body, frozen=True, kw_only=True):
    """What a host is treated by. What is not given stays; null takes back what was set."""

    delay_s: Annotated[float, Meta(ge=0, le=86_400)] | UnsetType | None = UNSET
    budget: Annotated[int, Meta(ge=0, le=10**12)] | UnsetType | None = UNSET
    park_s: Annotated[float, Meta(ge=0, le=366 * 86_400)] | UnsetType | None = UNSET
    park_reason: Text = ""
    reset: bool = False


class LimitsBody(Body, frozen=True, kw_only=True):
    """Limits and scope to change while the crawl runs. What is not given stays; null lifts a limit."""

    pages: Annotated[int, Meta(ge=1, le=10**15)] | UnsetType | None = UNSET
    duration_s: Annotated[float, Meta(gt=0, le=366 * 86_400 * 100)] | UnsetType | None = UNSET
    bytes: Annotated[int, Meta(ge=1, le=10**15)] | UnsetType | None = UNSET
    depth: Annotated[int, Meta(ge=0, le=10**6)] | UnsetType = UNSET
    site_pages: Annotated[int, Meta(ge=1, le=10**15)] | UnsetType = UNSET
    continuous: bool | UnsetType = UNSET
    mode: Literal["host", "site", "prefix", "any"] | UnsetType = UNSET
    include: Annotated[tuple[Text, ...], Meta(max_length=1_000)] | UnsetType = UNSET
    exclude: Annotated[tuple[Text, ...], Meta(max_length=1_000)] | UnsetType = UNSET
    surts: Annotated[tuple[Text, ...], Meta(max_length=1_000)] | UnsetType = UNSET


# -- answers -----------------------------------------------------------------------------------------------------------


class CrawlSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl that is served."""

    name: str
    directory: str
    running: bool
    state: str
    pages: int
    rate_now: float
    bound: str


class CrawlList(msgspec.Struct, frozen=True, kw_only=True):
    """Every crawl that is served."""

    crawls: tuple[CrawlSummary, ...]


class HostPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some hosts, in the order of their names."""

    hosts: tuple[HostView, ...]
    next: str = ""  # what `after` must be for the page that follows; "": this is the last


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One host's whole story, and what it is treated by while the crawl runs."""

    story: HostStory
    policy: HostPolicy | None = None  # None: the crawl does not run


class HostPolicyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A host as it is treated from now on."""

    view: HostView
    policy: HostPolicy


class PolicyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a fetcher must know of a host."""

    host: str
    crawl_delay_s: float | None
    robots_expires_at: float  # unix seconds; 0: robots.txt was not fetched
    delay_s: float
    next_allowed: float  # unix seconds
    robots: str
    parked: str = ""
    taken_down: str = ""  # id of the takedown that covers it


class FreshnessAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """How current the copies of a host's pages are."""

    host: str
    last_fetched_at: float  # unix seconds; 0: never
    known_urls: int
    fetched_this_month: int
    copies: HostFreshness
    expected: Freshness | None = None  # by the estimated rates of change; None: the crawl does not run


class TakedownAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One takedown."""

    takedown: Takedown
    confirmed: bool
    status: str  # one sentence
    running: bool  # False: what is not recorded yet is done at the crawl's next start


class TakedownList(msgspec.Struct, frozen=True, kw_only=True):
    """Every takedown, the newest first."""

    takedowns: tuple[TakedownAnswer, ...]
    running: bool


class Leased(msgspec.Struct, frozen=True, kw_only=True):
    """The right to make exactly one request until it expires."""

    lease: str
    url: str
    host: str
    ip: str  # connect to this address; it was vetted
    lease_expires_at: float  # unix seconds
    headers: tuple[tuple[str, str], ...]
    timeout_s: float
    body_max_bytes: int
    depth: int
    refresh: bool


class TakenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken in."""

    taken: int
    known: int
    refused: dict[str, str]


class DoneAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """It was done."""

    done: bool = True
    message: str = ""


class ChangedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What is other than before."""

    changes: tuple[str, ...]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """That the server answers."""

    status: str = "ok"
    version: str = ""
