"""Idle connections: at most one for a (scheme, name, port, address), bounded in number and age."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gossamer.adapters.http.exchange import Exchange


class Key(NamedTuple):
    """What a connection is good for. The address is part of it: it was vetted, and lanes are addresses."""

    scheme: str
    name: str
    port: int
    address: str


class Pool:
    """Keeps connections between the turns of their hosts; the longest idle goes first. Times are monotonic seconds.

    `lost` is told of a connection that its peer closed while it was idle.
    """

    def __init__(self, idle_max: int, idle_s: float, lost: Callable[[Key, Exchange], None]) -> None:
        self._lost = lost
        self._idle_max = idle_max
        self._idle_s = idle_s
        self._idle: OrderedDict[Key, tuple[Exchange, float]] = OrderedDict()
        self._by_name: dict[str, set[Key]] = {}

    def __len__(self) -> int:
        return len(self._idle)

    def take(self, key: Key, now: float) -> Exchange | None:
        """An idle connection that still looks alive, or None."""
        entry = self._remove(key)
        if entry is None:
            return None
        connection, since = entry
        connection.on_idle_lost = None
        if connection.usable and now - since <= self._idle_s:
            return connection
        connection.close()
        return None

    def put(self, key: Key, connection: Exchange, now: float) -> None:
        """Keep a connection; those too old or too many are closed."""
        self._close(key)
        self._idle[key] = (connection, now)
        self._by_name.setdefault(key.name, set()).add(key)
        connection.on_idle_lost = lambda: self._drop(key, connection)
        while self._idle:
            oldest = next(iter(self._idle))
            if len(self._idle) <= self._idle_max and now - self._idle[oldest][1] <= self._idle_s:
                break
            self._close(oldest)

    def forget(self, name: str) -> None:
        """Close the connections of a host name."""
        for key in tuple(self._by_name.get(name, ())):
            self._close(key)

    def clear(self) -> None:
        """Close every connection."""
        for key in tuple(self._idle):
            self._close(key)

    def _drop(self, key: Key, connection: Exchange) -> None:
        """A connection was lost while it was idle."""
        if key in self._idle and self._idle[key][0] is connection:
            self._remove(key)
            self._lost(key, connection)

    def _close(self, key: Key) -> None:
        entry = self._remove(key)
        if entry is not None:
            entry[0].close()

    def _remove(self, key: Key) -> tuple[Exchange, float] | None:
        entry = self._idle.pop(key, None)
        if entry is not None:
            keys = self._by_name[key.name]
            keys.discard(key)
            if not keys:
                del self._by_name[key.name]
        return entry
