"""The queue of one active host: read from a cursor, level by level, never over what is already gone."""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.core.chance import Chance, weighted
from gossamer.core.changes import Changes, decode_entry, encode
from gossamer.core.keys import QUEUE_LEVELS, queue_key, queue_place
from gossamer.model.limits import LEVEL_WEIGHTS, LEVELS
from gossamer.model.record import Cf, Entry, HostRow
from gossamer.ports.store import Store

READ_AHEAD: Final = 8  # entries of one level held in memory


class Place:
    """One entry taken from a queue: where it stands and what it names."""

    __slots__ = ("key", "level", "refresh", "sequence")

    def __init__(self, level: int, sequence: int, entry: Entry) -> None:
        """A place at `level` (0-19) and `sequence`."""
        self.level = level
        self.sequence = sequence
        self.key = entry.key
        self.refresh = entry.refresh


class HostQueue:
    """Hands out the entries of one host; an entry stays on disk until its outcome is committed."""

    def __init__(self, store: Store, row: HostRow) -> None:
        """Start at the cursor in the ledger."""
        self._store = store
        self._row = row
        self._next = list(row.cursor)  # per level: first sequence not yet read
        self._ahead: dict[int, deque[tuple[int, Entry]]] = {}  # only levels that have something: hosts are many
        self.leased: set[tuple[int, int]] = set()
        self._leased_by_level = [0] * QUEUE_LEVELS

    def available(self) -> int:
        """Entries that are queued and not leased."""
        return self._row.pending - len(self.leased)

    def take(self, chance: Chance, discovery_share: float) -> Place | None:
        """Lease the next entry: kind of work by share, level by weight, first in first out within a level."""
        for _ in range(QUEUE_LEVELS):
            level = self._choose(chance, discovery_share)
            if level is None:
                return None
            place = self._head(level)
            if place is not None:
                self.leased.add((place.level, place.sequence))
                self._leased_by_level[level] += 1
                return place
            msg = (
                f"queue of {self._row.host} has {self._row.pending_by_level[level]} at level {level} but none is found"
            )
            raise AssertionError(msg)
        return None

    def give_back(self, place: Place) -> None:
        """End a lease without an outcome: the entry is the next of its level again."""
        self.leased.discard((place.level, place.sequence))
        self._leased_by_level[place.level] -= 1
        ahead = self._ahead.setdefault(place.level, deque())
        if ahead and ahead[0][0] < place.sequence:
            msg = f"{place.key} is given back after a later lease of its level"  # the cursor would pass it by
            raise AssertionError(msg)
        ahead.appendleft((place.sequence, Entry(place.key, place.refresh)))

    def withdraw(self, level: int, sequence: int) -> bool:
        """An entry is to be taken out of the queue in a commit, unless it is leased: then False, and it stays."""
        if (level, sequence) in self.leased:
            return False
        ahead = self._ahead.get(level)
        if ahead is not None:
            kept = deque(place for place in ahead if place[0] != sequence)
            if kept:
                self._ahead[level] = kept
            else:
                del self._ahead[level]
        return True

    def done(self, level: int, sequence: int) -> None:
        """Note that an entry was removed in a commit, and move the ledger's cursor."""
        self.leased.discard((level, sequence))
        self._leased_by_level[level] -= 1
        ahead = self._ahead.get(level)
        first = ahead[0][0] if ahead else self._next[level]
        for leased_level, leased_sequence in self.leased:
            if leased_level == level and leased_sequence < first:
                first = leased_sequence
        self._row.cursor[level] = max(self._row.cursor[level], first)

    def _choose(self, chance: Chance, discovery_share: float) -> int | None:
        counts = self._row.pending_by_level
        free = [level for level in range(QUEUE_LEVELS) if counts[level] > self._leased_by_level[level]]
        if not free:
            return None
        discovery = [level for level in free if level < LEVELS]
        refresh = [level for level in free if level >= LEVELS]
        if discovery and refresh:
            free = discovery if chance.random() < discovery_share else refresh
        if len(free) == 1:
            return free[0]
        return weighted(chance, free, [LEVEL_WEIGHTS[level % LEVELS] for level in free])

    def _head(self, level: int) -> Place | None:
        ahead = self._ahead.get(level) or self._read(level)
        if not ahead:
            return None
        sequence, entry = ahead.popleft()
        if not ahead:
            del self._ahead[level]
        return Place(level, sequence, entry)

    def _read(self, level: int) -> deque[tuple[int, Entry]]:
        host, ahead = self._row.host, deque[tuple[int, Entry]]()
        start = queue_key(host, level, self._next[level])
        stop = queue_key(host, level, 2**64 - 1)
        for key, value in self._store.scan(Cf.QUEUE, start, stop, READ_AHEAD):
            _, sequence = queue_place(key)
            self._next[level] = sequence + 1
            if (level, sequence) not in self.leased:
                ahead.append((sequence, decode_entry(value)))
        if ahead:
            self._ahead[level] = ahead
        return ahead


def enqueue(changes: Changes, row: HostRow, level: int, sequence: int, entry: Entry) -> None:
    """Add an entry to a host's queue in a commit; the ledger row must be put by the caller."""
    changes.put(Cf.QUEUE, queue_key(row.host, level, sequence), encode(entry))
    row.pending += 1
    row.pending_by_level[level] += 1


def dequeue(changes: Changes, row: HostRow, level: int, sequence: int) -> None:
    """Remove an entry from a host's queue in a commit; the ledger row must be put by the caller."""
    changes.delete(Cf.QUEUE, queue_key(row.host, level, sequence))
    row.pending -= 1
    row.pending_by_level[level] -= 1
