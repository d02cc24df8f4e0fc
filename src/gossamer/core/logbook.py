"""Log lines in the commits they tell of, until the crawl log itself has them.

A line is in the store from its commit on, and in the log from the next sync on; then it leaves the store with one of
the next commits. So a process that ends anywhere leaves every line in one of the two, or in both: what the store still
has begins with lines that the log has already, if any, in the same order.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.core.changes import Changes
from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.record import Cf
from gossamer.ports.store import Store

LINE_PREFIX: Final = b"line\x00"
LINES_READ_AT_ONCE: Final = 1_000
_END: Final = b"line\x01"


class Logbook:
    """The lines of one partition that are committed and perhaps not yet logged, in order."""

    def __init__(self, store: Store) -> None:
        """Read what a run before left."""
        self._keys: deque[bytes] = deque()
        self._written: list[bytes] = []
        self.left: list[bytes] = []  # JSON lines, without their ends
        start = LINE_PREFIX
        while rows := store.scan(Cf.META, start, _END, LINES_READ_AT_ONCE):
            self._keys.extend(key for key, _ in rows)
            self.left.extend(line for _, line in rows)
            start = rows[-1][0] + b"\x00"
        self._next = int.from_bytes(self._keys[-1][len(LINE_PREFIX) :], "big") + 1 if self._keys else 0

    def put(self, changes: Changes, event: FetchEvent) -> None:
        """Add a line to the commit that it tells of."""
        key = LINE_PREFIX + self._next.to_bytes(8, "big")
        self._next += 1
        self._keys.append(key)
        changes.put(Cf.META, key, encode(event))

    def written(self, count: int) -> None:
        """The log has the next so many lines."""
        self._written += [self._keys.popleft() for _ in range(min(count, len(self._keys)))]

    def sweep(self, changes: Changes) -> None:
        """Remove from the store, with this commit, what the log has."""
        for key in self._written:
            changes.delete(Cf.META, key)
        self._written.clear()
