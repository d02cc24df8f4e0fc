"""Checkers of copies, moves and mirrors: rows, index, ledgers and counters must say the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from gossamer.core.copies import shown
from gossamer.core.counters import Totals
from gossamer.core.keys import DISBAND_PREFIX, MEMBER_PREFIX, member_key
from gossamer.core.moves import TAKEN_MAX
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.policy.mirrors import MIRRORS_TRACKED_MAX
from gossamer.ports.store import Store

SCAN_AT_ONCE = 1_000


def clusters(store: Store, totals: Totals, urls: Mapping[str, UrlRow], hosts: Mapping[str, HostRow]) -> Iterator[str]:
    """Everything that is wrong with clusters, moves and mirrors."""
    yield from _members(store, urls)
    yield from _ledgers(urls, hosts)
    for name, counted, real in (
        ("moved", totals.moved, sum(bool(row.moved_to) for row in urls.values())),
        ("mirrors", totals.mirrors, sum(bool(row.mirror_of) for row in hosts.values())),
    ):
        if counted != real:
            yield f"counter {name} says {counted}, there are {real}"
    for key, row in urls.items():
        if len(row.moved_from) > TAKEN_MAX:
            yield f"{key} has taken the place of {len(row.moved_from)} pages"


def _members(store: Store, urls: Mapping[str, UrlRow]) -> Iterator[str]:
    index = set(_keys(store, MEMBER_PREFIX))
    open_ = {slot[len(DISBAND_PREFIX) :].decode() for slot in _keys(store, DISBAND_PREFIX)}
    for key, row in urls.items():
        if not row.duplicate_of:
            continue
        slot = member_key(row.duplicate_of, row.copied_at, key)
        if slot not in index:
            yield f"{key} is a copy of {row.duplicate_of}, whose copies do not include it"
        index.discard(slot)
        original = urls.get(row.duplicate_of)
        if original is None or not original.copied:
            yield f"{key} is a copy of {row.duplicate_of}, which knows of no copies"
        elif (not shown(original) or original.duplicate_of) and row.duplicate_of not in open_:
            yield f"{key} is a copy of {row.duplicate_of}, which is no original"
        if row.filed:
            yield f"{key} is a copy, and copies of it are looked for"
    for slot in index:
        yield f"{slot!r} names a copy that is none"


def _ledgers(urls: Mapping[str, UrlRow], hosts: Mapping[str, HostRow]) -> Iterator[str]:
    copies, pages = Counter[str](), Counter[str]()
    said: dict[str, Counter[str]] = {}
    for row in urls.values():
        copies[row.host] += bool(row.duplicate_of)
        pages[row.host] += bool(row.content_digest)
        if row.canonical_said:
            said.setdefault(row.host, Counter())[row.canonical_said] += 1
    for name, ledger in hosts.items():
        if ledger.duplicates != copies[name]:
            yield f"{name} says {ledger.duplicates} copies, there are {copies[name]}"
        if ledger.shown != pages[name]:
            yield f"{name} says that {ledger.shown} URLs show a page, {pages[name]} do"
        if +Counter(ledger.canonicals) != said.get(name, Counter()):
            yield f"{name} says {ledger.canonicals} of its canonicals, there are {said.get(name)}"
        if len(ledger.mirrors) > MIRRORS_TRACKED_MAX:
            yield f"{name} counts pairs with {len(ledger.mirrors)} hosts"
        if ledger.mirror_of and hosts[ledger.mirror_of].mirror_of == name:
            yield f"{name} and {ledger.mirror_of} are mirrors of each other"


def _keys(store: Store, prefix: bytes) -> Iterator[bytes]:
    start, stop = prefix, prefix[:-1] + b"\x01"
    while rows := store.scan(Cf.META, start, stop, SCAN_AT_ONCE):
        yield from (key for key, _ in rows)
        start = rows[-1][0] + b"\x00"
