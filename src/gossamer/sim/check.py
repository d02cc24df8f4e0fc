"""Checkers: what must be true of every simulated run, whatever happened in it. Each returns the faults it found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from gossamer.core.changes import decode_entry, decode_host, decode_url
from gossamer.core.counters import Totals, load_totals
from gossamer.core.keys import QUEUE_LEVELS, due_key, queue_key, waiting_key
from gossamer.core.waiting import place_of
from gossamer.model.limits import LEVELS
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.ports.store import Store
from gossamer.sim.clustercheck import Clusters
from gossamer.sim.run import Served

SCAN_AT_ONCE = 1_000
SLACK_S = 1e-6
_NONE_QUEUED: Final = [0] * QUEUE_LEVELS


def everything(store: Store, cf: Cf) -> Iterator[tuple[bytes, bytes]]:
    """All pairs of a column family."""
    start = b""
    while rows := store.scan(cf, start, None, SCAN_AT_ONCE):
        yield from rows
        start = rows[-1][0] + b"\x00"


def url_rows(store: Store) -> dict[str, UrlRow]:
    """Every URL row."""
    return {key.decode(): decode_url(value) for key, value in everything(store, Cf.URL)}


def host_rows(store: Store) -> dict[str, HostRow]:
    """Every ledger."""
    return {key.decode(): decode_host(value) for key, value in everything(store, Cf.HOST) if b"\x00" not in key}


def recount(store: Store) -> list[str]:
    """Counters, queues, front queues, calendar and copies against the rows: each must say the same."""
    return Recount(store).faults


class Recount:
    """The whole state counted anew.

    URL rows are gone through once and not kept, since a store may hold more of them than memory does; ledgers and
    what is queued are.
    """

    def __init__(self, store: Store, recorded: Callable[[Pointer], bool] | None = None) -> None:
        """`recorded`: whether a record was written there; None: records are not looked for."""
        self.faults: list[str] = []
        self.unrecorded: list[str] = []  # faults of rows that have no record, or name one that was never written
        self.urls = 0
        self.fetched = 0  # of the URLs
        self._store = store
        self._recorded = recorded
        self._hosts = host_rows(store)
        self._queued: dict[str, list[int]] = {}  # host -> entries at each level
        self._places: dict[str, list[tuple[bytes, bool]]] = {}  # URL key -> its entries, and whether for a refresh
        self._dated = 0  # rows that stand in the calendar as they say
        totals = load_totals(store)
        self._read_queue()
        clusters = Clusters(store, self._hosts)
        for key, value in everything(store, Cf.URL):
            name, row = key.decode(), decode_url(value)
            self.urls += 1
            self._look_at_queue(name, row)
            self._look_at_calendar(name, row)
            self._look_at_records(name, row)
            clusters.take(name, row)
        self.faults += clusters.end(totals)
        self.faults += self._left_over()
        self.faults += self._counted(totals)
        self.faults += self._front()

    def _read_queue(self) -> None:
        for slot, value in everything(self._store, Cf.QUEUE):
            entry = decode_entry(value)
            host, level = slot[:-10].decode(), slot[-9]
            self._queued.setdefault(host, [0] * QUEUE_LEVELS)[level] += 1
            self._places.setdefault(entry.key, []).append((slot, entry.refresh))
            ledger = self._hosts.get(host)
            if ledger is None:
                self.faults.append(f"{entry.key} is queued at {host}, which has no ledger")
            elif slot[-8:] < ledger.cursor[level].to_bytes(8, "big"):
                self.faults.append(f"{entry.key} stands before the cursor of its host")

    def _look_at_queue(self, name: str, row: UrlRow) -> None:
        places = self._places.pop(name, [])
        if len(places) != (row.state is State.QUEUED or row.refresh):
            says = f"{name} is {row.state.name} (refresh: {row.refresh})"
            self.faults.append(f"{says} and has {len(places)} queue entries")
        for slot, refresh in places:
            host = slot[:-10].decode()
            if row.host != host:
                self.faults.append(f"{name} of {row.host} is queued at {host}")
            if slot != queue_key(host, row.level + (LEVELS if refresh else 0), row.sequence):
                self.faults.append(f"{name} stands elsewhere in the queue than its row says")
            if refresh != row.refresh or (not refresh and row.state is not State.QUEUED):
                says = f"{name} is queued (refresh: {refresh})"
                self.faults.append(f"{says} and its row is {row.state.name}, {row.refresh}")

    def _look_at_calendar(self, name: str, row: UrlRow) -> None:
        if row.due:
            if self._store.get(Cf.DUE, due_key(row.due, name)) is None:
                self.faults.append(f"{name} is due at {row.due}, the calendar does not say so")
            else:
                self._dated += 1
        elif (
            row.state is State.FETCHED
            and not row.refresh
            and not row.late
            and not row.halted
            and row.kind in ("page", "sitemap")
            and not row.via.startswith("host:")
        ):
            self.faults.append(f"{name} is fetched and will never be visited again")

    def _look_at_records(self, name: str, row: UrlRow) -> None:
        fetched, recorded = row.state is State.FETCHED, self._recorded
        self.fetched += fetched
        if recorded is None:
            return
        if row.pointer is not None:
            pointers = (row.pointer, *(earlier for _, _, earlier in row.history))
            missing = [pointer for pointer in pointers if not recorded(pointer)]
            self.unrecorded += [f"the record of {name} at {pointer} was never written" for pointer in missing]
        elif fetched:
            self.unrecorded.append(f"{name} is fetched and has no record")

    def _left_over(self) -> Iterator[str]:
        """What queues and calendar hold beyond what the rows account for."""
        for name in self._places:
            yield f"{name} is queued and has no row"
        if sum(1 for _ in everything(self._store, Cf.DUE)) == self._dated:
            return
        for slot, _ in everything(self._store, Cf.DUE):
            name, raw = slot[8:].decode(), self._store.get(Cf.URL, slot[8:])
            if raw is None:
                yield f"{name} is in the calendar and has no row"
                continue
            due = decode_url(raw).due
            if not due or due_key(due, name) != slot:
                yield f"{name} is due at {due}, the calendar says {slot!r}"

    def _counted(self, totals: Totals) -> Iterator[str]:
        levels = [sum(counts[level] for counts in self._queued.values()) for level in range(QUEUE_LEVELS)]
        hosts = self._hosts.values()
        pairs: list[tuple[str, object, object]] = [
            ("urls", totals.urls, self.urls),
            ("hosts", totals.hosts, len(self._hosts)),
            ("queued", totals.queued, sum(levels)),
            ("queued_by_level", totals.queued_by_level, levels),
            ("hosts_with_work", totals.hosts_with_work, sum(row.pending > 0 for row in hosts)),
            ("parked", totals.parked, sum(bool(row.parked) for row in hosts)),
        ]
        for name, counted, real in pairs:
            if counted != real:
                yield f"counter {name} says {counted}, there are {real}"
        for name, ledger in self._hosts.items():
            counts = self._queued.get(name, _NONE_QUEUED)
            if ledger.pending_by_level != counts or ledger.pending != sum(counts):
                yield f"{name} says pending {ledger.pending} {ledger.pending_by_level}, queued are {counts}"

    def _front(self) -> Iterator[str]:
        waiting: dict[str, set[bytes]] = defaultdict(set)
        for key, value in everything(self._store, Cf.WAITING):
            waiting[value.decode()].add(key)
        for name, row in self._hosts.items():
            yield from waits(name, row, waiting.get(name, set()))
        for name in waiting.keys() - self._hosts.keys():
            yield f"{name} waits and has no ledger"


def waits(name: str, row: HostRow, places: set[bytes]) -> Iterator[str]:
    """The places of a host in the front queues against its ledger: one for each kind of work it has."""
    kinds = [place_of(row, refresh=refresh) for refresh in (False, True)]
    said = {waiting_key(level, sequence) for level, sequence in kinds if level >= 0}
    if places != said:
        yield f"{name} waits at {places}, its ledger says {said}"
    work = [sum(row.pending_by_level[:LEVELS]) > 0, sum(row.pending_by_level[LEVELS:]) > 0]
    if work != [level >= 0 for level, _ in kinds]:
        yield f"{name} has {row.pending_by_level} URLs pending and waits at {said}"


def one_at_a_time(served: Iterable[Served], by: str = "lane") -> list[str]:
    """No two requests of one lane (or host) at once."""
    faults = []
    last: dict[str, Served] = {}
    for request in sorted(served, key=lambda r: r.start):
        name = getattr(request, by)
        before = last.get(name)
        if before is not None and request.start < before.end - SLACK_S:
            faults.append(f"{by} {name}: {request.target} at {request.start} during {before.target} until {before.end}")
        last[name] = request
    return faults


def gaps(served: Iterable[Served], gap_s: float, by: str = "host") -> list[str]:
    """Between the end of a request of one host (or lane) and the start of its next there is at least `gap_s`."""
    faults = []
    last: dict[str, float] = {}
    for request in sorted(served, key=lambda r: r.start):
        name = getattr(request, by)
        if name in last and request.start - last[name] < gap_s - SLACK_S:
            faults.append(f"{by} {name}: {request.target} after {request.start - last[name]:.3f} s of {gap_s}")
        last[name] = max(last.get(name, 0.0), request.end)
    return faults
