"""Front queues: hosts that have work and no slot, on disk, by level."""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.core.chance import Chance, weighted
from gossamer.core.changes import Changes
from gossamer.core.keys import waiting_key
from gossamer.model.limits import LEVEL_WEIGHTS, LEVELS
from gossamer.model.record import Cf, HostRow
from gossamer.ports.store import Store

READ_AHEAD: Final = 64


class Waiting:
    """Hands out waiting hosts by weighted level. A host's entry stays on disk until its queue is drained."""

    def __init__(self, store: Store) -> None:
        """Start at the front of every level: after a restart, hosts that were active come first."""
        self._store = store
        self._next = [0] * LEVELS
        self._ahead: list[deque[tuple[int, str]]] = [deque() for _ in range(LEVELS)]
        self._maybe = [True] * LEVELS

    def put(self, changes: Changes, row: HostRow, level: int, sequence: int) -> None:
        """Place a host at the end of a level; it leaves the level where it waited before."""
        self.remove(changes, row)
        changes.put(Cf.WAITING, waiting_key(level, sequence), row.host.encode())
        row.waiting_level, row.waiting_sequence = level, sequence
        self._maybe[level] = True

    def remove(self, changes: Changes, row: HostRow) -> None:
        """Take a host out; nothing happens when it is not in."""
        if row.waiting_level >= 0:
            changes.delete(Cf.WAITING, waiting_key(row.waiting_level, row.waiting_sequence))
            row.waiting_level = -1

    def take(self, chance: Chance) -> tuple[str, int, int] | None:
        """The next host by weighted level with its level and sequence, or None when nothing waits.

        Entries may be stale (moved since they were read): the caller compares with the ledger.
        """
        while True:
            levels = [level for level in range(LEVELS) if self._maybe[level]]
            if not levels:
                return None
            level = weighted(chance, levels, [LEVEL_WEIGHTS[level] for level in levels])
            ahead = self._ahead[level]
            if not ahead:
                self._read(level)
            if ahead:
                sequence, host = ahead.popleft()
                return host, level, sequence
            self._maybe[level] = False

    def rewind(self) -> None:
        """Read every level from its front again, for hosts that were passed by."""
        self._next = [0] * LEVELS
        self._ahead = [deque() for _ in range(LEVELS)]
        self._maybe = [True] * LEVELS

    def anything(self) -> bool:
        """Whether some level may still have a host."""
        return any(self._maybe)

    def _read(self, level: int) -> None:
        start = waiting_key(level, self._next[level])
        stop = waiting_key(level, 2**64 - 1)
        for key, value in self._store.scan(Cf.WAITING, start, stop, READ_AHEAD):
            sequence = int.from_bytes(key[1:], "big")
            self._next[level] = sequence + 1
            self._ahead[level].append((sequence, value.decode()))
