"""What can be asked of a crawl while it runs, and what it answers. Values only: who asks and how is not said here.

Each command has its own answer type; any of them may be answered by `Refused`, which names field, value and what is
allowed. On the wire (`adapters.control`) a message is one line of JSON: `{"do": "pause"}` and `{"is": "done"}`.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from gossamer.model.takedown import Takedown, Target
from gossamer.model.view import HostView, Snapshot

RefusalCode = Literal[
    "bad-value",  # 400/422: a field has a value that is not allowed
    "not-found",  # 404: no such takedown, host, lease
    "conflict",  # 409: it is so already, or its state does not allow it
    "gone",  # 410: a lease that is over or was revoked
    "busy",  # 503: too much waits already; try again
    "not-running",  # 503: only a running crawl can do this
    "failed",  # 500: a fault of ours
]


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", forbid_unknown_fields=True):
    """Anything that can be asked."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, tag_field="is"):
    """Anything that is answered."""


class Refused(Answer, frozen=True, kw_only=True, tag="refused"):
    """It was not done."""

    code: RefusalCode
    message: str  # one sentence for a person
    field: str = ""
    value: str = ""
    allowed: str = ""
    retry_after_s: float = 0.0


def bad_value(field: str, value: object, message: str, allowed: str = "") -> Refused:
    """The refusal of a value that is not allowed."""
    return Refused(code="bad-value", message=message, field=field, value=str(value)[:200], allowed=allowed)


class Done(Answer, frozen=True, kw_only=True, tag="done"):
    """It was done, and there is no more to say than this."""

    message: str = ""


# -- takedown ----------------------------------------------------------------------------------------------------------


class TakeDown(Command, frozen=True, kw_only=True, tag="takedown"):
    """Stop everything about a target, now. Answered by `Takedowns` with the one that was made.

    A target that is taken down already is refused with "conflict".
    """

    target: Target
    reason: str
    ticket: str = ""
    by: str = ""


class LiftTakedown(Command, frozen=True, kw_only=True, tag="lift-takedown"):
    """Let a takedown hold no longer. Answered by `Takedowns`."""

    id: str
    reason: str = ""
    by: str = ""


class ListTakedowns(Command, frozen=True, kw_only=True, tag="list-takedowns"):
    """Answered by `Takedowns`: all, or the one with this id ("not-found" when there is none)."""

    id: str = ""


class Takedowns(Answer, frozen=True, kw_only=True, tag="takedowns"):
    """Takedowns with their steps, the newest first."""

    takedowns: tuple[Takedown, ...]
    running: bool = True  # False: no crawl runs; what is not recorded yet is done at its next start


# -- the crawl ---------------------------------------------------------------------------------------------------------


class Pause(Command, frozen=True, kw_only=True, tag="pause"):
    """Make no new requests; what is in flight ends. Kept over restarts. Answered by `Done`."""

    reason: str = ""
    by: str = ""


class Resume(Command, frozen=True, kw_only=True, tag="resume"):
    """End a pause. Answered by `Done`."""

    by: str = ""


class Stop(Command, frozen=True, kw_only=True, tag="stop"):
    """End the crawl in good order, or at once: what is in flight stays queued. Answered by `Done` before it ends."""

    reason: str = ""
    at_once: bool = False
    by: str = ""


class Look(Command, frozen=True, kw_only=True, tag="look"):
    """Answered by `Looked`."""


class Looked(Answer, frozen=True, kw_only=True, tag="looked"):
    """The crawl at this moment."""

    snapshot: Snapshot
    paused_by_operator: str = ""  # why; "": it is not
    leases: int = 0  # held by external fetchers


class Change(Command, frozen=True, kw_only=True, tag="change"):
    """Change limits and scope of the running crawl; kept with it. What is not given stays. Answered by `Changed`."""

    pages: int | UnsetType | None = UNSET  # None: no limit, as in gossamer.toml
    duration_s: float | UnsetType | None = UNSET
    bytes: int | UnsetType | None = UNSET
    depth: int | UnsetType = UNSET
    site_pages: int | UnsetType = UNSET
    continuous: bool | UnsetType = UNSET
    include: tuple[str, ...] | UnsetType = UNSET
    exclude: tuple[str, ...] | UnsetType = UNSET
    surts: tuple[str, ...] | UnsetType = UNSET
    mode: Literal["host", "site", "prefix", "any"] | UnsetType = UNSET
    by: str = ""


class Changed(Answer, frozen=True, kw_only=True, tag="changed"):
    """What is other than before, in words: "limits.pages: 100 -> none"."""

    changes: tuple[str, ...]


# -- URLs in -----------------------------------------------------------------------------------------------------------


class AddSeeds(Command, frozen=True, kw_only=True, tag="add-seeds"):
    """Add seeds to the crawl, kept with it: the scope grows with them. Answered by `Taken`."""

    urls: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    level: int = 0  # priority, 0 (highest) to 9
    by: str = ""


class AddUrls(Command, frozen=True, kw_only=True, tag="add-urls"):
    """Offer URLs to the frontier, as if a page linked to them: scope, traps and budgets decide. Answered by `Taken`."""

    urls: tuple[str, ...]
    level: int = 3
    by: str = ""


class Tell(Command, frozen=True, kw_only=True, tag="ping"):
    """Pages have changed, as IndexNow says it; the key is verified at their hosts. Answered by `Taken`."""

    key: str
    urls: tuple[str, ...]


class Taken(Answer, frozen=True, kw_only=True, tag="taken"):
    """How many were taken, and why the others were not, by URL as it was given."""

    taken: int
    known: int = 0  # of those that are not taken: in the crawl already
    refused: dict[str, str] = {}


# -- hosts -------------------------------------------------------------------------------------------------------------


class ReadHost(Command, frozen=True, kw_only=True, tag="read-host"):
    """Answered by `Host`; "not-found" for a host that was never seen."""

    host: str


class PatchHost(Command, frozen=True, kw_only=True, tag="patch-host"):
    """Change what a host is treated by; kept over restarts. What is not given stays. Answered by `Host`.

    A Crawl-delay and a Retry-After of the host bind whatever is said here.
    """

    host: str
    delay_s: float | UnsetType | None = UNSET  # gap between requests; None: as configured
    budget: int | UnsetType | None = UNSET  # page visits it may have from now on; None: no budget
    park_s: float | UnsetType | None = UNSET  # set aside for so long; None: not any more
    park_reason: str = ""
    reset: bool = False  # forget errors, back-off, parking, response times, rules and addresses
    by: str = ""


class HostPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is treated by, and why."""

    delay_s: float  # gap in force
    delay_source: str  # "crawl-delay", "operator", "response time", "min_delay"
    operator_delay_s: float | None = None
    crawl_delay_s: float | None = None
    next_allowed: float = 0.0  # unix seconds
    backoff_s: float = 0.0
    errors: int = 0
    budget_left: int | None = None
    parked: str = ""
    parked_until: float = 0.0
    parked_by_operator: bool = False
    robots: dict[str, str] = {}  # scheme -> verdict in words
    taken_down: str = ""  # id of the takedown that covers all of it


class Host(Answer, frozen=True, kw_only=True, tag="host"):
    """A host and its policy."""

    view: HostView
    policy: HostPolicy


class ReadFreshness(Command, frozen=True, kw_only=True, tag="read-freshness"):
    """Answered by `Freshness`; "not-found" for a host that was never seen."""

    host: str


class Freshness(Answer, frozen=True, kw_only=True, tag="freshness"):
    """How current the copies of a host's pages are likely to be."""

    host: str
    pages: int  # that have shown content
    planned: int  # with a next visit in the calendar
    late: int  # due, and waiting for room in the host's queue
    queued_refreshes: int
    changes_per_day: float | None = None  # of its pages, on average (geometric); None: nothing is known yet
    visits_per_day: float = 0.0  # that the plan gives its pages together
    expected_fresh: float | None = None  # share of its pages whose copy is current, by the estimated rates
    hints_tried: int = 0
    hints_borne: int = 0


# -- external fetchers -------------------------------------------------------------------------------------------------


class Lease(Command, frozen=True, kw_only=True, tag="lease"):
    """Take URLs to fetch elsewhere. Answered by `Leases`; none when nothing may be asked now."""

    worker: str  # a name of the fetcher's own choice
    count: int = 1
    wait_s: float = 0.0  # wait so long for the first one


class LeasedUrl(msgspec.Struct, frozen=True, kw_only=True):
    """The right to make exactly one request until the deadline: host and lane are reserved for it."""

    lease: str  # a secret; what `Complete` names
    url: str  # the wire form, to be requested as it is
    key: str
    host: str
    address: str  # the vetted IP address to connect to
    headers: tuple[tuple[str, str], ...]  # to be sent, in this order, after Host
    deadline: float  # unix seconds; what is completed later is refused
    timeout_s: float  # for the exchange, so that it ends before the deadline
    body_max_bytes: int
    depth: int = 0
    refresh: bool = False


class Leases(Answer, frozen=True, kw_only=True, tag="leases"):
    """What may be fetched."""

    leases: tuple[LeasedUrl, ...]
    retry_after_s: float = 0.0  # when it is empty


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """How the request of one lease ended. Redirects are not followed: their target gets a lease of its own."""

    lease: str
    status: int = 0  # 0: no response came
    reason: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # as received, in order
    body: bytes = b""  # base64 in JSON; content-encoding intact, transfer-encoding undone
    request_head: bytes = b""  # exactly as sent; empty: made from the lease
    response_head: bytes = b""  # exactly as received; empty: made from status and headers
    truncated: Literal["", "length", "time", "disconnect", "unspecified"] = ""
    failure: Literal["", "connect", "timeout", "tls", "disconnected", "protocol", "not-tried"] = ""
    failure_detail: str = ""
    started: float = 0.0  # unix seconds, as the fetcher's clock says; 0: not known
    elapsed_s: float = 0.0
    tls_version: str = ""
    tls_cipher: str = ""


class Complete(Command, frozen=True, kw_only=True, tag="complete"):
    """Say how leases ended. Answered by `Completed`."""

    worker: str
    results: tuple[Fetched, ...]


class Completed(Answer, frozen=True, kw_only=True, tag="completed"):
    """Leases that were taken, and why the others were not, by lease."""

    taken: tuple[str, ...]
    refused: dict[str, str] = {}


AnyCommand = (
    TakeDown
    | LiftTakedown
    | ListTakedowns
    | Pause
    | Resume
    | Stop
    | Look
    | Change
    | AddSeeds
    | AddUrls
    | Tell
    | ReadHost
    | PatchHost
    | ReadFreshness
    | Lease
    | Complete
)
AnyAnswer = Refused | Done | Takedowns | Looked | Changed | Taken | Host | Freshness | Leases | Completed
