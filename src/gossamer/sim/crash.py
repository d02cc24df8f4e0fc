"""Kills at every effect: a run is recorded event by event; then for each of them a second process begins with what is
on the disk at that moment, and must come to the same end.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from gossamer.core.counters import load_totals
from gossamer.model.record import Cf, UrlRow
from gossamer.ports.store import Op, Store
from gossamer.sim.check import everything, host_rows, url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.memstore import JournalStore, MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.watch import Watch
from gossamer.sim.witness import EFFECTS, Ended, Event, Synced, Witness, Written

Make = Callable[[Store, VirtualClock], Run]
Drive = Callable[[Run], None]
ERRAND: Final = "host:"  # how `via` of a row begins that an errand made: a kill may take such a request with it


class Trace(msgspec.Struct):
    """Everything that happened in one uninterrupted run, and what it led to."""

    events: list[Event]
    store: MemoryStore
    before: MemoryStore  # what it began with
    witness: Witness  # as he was at the beginning


class Killed(msgspec.Struct):
    """What a kill leaves: the state on the disk, and what the servers have seen."""

    after: int  # events that had happened
    last: str  # name of the last one
    store: MemoryStore
    witness: Witness
    at: float


def record(make: Make, drive: Drive, killed: Killed | None = None, delay_s: float = 0.0) -> Trace:
    """Run a crawl to its end, watched, and keep every event. `killed`: go on from there after a while."""
    before = killed.store if killed is not None else MemoryStore()
    store = JournalStore()
    store.write(contents(before))
    store.journal.clear()
    clock = VirtualClock(killed.at + delay_s) if killed is not None else VirtualClock()
    run = make(store, clock)
    witness = killed.witness if killed is not None else Witness(run.context.config)
    if killed is not None:
        witness.killed(run.context.counters.totals.committed)
    events: list[Event] = [Written(now=clock.now(), ops=ops) for ops in store.journal]
    at_first = copy.deepcopy(witness)
    watch = Watch(run.partition, store, clock.now, witness=witness, note=events.append)
    drive(run)
    watch.whole()
    return Trace(events, store, before, at_first)


def kills(trace: Trace, *, power: bool = False, every: int = 1) -> Iterator[Killed]:
    """A kill after each effect of a run, in order, the first one before anything has happened.

    `power`: the machine goes with the process, and what was not synced is gone. `every`: only one in so many effects
    of each kind, so that no kind is passed by.
    """
    store, witness = copied(trace.before), copy.deepcopy(trace.witness)
    waiting: list[Written] = []
    effects: Counter[str] = Counter()
    yield Killed(0, "nothing", copied(store), copy.deepcopy(witness), trace.events[0].now)
    for number, event in enumerate(trace.events, 1):
        witness.take(event)
        if isinstance(event, Written):
            waiting.append(event)
        if not power or isinstance(event, Synced):
            for written in waiting:
                store.write(written.ops)
            waiting.clear()
        if number < len(trace.events) and isinstance(trace.events[number], Ended):
            continue  # what an answer means is on the disk with this commit: the two are one effect
        if isinstance(event, (*EFFECTS, Ended)):
            kind = type(event).__name__
            effects[kind] += 1
            if (effects[kind] - 1) % every:
                continue
            yield Killed(number, kind, copied(store), copy.deepcopy(witness), event.now)


def copied(store: Store) -> MemoryStore:
    """A second store of the same content."""
    result = MemoryStore()
    result.write(contents(store))
    return result


def contents(store: Store) -> Iterator[Op]:
    """The writes that make a store what it is."""
    return ((cf, key, value) for cf in Cf for key, value in everything(store, cf))


def go_on(killed: Killed, make: Make, drive: Drive, delay_s: float) -> Run:
    """Begin again after a kill and a while, watched, and come to the end."""
    run = make(killed.store, VirtualClock(killed.at + delay_s))
    watch = Watch(run.partition, killed.store, run.clock.now, witness=killed.witness)
    drive(run)
    watch.whole()
    return run


def settled(store: Store, *, timed: bool) -> dict[str, object]:
    """What of a state at rest must be the same whenever the process was killed.

    Not the same: counts of requests (those under way at a kill are made again), times, and which of several pages came
    first. `timed`: the web's answers depend on the time, so how often a page was tried does too.
    """
    rows = {key: row for key, row in url_rows(store).items() if not row.via.startswith(ERRAND)}
    hosts = host_rows(store)
    totals = load_totals(store)
    copies = Counter((row.duplicate_kind, row.content_hash or row.payload_digest) for row in rows.values())
    counters: dict[str, object] = {
        "queued": totals.queued, "queued by level": totals.queued_by_level, "hosts": totals.hosts,
        "hosts with work": totals.hosts_with_work, "parked": totals.parked, "exact": totals.exact, "near": totals.near,
        "types": sorted(totals.types),
    }  # fmt: skip
    if not timed:
        counters |= {"pages": totals.pages, "not modified": totals.not_modified, "depths": sum(totals.depths.values())}
    return {
        "rows": {key: _facts(row, timed=timed) for key, row in rows.items()},
        "copies": copies,
        "hosts": {name: (row.pending, bool(row.parked), row.crawl_delay_s) for name, row in hosts.items()},
        "counters": counters,
    }


def _facts(row: UrlRow, *, timed: bool) -> tuple[object, ...]:
    seen = () if timed else (row.visits, len(row.history), row.changes, row.unchanged, row.missing, row.attempts)
    return (
        row.state, row.kind, row.status, row.reason, row.payload_digest, row.content_hash, row.redirect_to,
        row.etag, row.media_type, row.truncated, row.digest_error, bool(row.due), row.refresh, row.pointer is not None,
        *seen,
    )  # fmt: skip
