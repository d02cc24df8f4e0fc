"""Looks on while a partition works through a web too large to keep what was seen: judges each request when it is made,
and counts. `manners` and `oracle` are the judges of politeness and robots.txt; waiting is judged here.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.core.active import ActiveHost
from gossamer.core.keys import QUEUE_LEVELS
from gossamer.core.partition import Committed, Partition
from gossamer.core.turn import Turn
from gossamer.model.event import FetchEvent
from gossamer.model.limits import HOST_QUANTUM, LANE_RESIDENTS_MAX, LEVEL_WEIGHTS, LEVELS
from gossamer.model.page import Digest, Failure, Job, Kind, Outcome, Resolution
from gossamer.sim.manners import Manners
from gossamer.sim.oracle import RobotsOracle

FAULTS_KEPT: Final = 20
_DISCOVERY: Final = range(LEVELS)
_REFRESH: Final = range(LEVELS, QUEUE_LEVELS)
UNLIKELY: Final = 1e-9  # a level that waits so long that this was its chance is starved


class Wait(msgspec.Struct):
    """Waits of one kind; kept is the one that came closest to its bound."""

    seconds: float = 0.0
    bound_s: float = 1.0
    host: str = ""
    count: int = 0
    total_s: float = 0.0

    def note(self, seconds: float, bound_s: float, host: str) -> None:
        """One wait is over."""
        self.count += 1
        self.total_s += seconds
        if seconds / bound_s > self.seconds / self.bound_s:
            self.seconds, self.bound_s, self.host = seconds, bound_s, host


class Choices(msgspec.Struct):
    """Choices between levels: how often the highest was taken, and how often it should have been by its weight."""

    count: int = 0
    hits: int = 0
    expected: float = 0.0
    variance: float = 0.0

    def note(self, chance: float, *, hit: bool) -> None:
        """One choice."""
        self.count += 1
        self.hits += hit
        self.expected += chance
        self.variance += chance * (1 - chance)

    @property
    def sigmas(self) -> float:
        """By how many standard deviations the hits miss what is expected."""
        return abs(self.hits - self.expected) / math.sqrt(self.variance) if self.variance else 0.0


class _Levels:
    """Of one host: at which of its page turns each level that has work was served last."""

    __slots__ = ("last", "turns")

    def __init__(self) -> None:
        self.turns = 0
        self.last = [0] * QUEUE_LEVELS


class Onlooker:
    """Attached to a partition, it sees every turn, every outcome and every commit."""

    def __init__(self, partition: Partition) -> None:
        """Look on from now on."""
        config = partition.context.config
        self.oracle = RobotsOracle(config.identity.product, config.robots.ttl_s, config.robots.unparseable)
        self.manners = Manners(config.politeness, self.oracle.crawl_delay_s)
        self.impolite = 0  # requests that came too soon, or beside another
        self.disobedient = 0  # requests that robots.txt forbade at that moment
        self.faults: list[str] = []
        self.turns = 0
        self.work_max = 0  # hosts that had work at once
        self.residents: dict[str, set[str]] = {}  # lane -> hosts that were ever asked through it
        self.rested = Wait()  # hosts with work, from when they might be asked again
        self.first = Wait()  # hosts that could be asked, from their discovery until their first request
        self.level_waits = [0] * QUEUE_LEVELS  # turns of their host that a level with work was passed over, at most
        self.level_turns = [0] * QUEUE_LEVELS
        self.choices = Choices()
        self._partition = partition
        self._levels: dict[str, _Levels] = {}
        self._free_from: dict[str, float] = {}
        self._begun: dict[str, float] = {}  # first request of a host; nan: its name did not resolve before that
        self._tap()

    def _tap(self) -> None:
        partition = self._partition
        next_turn, fetched, digested = partition.next_turn, partition.fetched, partition.digested
        resolved, take_events = partition.resolved, partition.take_events

        def turn_taken(now: float) -> Turn | None:
            turn = next_turn(now)
            if turn is not None:
                self.sent(turn, now)
            return turn

        def answer_taken(
            turn: Turn, outcome: Outcome, payload_digest: str, decoded: bytes, now: float
        ) -> tuple[list[Job], list[FetchEvent]]:
            self.arrived(turn, outcome, decoded, now)
            done = fetched(turn, outcome, payload_digest, decoded, now)
            self.settled(turn, now)
            return done

        def page_taken(digest: Digest, now: float) -> Committed:
            committed = digested(digest, now)
            self.settled(committed.turn, now)
            return committed

        def addresses_taken(name: str, resolution: Resolution, now: float) -> None:
            if not resolution.addresses:
                self._begun.setdefault(name, math.nan)
                self._free_from.pop(name, None)
            resolved(name, resolution, now)

        def refusals_taken() -> list[FetchEvent]:
            events = take_events()
            for event in events:
                row = partition.context.ledger.find(event.host)
                if row is None or not row.pending:
                    self._free_from.pop(event.host, None)  # what was left of its work was refused
            return events

        partition.resolved = addresses_taken  # type: ignore[method-assign]
        partition.take_events = refusals_taken  # type: ignore[method-assign]
        partition.next_turn = turn_taken  # type: ignore[method-assign]
        partition.fetched = answer_taken  # type: ignore[method-assign]
        partition.digested = page_taken  # type: ignore[method-assign]

    # -- what is seen ----------------------------------------------------------------------------------------------

    def sent(self, turn: Turn, now: float) -> None:
        """A request goes out."""
        self.turns += 1
        faults = self.manners.begun(turn.host, turn.lane, turn.target, now)
        self.impolite += bool(faults)
        if turn.kind is Kind.ROBOTS and turn.errand is not None:
            wrong = self.oracle.asked(turn.errand.for_host, turn.errand.scheme, turn.url)
        else:
            wrong = self.oracle.judge(turn.host, turn.scheme, turn.target, now)
        if wrong:
            self.disobedient += 1
            faults.append(f"{turn.url} is asked for: {wrong}")
        if faults:
            self.faults += faults[: FAULTS_KEPT - len(self.faults)]
        residents = self.residents.get(turn.lane)
        if residents is None:
            residents = self.residents[turn.lane] = set()
        residents.add(turn.host)
        self._waited(turn, now)

    def _waited(self, turn: Turn, now: float) -> None:
        free_from = self._free_from.pop(turn.host, None)
        if free_from is not None:
            self.rested.note(max(0.0, now - free_from), self.bound_s(turn.lane), turn.host)
        begun = self._begun.setdefault(turn.host, now)
        if turn.place is None or turn.row is None:
            return
        levels = self._levels.get(turn.host)
        if levels is None:
            levels = self._levels[turn.host] = _Levels()
            if not math.isnan(begun):
                self.first.note(max(0.0, begun - turn.row.discovered), self.bound_s(turn.lane), turn.host)
        levels.turns += 1
        served = turn.place.level
        self.level_turns[served] += 1
        host = self._partition.context.frontier.active[turn.host]
        self._chosen(host, served)
        pending = host.row.pending_by_level
        last, waits = levels.last, self.level_waits
        for level, count in enumerate(pending):
            if level == served or not count:
                last[level] = levels.turns
            elif levels.turns - last[level] > waits[level]:
                waits[level] = levels.turns - last[level]

    def bound_s(self, lane: str) -> float:
        """Longest that a host which may be asked can wait for its turn, as things are now.

        For a slot, while hosts that hold one use up their quantum; for each host of its address that has a seat in the
        lane to be asked once before it; and where an address has more hosts than seats, for seats, a quantum at a time.
        """
        context = self._partition.context
        turn_s = context.config.fetch.total_timeout_s + context.config.politeness.max_delay_s
        hosts = len(self.residents.get(lane, ()))
        seats = math.ceil(hosts / LANE_RESIDENTS_MAX) - 1
        rounds = math.ceil(context.counters.totals.hosts_with_work / context.config.frontier.slots) - 1
        turns = min(hosts, LANE_RESIDENTS_MAX) * (1 + seats * HOST_QUANTUM) + rounds * HOST_QUANTUM
        return turn_s * max(1, turns)

    def _chosen(self, host: ActiveHost, served: int) -> None:
        """Count whether the highest level that had work was served, and how likely that was, given the kind of work."""
        free = list(host.row.pending_by_level)
        for level, _ in host.queue.leased:
            free[level] -= 1
        free[served] += 1
        kind = _DISCOVERY if served < LEVELS else _REFRESH
        levels = [level for level in kind if free[level] > 0]
        if len(levels) > 1:
            weights = [LEVEL_WEIGHTS[level % LEVELS] for level in levels]
            chance = weights[0] / sum(weights)
            self.choices.note(chance, hit=served == levels[0])

    def arrived(self, turn: Turn, outcome: Outcome, decoded: bytes, now: float) -> None:
        """An answer is there."""
        ours = outcome.failure is Failure.OURS
        if turn.kind is Kind.ROBOTS and turn.errand is not None and not ours:
            content_type = (outcome.header("content-type") or "").partition(";")[0].strip().lower()
            self.oracle.answered(
                turn.errand.for_host,
                turn.errand.scheme,
                turn.url,
                status=0 if outcome.failure else outcome.status,
                location=outcome.header("location") or "",
                html=content_type == "text/html" or decoded.lstrip()[:1] == b"<",
                body=decoded,
                truncated=outcome.truncated,
                now=now,
            )
        self.manners.ended(
            turn.host,
            turn.lane,
            now,
            elapsed_s=outcome.elapsed_s,
            troubled=not ours and (bool(outcome.failure) or outcome.status == 429 or outcome.status >= 500),
            wait=(outcome.header("retry-after") or "") if outcome.status in (429, 503) else "",
            ours=ours,
        )

    def settled(self, turn: Turn, now: float) -> None:
        """A visit or a page is over: from when may its host be asked again, if it has work?"""
        context = self._partition.context
        self.work_max = max(self.work_max, context.counters.totals.hosts_with_work)
        host = context.frontier.active.get(turn.host)
        row = host.row if host is not None else context.ledger.find(turn.host)
        leased = len(host.queue.leased) if host is not None else 0
        if row is None or row.pending <= leased:
            self._free_from.pop(turn.host, None)
            return
        free_from = max(row.next_allowed, row.parked_until if row.parked else 0.0, now)
        for state in row.robots.values():
            if state.expires > free_from and state.why.startswith("unreachable"):
                free_from = state.expires
        self._free_from[turn.host] = free_from


def level_bound(level: int, served: int) -> int:
    """Turns of its host after which a level with work has been passed over by more than chance.

    The chance of a level in one turn is at least its weight, halved while both discovery and refresh have work. Among
    `served` turns a run of so many without it has a chance of UNLIKELY.
    """
    share = LEVEL_WEIGHTS[level % LEVELS] / sum(LEVEL_WEIGHTS) / 2
    return math.ceil(math.log(UNLIKELY / max(1, served)) / math.log(1 - share))
