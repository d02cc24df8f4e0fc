"""Checkers of copies, moves and mirrors: rows, index, ledgers and counters must say the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from gossamer.core.changes import decode_url
from gossamer.core.copies import shown
from gossamer.core.counters import Totals
from gossamer.core.keys import DISBAND_PREFIX, MEMBER_PREFIX, member_key
from gossamer.core.moves import TAKEN_MAX
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.policy.mirrors import MIRRORS_TRACKED_MAX
from gossamer.ports.store import Store

SCAN_AT_ONCE = 1_000


class Clusters:
    """Is shown every URL row once, then says what is wrong with clusters, moves and mirrors."""

    def __init__(self, store: Store, hosts: Mapping[str, HostRow]) -> None:
        """`hosts`: every ledger."""
        self._store = store
        self._hosts = hosts
        self._index = set(_keys(store, MEMBER_PREFIX))
        self._open = {slot[len(DISBAND_PREFIX) :].decode() for slot in _keys(store, DISBAND_PREFIX)}
        self._faults: list[str] = []
        self._moved = 0
        self._copies = Counter[str]()
        self._pages = Counter[str]()
        self._said: dict[str, Counter[str]] = defaultdict(Counter)

    def take(self, key: str, row: UrlRow) -> None:
        """Look at one row."""
        if row.moved_to:
            self._moved += 1
        if len(row.moved_from) > TAKEN_MAX:
            self._faults.append(f"{key} has taken the place of {len(row.moved_from)} pages")
        if row.content_digest:
            self._pages[row.host] += 1
        if row.canonical_said:
            self._said[row.host][row.canonical_said] += 1
        if row.duplicate_of:
            self._copies[row.host] += 1
            self._faults += self._member(key, row)

    def end(self, totals: Totals) -> Iterator[str]:
        """Everything that is wrong."""
        yield from self._faults
        for slot in self._index:
            yield f"{slot!r} names a copy that is none"
        yield from self._ledgers()
        for name, counted, real in (
            ("moved", totals.moved, self._moved),
            ("mirrors", totals.mirrors, sum(bool(row.mirror_of) for row in self._hosts.values())),
        ):
            if counted != real:
                yield f"counter {name} says {counted}, there are {real}"

    def _member(self, key: str, row: UrlRow) -> Iterator[str]:
        slot = member_key(row.duplicate_of, row.copied_at, key)
        if slot not in self._index:
            yield f"{key} is a copy of {row.duplicate_of}, whose copies do not include it"
        self._index.discard(slot)
        raw = self._store.get(Cf.URL, row.duplicate_of.encode())
        original = None if raw is None else decode_url(raw)
        if original is None or not original.copied:
            yield f"{key} is a copy of {row.duplicate_of}, which knows of no copies"
        elif (not shown(original) or original.duplicate_of) and row.duplicate_of not in self._open:
            yield f"{key} is a copy of {row.duplicate_of}, which is no original"
        if row.filed:
            yield f"{key} is a copy, and copies of it are looked for"

    def _ledgers(self) -> Iterator[str]:
        for name, ledger in self._hosts.items():
            if ledger.duplicates != self._copies[name]:
                yield f"{name} says {ledger.duplicates} copies, there are {self._copies[name]}"
            if ledger.shown != self._pages[name]:
                yield f"{name} says that {ledger.shown} URLs show a page, {self._pages[name]} do"
            if +Counter(ledger.canonicals) != self._said.get(name, Counter()):
                yield f"{name} says {ledger.canonicals} of its canonicals, there are {self._said.get(name)}"
            if len(ledger.mirrors) > MIRRORS_TRACKED_MAX:
                yield f"{name} counts pairs with {len(ledger.mirrors)} hosts"
            if ledger.mirror_of and self._hosts[ledger.mirror_of].mirror_of == name:
                yield f"{name} and {ledger.mirror_of} are mirrors of each other"


def _keys(store: Store, prefix: bytes) -> Iterator[bytes]:
    start, stop = prefix, prefix[:-1] + b"\x01"
    while rows := store.scan(Cf.META, start, stop, SCAN_AT_ONCE):
        yield from (key for key, _ in rows)
        start = rows[-1][0] + b"\x00"
