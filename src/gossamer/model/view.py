"""What a person is shown of a crawl: values that the engine fills and `surface` prints. No formatting here.

All counters cover the crawl since its first start, over every restart, unless a name says `now` or `run`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from gossamer.model.limits import LEVELS

Mark = Literal["ok", "no", "note", "wait"]


class BoundName(StrEnum):
    """What holds the rate where it is."""

    STARTING = "starting"
    HOSTS = "host-diversity"
    SLOTS = "slots"
    LANES = "lanes"
    DNS = "dns"
    ROBOTS = "robots"
    FETCH = "fetch"
    DIGEST = "digest"
    MAIN = "main"  # the main process has one core, and uses it up
    DISK = "disk"
    NETWORK = "network"
    ORDER = "order"  # somebody has paused it
    MEMORY = "memory"  # this machine has none left for more
    BUDGET = "budget"
    IDLE = "idle"  # nothing queued, or nothing due yet
    STOPPING = "stopping"


class Bound(msgspec.Struct, frozen=True):
    """What bounds the rate now, with one sentence that says it with numbers."""

    name: BoundName = BoundName.STARTING
    sentence: str = ""


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """What the processes of a crawl did with their time, as shares of the last seconds."""

    main_cpu: float = 0.0  # the event loop's thread: on a core
    main_wait: float = 0.0  # ready, and without a core
    worker_cpu: float = 0.0  # workers, on average
    worker_wait: float = 0.0
    worker_sync: float = 0.0  # waiting for the archive's disk

    @property
    def main(self) -> float:
        """The share in which the main process could do nothing else."""
        return self.main_cpu + self.main_wait

    @property
    def worker(self) -> float:
        """The share in which a worker could do nothing else."""
        return self.worker_cpu + self.worker_wait + self.worker_sync


class Budget(msgspec.Struct, frozen=True):
    """A limit that ends the crawl."""

    name: Literal["pages", "duration", "bytes"]
    used: float  # pages, seconds or bytes
    limit: float


class Notice(msgspec.Struct, frozen=True):
    """An error or a warning for the operator."""

    time: float  # unix seconds
    severity: Literal["error", "warning", "info"]
    text: str


class Recent(msgspec.Struct, frozen=True):
    """One visit that just ended, for the live view."""

    time: float
    url: str
    outcome: str  # "200", "timeout", "robots-disallowed"
    elapsed_s: float = 0.0
    bytes: int = 0
    note: str = ""  # "exact duplicate", "redirect", ...


def _levels() -> list[int]:
    return [0] * LEVELS


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a crawl at one moment: the live view, `status`, and the head of every report."""

    time: float = 0.0  # unix seconds
    state: str = "starting"  # "starting" | "crawling" | "paused" | "stopping" | "finished" | "stopped" | "interrupted"
    state_detail: str = ""  # why it is paused or finished, one sentence
    directory: str = ""
    elapsed_s: float = 0.0  # crawling time over all runs
    run_s: float = 0.0  # of this run
    runs: int = 1
    pages: int = 0  # responses to Kind.PAGE visits
    visits: int = 0  # all visits, robots and sitemaps too
    rate_now: float = 0.0  # pages a second over the last seconds
    rate_average: float = 0.0  # pages a second over this run
    rate_history: tuple[float, ...] = ()  # pages a second, one per second or longer step, newest last
    bytes: int = 0  # received
    bytes_rate_now: float = 0.0  # bytes a second
    in_flight: int = 0
    concurrency: int = 0  # most that may be in flight
    hosts_known: int = 0
    hosts_active: int = 0  # hold a slot
    hosts_ready: int = 0  # hold a slot, have work and may be fetched now
    hosts_waiting: int = 0  # have work and no slot
    hosts_resting: int = 0  # hold a slot, within their gap
    hosts_parked: int = 0
    slots: int = 0
    urls_known: int = 0
    queued: int = 0
    queue_by_level: list[int] = msgspec.field(default_factory=_levels)
    refresh_queued: int = 0
    due_now: int = 0
    refresh_late: int = 0  # refreshes that are due and wait for room in the queue of their host
    refreshes: int = 0  # made of late, whose lateness is told:
    lateness_p50_s: float = 0.0  # from when a visit was due until it was over; at most, as are the others
    lateness_p99_s: float = 0.0
    lateness_max_s: float = 0.0  # ever
    slipped_by_level: list[int] = msgspec.field(default_factory=_levels)  # refreshes made over an hour late
    statuses: dict[str, int] = {}  # "200" -> responses
    failures: dict[str, int] = {}  # page.Failure -> visits
    duplicates_exact: int = 0
    duplicates_near: int = 0
    not_modified: int = 0
    refusals: dict[str, int] = {}  # reason.Reason -> URLs or links
    digest_pending: int = 0
    digest_max: int = 0
    workers: int = 0
    worker_restarts: int = 0
    dns_pending: int = 0
    sync_s: float = 0.0  # how long making commits durable takes, a moving average
    loop_late_s: float = 0.0  # how late the event loop comes to what is due, a moving average
    busy: Busy | None = None  # None: cannot be told, or not yet
    bound: Bound = Bound()
    budgets: tuple[Budget, ...] = ()
    eta_s: float | None = None  # to the nearest budget or an empty queue; None: cannot be told
    segments: int = 0
    archive_bytes: int = 0
    disk_free_bytes: int | None = None
    memory_bytes: int = 0  # resident, main process
    errors: int = 0
    notifications_lost: int = 0  # messages to the operator that were given up
    warnings: int = 0
    notices: tuple[Notice, ...] = ()  # the last few, newest last
    recent: tuple[Recent, ...] = ()  # the last few, newest last
    seed_failures: dict[str, str] = {}  # seed URL -> why no page came of it


class HostView(msgspec.Struct, frozen=True, kw_only=True):
    """One host as reports show it."""

    host: str
    site: str = ""
    state: str = ""  # "ready" | "resting" | "waiting" | "parked" | "idle"
    why: str = ""  # what it waits for, one sentence
    fetched: int = 0
    failed: int = 0
    pending: int = 0
    bytes: int = 0
    duplicates: int = 0
    response_s: float = 0.0  # average
    delay_s: float = 0.0  # gap in force
    crawl_delay_s: float | None = None
    next_allowed: float = 0.0
    robots: str = ""  # "rules" | "allow: 404" | "disallow: timeout" ...
    parked: str = ""
    statuses: dict[str, int] = {}
    refused: dict[str, int] = {}
    last_fetch: float = 0.0
    importance: float = 0.0  # 0 to 1
    hints: str = ""  # what is wrong with its word that pages have changed, or with what others say in its name
    copies: str = ""  # that it is a mirror, or that its rel=canonical is not believed; empty when neither
    late: int = 0  # visits that are due and find no room in its queue


class Step(msgspec.Struct, frozen=True):
    """One step of a URL's road and how it ended there."""

    name: str  # "canonical form", "scope", "robots.txt", "queue", ...
    mark: Mark
    text: str  # one sentence; may hold text from the web
    facts: tuple[tuple[str, str], ...] = ()  # further lines: (label, value)


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One stored capture of a URL."""

    time: float
    status: int
    media_type: str = ""
    bytes: int = 0
    digest: str = ""
    segment: str = ""
    offset: int = 0
    length: int = 0
    revisit: bool = False
    record: str = ""  # "response" | "revisit" | "metadata"; empty when the record cannot be read
    refers_to: str = ""  # of a revisit: the URL whose capture has the payload
    url: str = ""  # as requested, where another spelling or another address than was asked for


class StoredText(msgspec.Struct, frozen=True, kw_only=True):
    """What a stored response says."""

    media_type: str = ""
    bytes: int = 0  # of the payload
    is_text: bool = False  # there is text in it to compare
    title: str = ""
    lines: tuple[str, ...] = ()  # of the main text, or of the whole where it is not HTML
    cut: bool = False  # there is more than is compared (limits.TEXT_MAX_CHARS), or may be decoded
    content_hash: int = 0
    simhash: int | None = None
    error: str = ""  # why it could not be read, or not to its end


class Version(Visit, frozen=True, kw_only=True):
    """One stored capture, and what it brought."""

    verdict: str  # surface.versions.Verdict
    duplicate_of: str = ""  # the URL that had this content before, when another
    error: str = ""  # why its text could not be compared


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one URL, visit by visit."""

    url: str  # as requested
    key: str
    state: str = ""  # "queued" | "fetched" | "refused" | "failed" | "gone"
    redirect_to: str = ""  # URL key
    visits: int = 0  # with a response, ever
    unlisted: int = 0  # of them, those that nothing names any more: a 304 is in no index
    versions: tuple[Version, ...] = ()  # newest first


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why a URL is where it is: every step from canonical form to next visit, in order."""

    url: str  # as asked
    key: str = ""
    verdict: str = ""  # one sentence: the answer
    mark: Mark = "note"
    known: bool = False
    steps: tuple[Step, ...] = ()
    visits: tuple[Visit, ...] = ()  # newest first


class DuplicateView(msgspec.Struct, frozen=True, kw_only=True):
    """One group of copies."""

    original: str
    copies: int
    kind: str = "exact"
    example: str = ""  # one of the copies


class Slice(msgspec.Struct, frozen=True):
    """One step of the timeline."""

    start: float  # unix seconds
    pages: int = 0
    failures: int = 0
    bytes: int = 0


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Pages whose next visit is due and not made yet."""

    pages: int = 0
    median_s: float = 0.0  # since they were due, to a power of two
    most_s: float = 0.0
    by_level: list[int] = msgspec.field(default_factory=_levels)


class ReportData(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report shows. Lists are bounded by the engine and already in the order to show."""

    generated: float = 0.0
    version: str = ""
    seeds: tuple[str, ...] = ()
    scope: str = ""
    snapshot: Snapshot = Snapshot()
    hosts: tuple[HostView, ...] = ()  # most fetched first
    hosts_total: int = 0
    slowest: tuple[HostView, ...] = ()  # slowest average response first
    failing: tuple[HostView, ...] = ()  # parked, or most failures first
    media_types: dict[str, tuple[int, int]] = {}  # type -> (responses, bytes)
    languages: dict[str, int] = {}
    depths: dict[int, int] = {}  # depth -> pages
    response_ms: tuple[tuple[float, int], ...] = ()  # (upper edge in ms, visits), ascending; last edge inf
    timeline: tuple[Slice, ...] = ()
    slice_s: float = 60.0
    duplicates: tuple[DuplicateView, ...] = ()  # largest groups first
    errors: dict[str, int] = {}  # digest and hook errors
    hints: dict[str, int] = {}  # what became of hints and pings: name -> URLs
    misleading: tuple[HostView, ...] = ()  # whose word that pages have changed is not believed, most often first
    important: tuple[HostView, ...] = ()  # most important first; those of importance 0 left out
    importance_from: str = ""  # how importance was found, a few words
    mirrors: tuple[HostView, ...] = ()  # mirrors of other hosts, and those whose rel=canonical is not believed
    waiting: Waiting = Waiting()
    behind: tuple[HostView, ...] = ()  # hosts with visits that are due and find no room in their queue, most first


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing `verify` found wrong."""

    kind: str  # "record-missing", "digest-differs", "row-missing", "segment-damaged", ...
    what: str  # the URL or the segment
    text: str


class VerifyProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far `verify` is."""

    rows: int = 0
    rows_total: int = 0
    records: int = 0
    segments: int = 0
    segments_total: int = 0
    bytes: int = 0
