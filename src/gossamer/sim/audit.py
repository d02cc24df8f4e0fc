"""Audits a run too long to be looked at after every step, as `watch` does: what is kept in memory every so many steps,
the whole state counted anew now and then and at the end, and the record of every fetched row.
"""

from __future__ import annotations

from itertools import chain
from typing import Final

import msgspec

from gossamer.core.partition import Committed, Partition
from gossamer.core.turn import Turn
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Job, Outcome, Pointer
from gossamer.ports.store import Store
from gossamer.sim.check import Recount
from gossamer.sim.laws import DAY_S
from gossamer.sim.memory import host_sizes, sizes

LOOK_EVERY: Final = 50  # steps (requests, answers, commits) between two looks at what is kept in memory
RECOUNT_EVERY_S: Final = 7 * DAY_S  # of virtual time; a million rows take a quarter of a minute
FAULTS_KEPT: Final = 20
_OFFSET_BITS: Final = 48


class Audit(msgspec.Struct, kw_only=True):
    """What was looked at, how often, and what was wrong."""

    steps: int = 0
    looks: int = 0  # at what is kept in memory
    past_bounds: int = 0  # structures longer than their bound
    recounts: int = 0
    rows: int = 0  # of URLs, at the last recount
    miscounted: int = 0  # faults of the state, in all recounts
    records: int = 0  # that were written
    fetched: int = 0  # of the rows
    unrecorded: int = 0  # rows without their record, in all recounts
    faults: list[str] = []


class Records:
    """Where records were written. Of a month there are more than a million: no object is kept for any."""

    def __init__(self) -> None:
        """None was."""
        self._segments: dict[str, int] = {}
        self._lengths: dict[int, int] = {}  # place -> length

    def add(self, pointer: Pointer) -> bool:
        """A record was written. False: where another one stands."""
        number = self._segments.setdefault(pointer.segment, len(self._segments))
        place = number << _OFFSET_BITS | pointer.offset
        new = place not in self._lengths
        self._lengths[place] = pointer.length
        return new

    def has(self, pointer: Pointer) -> bool:
        """Whether it was written."""
        number = self._segments.get(pointer.segment)
        return number is not None and self._lengths.get(number << _OFFSET_BITS | pointer.offset) == pointer.length

    def __len__(self) -> int:
        """How many there are."""
        return len(self._lengths)


class Auditor:
    """Attached to a partition from its first step on."""

    def __init__(self, partition: Partition, store: Store, now: float, every_s: float = RECOUNT_EVERY_S) -> None:
        """`now`: the run begins; `every_s`: virtual time between two recounts."""
        self.audit = Audit()
        self._partition = partition
        self._store = store
        self._every_s = every_s
        self._due = now + every_s
        self._records = Records()
        self._in_flight = 0
        self._tap()

    def _tap(self) -> None:
        partition = self._partition
        next_turn, fetched, digested = partition.next_turn, partition.fetched, partition.digested

        def turn_taken(now: float) -> Turn | None:
            turn = next_turn(now)
            if turn is not None:
                self._in_flight += 1
                self._step(turn.host)
            return turn

        def answer_taken(
            turn: Turn, outcome: Outcome, payload_digest: str, decoded: bytes, now: float
        ) -> tuple[list[Job], list[FetchEvent]]:
            done = fetched(turn, outcome, payload_digest, decoded, now)
            self._in_flight -= 1
            self._step(turn.host)
            return done

        def page_taken(digest: Digest, now: float) -> Committed:
            if digest.pointer is not None and not self._records.add(digest.pointer):
                self._unrecorded([f"two records are said to stand at {digest.pointer}"])
            committed = digested(digest, now)
            self._step(committed.turn.host)
            return committed

        partition.next_turn = turn_taken  # type: ignore[method-assign]
        partition.fetched = answer_taken  # type: ignore[method-assign]
        partition.digested = page_taken  # type: ignore[method-assign]

    # -- what is looked at -----------------------------------------------------------------------------------------

    def _step(self, host: str) -> None:
        self.audit.steps += 1
        if self.audit.steps % LOOK_EVERY == 0:
            self.look(host)

    def look(self, host: str) -> None:
        """Look at what is kept in memory, of the partition and of one host."""
        self.audit.looks += 1
        partition = self._partition
        faults = [
            f"{name}: {length}, more than {bound}"
            for name, length, bound in chain(sizes(partition), host_sizes(partition, host))
            if length > bound
        ]
        in_flight = partition.context.frontier.lanes.in_flight
        if not self._in_flight == partition.in_flight == in_flight:
            faults.append(f"{self._in_flight} requests are in flight, counted are {partition.in_flight}, {in_flight}")
        self.audit.past_bounds += len(faults)
        self._keep(faults)

    def passed(self, now: float) -> None:
        """Virtual time has passed and no step is under way: count everything anew, if it is time for that."""
        if now >= self._due:
            self._due = now + self._every_s
            self.whole()

    def whole(self) -> None:
        """Count everything anew, and look for the record of every row."""
        audit, found = self.audit, Recount(self._store, self._records.has)
        audit.recounts += 1
        audit.rows, audit.fetched, audit.records = found.urls, found.fetched, len(self._records)
        audit.miscounted += len(found.faults)
        self._keep(found.faults)
        self._unrecorded(found.unrecorded)
        counted = self._partition.context.counters.totals.records
        if counted != audit.records:
            self._unrecorded([f"counter records says {counted}, {audit.records} were written"])

    def _unrecorded(self, faults: list[str]) -> None:
        self.audit.unrecorded += len(faults)
        self._keep(faults)

    def _keep(self, faults: list[str]) -> None:
        kept = self.audit.faults
        if len(kept) < FAULTS_KEPT:
            kept += faults[: FAULTS_KEPT - len(kept)]
