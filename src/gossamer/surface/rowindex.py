"""What `verify` holds of all rows while it goes over the archive: 28 bytes a record, 16 a queued or due URL.

Records are known by their place, everything else by a 64-bit hash of all that identifies it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from gossamer.core.keys import due_key, queue_key
from gossamer.model.limits import LEVELS
from gossamer.model.page import Kind, Pointer
from gossamer.model.record import State, UrlRow

OFFSET_BITS: Final = 40  # segments of up to 1 TiB
LENGTH_MAX: Final = 2**32 - 1
Longs = npt.NDArray[np.uint64]


def hash_of(text: str) -> int:
    """64 bits that stand for a URL key or a payload digest."""
    return xxh3_64_intdigest(text.encode())


def place_identity(host: str, place: int, sequence: int, key: str) -> int:
    """One place in a queue and the URL that stands there."""
    return xxh3_64_intdigest(queue_key(host, place, sequence) + key.encode())


def row_place(key: str, row: UrlRow) -> int | None:
    """Identity of the place that a row says it has in the queue; None when it says it has none."""
    if row.state is not State.QUEUED and not row.refresh:
        return None
    return place_identity(row.host, row.level + LEVELS if row.refresh else row.level, row.sequence, key)


def row_due(key: str, row: UrlRow) -> int | None:
    """Identity of the place that a row says it has in the calendar; None when it says it has none."""
    return xxh3_64_intdigest(due_key(row.due, key)) if row.due else None


def row_pointers(row: UrlRow) -> list[Pointer]:
    """Every record a row names."""
    earlier = [pointer for _, _, pointer in row.history]
    return earlier if row.pointer is None else [*earlier, row.pointer]


class RowIndex:
    """Gathered in one pass over the rows, then frozen."""

    def __init__(self, segments: Iterable[str]) -> None:
        """`segments`: the names in the archive."""
        self.segments = {name: number for number, name in enumerate(segments)}
        self.rows = 0
        self.page_visits = 0
        self._positions = array("Q")
        self._keys = array("Q")
        self._digests = array("Q")
        self._lengths = array("I")
        self._places = array("Q")
        self._dues = array("Q")
        self.positions: Longs = np.empty(0, np.uint64)
        self.keys = self.digests = self.lengths = self.places = self.dues = self.positions
        self.matched: npt.NDArray[np.bool_] = np.empty(0, np.bool_)

    def add(self, key: str, row: UrlRow) -> str:
        """Take a row; returns what is impossible about it, or ""."""
        self.rows += 1
        if row.kind is Kind.PAGE:
            self.page_visits += row.visits
        place, due = row_place(key, row), row_due(key, row)
        if place is not None:
            self._places.append(place)
        if due is not None:
            self._dues.append(due)
        hashed = hash_of(key)
        digest = hash_of(row.payload_digest) if row.payload_digest else 0
        for pointer in row_pointers(row):
            if not (0 <= pointer.offset < 1 << OFFSET_BITS and 0 < pointer.length <= LENGTH_MAX):
                return f"it names a record of {pointer.length} bytes at {pointer.offset}, which cannot be"
            self._positions.append(self.position(pointer))
            self._keys.append(hashed)
            self._digests.append(digest if pointer is row.pointer else 0)
            self._lengths.append(pointer.length)
        return "it was fetched, but names no record" if row.pointer is None and row.state is State.FETCHED else ""

    def position(self, pointer: Pointer) -> int:
        """A record's place as one number; places in one segment are in the order of their offsets."""
        number = self.segments.setdefault(pointer.segment, len(self.segments))
        return number << OFFSET_BITS | pointer.offset

    def freeze(self) -> None:
        """Sort everything; nothing is added after this."""
        positions = _longs(self._positions)
        order = np.argsort(positions, kind="stable")
        self.positions = positions[order]
        self.keys, self.digests = _longs(self._keys)[order], _longs(self._digests)[order]
        self.lengths = _longs(self._lengths)[order]
        self.places, self.dues = np.sort(_longs(self._places)), np.sort(_longs(self._dues))
        self.matched = np.zeros(len(self.positions), np.bool_)
        for gathered in (self._positions, self._keys, self._digests, self._lengths, self._places, self._dues):
            del gathered[:]

    def of_segment(self, name: str) -> dict[int, int]:
        """Offset -> index of every record that rows name in a segment."""
        number = self.segments.get(name)
        if number is None:
            return {}
        low, high = np.searchsorted(self.positions, np.array([number, number + 1], np.uint64) << np.uint64(OFFSET_BITS))
        mask = (1 << OFFSET_BITS) - 1
        return {position & mask: int(low) + at for at, position in enumerate(self.positions[low:high].tolist())}

    def names(self, pointer: Pointer) -> bool:
        """Whether some row names this record."""
        return contains(self.positions, self.position(pointer))

    def unmatched(self) -> Longs:
        """Places of records that rows name and the walk did not come across, sorted."""
        return self.positions[~self.matched]


def contains(values: Longs, value: int) -> bool:
    """Whether a sorted array has a value."""
    at = int(np.searchsorted(values, np.uint64(value)))
    return at < len(values) and int(values[at]) == value


def difference(found: Sequence[int], known: Longs) -> tuple[Longs, Longs]:
    """(found and not known, known and not found), each sorted and distinct."""
    mine = np.unique(_longs(found))
    return np.setdiff1d(mine, known), np.setdiff1d(known, mine)


def _longs(values: Sequence[int]) -> Longs:
    return np.array(values, np.uint64)
