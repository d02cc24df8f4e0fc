"""A store that notes how long its calls take, and how many rows they read and write. Around any store; for one thread.

By the clock: asking for a thread's CPU takes as long as a short read. Only a quiet machine says something so.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

import msgspec

from gossamer.model.record import Cf
from gossamer.ports.store import Op, Store


class Calls(msgspec.Struct):
    """Calls of one kind."""

    calls: int = 0
    rows: int = 0
    took_s: float = 0.0

    def add(self, rows: int, began_s: float) -> None:
        """One more call, over now."""
        self.took_s += time.perf_counter() - began_s
        self.calls += 1
        self.rows += rows


class TimedStore:
    """Passes everything on, and notes it. Syncs are another thread's."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.reads, self.scans, self.writes = Calls(), Calls(), Calls()

    def forget(self) -> None:
        """Count from now on."""
        self.reads, self.scans, self.writes = Calls(), Calls(), Calls()

    def get(self, cf: Cf, key: bytes) -> bytes | None:
        """The value, or None."""
        began_s = time.perf_counter()
        found = self._store.get(cf, key)
        self.reads.add(1, began_s)
        return found

    def get_many(self, cf: Cf, keys: Sequence[bytes]) -> list[bytes | None]:
        """Values in the order of the keys."""
        began_s = time.perf_counter()
        found = self._store.get_many(cf, keys)
        self.reads.add(len(keys), began_s)
        return found

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` pairs with start <= key < stop, ascending."""
        began_s = time.perf_counter()
        found = self._store.scan(cf, start, stop, limit)
        self.scans.add(len(found), began_s)
        return found

    def write(self, ops: Iterable[Op]) -> None:
        """Apply all or nothing."""
        rows = list(ops)
        began_s = time.perf_counter()
        self._store.write(rows)
        self.writes.add(len(rows), began_s)

    def sync(self) -> None:
        """Make everything written so far durable."""
        self._store.sync()

    def close(self) -> None:
        """Sync and release the store."""
        self._store.close()
