"""Front queues: hosts that have work and no slot, on disk, by kind of work and level; which kind is chosen next.

A host with new pages to fetch waits among those, one with refreshes due among these, one with both in both places.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from gossamer.core.chance import Chance, weighted
from gossamer.core.changes import Changes
from gossamer.core.keys import QUEUE_LEVELS, waiting_key
from gossamer.model.limits import HOST_QUANTUM, LEVEL_WEIGHTS, LEVELS
from gossamer.model.record import Cf, HostRow
from gossamer.ports.store import Store

READ_AHEAD: Final = 64
CREDIT_MAX: Final = 20.0 * HOST_QUANTUM  # turns that one kind of work can come to be owed


class Shares:
    """Keeps slots in the shares of discovery and refresh: what kind of host has had less than its share is next."""

    def __init__(self, discovery: float) -> None:
        """`discovery`: its share of the turns, from 0 to 1."""
        self._discovery = discovery
        self._credit = 0.0  # turns that discovery is owed; below 0, that refreshes are

    def discovery_next(self) -> bool:
        """Whether the next slot goes to a host with new pages, when there are hosts of both kinds."""
        return self._credit > 0 or (self._credit == 0 and self._discovery >= 0.5)

    def given(self, row: HostRow) -> None:
        """A host got a slot while hosts of both kinds waited: count the turns it is likely to take there."""
        turns = min(row.pending, HOST_QUANTUM)
        new = sum(row.pending_by_level[:LEVELS])
        due = row.pending - new
        new_turns = min(new, max(self._discovery * turns, turns - due))
        self._credit += self._discovery * turns - new_turns
        self._credit = max(-CREDIT_MAX, min(CREDIT_MAX, self._credit))


class Waiting:
    """Hands out waiting hosts by weighted level. An entry of a host stays on disk until its work is done.

    Levels 0-9 are those of new pages, 10-19 those of refreshes, as in the queues of hosts.
    """

    def __init__(self, store: Store) -> None:
        """Start at the front of every level: after a restart, hosts that were active come first."""
        self._store = store
        self._next = [0] * QUEUE_LEVELS
        self._ahead: list[deque[tuple[int, str]]] = [deque() for _ in range(QUEUE_LEVELS)]
        self._maybe = [True] * QUEUE_LEVELS

    def put(self, changes: Changes, row: HostRow, level: int, sequence: int) -> None:
        """Place a host at the end of a level; it leaves the one of that kind where it waited before."""
        refresh = level >= LEVELS
        self.remove(changes, row, refresh=refresh)
        changes.put(Cf.WAITING, waiting_key(level, sequence), row.host.encode())
        if refresh:
            row.refresh_waiting_level, row.refresh_waiting_sequence = level, sequence
        else:
            row.waiting_level, row.waiting_sequence = level, sequence
        self._maybe[level] = True

    def remove(self, changes: Changes, row: HostRow, *, refresh: bool) -> None:
        """Take a host out of the levels of one kind; nothing happens when it is not in."""
        level, sequence = place_of(row, refresh=refresh)
        if level < 0:
            return
        changes.delete(Cf.WAITING, waiting_key(level, sequence))
        if refresh:
            row.refresh_waiting_level = -1
        else:
            row.waiting_level = -1

    def wait(self, changes: Changes, row: HostRow, sequence: Callable[[], int]) -> None:
        """Place a host at the end of both kinds, as far as it has work of them. The caller puts the ledger row."""
        for refresh in (False, True):
            level = best_level(row, refresh=refresh)
            if level is not None:
                self.put(changes, row, level, sequence())

    def settle(self, changes: Changes, row: HostRow, sequence: Callable[[], int]) -> None:
        """Let a host stand where it has work, and only there. The caller puts the ledger row.

        Rows of earlier versions have one place for both kinds.
        """
        for refresh in (False, True):
            level, stands = best_level(row, refresh=refresh), place_of(row, refresh=refresh)[0] >= 0
            if level is None and stands:
                self.remove(changes, row, refresh=refresh)
            elif level is not None and not stands:
                self.put(changes, row, level, sequence())

    def take(self, chance: Chance, *, discovery: bool = True) -> tuple[str, int, int] | None:
        """The next host by weighted level with its level and sequence, or None when nothing waits.

        `discovery`: one with new pages, if there is any; else one with refreshes. Entries may be stale (moved since
        they were read): the caller compares with the ledger.
        """
        while True in self._maybe:
            levels = [level for level in range(QUEUE_LEVELS) if self._maybe[level]]
            levels = [level for level in levels if (level < LEVELS) == discovery] or levels
            level = weighted(chance, levels, [LEVEL_WEIGHTS[level % LEVELS] for level in levels])
            ahead = self._ahead[level]
            if not ahead:
                self._read(level)
            if ahead:
                sequence, host = ahead.popleft()
                return host, level, sequence
            self._maybe[level] = False
        return None

    def rewind(self) -> None:
        """Read every level from its front again, for hosts that were passed by."""
        self._next = [0] * QUEUE_LEVELS
        self._ahead = [deque() for _ in range(QUEUE_LEVELS)]
        self._maybe = [True] * QUEUE_LEVELS

    def anything(self) -> bool:
        """Whether some level may still have a host."""
        return True in self._maybe

    def both(self) -> bool:
        """Whether there may be hosts of both kinds."""
        return True in self._maybe[:LEVELS] and True in self._maybe[LEVELS:]

    def _read(self, level: int) -> None:
        start = waiting_key(level, self._next[level])
        stop = waiting_key(level, 2**64 - 1)
        for key, value in self._store.scan(Cf.WAITING, start, stop, READ_AHEAD):
            sequence = int.from_bytes(key[1:], "big")
            self._next[level] = sequence + 1
            self._ahead[level].append((sequence, value.decode()))


def place_of(row: HostRow, *, refresh: bool) -> tuple[int, int]:
    """Level and sequence at which a host waits for one kind of work; level -1: it does not."""
    if refresh:
        return row.refresh_waiting_level, row.refresh_waiting_sequence
    return row.waiting_level, row.waiting_sequence


def best_level(row: HostRow, *, refresh: bool) -> int | None:
    """The highest level, of 20, at which a host has work of one kind."""
    kind = range(LEVELS, QUEUE_LEVELS) if refresh else range(LEVELS)
    return next((level for level in kind if row.pending_by_level[level] > 0), None)
