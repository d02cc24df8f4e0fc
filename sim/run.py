"""Runs a partition against a simulated web in virtual time, and keeps what the servers saw."""

from __future__ import annotations

import base64
import hashlib
import random

import msgspec

from gossamer.core.context import Context
from gossamer.core.partition import Partition
from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Job, Kind, Links, Pointer, Resolution
from gossamer.model.url import Url, parse
from gossamer.policy.guard import parse_networks
from gossamer.policy.networks import RangeSet, lane_id, net_id
from gossamer.policy.scope import compile_scope, judge
from gossamer.ports.store import Store
from sim.clock import VirtualClock
from sim.memstore import MemoryStore
from sim.web import Answer, SimWeb


class Served(msgspec.Struct, frozen=True):
    """One request as the server's log has it."""

    host: str
    address: str
    target: str
    start: float
    end: float
    status: int


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
        digest_s: float = 0.0,
    ) -> None:
        """Set up; nothing is fetched before `go`."""
        self.web = web
        self.clock = clock or VirtualClock()
        self.store = store if store is not None else MemoryStore()
        self.served: list[Served] = []
        self.events: list[FetchEvent] = []
        self._answers: dict[int, Answer] = {}
        self._digest_s = digest_s
        self._offset = 0
        self._stopped = False
        urls = [url for url in map(parse, seeds) if isinstance(url, Url)]
        ranges = cdn or RangeSet(())
        context = Context(
            config,
            compile_scope(config.scope, urls),
            self.store,
            random.Random(seed),
            started=self.clock.now(),
            lane_of=lambda host, address: lane_id(host, address, ranges),
            net_of=net_id,
            as_of=lambda _address: None,
            exempt=lambda address: address in ranges,
        )
        self.partition = Partition(context, parse_networks(["0.0.0.0/0"]))
        self.partition.seed([(url, Kind.PAGE) for url in urls], self.clock.now())

    def go(self, duration_s: float | None = None) -> None:
        """Crawl until nothing is left or the virtual time is over."""
        until = None if duration_s is None else self.clock.now() + duration_s
        while not self._stopped:
            self._pump()
            at = self.partition.next_time()
            if at is not None:
                self.clock.call_at(at, lambda: None)
            if not self.clock.step(until):
                return
            if self.partition.exhausted(self.clock.now()):
                return

    def stop(self) -> None:
        """Stop as a kill does: what is in flight is forgotten."""
        self._stopped = True

    def _pump(self) -> None:
        now = self.clock.now()
        progress = True
        while progress:
            progress = False
            while (turn := self.partition.next_turn(now)) is not None:
                self._start(turn)
                progress = True
            for name in self.partition.take_resolves(1000):
                host = self.web.hosts.get(name)
                resolution = (
                    Resolution(name=name, error="NXDOMAIN")
                    if host is None
                    else Resolution(name=name, addresses=(host.address,), expires=now + 86_400)
                )
                self.partition.resolved(name, resolution, now)
                progress = True
        self.events += self.partition.take_events()

    def _start(self, turn: Turn) -> None:
        answer = self.web.answer(turn)
        self.clock.call_at(self.clock.now() + answer.seconds, lambda: self._end(turn, answer))

    def _end(self, turn: Turn, answer: Answer) -> None:
        now = self.clock.now()
        self.served.append(Served(turn.host, turn.address, turn.target, turn.started, now, answer.status))
        outcome = self.web.outcome(turn, answer, now)
        digest = "sha1:" + base64.b32encode(hashlib.sha1(outcome.payload).digest()).decode()
        self._answers[turn.id] = answer
        jobs, events = self.partition.fetched(turn, outcome, digest, answer.body, now)
        self.events += events
        self._submit(jobs)

    def _submit(self, jobs: list[Job]) -> None:
        for job in jobs:
            self.clock.call_at(self.clock.now() + self._digest_s, lambda job=job: self._digested(job))  # type: ignore[misc]

    def _digested(self, job: Job) -> None:
        answer = self._answers.pop(job.id)
        self._offset += 100
        digest = self._digest(job, answer)
        committed = self.partition.digested(digest, self.clock.now())
        self.events.append(committed.event)
        self._submit(committed.jobs)

    def _digest(self, job: Job, answer: Answer) -> Digest:
        groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for wire in answer.links if job.kind is Kind.PAGE else ():
            url = parse(wire)
            if isinstance(url, Url) and judge(self.partition.context.scope, url) is None:
                groups.setdefault((url.host, url.site), []).append((url.wire, url.key))
        return Digest(
            id=job.id,
            pointer=Pointer("sim-00000.warc.gz", self._offset - 100, 100),
            committed_end=self._offset,
            media_type="text/html",
            title=answer.title,
            content_hash=answer.content_hash,
            links=tuple(Links(host, site, tuple(links)) for (host, site), links in groups.items()),
            links_found=len(answer.links),
        )
