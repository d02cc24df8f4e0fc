"""Runs a crawl against a simulated web in virtual time: the core and the stages as they are, fakes for the ports."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Final

from gossamer.core.context import Context
from gossamer.core.partition import Committed, Partition
from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Job, Kind, Outcome, Pointer
from gossamer.model.url import Url, parse
from gossamer.pipeline import Pipeline
from gossamer.policy.guard import parse_networks
from gossamer.policy.networks import RangeSet, lane_id, net_id
from gossamer.policy.scope import compile_scope
from gossamer.ports.store import Store
from gossamer.sim.clock import VirtualClock
from gossamer.sim.loop import VirtualLoop
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.ports import NeverStill, Served, SimDigester, SimNet, SimResolver
from gossamer.sim.web import SimWeb
from gossamer.sim.worker import make_digest
from gossamer.stage.fetch import FetchStage

SEGMENT: Final = "sim"  # how the name of a run's segment begins
EVERY_ADDRESS: Final = ("0.0.0.0/0", "::/0")
STUCK_S: Final = 7 * 86_400.0  # not over and no request for so long: nothing will ever come
STUCK_STEPS: Final = 300_000  # ... or for so many timers
LEAP_STEPS: Final = 100  # timers between two looks for the end of a loop, where the end of the crawl is not looked for
__all__ = ["EVERY_ADDRESS", "SEGMENT", "Run", "Served", "StuckError"]


class StuckError(AssertionError):
    """A crawl that is not over and makes no requests."""


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
        workers: int | None = None,
        dns_s: float = 0.0,
        refresh: bool = False,
        stalls: bool = False,
    ) -> None:
        """Set up; nothing is fetched before `go`.

        `digest_s`: how long a digest takes, `workers`: how many at once (None: all), `dns_s`: how long a look-up takes.
        `refresh`: the calendar is looked into as in a real crawl; without, only by `enqueue_due`. `stalls`: the process
        watches for its own standing still, which costs 2 events a second; `stall` needs it.
        """
        self.web = web
        self.clock = clock or VirtualClock()
        self.loop = VirtualLoop(self.clock)  # type: ignore[abstract] # what it lacks raises NotImplementedError
        self.store: Store = store if store is not None else MemoryStore()
        self.net = SimNet(web, self.clock)
        self.served = self.net.served
        self.begun = self.net.begun  # host, target, start; also of what never ended
        self.events: list[FetchEvent] = []  # the crawl log: lines whose commits are durable
        self._digest_s = digest_s
        self._offset = 0
        self._stopped = False
        self._fault: BaseException | None = None
        self._refresh, self._stalls, self._begun = refresh, stalls, False
        self._loops: list[asyncio.Task[None]] = []
        self._progress = 0, self.clock.now(), 0  # turns so far, since when, timers since then
        urls = [url for url in map(parse, seeds) if isinstance(url, Url)]
        self.context = _context(config, urls, self.store, random.Random(seed), self.clock, cdn or RangeSet(()), as_of)
        self.partition = Partition(self.context, parse_networks(allow))
        self.segment = f"{SEGMENT}-{self.clock.now() * 1000:.0f}-{self.context.counters.totals.runs:03d}.warc.gz"
        self.digester = SimDigester(self._make_digest, self.clock, seconds=self._digest_seconds, workers=workers)
        self._stage = FetchStage(config, self.net, lambda body, _codings, most: (body[:most], len(body) > most, ""))
        self.pipeline = self._wire(SimResolver(web, self.clock, dns_s))
        self.refused = self.partition.seed([(url, Kind.PAGE) for url in urls], self.clock.now())

    def _wire(self, resolver: SimResolver) -> Pipeline:
        return Pipeline(
            self.partition,
            self.clock,
            fetch=_Fetching(self.net, self._stage),
            resolver=resolver,
            digester=self.digester,
            concurrency=self.context.config.fetch.concurrency,
            sync=self._sync,
            emit=self.events.extend,
            deliver=self._committed,
            fail=self._fail,
            pulse=None if self._stalls else NeverStill(self.clock.now()),
        )

    # -- driving ---------------------------------------------------------------------------------------------------

    def go(self, duration_s: float | None = None, steps: int | None = None, *, stay: bool = False) -> bool:
        """Crawl until nothing is left, the virtual time is over, or so many timers have run. True: nothing is left.

        `stay`: go on for the whole time although nothing is left now, since pages become due. Raises what ended the
        crawl badly, StuckError when it is not over and will never be.
        """
        until = None if duration_s is None else self.clock.now() + duration_s
        self._begin()
        while not self._stopped and (steps is None or steps > 0):
            self._raise_fault()
            if not stay and self.over():
                self._end()
                return True
            self._look_for_progress(stay=stay)
            count = 1 if not stay else LEAP_STEPS if steps is None else min(steps, LEAP_STEPS)
            done = self.loop.steps(count, until)
            if done < count and not self.loop.halted:
                self.clock.jump(until if until is not None else self.clock.now())
                self._raise_fault()
                return self.over()
            steps = None if steps is None else steps - done
        self._raise_fault()
        return False

    def over(self) -> bool:
        """Whether nothing is left to fetch, or the budget is used up and nothing is under way."""
        partition = self.partition
        if self._budget_reached():
            return partition.in_flight == 0 and partition.uncommitted() == 0
        return partition.exhausted(self.clock.now())

    def wait(self, seconds: float) -> None:
        """Let time pass in which no new page is asked for: what is under way ends, then nobody looks at the clock."""
        until = self.clock.now() + seconds
        self.pipeline.dispatch.hold(held=True)
        self._begin()
        self._end()
        self.clock.jump(until)
        self._progress = self.context.counters.totals.turns, self.clock.now(), 0
        self.pipeline.dispatch.hold(held=False)

    def stall(self, seconds: float) -> None:
        """The process stands still: time passes, servers answer, and nobody is there. Needs `stalls`."""
        if not self._stalls:
            raise ValueError("a run notices that it stood still only with stalls=True")
        self.clock.jump(self.clock.now() + seconds)

    def stop(self) -> None:
        """Stop as a kill does: what is in flight is forgotten."""
        self._stopped = True
        self.loop.stop()

    def enqueue_due(self) -> int:
        """Queue the pages whose next visit is due."""
        return self.pipeline.refresh.check()

    # -- what came of it -------------------------------------------------------------------------------------------

    def pages(self) -> list[Served]:
        """Requests for pages, in the order they ended."""
        return [served for served in self.served if served.kind is Kind.PAGE]

    def targets(self, host: str) -> list[str]:
        """Paths that a host was asked for, in order."""
        return [served.target for served in self.served if served.host == host]

    # -- the loop --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start the stages' loops the first time; later look again, since the caller may have changed something."""
        if not self._begun:
            self._begun = True
            pipeline = self.pipeline
            works = [pipeline.dispatch.run(), pipeline.commit.run(), pipeline.takedown.run()]
            works += [pipeline.refresh.run()] if self._refresh else []
            works += [pipeline.dispatch.beat()] if self._stalls else []
            self._loops = [self.loop.create_task(work) for work in works]
        self.pipeline.dispatch.wake()
        self.loop.settle()

    def _end(self) -> None:
        """An orderly end: what is done becomes durable and its log lines come out."""
        try:
            self.loop.run_until_complete(self.pipeline.finish())
        finally:
            self._raise_fault()

    def _raise_fault(self) -> None:
        for loop in self._loops:
            if loop.done() and not loop.cancelled() and self._fault is None:
                self._fault = loop.exception()
        self._fault = self._fault or self.loop.fault
        if self._fault is not None:
            raise self._fault

    def _look_for_progress(self, *, stay: bool) -> None:
        turns, since, steps = self._progress
        now = self.clock.now()
        if stay or self.context.counters.totals.turns != turns:
            self._progress = self.context.counters.totals.turns, now, 0
            return
        self._progress = turns, since, steps + 1
        if now - since > STUCK_S or steps > STUCK_STEPS:
            raise StuckError(f"no request for {now - since:.0f} s and {steps} timers, and the crawl is not over")

    def _budget_reached(self) -> bool:
        limit = self.context.config.limits.pages
        return limit is not None and self.context.counters.totals.pages >= limit

    # -- what the stages are given -----------------------------------------------------------------------------------

    async def _sync(self) -> None:
        self.store.sync()

    def _committed(self, committed: Committed) -> None:
        """A page was committed."""

    def _fail(self, error: BaseException) -> None:
        self._fault = self._fault or error
        self.loop.stop()

    def _digest_seconds(self, job: Job) -> float:
        wait_s = self.net.answers[job.id].digest_s
        return self._digest_s if wait_s is None else wait_s

    def _make_digest(self, job: Job) -> Digest:
        answer = self.net.answers.pop(job.id)
        self._offset += 100
        pointer = Pointer(self.segment, self._offset - 100, 100)
        return make_digest(self.context, job, answer, pointer, self.clock.now())


class _Fetching:
    """The fetch stage; the net is told what it will be asked."""

    def __init__(self, net: SimNet, stage: FetchStage) -> None:
        self._net = net
        self._stage = stage
        self.request = stage.request

    async def fetch(self, turn: Turn) -> tuple[Outcome, str, bytes]:
        self._net.expect(turn)
        return await self._stage.fetch(turn)


def _context(
    config: Config,
    seeds: list[Url],
    store: Store,
    chance: random.Random,
    clock: VirtualClock,
    cdn: RangeSet,
    as_of: Callable[[str], int | None],
) -> Context:
    return Context(
        config,
        compile_scope(config.scope, seeds),
        store,
        chance,
        started=clock.now(),
        lane_of=lambda host, address: lane_id(host, address, cdn),
        net_of=net_id,
        as_of=as_of,
        exempt=lambda address: address in cdn,
    )
