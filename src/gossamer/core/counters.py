"""Counts of everything, kept incrementally and written with every commit: a crash cannot part them from the rows."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core.changes import Changes
from gossamer.core.keys import QUEUE_LEVELS, SEGMENT_PREFIX
from gossamer.model.errors import StoreError
from gossamer.model.limits import LEVELS
from gossamer.model.record import SCHEMA_VERSION, Cf
from gossamer.ports.store import Store

COUNTERS_KEY: Final = b"counters"
_SCHEMA_KEY: Final = b"schema"
SEGMENTS_READ_AT_ONCE: Final = 1_000


class Totals(msgspec.Struct, array_like=True, kw_only=True):
    """All counters of a partition. Open sets of names (statuses, reasons, types) are bounded by their sources."""

    sequence: int = 0  # last sequence number given out
    turns: int = 0
    runs: int = 0
    elapsed_s: float = 0.0
    started: float = 0.0  # first start, unix seconds
    pages: int = 0  # responses to page visits
    visits: int = 0  # all visits with an outcome
    bytes: int = 0  # received
    urls: int = 0
    hosts: int = 0
    queued: int = 0
    queued_by_level: list[int] = msgspec.field(default_factory=lambda: [0] * QUEUE_LEVELS)
    statuses: dict[str, int] = {}
    failures: dict[str, int] = {}
    refused: dict[str, int] = {}  # links and URLs that were not admitted or given up, by reason
    types: dict[str, tuple[int, int]] = {}  # media type -> (responses, bytes)
    languages: dict[str, int] = {}
    depths: dict[int, int] = {}
    errors: dict[str, int] = {}  # digest and hook errors
    exact: int = 0
    near: int = 0
    not_modified: int = 0
    parked: int = 0
    committed: dict[str, int] = {}  # open segment -> committed length in bytes
    latency: dict[int, int] = {}  # upper edge in ms -> visits
    records: int = 0
    hosts_with_work: int = 0  # have a URL queued
    promoted: int = 0  # copies that took the place of an original that went
    moved: int = 0  # pages whose place another has taken for good, by a permanent redirect
    mirrors: int = 0  # hosts that are mirrors of others now
    revived: int = 0  # pages that were gone and that a link brought back
    late: int = 0  # refreshes that are due and wait for room in the queue of their host
    lateness: dict[int, int] = {}  # of refreshes made of late: upper edge in seconds -> visits
    lateness_max_s: float = 0.0
    slipped: list[int] = msgspec.field(default_factory=lambda: [0] * LEVELS)  # refreshes made an hour late, by level
    hints: dict[str, int] = {}  # what became of hints that a page has changed
    stalled: int = 0  # refreshes that are due at hosts that are parked


TYPES_MAX: Final = 200  # distinct media types counted by name; the rest is "other"


def load_totals(store: Store) -> Totals:
    """Read the counters of a store. Raises StoreError for a store of another schema version."""
    version = store.get(Cf.META, _SCHEMA_KEY)
    if version is not None and int(version) > SCHEMA_VERSION:
        msg = (
            f"the state was written by a newer version (schema {int(version)}, this program knows {SCHEMA_VERSION}): "
            "use that version, nothing was changed"
        )
        raise StoreError(msg)
    raw = store.get(Cf.META, COUNTERS_KEY)
    if raw is None:
        return Totals()
    try:
        return msgspec.msgpack.decode(raw, type=Totals)
    except msgspec.MsgspecError as error:
        msg = f"the state is damaged: its counters cannot be read ({error})"
        raise StoreError(msg) from error


class Counters:
    """The totals and the sequence numbers."""

    def __init__(self, store: Store) -> None:
        """Continue from what the store holds."""
        self.totals = load_totals(store)
        self._encoder = msgspec.msgpack.Encoder()

    def put(self, changes: Changes) -> None:
        """Add the counters to a commit."""
        changes.put(Cf.META, COUNTERS_KEY, self._encoder.encode(self.totals))

    def put_schema(self, changes: Changes) -> None:
        """Mark a store with the schema version of this program."""
        changes.put(Cf.META, _SCHEMA_KEY, str(SCHEMA_VERSION).encode())

    def sequence(self) -> int:
        """A number larger than every one given out before, over restarts too."""
        self.totals.sequence += 1
        return self.totals.sequence

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count links or URLs that were not admitted."""
        bump(self.totals.refused, reason, count)

    def media_type(self, media_type: str, body_bytes: int) -> None:
        """Count a response by its type."""
        types = self.totals.types
        name = media_type or "none"
        if name not in types and len(types) >= TYPES_MAX:
            name = "other"
        count, total = types.get(name, (0, 0))
        types[name] = (count + 1, total + body_bytes)

    def latency(self, elapsed_s: float) -> None:
        """Count a response time in a histogram of powers of two."""
        edge = 1
        elapsed_ms = elapsed_s * 1000
        while edge < elapsed_ms:
            edge *= 2
        self.totals.latency[edge] = self.totals.latency.get(edge, 0) + 1


def bump(counts: dict[str, int], name: str, by: int = 1) -> None:
    """Add to a named count."""
    counts[name] = counts.get(name, 0) + by


def known_segments(store: Store) -> frozenset[str]:
    """Names of the segments that some commit refers to."""
    end = SEGMENT_PREFIX[:-1] + b"\x01"
    found: set[str] = set()
    start = SEGMENT_PREFIX
    while rows := store.scan(Cf.META, start, end, SEGMENTS_READ_AT_ONCE):
        found.update(key[len(SEGMENT_PREFIX) :].decode() for key, _ in rows)
        start = rows[-1][0] + b"\x00"
    return frozenset(found)
