"""A crawl as a process: what it opens and closes, and how it starts and ends. The stages are wired in pipeline.py."""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from gossamer.adapters.clock import SystemClock
from gossamer.adapters.decode import applied_codings, decode_body
from gossamer.adapters.digest.pool import DigestPool
from gossamer.adapters.dns import DnsResolver
from gossamer.adapters.http.client import HttpClient
from gossamer.adapters.networks import load_as_table, load_cdn
from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.spool import Spool
from gossamer.adapters.threads import one_thread
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.partition import Committed, Partition
from gossamer.model.config import Config
from gossamer.model.errors import EXIT_INTERRUPTED, EXIT_NOTHING_FETCHED, EXIT_OK, GossamerError
from gossamer.model.event import FetchEvent
from gossamer.model.url import Url, parse
from gossamer.model.view import Snapshot
from gossamer.pipeline import Pipeline
from gossamer.policy.guard import parse_networks
from gossamer.policy.networks import lane_id, net_id
from gossamer.policy.scope import compile_scope
from gossamer.stage.fetch import FetchStage, user_agent
from gossamer.stage.seed import seed_kind
from gossamer.surface import settings
from gossamer.surface.crawllog import CrawlLog
from gossamer.surface.engine import CrawlReader, LiveView
from gossamer.surface.garbage import Garbage
from gossamer.surface.machine import check_disk, descriptors_for
from gossamer.surface.memory import Memory
from gossamer.surface.monitor import Monitor
from gossamer.surface.notices import Notices, recovered
from gossamer.surface.operating import Operator
from gossamer.surface.seedstate import seed_failures
from gossamer.surface.signing import signer_of
from gossamer.surface.sinks import Sinks
from gossamer.version import VERSION

TICK_S: Final = 0.5


class Node:
    """One running crawl."""

    def __init__(self, config: Config, deliver: Callable[[Committed], None] | None = None) -> None:
        """Wire a crawl; `deliver` is given every committed page."""
        self.config = config
        self.directory = Path(config.directory)
        self._deliver = deliver
        self._over = asyncio.Event()
        self._aborted = asyncio.Event()
        self._failure: BaseException | None = None
        self.ending = ""  # why it is over, for a person
        self._open = False

    async def start(self) -> None:
        """Open everything, bring the archive back to what was committed, admit the seeds. Raises GossamerError."""
        config = self.config
        allow = parse_networks(config.net.allow)
        self._signer = signer_of(config)
        seeds = [url for url in (parse(text) for text in config.seeds) if isinstance(url, Url)]
        scope = compile_scope(config.scope, seeds)
        cdn = load_cdn(config.politeness.cdn_ranges)
        as_table = load_as_table(config.politeness.as_table) if config.politeness.as_table else None
        self.clock = SystemClock()
        concurrency = descriptors_for(config.fetch.concurrency)
        check_disk(self.directory)
        self._store = RocksStore(self.directory / "state")
        self._executor = one_thread("sync")
        self._open = True
        context = Context(
            config,
            scope,
            self._store,
            random.Random(secrets.randbits(64)),
            started=self.clock.now(),
            lane_of=lambda host, address: lane_id(host, address, cdn),
            net_of=net_id,
            as_of=as_table.lookup if as_table is not None else lambda _address: None,
            exempt=lambda address: address in cdn,
        )
        settings.save(config)
        self._notices = Notices(context.counters.totals, self.clock.now)
        self.segments = recovered(self.directory, context, self._notices)
        self.partition = Partition(context, allow)
        self.operator = Operator(self)
        self.operator.begin()
        self._log = self._open_log()
        self._web = HttpClient(allow, clock=self.clock, proxy=config.fetch.proxy, verify_tls=config.fetch.verify_tls)
        self._web.prepare()
        self._resolver = DnsResolver(config.dns, self.clock)
        self._sinks = Sinks(config, self.count_error)
        self.pool = DigestPool(
            config,
            scope,
            self.directory / "archive",
            self.clock.now,
            software=f"Gossamer/{VERSION}",
            user_agent=user_agent(config),
            tell_all=self._deliver is not None or self._sinks.wanted,
        )
        await self.pool.start()
        self._wire(concurrency)
        self.seeds_refused = self.partition.seed([(url, seed_kind(url)) for url in seeds], self.clock.now())

    def _wire(self, concurrency: int) -> None:
        self.pipeline = Pipeline(
            self.partition,
            self.clock,
            fetch=FetchStage(
                self.config,
                self._web,
                decode_body,
                sign=self._signer.request if self._signer is not None else None,
            ),
            resolver=self._resolver,
            digester=self.pool,
            concurrency=concurrency,
            sync=self._sync,
            emit=self._emit,
            deliver=self._committed,
            fail=self._fail,
            pings=Spool(self.directory).take,
            takedowns=self.operator.told,
            codings=lambda values, body: applied_codings(values, body)[0],
        )
        self.monitor = Monitor(self.config, self.clock, self.partition, concurrency, self._notices)

    # -- one run ---------------------------------------------------------------------------------------------------

    async def run(self, view: LiveView) -> None:
        """Crawl until the work or a budget is exhausted, or somebody stops it. Raises what ended it badly."""
        self.pipeline.refresh.check()
        await self.operator.open()
        loops = [
            asyncio.create_task(self._watched(work))
            for work in (
                self.pipeline.dispatch.run(),
                self.pipeline.dispatch.beat(),
                self.pipeline.commit.run(),
                self.pipeline.refresh.run(),
                self.pipeline.takedown.run(),
                self._tick(view),
                self._exhausted(),
            )
        ]
        try:
            await self._over.wait()
            await self._wind_up(view)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def stop(self, why: str) -> None:
        """Finish what is in flight, then end. A second call ends at once: what is in flight stays queued."""
        if self.ending:
            self.abort()
            return
        self.ending = why
        self._over.set()

    def abort(self, cause: BaseException | None = None) -> None:
        """End at once. `cause`: what went wrong; the first one counts."""
        if cause is not None:
            self._failure = self._failure or cause
            if hasattr(self, "pipeline"):
                self.pipeline.commit.halt()
        self._aborted.set()
        self.ending = self.ending or "stopped"
        if hasattr(self, "pipeline"):
            self.pipeline.dispatch.abort()
        self._over.set()

    async def close(self) -> None:
        """Close everything that `start` opened. Commits what is fetched unless aborted.

        Every part is closed whatever happens to the others. Raises the first GossamerError among what happens, but none
        after the crawl itself has failed: that is what a person must be told.
        """
        if not self._open:
            return
        self._open = False
        fault: GossamerError | None = None
        for step in (
            self._close_control,
            self._close_workers,
            self._close_commits,
            self._close_log,
            self._close_web,
            self._close_store,
        ):
            try:
                await step()
            except GossamerError as error:
                fault = fault or error
        if fault is not None and self._failure is None:
            raise fault

    async def _close_workers(self) -> None:
        if hasattr(self, "pool"):
            if not self._aborted.is_set():
                await self._unless_aborted(self.pool.close())
            if self._aborted.is_set():
                await self.pool.abort()

    async def _close_control(self) -> None:
        if hasattr(self, "operator"):
            await self.operator.close()

    async def _close_commits(self) -> None:
        if hasattr(self, "pipeline"):
            try:
                await self.pipeline.commit.flush()
            except GossamerError:
                self.pipeline.commit.let_out()
                raise
            if self._failure is None:
                self._tend_segments()

    async def _close_web(self) -> None:
        if hasattr(self, "_web"):
            await self._web.close()
        if hasattr(self, "_resolver"):
            await self._resolver.close()

    async def _close_store(self) -> None:
        self._executor.shutdown()
        self._store.close()

    async def _close_log(self) -> None:
        if hasattr(self, "_log"):
            self._log.close()

    def _open_log(self) -> CrawlLog:
        """The log, with the lines first that the run before committed and did not come to write."""
        log = CrawlLog(self.directory / "log")
        logbook = self.partition.context.logbook
        log.complete(logbook.left)
        logbook.written(len(logbook.left))
        logbook.left.clear()
        return log

    async def _wind_up(self, view: LiveView) -> None:
        self.pipeline.dispatch.stop()
        view.show(self.snapshot("stopping"))
        if self._aborted.is_set():
            self.pipeline.dispatch.abort()
        await self._unless_aborted(self.pipeline.finish())
        await self.pipeline.dispatch.drain()
        self.monitor.sample(self.pool)
        if self._failure is None:
            self.partition.context.apply(Changes(self._store))  # the time since the last commit

    async def _unless_aborted(self, work: Coroutine[None, None, None]) -> None:
        """Do this, or as much of it as is done when the crawl is aborted."""
        task = asyncio.create_task(work)
        aborted = asyncio.create_task(self._aborted.wait())
        try:
            await asyncio.wait({task, aborted}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            aborted.cancel()
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()

    @property
    def failure(self) -> str:
        """What ended the crawl badly, in words; "" when nothing did."""
        return "" if self._failure is None else str(self._failure) or type(self._failure).__name__

    def snapshot(self, state: str = "") -> Snapshot:
        """What a person is shown now."""
        return self.monitor.snapshot(
            state or ("stopping" if self.ending else "crawling"),
            self.ending,
            dispatch=self.pipeline.dispatch,
            commit=self.pipeline.commit,
            pool=self.pool,
            archive=self.segments,
        )

    async def _watched(self, work: object) -> None:
        try:
            await work  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - ends the crawl with its cause
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self.abort(error)

    def _committed(self, committed: Committed) -> None:
        self.monitor.note(committed)
        self._sinks.give(committed)
        self.pool.settled(committed.digest.id, committed.links_refused)
        if self._deliver is not None:
            self._deliver(committed)

    def count_error(self, name: str) -> None:
        """Count something of ours that went wrong."""
        bump(self.partition.context.counters.totals.errors, name)

    def seed_failures(self) -> dict[str, str]:
        """Seeds of which no page came, and why; those that had no turn yet only when none came of any."""
        nothing = not self.partition.context.counters.totals.pages
        return seed_failures(self._store, self.config.seeds, self.seeds_refused, waiting=nothing)

    def _emit(self, events: list[FetchEvent]) -> None:
        for event in events:
            self._log.append(event)
        self._log.flush()
        self.operator.saw(events)

    async def _sync(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._executor, self._store.sync)

    async def _exhausted(self) -> None:
        await self.pipeline.dispatch.exhausted.wait()
        queued = self.partition.context.counters.totals.queued
        self.stop("what is left waits for hosts that are set aside" if queued else "nothing is left to fetch")

    async def _tick(self, view: LiveView) -> None:
        memory = Memory()
        while True:
            self.monitor.sample(self.pool)
            view.show(self.snapshot())
            check_disk(self.directory)
            self.operator.look()
            self.pipeline.dispatch.lack(memory.lacking(), self.pool.lacking)
            self._tend_segments()
            reached = self.monitor.budget_reached()
            if reached and not self.ending:
                self.stop(reached)
            await asyncio.sleep(TICK_S)

    def _tend_segments(self) -> None:
        if self.segments.tend(self.pool):
            self.partition.context.apply(Changes(self._store))


def run_crawl(config: Config, view: LiveView) -> int:
    """Crawl until the work or a budget is exhausted or a signal comes; the exit code. Raises GossamerError."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run_crawl(config, view))


async def _run_crawl(config: Config, view: LiveView) -> int:
    node = Node(config)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        node.stop("everything fetched is kept, the same command goes on")

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    try:
        await node.start()
        with closing(Garbage()):
            await node.run(view)
        failures = node.seed_failures()
    except BaseException as error:
        node.abort(error)
        raise
    finally:
        await node.close()
    state = "interrupted" if interrupted else "finished"
    last = msgspec.structs.replace(node.snapshot(state), seed_failures=failures)
    view.show(last)
    if interrupted:
        return EXIT_INTERRUPTED
    return EXIT_OK if last.pages else EXIT_NOTHING_FETCHED


def open_crawl(directory: Path) -> CrawlReader:
    """Open a crawl for reading. Raises StoreError when there is none, or when it is damaged."""
    from gossamer.surface.reader import Reader  # noqa: PLC0415 - only commands that read need it

    return Reader(directory)
