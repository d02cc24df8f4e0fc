"""A continuous crawl of the living web over a year: run, watched, and told as figures, a week at a time.

The crawl is the real one, core and stages; what it ought to come to is `yearverdict`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

from gossamer.core.counters import Totals
from gossamer.model.config import Config, Refresh, Scope
from gossamer.model.page import Digest, Job
from gossamer.sim.audit import Audit, Auditor
from gossamer.sim.clock import VirtualClock
from gossamer.sim.laws import DAY_S
from gossamer.sim.month import Progress
from gossamer.sim.onlooker import Onlooker
from gossamer.sim.run import Run
from gossamer.sim.world import START
from gossamer.sim.worldhost import CDN, as_number
from gossamer.sim.yearbook import Book, Currency, Visits
from gossamer.sim.yearbytes import Account, Stored
from gossamer.sim.yearworld import YearWorld

WEEK_DAYS: Final = 7.0
LOOK_S: Final = 60.0  # between two looks into the calendar: a year has six million of the five seconds of a real crawl
READ_EVENTS: Final = 5_000  # log lines gathered before they are read
RECOUNT_EVERY_S: Final = 4 * WEEK_DAYS * DAY_S  # between two recounts of the whole state


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    seed: int = 1
    hosts: int = 400
    urls: int = 100_000
    days: float = 365.0
    budget_per_day: int = 2_000  # visits of known pages
    policy: Literal["uniform", "proportional", "poisson", "optimal"] = "optimal"


class Week(msgspec.Struct, frozen=True, kw_only=True):
    """A week and the state at its end."""

    day: float
    visits: Visits
    stored: Stored
    state: Currency
    urls: int  # that the crawl knows


class Year(msgspec.Struct, kw_only=True):
    """What came of it."""

    plan: Plan
    world_pages: int
    changes_per_day: float  # of all pages that can be had
    hosts_died: int
    weeks: list[Week]
    visits: Visits
    stored: Stored
    kinds: dict[str, Stored]  # by what was fetched
    totals: Totals
    max_interval_days: float
    turns: int  # requests, of any kind
    impolite: int
    disobedient: int
    audit: Audit  # of the state, of memory, of records
    faults: list[str]


class YearRun(Run):
    """A run that keeps account of what is archived."""

    account: Account

    def _make_digest(self, job: Job) -> Digest:
        answer = self.net.answers[job.id]
        digest = super()._make_digest(job)
        if digest.pointer is not None:
            self.account.note(job, answer)
        return digest


def configuration(plan: Plan) -> Config:
    """The crawl's: everything at its default, but for what the plan says."""
    default = Config()
    return msgspec.structs.replace(
        default,
        scope=Scope(mode="any"),
        limits=msgspec.structs.replace(default.limits, continuous=True),
        refresh=Refresh(policy=plan.policy, budget_per_day=plan.budget_per_day),
    )


def simulate(plan: Plan, progress: Callable[[Progress], None] = lambda _progress: None) -> Year:
    """Crawl the web of a plan for as long as it says."""
    world = YearWorld(plan.seed, plan.hosts, plan.urls, days=plan.days)
    book, config = Book(world), configuration(plan)
    clock = VirtualClock(START)
    run = YearRun(world, config, world.seeds(), clock=clock, seed=plan.seed, cdn=CDN, as_of=as_number)
    run.account = Account()
    onlooker, auditor = Onlooker(run.partition), Auditor(run.partition, run.store, START, RECOUNT_EVERY_S)
    weeks: list[Week] = []
    end, due = START + plan.days * DAY_S, START + WEEK_DAYS * DAY_S
    visits, stored = msgspec.structs.replace(book.visits), msgspec.structs.replace(run.account.total)
    while clock.now() < end:
        _pass(run, min(clock.now() + LOOK_S, end, due))
        run.enqueue_due()
        over = clock.now() >= min(due, end)
        if over or len(run.events) >= READ_EVENTS:
            _read(run, book)
            auditor.passed(clock.now())
            progress(_progress(plan, world, run, book))
        if over:
            due += WEEK_DAYS * DAY_S
            due = end if end - due < WEEK_DAYS / 2 * DAY_S else due  # a day or two are no week
            weeks.append(_week(plan, world, run, book, visits, stored))
            visits, stored = msgspec.structs.replace(book.visits), msgspec.structs.replace(run.account.total)
    auditor.whole()
    return Year(
        plan=plan,
        world_pages=sum(host.size for host in world.all),
        changes_per_day=book.changes() / plan.days,
        hosts_died=sum(world.dies(host) < plan.days for host in world.all),
        weeks=weeks,
        visits=book.visits,
        stored=run.account.total,
        kinds=run.account.kinds,
        totals=run.context.counters.totals,
        max_interval_days=config.refresh.max_interval_s / DAY_S,
        turns=onlooker.turns,
        impolite=onlooker.impolite,
        disobedient=onlooker.disobedient,
        audit=auditor.audit,
        faults=[*onlooker.faults, *auditor.audit.faults],
    )


def _pass(run: YearRun, until: float) -> None:
    """Crawl until then. While nothing is under way and nothing may be asked, looking at the queues is left out."""
    partition, clock = run.partition, run.clock
    if not (partition.in_flight or partition.uncommitted() or run.pipeline.dispatch.resolving):
        clock.jump(min(until, max(clock.now(), partition.next_time() or until)))
    run.go(until - clock.now(), stay=True)


def _read(run: YearRun, book: Book) -> None:
    for event in run.events:
        book.note(event)
    for kept in (run.events, run.served, run.begun):
        kept.clear()


def _progress(plan: Plan, world: YearWorld, run: YearRun, book: Book) -> Progress:
    totals = run.context.counters.totals
    return Progress(
        day=world.days_at(run.clock.now()),
        days=plan.days,
        turns=book.visits.requests,
        pages=totals.pages,
        queued=totals.queued,
        urls=totals.urls,
    )


def _week(plan: Plan, world: YearWorld, run: YearRun, book: Book, visits: Visits, stored: Stored) -> Week:
    ledger = run.context.ledger

    def parked(name: str) -> bool:
        row = ledger.find(name)
        return row is not None and bool(row.parked)

    day = world.days_at(run.clock.now())
    planned = run.context.refreshing.state.planned
    return Week(
        day=day,
        visits=book.visits.since(visits),
        stored=run.account.total.since(stored),
        state=book.measure(day, planned / plan.budget_per_day, parked),
        urls=run.context.counters.totals.urls,
    )
