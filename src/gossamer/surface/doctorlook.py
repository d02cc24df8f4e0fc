"""What the doctor looks at: the crawl's word, its hosts, its newest visits. Bounded reading, nothing is judged here."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.event import FetchEvent
from gossamer.model.page import Failure
from gossamer.model.view import HostView, Snapshot
from gossamer.surface.forecast import DiskForecast, disk_forecast
from gossamer.surface.hoststory import is_too_short
from gossamer.surface.logtail import tail
from gossamer.surface.machine import check_disk
from gossamer.surface.offline import running_snapshot
from gossamer.surface.patient import HostSample, LogSample, Patient
from gossamer.surface.reader import Reader

VISITS_SAMPLED: Final = 2_000
HOSTS_SAMPLED: Final = 300_000
LARGEST: Final = 5
RECENT_S: Final = 300.0  # older visits say nothing of now
_TIMEOUTS: Final = frozenset({Failure.TIMEOUT, Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT})


def look(reader: Reader, shot: Snapshot | None = None, disk: DiskForecast | None = None) -> Patient:
    """Everything about a crawl. `shot` and `disk` are what is known already. Raises StoreError."""
    log = Path(reader.config.directory) / "log"
    running = running_snapshot(log)
    shot = shot or reader.snapshot()
    return Patient(
        shot=shot,
        config=reader.config,
        hosts=host_sample(reader.hosts()),
        log=log_sample(tail(log, VISITS_SAMPLED)),
        disk=disk or disk_forecast(shot),
        cores=os.cpu_count() or 1,
        running=running is not None,
        disk_full=_no_room(Path(reader.config.directory)),
    )


def _no_room(directory: Path) -> str:
    try:
        check_disk(directory)
    except DiskFullError as error:
        return str(error)
    except StoreError:
        return ""
    return ""


def host_sample(views: Iterable[HostView]) -> HostSample:
    """How the queue is spread, over the first HOSTS_SAMPLED hosts."""
    with_work = queued = seen = 0
    largest: list[tuple[int, str, float]] = []
    for view in views:
        seen += 1
        if view.pending and not view.parked:
            with_work += 1
            queued += view.pending
            push = heapq.heappush if len(largest) < LARGEST else heapq.heappushpop
            push(largest, (view.pending, view.host, view.delay_s + view.response_s))
        if seen >= HOSTS_SAMPLED:
            break
    ranked = tuple((host, pending, period_s) for pending, host, period_s in sorted(largest, reverse=True))
    return HostSample(with_work=with_work, queued=queued, largest=ranked, whole=seen < HOSTS_SAMPLED)


def log_sample(events: Iterable[FetchEvent]) -> LogSample:
    """What the newest visits were like, those that are much older than the newest left out."""
    visits = [event for event in events if event.started]
    if not visits:
        return LogSample()
    newest = max(event.time for event in visits)
    visits = [event for event in visits if event.time >= newest - RECENT_S]
    fresh = [event for event in visits if event.url.startswith("https:") and event.connect_ms and not event.reused]
    digested = [event for event in visits if event.digest_ms]
    return LogSample(
        visits=len(visits),
        span_s=newest - min(event.time for event in visits),
        secure=sum(event.url.startswith("https:") for event in visits),
        handshakes=len(fresh),
        connect_s=sum(event.connect_ms for event in fresh) / 1000,
        elapsed_s=sum(event.elapsed_ms for event in visits) / 1000,
        digest_s=sum(event.digest_ms for event in digested) / 1000,
        digested=len(digested),
        refusals=sum(event.status in (403, 429) for event in visits),
        dns_failures=sum(event.failure == Failure.DNS for event in visits),
        timeouts=sum(event.failure in _TIMEOUTS for event in visits),
        too_short=sum(map(is_too_short, visits)),
    )
