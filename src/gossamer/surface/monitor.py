"""Watches a running crawl: rates, budgets, the last visits, and the snapshot that views are shown."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from gossamer.core.bounds import Load, judge_bound
from gossamer.core.partition import Committed, Partition
from gossamer.model.config import Config
from gossamer.model.limits import DIGEST_PENDING_MAX
from gossamer.model.page import Kind
from gossamer.model.view import Budget, Recent, Snapshot
from gossamer.ports.clock import Clock
from gossamer.stage.commit import CommitStage
from gossamer.stage.dispatch import RESOLVES_MAX, DispatchStage
from gossamer.surface.busy import Meter
from gossamer.surface.census import Census, census
from gossamer.surface.counted import counted
from gossamer.surface.machine import disk_free_bytes, resident_bytes
from gossamer.surface.notices import Notices

HISTORY_S: Final = 120  # seconds of rates kept for the sparkline
RATE_WINDOW_S: Final = 5.0
RECENT_MAX: Final = 8


class Digesting(Protocol):
    """The pool as far as it is shown."""

    def load(self) -> int:
        """Jobs accepted and not yet answered."""
        ...

    @property
    def workers(self) -> int:
        """Worker processes wanted."""
        ...

    @property
    def restarts(self) -> int:
        """Workers replaced so far."""
        ...

    def spent(self) -> Iterable[tuple[int, float]]:
        """(process id, seconds waited for the disk so far) of each worker."""
        ...


class Archived(Protocol):
    """The archive as far as it is shown."""

    count: int
    bytes: int


class Monitor:
    """Samples counters and judges budgets."""

    def __init__(self, config: Config, clock: Clock, partition: Partition, concurrency: int, notices: Notices) -> None:
        """Start watching now."""
        self._config = config
        self._clock = clock
        self._partition = partition
        self._concurrency = concurrency
        self._notices = notices
        self._totals = partition.context.counters.totals
        self._started = clock.now()
        self._ticked = self._started
        self._samples: deque[tuple[float, int, int]] = deque([(self._started, self._totals.pages, self._totals.bytes)])
        self._pages_before = self._totals.pages
        self._recent: deque[Recent] = deque(maxlen=RECENT_MAX)
        self._meter = Meter()

    def reconfigure(self, config: Config) -> None:
        """Judge budgets by another configuration from now on."""
        self._config = config

    def note(self, committed: Committed) -> None:
        """Remember a visit for the live view."""
        if committed.turn.kind is Kind.PAGE:
            event = committed.event
            note = f"{event.duplicate_kind} duplicate" if event.duplicate_kind else event.reason or event.verdict
            self._recent.append(
                Recent(event.time, event.url, str(event.status), event.elapsed_ms / 1000, event.wire_bytes, note)
            )

    def sample(self, pool: Digesting) -> None:
        """Take the counters of this moment."""
        now = self._clock.now()
        self._totals.elapsed_s += now - self._ticked
        self._ticked = now
        self._samples.append((now, self._totals.pages, self._totals.bytes))
        self._meter.sample(now, pool.spent())
        while self._samples[0][0] < now - HISTORY_S:
            self._samples.popleft()

    def budget_reached(self) -> str:
        """Which budget is used up, in words; "" when none is."""
        limits, totals = self._config.limits, self._totals
        if limits.pages is not None and totals.pages >= limits.pages:
            return f"the budget of {limits.pages} pages is reached"
        if limits.duration_s is not None and self._clock.now() - self._started >= limits.duration_s:
            return f"the time of {limits.duration_s:g} s is over"
        if limits.bytes is not None and totals.bytes >= limits.bytes:
            return f"the budget of {limits.bytes} bytes is reached"
        return ""

    def snapshot(
        self,
        state: str,
        detail: str,
        *,
        dispatch: DispatchStage,
        commit: CommitStage,
        pool: Digesting,
        archive: Archived,
    ) -> Snapshot:
        """Everything that is shown."""
        now = self._clock.now()
        rate, bytes_rate = self._rates(now)
        if dispatch.paused and state == "crawling":
            state, detail = "paused", dispatch.paused
        run_s = now - self._started
        hosts = census(self._partition.context.frontier.active.values(), now)
        return msgspec.structs.replace(
            self._counted(hosts),
            time=now,
            state=state,
            state_detail=detail,
            run_s=run_s,
            rate_now=rate,
            rate_average=(self._totals.pages - self._pages_before) / run_s if run_s > 0 else 0.0,
            rate_history=self._history(),
            bytes_rate_now=bytes_rate,
            workers=pool.workers,
            worker_restarts=pool.restarts,
            dns_pending=dispatch.resolving,
            sync_s=commit.sync_s,
            loop_late_s=dispatch.loop_late_s,
            busy=self._meter.busy(),
            bound=judge_bound(self._load(state, rate, hosts, dispatch, commit, pool)),
            budgets=self._budgets(now),
            eta_s=self._eta(rate, now),
            segments=archive.count,
            archive_bytes=archive.bytes,
            disk_free_bytes=disk_free_bytes(Path(self._config.directory)),
            memory_bytes=resident_bytes(),
            notices=tuple(self._notices.last),
            recent=tuple(self._recent),
        )

    def _counted(self, hosts: Census) -> Snapshot:
        """The part that is read off counters and queues."""
        return msgspec.structs.replace(
            counted(self._totals, self._config),
            in_flight=self._partition.in_flight,
            concurrency=self._concurrency,
            hosts_active=hosts.active,
            hosts_ready=hosts.ready,
            hosts_resting=hosts.resting,
            hosts_waiting=max(0, self._totals.hosts_with_work - hosts.active),
            digest_pending=self._partition.uncommitted(),
            digest_max=DIGEST_PENDING_MAX,
        )

    def _load(
        self, state: str, rate: float, hosts: Census, dispatch: DispatchStage, commit: CommitStage, pool: Digesting
    ) -> Load:
        limit = self._config.limits.pages
        return Load(
            rate=rate,
            paused=dispatch.unwritten or dispatch.pause_reason,
            ordered=dispatch.ordered_pause,
            lacking=dispatch.lacking,
            stopping=state == "stopping",
            budget_reached=limit is not None and self._totals.pages >= limit,
            in_flight=self._partition.in_flight,
            concurrency=self._concurrency,
            digest_bound=dispatch.digest_bound or dispatch.narrowed,
            digest_pending=self._partition.uncommitted(),
            workers=pool.workers,
            busy=self._meter.busy(),
            sync_s=commit.sync_s,
            resolving=dispatch.resolving,
            resolves_max=RESOLVES_MAX,
            hosts_active=hosts.active,
            hosts_resolving=hosts.resolving,
            hosts_ruleless=hosts.ruleless,
            lanes=hosts.lanes,
            slots=self._config.frontier.slots,
            waiting=self._totals.hosts_with_work > hosts.active,
            period_s=hosts.period_s,
            asleep=len(self._partition.context.frontier.asleep()),
            queued=self._totals.queued,
            due_in_s=self._due_in() if state == "crawling" else None,  # a closed store is asked nothing
        )

    def _due_in(self) -> float | None:
        if not self._config.limits.continuous or self._totals.queued:
            return None
        due = self._partition.next_due()
        return None if due is None else max(0.0, due - self._clock.now())

    def _rates(self, now: float) -> tuple[float, float]:
        start = next(
            sample for sample in self._samples if sample[0] >= now - RATE_WINDOW_S or sample is self._samples[-1]
        )
        span_s = now - start[0]
        if span_s <= 0:
            return 0.0, 0.0
        return (self._totals.pages - start[1]) / span_s, (self._totals.bytes - start[2]) / span_s

    def _history(self) -> tuple[float, ...]:
        samples = list(self._samples)
        pairs = itertools.pairwise(samples)
        return tuple((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs if b[0] > a[0])

    def _budgets(self, now: float) -> tuple[Budget, ...]:
        limits, totals = self._config.limits, self._totals
        found = []
        if limits.pages is not None:
            found.append(Budget("pages", totals.pages, limits.pages))
        if limits.duration_s is not None:
            found.append(Budget("duration", now - self._started, limits.duration_s))
        if limits.bytes is not None:
            found.append(Budget("bytes", totals.bytes, limits.bytes))
        return tuple(found)

    def _eta(self, rate: float, now: float) -> float | None:
        limits, totals = self._config.limits, self._totals
        times = []
        if limits.pages is not None and rate > 0:
            times.append(max(0.0, (limits.pages - totals.pages) / rate))
        if limits.duration_s is not None:
            times.append(max(0.0, self._started + limits.duration_s - now))
        return min(times) if times else None
