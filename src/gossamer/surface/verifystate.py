"""The part of `verify` that needs no archive: queues and calendar against rows, counters against a count."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from gossamer.core.changes import decode_entry
from gossamer.core.counters import Totals
from gossamer.core.keys import QUEUE_LEVELS, queue_place, waiting_key
from gossamer.core.waiting import place_of
from gossamer.model.errors import StoreError
from gossamer.model.limits import LEVELS
from gossamer.model.record import Cf, HostRow
from gossamer.model.view import Problem
from gossamer.ports.store import Store
from gossamer.surface.rowindex import Longs, RowIndex, contains, difference, place_identity
from gossamer.surface.storescan import host_row, host_rows, pairs, url_row

_PLACE_BYTES: Final = 10  # NUL, level, sequence


class _Queue(msgspec.Struct):
    """The entries of one host, counted."""

    host: str
    counts: list[int]
    first: list[int]  # lowest sequence of each level


class _Recount(msgspec.Struct):
    """What the counters should say."""

    hosts: int = 0
    parked: int = 0
    with_work: int = 0
    levels: list[int] = msgspec.field(default_factory=lambda: [0] * QUEUE_LEVELS)


class StateCheck:
    """Checks one store. `lost` and `undated` are what only a pass over the rows can name."""

    def __init__(self, store: Store, totals: Totals, index: RowIndex) -> None:
        """`index` is frozen."""
        self._store = store
        self._totals = totals
        self._index = index
        self._places = array("Q")
        self._recount = _Recount()
        self._damaged: list[Problem] = []
        self.lost: Longs = index.places[:0]  # places that rows claim and no queue has
        self.undated: Longs = index.places[:0]  # the same of the calendar

    def run(self) -> Iterator[Problem]:
        """Everything that is wrong, but for `lost` and `undated`."""
        yield from self._hosts()
        yield from self._damaged
        strays, self.lost = difference(self._places, self._index.places)
        if len(strays):
            yield from self._strays(strays)
        yield from self._front_queues()
        yield from self._calendar()
        yield from self._counters()

    def _hosts(self) -> Iterator[Problem]:
        """Ledgers and queues side by side: both are sorted by host."""
        rows = host_rows(self._store, lambda text: self._note_damage(Cf.HOST, text))
        queues = self._queues()
        row, queue = next(rows, None), next(queues, None)
        while row is not None or queue is not None:
            if queue is None or (row is not None and row.host.encode() < queue.host.encode()):
                if row is not None:
                    yield from self._host(row, _Queue(row.host, [0] * QUEUE_LEVELS, [0] * QUEUE_LEVELS))
                row = next(rows, None)
            elif row is None or queue.host.encode() < row.host.encode():
                yield Problem(kind="host-missing", what=queue.host, text="URLs are queued for it, but it has no ledger")
                queue = next(queues, None)
            else:
                yield from self._host(row, queue)
                row, queue = next(rows, None), next(queues, None)

    def _host(self, row: HostRow, queue: _Queue) -> Iterator[Problem]:
        count = self._recount
        count.hosts += 1
        count.parked += bool(row.parked)
        count.with_work += row.pending > 0
        if row.pending != sum(queue.counts) or (row.pending_by_level or [0] * QUEUE_LEVELS) != queue.counts:
            text = f"its ledger counts {row.pending:,} queued URLs, its queue has {sum(queue.counts):,}"
            if row.pending == sum(queue.counts):
                text = "the levels of its queue have other counts than its ledger says"
            yield Problem(kind="pending-differs", what=row.host, text=text)
        for place, (cursor, first) in enumerate(zip(row.cursor, queue.first, strict=False)):
            if queue.counts[place] and first < cursor:
                text = f"level {place}: sequence {first} stands before the cursor at {cursor} and would never be read"
                yield Problem(kind="cursor-beyond", what=row.host, text=text)
        yield from self._waits(row)

    def _waits(self, row: HostRow) -> Iterator[Problem]:
        places = _places(row)
        if row.pending > 0 and not places:
            yield Problem(kind="waiting-missing", what=row.host, text="it has URLs queued and stands in no front queue")
        for level, sequence in places:
            if self._store.get(Cf.WAITING, waiting_key(level, sequence)) != row.host.encode():
                text = f"its place in front queue {level} is not there"
                yield Problem(kind="waiting-missing", what=row.host, text=text)
            if not row.pending:
                text = "it stands in a front queue and has nothing queued"
                yield Problem(kind="waiting-idle", what=row.host, text=text)

    def _queues(self) -> Iterator[_Queue]:
        """The queue of each host; notes the identity of every entry on the way."""
        grouped = itertools.groupby(pairs(self._store, Cf.QUEUE), key=lambda pair: pair[0][:-_PLACE_BYTES])
        for name, entries in grouped:
            queue = _Queue(_text(name), [0] * QUEUE_LEVELS, [0] * QUEUE_LEVELS)
            for slot, value in entries:
                entry = _entry(slot, value)
                if entry is None:
                    self._note_damage(Cf.QUEUE, f"an entry of {queue.host} cannot be read")
                    continue
                place, sequence, key = entry
                if not queue.counts[place]:
                    queue.first[place] = sequence
                queue.counts[place] += 1
                self._recount.levels[place] += 1
                self._places.append(place_identity(queue.host, place, sequence, key))
            if any(queue.counts):
                yield queue

    def _note_damage(self, cf: Cf, text: str) -> None:
        self._damaged.append(Problem(kind="row-damaged", what=str(cf), text=text))

    def _strays(self, strays: Longs) -> Iterator[Problem]:
        """Entries that no row claims."""
        for slot, value in pairs(self._store, Cf.QUEUE):
            entry = _entry(slot, value)
            if entry is None:
                continue
            host, (place, sequence, key) = _text(slot[:-_PLACE_BYTES]), entry
            if not contains(strays, place_identity(host, place, sequence, key)):
                continue
            row = url_row(self._store, key)
            if row is None:
                yield Problem(kind="row-missing", what=key, text=f"it is queued at {host} and has no row")
            elif row.sequence != sequence or row.level != place % LEVELS:
                # The same place and another state is a robots.txt that was fetched as such while it waits as a page.
                text = f"queued at level {place}, sequence {sequence}; its row says level {row.level}, {row.sequence}"
                yield Problem(kind="queue-differs", what=row.url, text=text)

    def _front_queues(self) -> Iterator[Problem]:
        for slot, value in pairs(self._store, Cf.WAITING):
            name = _text(value)
            row = self._ledger(name)
            if row is None:
                text = "it stands in a front queue and has no ledger that can be read"
                yield Problem(kind="host-missing", what=name, text=text)
            elif slot not in (waiting_key(*place) for place in _places(row)):
                text = f"it stands in front queue {slot[0]}, of which its ledger knows nothing"
                yield Problem(kind="waiting-differs", what=row.host, text=text)

    def _ledger(self, host: str) -> HostRow | None:
        try:
            return host_row(self._store, host)
        except StoreError:
            return None  # named by the pass over the ledgers

    def _calendar(self) -> Iterator[Problem]:
        dues = array("Q", (xxh3_64_intdigest(slot) for slot, _ in pairs(self._store, Cf.DUE)))
        strays, self.undated = difference(dues, self._index.dues)
        if not len(strays):
            return
        for slot, _ in pairs(self._store, Cf.DUE):
            if contains(strays, xxh3_64_intdigest(slot)):
                text = "it stands in the calendar at another time than its row says, or has no row"
                yield Problem(kind="calendar-differs", what=slot[8:].decode("utf-8", "replace"), text=text)

    def _counters(self) -> Iterator[Problem]:
        totals, count = self._totals, self._recount
        for name, counted, found in (
            ("urls", totals.urls, self._index.rows),
            ("hosts", totals.hosts, count.hosts),
            ("parked", totals.parked, count.parked),
            ("hosts_with_work", totals.hosts_with_work, count.with_work),
            ("queued", totals.queued, sum(count.levels)),
            ("pages by depth", totals.pages, sum(totals.depths.values())),
        ):
            if counted != found:
                yield counter(name, counted, found)
        for place, (counted, found) in enumerate(zip(totals.queued_by_level, count.levels, strict=False)):
            if counted != found:
                kind = " (refresh)" if place >= LEVELS else ""
                yield counter(f"queued at level {place % LEVELS}{kind}", counted, found)
        if totals.pages > self._index.page_visits:
            yield counter("pages", totals.pages, self._index.page_visits)


def _places(row: HostRow) -> list[tuple[int, int]]:
    """Level and sequence of a host in the front queues."""
    return [place for place in (place_of(row, refresh=False), place_of(row, refresh=True)) if place[0] >= 0]


def _entry(slot: bytes, value: bytes) -> tuple[int, int, str] | None:
    """(level, sequence, URL key) of a queue entry; None when it is damaged."""
    if len(slot) <= _PLACE_BYTES or slot[-_PLACE_BYTES] != 0:
        return None
    place, sequence = queue_place(slot)
    try:
        return (place, sequence, decode_entry(value).key) if place < QUEUE_LEVELS else None
    except msgspec.MsgspecError:
        return None


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def counter(name: str, counted: int, found: int) -> Problem:
    """A counter that is off."""
    return Problem(kind="counter-differs", what=name, text=f"the counter says {counted:,}, there are {found:,}")
