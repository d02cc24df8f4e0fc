"""The embedded store: ordered bytes in column families, written in atomic batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from gossamer.model.record import Cf

Op = tuple[Cf, bytes, bytes | None]  # None deletes


class Store(Protocol):
    """An ordered key-value store with column families. All calls are synchronous and short."""

    def get(self, cf: Cf, key: bytes) -> bytes | None:
        """The value, or None."""
        ...

    def get_many(self, cf: Cf, keys: Sequence[bytes]) -> list[bytes | None]:
        """Values in the order of the keys."""
        ...

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` pairs with start <= key < stop, ascending. `stop` None: to the end."""
        ...

    def write(self, ops: Iterable[Op]) -> None:
        """Apply all or nothing; visible at once, durable after `sync`. Raises DiskFullError, StoreError."""
        ...

    def sync(self) -> None:
        """Make everything written so far durable. Raises DiskFullError, StoreError."""
        ...

    def close(self) -> None:
        """Sync and release the store. Closing it again does nothing; any other call raises StoreError from now on."""
        ...
