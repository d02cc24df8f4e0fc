"""Runs a partition against a simulated web in virtual time, and keeps what the servers saw."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable
from typing import Final

import msgspec

from gossamer.core.context import Context
from gossamer.core.partition import Partition
from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Failure, Job, Kind, Links, Pointer, SitemapEntry
from gossamer.model.url import Url, parse
from gossamer.policy.guard import parse_networks
from gossamer.policy.networks import RangeSet, lane_id, net_id
from gossamer.policy.scope import compile_scope, judge
from gossamer.ports.store import Store
from gossamer.sim.clock import VirtualClock
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.web import Answer, SimWeb, body_of

PAUSE_S: Final = 1.0  # after a fault of ours; the dispatch stage does the same
SEGMENT: Final = "sim-00000.warc.gz"
EVERY_ADDRESS: Final = ("0.0.0.0/0", "::/0")


class Served(msgspec.Struct, frozen=True):
    """One request as the server's log has it."""

    host: str
    address: str
    target: str
    start: float
    end: float
    status: int
    scheme: str
    kind: Kind
    lane: str


class Run:
    """One run of a crawl. A second run on the same store is a restart."""

    def __init__(
        self,
        web: SimWeb,
        config: Config,
        seeds: list[str],
        *,
        store: Store | None = None,
        clock: VirtualClock | None = None,
        seed: int = 1,
        cdn: RangeSet | None = None,
        as_of: Callable[[str], int | None] = lambda _address: None,
        digest_s: float = 0.0,
        allow: tuple[str, ...] = EVERY_ADDRESS,
    ) -> None:
        """Set up; nothing is fetched before `go`."""
        self.web = web
        self.clock = clock or VirtualClock()
        self.store: Store = store if store is not None else MemoryStore()
        self.served: list[Served] = []
        self.begun: list[tuple[str, str, float]] = []  # host, target, start; also of what never ended
        self.events: list[FetchEvent] = []
        self._answers: dict[int, tuple[Turn, Answer]] = {}
        self._digest_s = digest_s
        self._offset = 0
        self._stopped = False
        self._paused_until = 0.0
        self._wake_at = 0.0
        urls = [url for url in map(parse, seeds) if isinstance(url, Url)]
        ranges = cdn or RangeSet(())
        self.context = Context(
            config,
            compile_scope(config.scope, urls),
            self.store,
            random.Random(seed),
            started=self.clock.now(),
            lane_of=lambda host, address: lane_id(host, address, ranges),
            net_of=net_id,
            as_of=as_of,
            exempt=lambda address: address in ranges,
        )
        self.partition = Partition(self.context, parse_networks(allow))
        self.refused = self.partition.seed([(url, Kind.PAGE) for url in urls], self.clock.now())

    # -- driving ---------------------------------------------------------------------------------------------------

    def go(self, duration_s: float | None = None, steps: int | None = None) -> bool:
        """Crawl until nothing is left, the virtual time is over, or so many events have passed. True: exhausted."""
        until = None if duration_s is None else self.clock.now() + duration_s
        while not self._stopped and (steps is None or steps > 0):
            self._pump()
            if self.over():
                return True
            self._set_wake()
            if not self.clock.step(until):
                return self.over()
            steps = None if steps is None else steps - 1
        return False

    def _set_wake(self) -> None:
        """One event at the next time at which something can be done."""
        now = self.clock.now()
        at = self.partition.next_time()
        if self._paused_until > now:
            at = self._paused_until
        if at is None:
            return
        if not now < self._wake_at <= at:
            self._wake_at = max(at, now)
            self.clock.call_at(at, lambda: None)

    def over(self) -> bool:
        """Whether nothing is left to fetch, or the budget is used up and nothing is under way."""
        partition = self.partition
        if self._budget_reached():
            return partition.in_flight == 0 and partition.uncommitted() == 0
        return partition.exhausted(self.clock.now())

    def wait(self, seconds: float) -> None:
        """Let time pass although nothing is left to fetch."""
        self.clock.call_at(self.clock.now() + seconds, lambda: None)
        while self.clock.step():
            pass

    def stop(self) -> None:
        """Stop as a kill does: what is in flight is forgotten."""
        self._stopped = True

    def enqueue_due(self) -> int:
        """Queue the pages whose next visit is due."""
        return self.partition.enqueue_due(self.clock.now())

    # -- what came of it -------------------------------------------------------------------------------------------

    def pages(self) -> list[Served]:
        """Requests for pages, in the order they ended."""
        return [served for served in self.served if served.kind is Kind.PAGE]

    def targets(self, host: str) -> list[str]:
        """Paths that a host was asked for, in order."""
        return [served.target for served in self.served if served.host == host]

    # -- events ----------------------------------------------------------------------------------------------------

    def _budget_reached(self) -> bool:
        limit = self.context.config.limits.pages
        return limit is not None and self.context.counters.totals.pages >= limit

    def _pump(self) -> None:
        now = self.clock.now()
        progress = now >= self._paused_until
        while progress:
            progress = False
            while (turn := self.partition.next_turn(now)) is not None:
                self._start(turn)
                progress = True
            for name in self.partition.take_resolves(1000):
                resolution = self.web.resolve(name, now)
                if resolution.ours:
                    self._paused_until = now + PAUSE_S
                self.partition.resolved(name, resolution, now)
                progress = now >= self._paused_until
        self.events += self.partition.take_events()
        self.context.frontier.lanes.purge(now)

    def _start(self, turn: Turn) -> None:
        answer = self.web.answer(turn)
        self.begun.append((turn.host, turn.target, self.clock.now()))
        self.clock.call_at(self.clock.now() + answer.seconds, lambda: self._end(turn, answer))

    def _end(self, turn: Turn, answer: Answer) -> None:
        now = self.clock.now()
        if answer.failure is Failure.OURS:
            self._paused_until = now + PAUSE_S
        else:
            self.served.append(
                Served(
                    turn.host, turn.address, turn.target, turn.started, now, answer.status, turn.scheme, turn.kind,
                    turn.lane,
                )
            )  # fmt: skip
        outcome = self.web.outcome(turn, answer, now)
        digest = "sha1:" + base64.b32encode(hashlib.sha1(outcome.payload).digest()).decode()
        self._answers[turn.id] = turn, answer
        jobs, events = self.partition.fetched(turn, outcome, digest, body_of(turn, answer), now)
        self.events += events
        if outcome.failure is not None:
            del self._answers[turn.id]
        self._submit(jobs)

    def _submit(self, jobs: list[Job]) -> None:
        for job in jobs:
            _, answer = self._answers[job.id]
            wait_s = self._digest_s if answer.digest_s is None else answer.digest_s
            self.clock.call_at(self.clock.now() + wait_s, lambda job=job: self._digested(job))  # type: ignore[misc]

    def _digested(self, job: Job) -> None:
        _, answer = self._answers.pop(job.id)
        self._offset += 100
        committed = self.partition.digested(self._digest(job, answer), self.clock.now())
        self.events.append(committed.event)
        self._submit(committed.jobs)

    def _digest(self, job: Job, answer: Answer) -> Digest:
        if answer.lost:
            return Digest(id=job.id, pointer=None, error="digest-crash")
        groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
        entries: list[SitemapEntry] = []
        for wire in answer.links if job.status == 200 else ():
            url = parse(wire, job.url)
            if not isinstance(url, Url) or judge(self.context.scope, url) is not None:
                continue
            if job.kind is Kind.PAGE:
                groups.setdefault((url.host, url.site), []).append((url.wire, url.key))
            elif job.kind is Kind.SITEMAP:
                entries.append(SitemapEntry(url.wire, url.key, url.host, url.site))
        return Digest(
            id=job.id,
            pointer=Pointer(SEGMENT, self._offset - 100, 100),
            committed_end=self._offset,
            media_type="text/html",
            title=answer.title,
            content_hash=answer.content_hash,
            simhash=answer.simhash,
            sketch=answer.sketch,
            text_chars=answer.text_chars,
            nofollow=answer.nofollow,
            links=tuple(Links(host, site, tuple(links)) for (host, site), links in groups.items()),
            entries=tuple(entries),
            links_found=len(answer.links),
        )
