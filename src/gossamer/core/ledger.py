"""Host ledgers in memory: a write-through cache over the `host` column family; active hosts stay pinned."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from gossamer.core.changes import Changes, decode_host, encode
from gossamer.core.counters import Totals
from gossamer.core.keys import QUEUE_LEVELS
from gossamer.model.limits import LEVELS
from gossamer.model.record import Cf, HostRow
from gossamer.ports.store import Store

LEDGERS_CACHED_MAX: Final = 4_096


class Ledger:
    """Loads, creates and writes host rows. One object per host is shared by all who hold it."""

    def __init__(self, store: Store, min_delay_s: float, totals: Totals) -> None:
        """Read rows from `store`; new hosts start with a gap of `min_delay_s`. `totals` count what is stalled."""
        self._store = store
        self._totals = totals
        self._min_delay_s = min_delay_s
        self._pinned: dict[str, HostRow] = {}
        self._recent: OrderedDict[str, HostRow] = OrderedDict()

    def find(self, host: str, changes: Changes | None = None) -> HostRow | None:
        """The row of a known host, or None. `changes`: a commit that may hold a row the cache has let go of."""
        row = self._pinned.get(host)
        if row is not None:
            return row
        row = self._recent.get(host)
        if row is not None:
            self._recent.move_to_end(host)
            return row
        raw = (changes or self._store).get(Cf.HOST, host.encode())
        if raw is None:
            return None
        row = decode_host(raw)
        self._remember(row)
        return row

    def load(self, host: str, site: str) -> tuple[HostRow, bool]:
        """The row of a host, made when it is new; the flag says whether it was made now."""
        row = self.find(host)
        if row is not None:
            return row, False
        row = HostRow(
            host=host,
            site=site,
            delay_s=self._min_delay_s,
            pending_by_level=[0] * QUEUE_LEVELS,
            cursor=[0] * QUEUE_LEVELS,
        )
        self._remember(row)
        return row, True

    def put(self, changes: Changes, row: HostRow) -> None:
        """Add a row to a commit. The cached object is the truth until then, so it must be this one."""
        if row.parked or row.stalled:
            stalled = sum(row.pending_by_level[LEVELS:]) + row.late if row.parked else 0
            self._totals.stalled += stalled - row.stalled
            row.stalled = stalled
        changes.put(Cf.HOST, row.host.encode(), encode(row))

    def pin(self, row: HostRow) -> None:
        """Keep a row in memory while its host is active."""
        self._recent.pop(row.host, None)
        self._pinned[row.host] = row

    def unpin(self, host: str) -> None:
        """Let a row age out; its last state must have been put into a commit."""
        row = self._pinned.pop(host, None)
        if row is not None:
            self._remember(row)

    def _remember(self, row: HostRow) -> None:
        self._recent[row.host] = row
        while len(self._recent) > LEDGERS_CACHED_MAX:
            self._recent.popitem(last=False)
