"""Stores in memory: the fake of `ports.store.Store`, and one that can be cut off after any commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from gossamer.model.errors import StoreError
from gossamer.model.record import Cf
from gossamer.ports.store import Op
from gossamer.sim.sortedkeys import SortedKeys

CLOSED: Final = "the store is closed"


class _Closed(dict[Cf, Any]):
    """Column families of a closed store: asking an open one costs no check."""

    def __missing__(self, cf: Cf) -> NoReturn:
        raise StoreError(CLOSED)


class MemoryStore:
    """Column families as dicts; the keys of those that are scanned are kept in order from the first scan on.

    `writes` counts commits, `synced` how many of them are durable.
    """

    def __init__(self) -> None:
        """An empty store."""
        self._values: dict[Cf, dict[bytes, bytes]] = {cf: {} for cf in Cf}
        self._order: dict[Cf, SortedKeys] = {}
        self._closed = False
        self.writes = 0
        self.synced = 0

    def get(self, cf: Cf, key: bytes) -> bytes | None:
        """The value, or None."""
        return self._values[cf].get(key)

    def get_many(self, cf: Cf, keys: Sequence[bytes]) -> list[bytes | None]:
        """Values in the order of the keys."""
        values = self._values[cf]
        return [values.get(key) for key in keys]

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` pairs with start <= key < stop, ascending."""
        values = self._values[cf]
        order = self._order.get(cf)
        if order is None:
            order = self._order[cf] = SortedKeys(values)
        found: list[tuple[bytes, bytes]] = []
        for key in order.since(start):
            if len(found) >= limit or (stop is not None and key >= stop):
                break
            found.append((key, values[key]))
        return found

    def write(self, ops: Iterable[Op]) -> None:
        """Apply all or nothing."""
        self._check()
        orders = self._order
        for cf, key, value in ops if isinstance(ops, list) else list(ops):  # they may look at the store as it was
            values, order = self._values[cf], orders.get(cf)
            if value is None:
                if values.pop(key, None) is not None and order is not None:
                    order.remove(key)
                continue
            if order is not None and key not in values:
                order.add(key)
            values[key] = value
        self.writes += 1

    def sync(self) -> None:
        """Note that all commits so far are durable."""
        self._check()
        self.synced = self.writes

    def close(self) -> None:
        """Sync; what is called afterwards, other than this, raises StoreError."""
        if not self._closed:
            self.sync()
            self._closed = True
            self._values = _Closed()
            self._order.clear()

    def _check(self) -> None:
        if self._closed:
            raise StoreError(CLOSED)


class JournalStore(MemoryStore):
    """Keeps every commit, so that the state after any of them can be made again: what a kill there leaves behind."""

    def __init__(self) -> None:
        """An empty store with an empty journal."""
        super().__init__()
        self.journal: list[list[Op]] = []

    def write(self, ops: Iterable[Op]) -> None:
        """Apply all, and keep them."""
        batch = list(ops)
        super().write(batch)
        self.journal.append(batch)

    def after(self, commits: int) -> MemoryStore:
        """The state after the first `commits` commits."""
        store = MemoryStore()
        for batch in self.journal[:commits]:
            store.write(batch)
        return store
