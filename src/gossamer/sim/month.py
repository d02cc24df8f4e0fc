"""A crawl of the seeded web over days: run, watched, and told as figures. What they ought to be is `verdicts`'."""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from gossamer.core.counters import Totals
from gossamer.model.config import Config, Refresh, Scope
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.sim.audit import Audit, Auditor
from gossamer.sim.clock import VirtualClock
from gossamer.sim.coverage import Coverage, cover
from gossamer.sim.currency import Currency, Freshness
from gossamer.sim.laws import DAY_S
from gossamer.sim.onlooker import Choices, Onlooker, Wait
from gossamer.sim.run import Run
from gossamer.sim.world import START, World
from gossamer.sim.worldhost import CDN, as_number, path_of
from gossamer.sim.worldtrap import is_trap

SAMPLE_PAGES: Final = 20_000  # pages whose copies are compared with the web, about
CHUNK_S: Final = DAY_S / 24  # at most so much virtual time, and so many timers, between two looks at what was seen
CHUNK_TIMERS: Final = 20_000
COLLECT_AFTER: Final = (100_000, 50, 100)  # containers made and kept, collections of the young, of the middle-aged


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    seed: int = 1
    hosts: int = 20_000
    urls: int = 1_000_000
    days: float = 30.0
    slots: int = 10_000
    revisit_days: float = 30.0
    log: str = ""  # path of the crawl log, if it is to be kept


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a simulation stands."""

    day: float
    days: float
    turns: int
    pages: int
    queued: int
    urls: int


class Month(msgspec.Struct, kw_only=True):
    """What came of it."""

    plan: Plan
    world_pages: int
    largest_host: int
    totals: Totals
    turns: int
    impolite: int
    disobedient: int
    audit: Audit  # of the state, of memory, of records
    faults: list[str]
    host_wait: Wait  # of a host that might have been asked
    first_wait: Wait  # of a host, from its discovery to its first request
    work_max: int  # hosts that had work at once
    lane_hosts_max: int
    level_waits: list[int]
    level_turns: list[int]
    choices: Choices  # between levels of a host that had work
    coverage: Coverage
    freshness: list[Freshness]
    trapped: dict[str, int]  # kind of trap -> requests
    trap_hosts: dict[str, int]  # kind of trap -> hosts that have one
    trapped_max: int  # requests into one trap
    site_pages_max: int  # pages of one site
    log_sha256: str
    log_lines: int


class _Log:
    """The crawl log as it is written: its hash, and what is counted from its lines."""

    def __init__(self, world: World, currency: Currency, file: IO[bytes] | None) -> None:
        self._world = world
        self._currency = currency
        self._file = file
        self._encoder = msgspec.json.Encoder()
        self._hash = hashlib.sha256()
        self.lines = 0
        self.trapped: Counter[str] = Counter()
        self.traps: Counter[int] = Counter()
        self.sites: Counter[str] = Counter()

    def take(self, events: list[FetchEvent]) -> None:
        """Lines that are durable now."""
        for event in events:
            line = self._encoder.encode(event) + b"\n"
            self._hash.update(line)
            if self._file is not None:
                self._file.write(line)
            self.lines += 1
            if event.started:
                self._currency.note(event)
                self._count(event)

    def _count(self, event: FetchEvent) -> None:
        if event.kind is not Kind.PAGE:
            return
        self.sites[event.site] += event.status > 0
        host = self._world.find(event.host)
        if host is not None and host.trap:
            path = path_of(event.key)
            if is_trap(host, event.host, path):
                self.trapped[host.trap] += 1
                self.traps[host.number] += 1

    def digest(self) -> str:
        """SHA-256 of all lines."""
        return self._hash.hexdigest()


def configuration(plan: Plan) -> Config:
    """The crawl's: everything at its default, but for what the plan says."""
    default = Config()
    return msgspec.structs.replace(
        default,
        scope=Scope(mode="any"),
        frontier=msgspec.structs.replace(default.frontier, slots=plan.slots),
        refresh=Refresh(interval_s=plan.revisit_days * DAY_S),
    )


def simulate(plan: Plan, progress: Callable[[Progress], None] = lambda _progress: None) -> Month:
    """Crawl the web of a plan. Raises OSError when the log cannot be written."""
    with _rare_collections():
        if plan.log:
            with Path(plan.log).open("wb") as file:
                return _simulate(plan, progress, file)
        return _simulate(plan, progress, None)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles seldom: a crawl makes next to none, and each look is at millions of objects."""
    before = gc.get_threshold()
    gc.set_threshold(*COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _simulate(plan: Plan, progress: Callable[[Progress], None], file: IO[bytes] | None) -> Month:
    world = World(plan.seed, plan.hosts, plan.urls, days=plan.days)
    currency = Currency(world, min(1.0, SAMPLE_PAGES / plan.urls))
    log = _Log(world, currency, file)
    run = Run(
        world,
        configuration(plan),
        world.seeds(),
        clock=VirtualClock(START),
        seed=plan.seed,
        cdn=CDN,
        as_of=as_number,
        refresh=True,
    )
    onlooker = Onlooker(run.partition)
    auditor = Auditor(run.partition, run.store, START)
    totals = run.context.counters.totals
    end, step = START + plan.days * DAY_S, min(1.0, plan.days / 10)
    due = step
    while run.clock.now() < end:
        run.go(min(CHUNK_S, end - run.clock.now()), CHUNK_TIMERS, stay=True)
        log.take(run.events)
        for kept in (run.events, run.served, run.begun):
            kept.clear()
        auditor.passed(run.clock.now())
        day = world.days_at(run.clock.now())
        progress(
            Progress(
                day=day,
                days=plan.days,
                turns=onlooker.turns,
                pages=totals.pages,
                queued=totals.queued,
                urls=totals.urls,
            )
        )
        if day >= due - 1e-6:
            due += step
            currency.measure(day)
    auditor.whole()
    return _told(plan, world, run, onlooker, auditor.audit, log, currency)


def _told(plan: Plan, world: World, run: Run, onlooker: Onlooker, audit: Audit, log: _Log, currency: Currency) -> Month:
    limit = run.context.config.limits.site_pages
    return Month(
        plan=plan,
        world_pages=sum(host.size for host in world.all),
        largest_host=max(host.size for host in world.all),
        totals=run.context.counters.totals,
        turns=onlooker.turns,
        impolite=onlooker.impolite,
        disobedient=onlooker.disobedient,
        audit=audit,
        faults=[*onlooker.faults, *audit.faults],
        host_wait=onlooker.rested,
        first_wait=onlooker.first,
        work_max=onlooker.work_max,
        lane_hosts_max=max((len(hosts) for hosts in onlooker.residents.values()), default=0),
        level_waits=onlooker.level_waits,
        level_turns=onlooker.level_turns,
        choices=onlooker.choices,
        coverage=cover(world, run.store, {site for site, pages in log.sites.items() if pages >= limit}),
        freshness=currency.measured,
        trapped=dict(log.trapped),
        trapped_max=max(log.traps.values(), default=0),
        site_pages_max=max(log.sites.values(), default=0),
        trap_hosts=dict(Counter(host.trap for host in world.all if host.trap)),
        log_sha256=log.digest(),
        log_lines=log.lines,
    )
