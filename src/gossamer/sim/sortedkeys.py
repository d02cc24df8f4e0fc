"""Keys in order, for stores in memory that hold millions: a list of short sorted lists."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from typing import Final

CHUNK: Final = 1_000  # keys in one list; it is cut in two when it has twice as many


class SortedKeys:
    """A set of keys that is kept in order: adding and removing cost a bisection and a short move."""

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        """Sort `keys`, which must not repeat."""
        ordered = sorted(keys)
        self._chunks = [ordered[at : at + CHUNK] for at in range(0, len(ordered), CHUNK)]
        self._last = [chunk[-1] for chunk in self._chunks]

    def add(self, key: bytes) -> None:
        """Add a key that is not there."""
        if not self._chunks:
            self._chunks.append([key])
            self._last.append(key)
            return
        at = min(bisect_left(self._last, key), len(self._chunks) - 1)
        chunk = self._chunks[at]
        insort(chunk, key)
        if len(chunk) > 2 * CHUNK:
            self._chunks[at : at + 1] = [chunk[:CHUNK], chunk[CHUNK:]]
            self._last[at : at + 1] = [chunk[CHUNK - 1], chunk[-1]]
        else:
            self._last[at] = chunk[-1]

    def remove(self, key: bytes) -> None:
        """Remove a key that is there."""
        at = bisect_left(self._last, key)
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, key)]
        if chunk:
            self._last[at] = chunk[-1]
        else:
            del self._chunks[at], self._last[at]

    def since(self, start: bytes) -> Iterator[bytes]:
        """Keys from `start` on, ascending. Nothing may be added or removed meanwhile."""
        begin = bisect_left(self._last, start)
        for at in range(begin, len(self._chunks)):
            chunk = self._chunks[at]
            first = bisect_left(chunk, start) if at == begin else 0
            for index in range(first, len(chunk)):  # no slice: most readers want a few keys
                yield chunk[index]
