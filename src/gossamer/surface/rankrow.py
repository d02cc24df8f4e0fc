"""What `gossamer rank` leaves in the store about its last run, for those that show it."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.record import Cf
from gossamer.ports.store import Store
from gossamer.surface.storescan import decoded

SUMMARY_KEY: Final = b"rank"


class Top(msgspec.Struct, frozen=True):
    """One of the most important hosts."""

    host: str
    importance: float
    value: float  # what the method gave it


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the job did; kept in the store."""

    version: int = 1  # of what the numbers mean
    method: str = ""
    time: float = 0.0  # unix seconds; the same as `ranked` of the ledgers it wrote
    hosts: int = 0  # in the graph
    sites: int = 0
    links: int = 0  # pairs of hosts of different sites
    pages: int = 0  # that the link logs tell of
    left_out: int = 0  # links and pages that were not counted: no room, or lost
    logs: int = 0
    rounds: int = 0
    settled: bool = True
    exact: bool = True
    written: int = 0  # ledgers
    top: tuple[Top, ...] = ()


_decode: Final = msgspec.msgpack.Decoder(Summary).decode


def last_summary(store: Store) -> Summary | None:
    """What the last run of the job found; None when there was none. Raises StoreError when it cannot be read."""
    raw = store.get(Cf.META, SUMMARY_KEY)
    return None if raw is None else decoded(_decode, Cf.META, SUMMARY_KEY, raw)
