"""A second set of books: follows every commit, and after each compares what it changed with counters, queues and
calendar. Costs in proportion to the commit, so that it can stand behind every step of a large simulation;
`check.recount` counts everything anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from gossamer.core.changes import decode_entry, decode_fingerprints, decode_host, decode_url
from gossamer.core.copies import BUCKET_MAX
from gossamer.core.counters import COUNTERS_KEY, Totals
from gossamer.core.ending import HISTORY_MAX, TIRED_SHAPES_MAX
from gossamer.core.keys import LATE_PREFIX, QUEUE_LEVELS, due_key, late_key, late_of, queue_key, queue_place
from gossamer.model.limits import LEVELS, SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.ports.store import Op, Store
from gossamer.sim import check
from gossamer.sim.check import everything

_decode_totals: Final = msgspec.msgpack.Decoder(Totals).decode
_SETTLED: Final = frozenset((State.REFUSED, State.FAILED, State.GONE))


class _Url(msgspec.Struct, frozen=True):
    """What the books need of a URL row."""

    host: str
    state: State
    place: int
    sequence: int
    refresh: bool
    due: float
    dated: bool  # a kind that is visited again, and not taken down
    reason: str
    records: int
    pointer: Pointer | None
    late: int


def _url(row: UrlRow) -> _Url:
    dated = row.kind in ("page", "sitemap") and not row.via.startswith("host:") and not row.halted
    records = len(row.history) + (row.pointer is not None)
    place = row.level + (LEVELS if row.refresh else 0)
    return _Url(
        host=row.host,
        state=row.state,
        place=place,
        sequence=row.sequence,
        refresh=row.refresh,
        due=row.due,
        dated=dated,
        reason=row.reason,
        records=records,
        pointer=row.pointer,
        late=row.late,
    )


class Shadow:
    """The books of one store."""

    def __init__(self, store: Store) -> None:
        """Read what the store holds; `faults` says what is wrong with it."""
        self.urls: dict[str, _Url] = {}
        self.hosts: dict[str, HostRow] = {}
        self.totals = Totals()
        self._entries: dict[bytes, str] = {}
        self._places: dict[str, set[bytes]] = {}
        self._queued: dict[str, list[int]] = {}
        self._levels = [0] * QUEUE_LEVELS
        self._waiting: dict[bytes, str] = {}
        self._waits: dict[str, set[bytes]] = {}
        self._dues: dict[str, set[bytes]] = {}
        self._late: dict[str, set[bytes]] = {}
        self._statuses: Counter[str] = Counter()
        self._sums = {"bytes": 0, "answers": 0, "failures": 0, "late": 0, "parked": 0, "working": 0, "records": 0}
        self._seen: set[tuple[str, int]] = set()  # records that rows name or named
        self._touched: set[str] = set()
        self._hosts_touched: set[str] = set()
        self.faults = self.apply((cf, key, value) for cf in Cf for key, value in everything(store, cf))

    def apply(self, ops: Iterable[Op]) -> list[str]:
        """Follow a commit: what is wrong in the state after it."""
        self._touched.clear()
        self._hosts_touched.clear()
        faults = list(self._follow(ops))
        for key in self._touched:
            faults += self._url_faults(key)
        for name in self._hosts_touched:
            faults += self._host_faults(name)
        return [*faults, *self._total_faults()]

    def _follow(self, ops: Iterable[Op]) -> Iterator[str]:
        for cf, key, value in ops:
            if cf is Cf.URL:
                yield from self._follow_url(key.decode(), value)
            elif cf is Cf.QUEUE:
                self._follow_entry(key, value)
            elif cf is Cf.HOST and b"\x00" not in key:
                yield from self._follow_host(key.decode(), value)
            elif cf is Cf.WAITING:
                self._follow_waiting(key, value)
            elif cf is Cf.DUE:
                name = key[8:].decode()
                self._touched.add(name)
                _move(self._dues, name, key, there=value is not None)
            elif cf is Cf.FINGERPRINT and value is not None and len(decode_fingerprints(value)) > BUCKET_MAX:
                yield f"a bucket of fingerprints has more than {BUCKET_MAX} entries"
            elif cf is Cf.META and key.startswith(LATE_PREFIX):
                host = key[len(LATE_PREFIX) :].partition(b"\x00")[0].decode()
                name = late_of(key, host)[1]
                self._touched.add(name)
                _move(self._late, name, key, there=value is not None)
            elif cf is Cf.META and key == COUNTERS_KEY and value is not None:
                self.totals = _decode_totals(value)

    def _follow_url(self, name: str, value: bytes | None) -> Iterator[str]:
        self._touched.add(name)
        if value is None:
            yield f"the row of {name} is deleted"
            return
        row = decode_url(value)
        if len(row.history) > HISTORY_MAX:
            yield f"{name} names {len(row.history)} earlier captures"
        for pointer in (row.pointer, *(record for _, _, record in row.history)):
            place = (pointer.segment, pointer.offset) if pointer is not None else None
            if place is not None and place not in self._seen:
                self._seen.add(place)
                self._sums["records"] += 1
        self.urls[name] = _url(row)

    def _follow_entry(self, slot: bytes, value: bytes | None) -> None:
        host, level = slot[:-10].decode(), slot[-9]
        self._hosts_touched.add(host)
        before = self._entries.pop(slot, None)
        counts = self._queued.setdefault(host, [0] * QUEUE_LEVELS)
        for name, there in ((before, False), (decode_entry(value).key if value is not None else None, True)):
            if name is not None:
                counts[level] += 1 if there else -1
                self._levels[level] += 1 if there else -1
                self._touched.add(name)
                _move(self._places, name, slot, there=there)
                if there:
                    self._entries[slot] = name

    def _follow_host(self, name: str, value: bytes | None) -> Iterator[str]:
        self._hosts_touched.add(name)
        before = self.hosts.pop(name, None)
        if value is None:
            yield f"the ledger of {name} is deleted"
            return
        row = decode_host(value)
        self.hosts[name] = row
        for each, sign in ((before, -1), (row, 1)):
            if each is not None:
                for field, count in _sums(each).items():
                    self._sums[field] += sign * count
                for status, count in each.statuses.items():
                    self._statuses[status] += sign * count
        if len(row.tired_shapes) > TIRED_SHAPES_MAX or row.sitemaps > SITEMAPS_PER_HOST_MAX:
            yield f"{name} has {len(row.tired_shapes)} tired shapes and {row.sitemaps} sitemaps"

    def _follow_waiting(self, slot: bytes, value: bytes | None) -> None:
        before = self._waiting.pop(slot, None)
        if before is not None:
            self._hosts_touched.add(before)
            _move(self._waits, before, slot, there=False)
        if value is not None:
            name = value.decode()
            self._waiting[slot] = name
            self._hosts_touched.add(name)
            _move(self._waits, name, slot, there=True)

    # -- what must hold --------------------------------------------------------------------------------------------

    def _url_faults(self, name: str) -> Iterator[str]:
        row = self.urls.get(name)
        places, dues = self._places.get(name, set()), self._dues.get(name, set())
        if row is None:
            yield f"{name} has no row, and stands in {len(places)} queues and {len(dues)} times in the calendar"
            return
        wanted = row.state is State.QUEUED or row.refresh
        if places != ({queue_key(row.host, row.place, row.sequence)} if wanted else set()):
            yield f"{name} is {row.state.name} (refresh: {row.refresh}) and stands in the queue at {places}"
        if dues != ({due_key(row.due, name)} if row.due else set()):
            yield f"{name} is due at {row.due}, in the calendar at {dues}"
        late = self._late.get(name, set())
        if late != ({late_key(row.host, row.late, name)} if row.late else set()):
            yield f"{name} is put off as {row.late}, among those put off it is {late}"
        if row.late and (row.due or wanted):
            yield f"{name} is put off although it is queued or will be due"
        if row.state is State.FETCHED and row.dated and not row.due and not row.refresh and not row.late:
            yield f"{name} is fetched and will never be visited again"
        if row.state is State.FETCHED and row.pointer is None:
            yield f"{name} is fetched and has no record"
        if row.state in _SETTLED and not row.reason:
            yield f"{name} is {row.state.name} for no reason"
        for slot in places:
            host = self.hosts.get(row.host)
            level, sequence = queue_place(slot)
            if host is None or sequence < host.cursor[level]:
                yield f"{name} stands before the cursor of its host, or its host has no ledger"

    def _host_faults(self, name: str) -> Iterator[str]:
        row = self.hosts.get(name)
        counts = self._queued.get(name, [0] * QUEUE_LEVELS)
        waits = self._waits.get(name, set())
        if row is None:
            yield f"{name} has no ledger, and {sum(counts)} URLs queued"
            return
        if row.pending != sum(counts) or row.pending_by_level != counts:
            yield f"{name} says pending {row.pending} {row.pending_by_level}, queued are {counts}"
        yield from check.waits(name, row, waits)
        if row.late and not sum(counts[LEVELS:]):
            yield f"{name} has put off {row.late} refreshes and none queued that they could follow"

    def _total_faults(self) -> Iterator[str]:
        totals, sums = self.totals, self._sums
        pairs: list[tuple[str, object, object]] = [
            ("urls", totals.urls, len(self.urls)),
            ("hosts", totals.hosts, len(self.hosts)),
            ("queued", totals.queued, len(self._entries)),
            ("queued_by_level", totals.queued_by_level, self._levels),
            ("hosts_with_work", totals.hosts_with_work, sums["working"]),
            ("parked", totals.parked, sums["parked"]),
            ("late", totals.late, len(self._late)),
            ("late of hosts", totals.late, sums["late"]),
            ("bytes", totals.bytes, sums["bytes"]),
            ("statuses", totals.statuses, +self._statuses),
            ("failures", sum(totals.failures.values()), sums["failures"]),
            ("visits", totals.visits, sums["answers"] + sums["failures"] - totals.failures.get("dns", 0)),
            ("pages by depth", sum(totals.depths.values()), totals.pages),
            ("records", totals.records, sums["records"]),
        ]
        for name, counted, real in pairs:
            if counted != real:
                yield f"counter {name} says {counted}, there are {real}"


def _sums(row: HostRow) -> dict[str, int]:
    return {
        "bytes": row.bytes,
        "answers": row.fetched,
        "failures": row.failed,
        "parked": bool(row.parked),
        "late": row.late,
        "working": row.pending > 0,
    }


def _move(index: dict[str, set[bytes]], name: str, slot: bytes, *, there: bool) -> None:
    """Enter or strike out a place under a name."""
    if there:
        index.setdefault(name, set()).add(slot)
        return
    index[name].discard(slot)
    if not index[name]:
        del index[name]
