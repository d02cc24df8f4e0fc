"""What is measured of every crawl that is served: for `/metrics`, and for collectors (`serve.otlp`).

Labels are our names, never the web's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final

from gossamer.model.control import ListTakedowns, Takedowns
from gossamer.model.page import Failure
from gossamer.model.reason import Reason
from gossamer.model.takedown import unconfirmed_s
from gossamer.model.view import BoundName, Busy, Snapshot
from gossamer.serve.crawls import Crawls, Served
from gossamer.serve.endpoint import Call, Endpoint, NoQuery, Reply
from gossamer.serve.exposition import MEDIA_TYPE, Exposition
from gossamer.serve.faults import ApiError
from gossamer.serve.tokens import Role
from gossamer.surface.forecast import disk_forecast
from gossamer.version import VERSION

STATES: Final = ("starting", "crawling", "paused", "stopping", "finished", "stopped", "interrupted")
CONTROL_WAIT_S: Final = 2.0
_DAY_S: Final = 86_400.0
_FAILURES: Final = frozenset(Failure)
_REASONS: Final = frozenset(Reason)


async def metrics(call: Call) -> Reply:
    """Everything that is measured of every crawl that is served."""
    out = await measured(call.crawls)
    return Reply(raw=out.text(), media_type=MEDIA_TYPE)


async def measured(crawls: Crawls) -> Exposition:
    """Everything that is measured of some crawls and of this server: for /metrics, and for a collector."""
    out = Exposition()
    out.gauge("gossamer_build_info", "The version of the server.", 1, version=VERSION)
    for outcome, count in crawls.exports.items():
        out.counter("gossamer_otlp_exports_total", "Exports by OTLP.", count, outcome=outcome)
    for served in crawls.all.values():
        running = await asyncio.to_thread(served.running)
        out.gauge("gossamer_up", "Whether the crawl runs.", running is not None, crawl=served.name)
        try:
            shot = running or await served.snapshot()
        except ApiError:
            out.gauge("gossamer_unreadable", "Whether the crawl's state cannot be read.", 1, crawl=served.name)
            continue
        out.gauge("gossamer_unreadable", "Whether the crawl's state cannot be read.", 0, crawl=served.name)
        crawl_state(out, shot, served.name)
        counts(out, shot, served.name)
        queues(out, shot, served.name)
        machine(out, shot, served)
        witnessed(out, served)
        await takedowns(out, served)
        lost = shot.notifications_lost + crawls.lost[served.name]
        text = "Messages to the operator that were given up."
        out.counter("gossamer_notifications_lost_total", text, lost, crawl=served.name)
    return out


def crawl_state(out: Exposition, shot: Snapshot, crawl: str) -> None:
    """State and bound as sets of 0 and 1, rates, age."""
    for state in STATES:
        out.gauge(
            "gossamer_state", "Whether the crawl is in this state.", shot.state == state, crawl=crawl, state=state
        )
    for name in BoundName:
        is_bound = shot.bound.name is name and bool(shot.bound.sentence)
        out.gauge("gossamer_bound", "Whether this is what bounds the rate.", is_bound, crawl=crawl, resource=name.value)
    out.gauge(
        "gossamer_status_age_seconds", "Age of what the crawl says of itself.", time.time() - shot.time, crawl=crawl
    )
    out.gauge("gossamer_pages_per_second", "Pages a second over the last seconds.", shot.rate_now, crawl=crawl)
    out.gauge("gossamer_received_bytes_per_second", "Bytes a second.", shot.bytes_rate_now, crawl=crawl)
    for budget in shot.budgets:
        share = budget.used / budget.limit if budget.limit else 1.0
        out.gauge("gossamer_budget_used_ratio", "Share of a limit that is used.", share, crawl=crawl, limit=budget.name)


def counts(out: Exposition, shot: Snapshot, crawl: str) -> None:
    """What has happened since the crawl was first started."""
    out.counter("gossamer_pages_total", "Responses to visits of pages.", shot.pages, crawl=crawl)
    out.counter("gossamer_visits_total", "All visits, of robots.txt and sitemaps too.", shot.visits, crawl=crawl)
    out.counter("gossamer_received_bytes_total", "Bytes received.", shot.bytes, crawl=crawl)
    text = "Responses by status."
    for status, count in known(shot.statuses, _is_status).items():
        out.counter("gossamer_responses_total", text, count, crawl=crawl, status=status)
    for name, count in known(shot.failures, _FAILURES.__contains__).items():
        out.counter("gossamer_failures_total", "Visits without a response.", count, crawl=crawl, failure=name)
    for name, count in known(shot.refusals, _REASONS.__contains__).items():
        out.counter("gossamer_refused_urls_total", "URLs and links not fetched.", count, crawl=crawl, reason=name)
    for kind, count in (("exact", shot.duplicates_exact), ("near", shot.duplicates_near)):
        out.counter("gossamer_duplicates_total", "Pages that are copies of others.", count, crawl=crawl, kind=kind)
    out.counter("gossamer_not_modified_total", "Visits answered 304.", shot.not_modified, crawl=crawl)
    out.counter("gossamer_errors_total", "Errors of digest and hooks.", shot.errors, crawl=crawl)
    out.counter("gossamer_refreshes_total", "Planned visits that were made.", shot.refreshes, crawl=crawl)
    text = "Planned visits made over an hour late."
    for level, count in enumerate(shot.slipped_by_level):
        out.counter("gossamer_refreshes_late_total", text, count, crawl=crawl, level=str(level))


def queues(out: Exposition, shot: Snapshot, crawl: str) -> None:
    """Hosts and URLs by where they are."""
    hosts = {
        "known": shot.hosts_known,
        "active": shot.hosts_active,
        "ready": shot.hosts_ready,
        "resting": shot.hosts_resting,
        "waiting": shot.hosts_waiting,
        "parked": shot.hosts_parked,
    }
    for state, count in hosts.items():
        out.gauge("gossamer_hosts", "Hosts by state.", count, crawl=crawl, state=state)
    out.gauge("gossamer_slots", "Hosts that may be active at once.", shot.slots, crawl=crawl)
    out.gauge("gossamer_urls_known", "URLs known.", shot.urls_known, crawl=crawl)
    for level, count in enumerate(shot.queue_by_level):
        out.gauge("gossamer_queued_urls", "URLs queued, by level.", count, crawl=crawl, level=str(level))
    out.gauge("gossamer_refreshes_queued", "Planned visits in queues.", shot.refresh_queued, crawl=crawl)
    late = shot.refresh_late + shot.due_now
    out.gauge("gossamer_refreshes_due", "Planned visits that are due and not queued.", late, crawl=crawl)
    text = "Lateness of planned visits made of late."
    out.gauge("gossamer_refresh_lateness_p50_seconds", text, shot.lateness_p50_s, crawl=crawl)
    out.gauge("gossamer_refresh_lateness_p99_seconds", text, shot.lateness_p99_s, crawl=crawl)
    out.gauge("gossamer_requests_in_flight", "Requests under way.", shot.in_flight, crawl=crawl)
    out.gauge("gossamer_requests_max", "Requests that may be under way.", shot.concurrency, crawl=crawl)
    out.gauge("gossamer_digest_pending", "Pages between fetch and commit.", shot.digest_pending, crawl=crawl)
    out.gauge("gossamer_digest_pending_max", "How many may be.", shot.digest_max, crawl=crawl)
    out.gauge("gossamer_dns_pending", "Names being asked for.", shot.dns_pending, crawl=crawl)


def machine(out: Exposition, shot: Snapshot, served: Served) -> None:
    """Disk, memory, processes."""
    crawl = served.name
    out.gauge("gossamer_archive_bytes", "Bytes of WARC files.", shot.archive_bytes, crawl=crawl)
    out.gauge("gossamer_archive_segments", "WARC files.", shot.segments, crawl=crawl)
    if shot.disk_free_bytes is not None:
        out.gauge("gossamer_disk_free_bytes", "Bytes left on the volume.", shot.disk_free_bytes, crawl=crawl)
    forecast = disk_forecast(shot, served.witness.disk)
    if forecast is not None and forecast.days_left is not None:
        left = forecast.days_left * _DAY_S
        out.gauge("gossamer_disk_full_seconds", "Seconds until the disk is full, at this rate.", left, crawl=crawl)
    out.gauge("gossamer_memory_bytes", "Resident memory of the main process.", shot.memory_bytes, crawl=crawl)
    out.gauge("gossamer_digest_workers", "Digest processes.", shot.workers, crawl=crawl)
    out.counter("gossamer_digest_worker_restarts_total", "Workers replaced.", shot.worker_restarts, crawl=crawl)
    out.gauge("gossamer_store_sync_seconds", "Time a sync of the store takes.", shot.sync_s, crawl=crawl)
    out.gauge("gossamer_loop_lateness_seconds", "Lateness of the event loop.", shot.loop_late_s, crawl=crawl)
    if shot.busy is not None:
        text = "Share of the last seconds: on a core, ready and without one, waiting for the disk."
        for process, by, share in shares(shot.busy):
            out.gauge("gossamer_busy_ratio", text, share, crawl=crawl, process=process, by=by)


def shares(busy: Busy) -> tuple[tuple[str, str, float], ...]:
    """(process, what it does, share of the time), of what is known."""
    return (
        ("main", "cpu", busy.main_cpu),
        ("main", "core-wait", busy.main_wait),
        ("worker", "cpu", busy.worker_cpu),
        ("worker", "core-wait", busy.worker_wait),
        ("worker", "disk", busy.worker_sync),
    )


def witnessed(out: Exposition, served: Served) -> None:
    """What the witness has seen since the server was started."""
    crawl, seen = served.name, served.witness
    out.since = seen.began
    for kind, count in seen.visits.items():
        out.counter("gossamer_witness_visits_total", "Visits seen in the log.", count, crawl=crawl, kind=kind)
    for phase, histogram in seen.phases.items():
        text = "Time of an exchange until it was connected, its first byte came, it was over."
        out.histogram("gossamer_exchange_seconds", text, histogram.edges(), histogram.total, crawl=crawl, phase=phase)
    text = "CPU a worker takes for a page."
    out.histogram("gossamer_digest_cpu_seconds", text, seen.digest_s.edges(), seen.digest_s.total, crawl=crawl)
    text = "Requests sent before the gap of their host was over."
    out.counter("gossamer_gap_violations_total", text, seen.gaps_too_short, crawl=crawl)
    text = "Pages requested against the robots.txt that was in force."
    out.counter("gossamer_robots_violations_total", text, seen.robots_violations, crawl=crawl)
    text = "Pages held against robots.txt, and those that could not be."
    out.counter("gossamer_robots_judged_total", text, seen.robots_judged, crawl=crawl, judged="yes")
    out.counter("gossamer_robots_judged_total", text, seen.robots_not_judged, crawl=crawl, judged="no")
    out.since = 0.0


async def takedowns(out: Exposition, served: Served) -> None:
    """Takedowns in force, and for how long the oldest has not been confirmed."""
    try:
        async with asyncio.timeout(CONTROL_WAIT_S):
            answer = await served.control.ask(ListTakedowns())
    except TimeoutError:
        return
    if not isinstance(answer, Takedowns):
        return
    unconfirmed = sum(not one.confirmed for one in answer.takedowns)
    in_force = sum(one.in_force for one in answer.takedowns)
    out.gauge("gossamer_takedowns_in_force", "Takedowns in force.", in_force, crawl=served.name)
    text = "Takedowns that are not confirmed yet."
    out.gauge("gossamer_takedowns_unconfirmed", text, unconfirmed, crawl=served.name)
    waited = unconfirmed_s(answer.takedowns, time.time())
    text = "For how long the oldest of them has waited."
    out.gauge("gossamer_takedown_unconfirmed_seconds", text, waited, crawl=served.name)


def known(counted: Mapping[str, int], is_known: object) -> dict[str, int]:
    """Counts by names of ours; all others are added up as "other"."""
    assert callable(is_known)
    found: dict[str, int] = {}
    for name, count in counted.items():
        label = name if is_known(name) else "other"
        found[label] = found.get(label, 0) + count
    return found


def _is_status(name: str) -> bool:
    return len(name) == 3 and name.isascii() and name.isdigit() and "100" <= name < "600"


ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/metrics",
        summary="Counters, gauges and histograms, in the text format of Prometheus.",
        role=Role.READ,
        query=NoQuery,
        answers={200: str},
        handler=metrics,
        media_type=MEDIA_TYPE,
        group="server",
    ),
)
