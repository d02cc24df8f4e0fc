"""Stands beside a run and looks after every step: at each request, answer, digest and commit. Sees the partition and
the store from outside, so that it does not matter who drives them.

What is judged: requests, rules and records (`witness`), the state after each commit (`shadow`), what is kept in memory
(`memory`), and now and then everything anew (`check.recount`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from gossamer.core.partition import Committed, Partition
from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Failure, Job, Outcome, Resolution
from gossamer.ports.store import Op, Store
from gossamer.sim.check import recount
from gossamer.sim.memory import host_sizes, sizes
from gossamer.sim.shadow import Shadow
from gossamer.sim.witness import Arrived, Digested, Ended, Event, Resolved, Sent, Synced, Witness, Written

FAULTS_KEPT: Final = 20
ROWS_PER_STEP: Final = 5  # what counting everything anew may cost on average, in rows looked at


class FaultError(AssertionError):
    """Something that must never be."""


class Watch:
    """Watches one run of a partition on its store from now on."""

    def __init__(
        self,
        partition: Partition,
        store: Store,
        now: Callable[[], float],
        *,
        witness: Witness | None = None,
        books: bool = True,
        note: Callable[[Event], None] | None = None,
    ) -> None:
        """`witness` of the runs before; `books` False: the state is not followed (a web too large for a second one in
        memory). `note` gets every event before it takes effect, and may raise to prevent it.
        """
        self.partition = partition
        self.witness = witness or Witness(partition.context.config)
        self.witness.killed(partition.context.counters.totals.committed)
        self.faults: list[str] = []
        self.steps = 0
        self.recounts = 0
        self._store = store
        self._now = now
        self._note = note
        self._turns: dict[int, Turn] = {}
        self._answering: Ended | None = None
        self._since_recount = 0
        self.shadow = Shadow(store) if books else None
        self._found(self.shadow.faults if self.shadow is not None else [])
        self._tap_store(store)
        self._tap_partition(partition)

    @property
    def config(self) -> Config:
        """Of the crawl."""
        return self.partition.context.config

    def _event(self, event: Event) -> None:
        if self._note is not None:
            self._note(event)
        self._found(self.witness.take(event))

    def _found(self, faults: Iterable[str]) -> None:
        for fault in faults:
            if len(self.faults) < FAULTS_KEPT:
                self.faults.append(fault)
        if self.faults:
            raise FaultError("; ".join(self.faults))

    # -- taps ------------------------------------------------------------------------------------------------------

    def _tap_store(self, store: Store) -> None:
        """Calls of the store made through it from now on are seen. A tap of an earlier run goes."""
        write, sync = (getattr(type(store), name).__get__(store) for name in ("write", "sync"))

        def written(ops: Iterable[Op]) -> None:
            batch = list(ops)
            self._event(Written(now=self._now(), ops=batch))
            write(batch)
            answering, self._answering = self._answering, None
            if answering is not None:
                self._event(answering)
            if self.shadow is not None:
                self._found(self.shadow.apply(batch))

        def synced() -> None:
            self._event(Synced(now=self._now()))
            sync()

        store.write = written  # type: ignore[method-assign]
        store.sync = synced  # type: ignore[method-assign]

    def _tap_partition(self, partition: Partition) -> None:
        next_turn, fetched, digested = partition.next_turn, partition.fetched, partition.digested
        resolved, enqueue_due, cut_off = partition.resolved, partition.enqueue_due, partition.cut_off

        def turn_taken(now: float) -> Turn | None:
            turn = next_turn(now)
            if turn is not None:
                self._turns[turn.id] = turn
                self._event(Sent(now=now, turn=turn))
                self._step(turn.host)
            return turn

        def answer_taken(
            turn: Turn, outcome: Outcome, payload_digest: str, decoded: bytes, now: float
        ) -> tuple[list[Job], list[FetchEvent]]:
            self._event(Arrived(now=now, turn=turn))
            self._answering = Ended(now=now, turn=turn, outcome=outcome, body=decoded)
            done = fetched(turn, outcome, payload_digest, decoded, now)
            if self._answering is not None:
                self._found([f"the answer to {turn.url} was taken without a commit"])
            del self._turns[turn.id]
            self._step(turn.host)
            return done

        def cut_taken(turn: Turn, why: str, now: float) -> list[FetchEvent]:
            outcome = Outcome(failure=Failure.CUT_OFF, failure_detail=why, started=turn.started)
            self._answering = Ended(now=now, turn=turn, outcome=outcome, body=b"")
            done = cut_off(turn, why, now)
            del self._turns[turn.id]
            self._step(turn.host)
            return done

        def digest_taken(digest: Digest, now: float) -> Committed:
            self._event(Digested(now=now, digest=digest))
            committed = digested(digest, now)
            self._step(committed.turn.host)
            return committed

        def addresses_taken(name: str, resolution: Resolution, now: float) -> None:
            self._event(Resolved(now=now, name=name))
            resolved(name, resolution, now)
            self._step(name)

        def due_queued(now: float) -> int:
            count = enqueue_due(now)
            self._step("")
            return count

        partition.next_turn = turn_taken  # type: ignore[method-assign]
        partition.fetched = answer_taken  # type: ignore[method-assign]
        partition.digested = digest_taken  # type: ignore[method-assign]
        partition.cut_off = cut_taken  # type: ignore[method-assign]
        partition.resolved = addresses_taken  # type: ignore[method-assign]
        partition.enqueue_due = due_queued  # type: ignore[method-assign]

    # -- after each step -------------------------------------------------------------------------------------------

    def _step(self, host: str) -> None:
        self.steps += 1
        partition = self.partition
        faults = [
            f"{name}: {length}, more than {bound}"
            for name, length, bound in (*sizes(partition), *host_sizes(partition, host))
            if length > bound
        ]
        in_flight = partition.context.frontier.lanes.in_flight
        if not len(self._turns) == partition.in_flight == in_flight:
            faults.append(f"{len(self._turns)} requests are in flight, counted are {partition.in_flight}, {in_flight}")
        self._found(faults)
        if self.shadow is None:
            return
        self._since_recount += 1
        rows = len(self.shadow.urls) + len(self.shadow.hosts)
        if self._since_recount * ROWS_PER_STEP >= rows:
            self._since_recount = 0
            self.whole()

    def whole(self) -> None:
        """Count everything anew, and look for the record of every row."""
        self.recounts += 1
        self._found(recount(self._store))
        if self.shadow is not None:
            archive = self.witness.archive
            missing = [
                f"the record of {key} at {row.pointer} was never written"
                for key, row in self.shadow.urls.items()
                if row.pointer is not None and archive.get((row.pointer.segment, row.pointer.offset)) != row.pointer
            ]
            self._found(missing)
