"""Letting URLs in: known already?, budgets and growth traps, then a row and a place in the queue. One commit decides."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core.changes import Changes, decode_shape
from gossamer.core.counters import Counters, bump
from gossamer.core.hostqueue import enqueue
from gossamer.core.keys import shape_key
from gossamer.core.ledger import Ledger
from gossamer.core.waiting import Waiting
from gossamer.model.limits import LEVELS, PENDING_PER_HOST_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, Entry, HostRow, State, UrlRow
from gossamer.policy.traps import judge_duplicates, judge_shape, shape_of

KNOWN_GENERATION_MAX: Final = 100_000  # keys in each of the two generations of the recently-known cache
DEFERRED_LEVEL: Final = 4  # past the pending cap only levels above this one are admitted


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that passed the pure checks and asks to be let in."""

    url: str
    key: str
    host: str
    site: str
    level: int
    depth: int
    via: str
    kind: Kind = Kind.PAGE
    redirects: int = 0


class Known:
    """A bounded memory of URL keys that are surely in the store: two generations, the older one is dropped whole."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._young: set[str] = set()
        self._old: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Whether the key was seen lately. False says nothing."""
        return key in self._young or key in self._old

    def add(self, key: str) -> None:
        """Remember a key."""
        self._young.add(key)
        if len(self._young) >= KNOWN_GENERATION_MAX:
            self._old, self._young = self._young, set()


class Admission:
    """The gate of the frontier."""

    def __init__(self, ledger: Ledger, counters: Counters, waiting: Waiting) -> None:
        """Admit into the queues of `waiting` and the rows of `ledger`."""
        self._ledger = ledger
        self._counters = counters
        self._waiting = waiting
        self._known = Known()

    def admit(self, changes: Changes, candidates: list[Candidate], now: float) -> tuple[int, dict[str, int]]:
        """Let in what is new. Returns how many, and how many were refused by reason. Known ones are neither."""
        fresh = self._fresh(changes, candidates)
        admitted = 0
        refused: dict[str, int] = {}
        touched: dict[str, HostRow] = {}
        for candidate in fresh:
            row, made = self._ledger.load(candidate.host, candidate.site)
            if made:
                self._counters.totals.hosts += 1
            touched[row.host] = row
            reason = self._refusal(changes, candidate, row)
            if reason is not None:
                bump(refused, reason)
                bump(row.refused, reason)
                self._counters.refuse(reason)
                continue
            self._enter(changes, candidate, row, now)
            admitted += 1
        for row in touched.values():
            self._ledger.put(changes, row)
        return admitted, refused

    def _fresh(self, changes: Changes, candidates: list[Candidate]) -> list[Candidate]:
        unsure: dict[str, Candidate] = {}
        for candidate in candidates:
            if candidate.key not in self._known:
                unsure.setdefault(candidate.key, candidate)
        if not unsure:
            return []
        found = changes.get_many(Cf.URL, [key.encode() for key in unsure])
        fresh = []
        for (key, candidate), raw in zip(unsure.items(), found, strict=True):
            if raw is None:
                fresh.append(candidate)
            else:
                self._known.add(key)
        return fresh

    def _refusal(self, changes: Changes, candidate: Candidate, row: HostRow) -> Reason | None:
        if row.pending >= PENDING_PER_HOST_MAX and candidate.level >= DEFERRED_LEVEL:
            return Reason.HOST_PENDING_FULL
        if candidate.kind is not Kind.PAGE or candidate.depth == 0:
            return None
        if row.fetched:
            reason = judge_duplicates(row.fetched, row.duplicates)
            if reason is not None:
                return reason
            raw = changes.get(Cf.HOST, shape_key(row.host, shape_of_key(candidate.url)))
            if raw is not None:
                return judge_shape(*decode_shape(raw))
        return None

    def _enter(self, changes: Changes, candidate: Candidate, row: HostRow, now: float) -> None:
        sequence = self._counters.sequence()
        changes.put_url(
            candidate.key,
            UrlRow(
                url=candidate.url,
                host=row.host,
                state=State.QUEUED,
                kind=candidate.kind,
                depth=candidate.depth,
                level=candidate.level,
                sequence=sequence,
                discovered=now,
                via=candidate.via,
                redirects=candidate.redirects,
            ),
        )
        self._known.add(candidate.key)
        totals = self._counters.totals
        totals.urls += 1
        self.queue(changes, row, candidate.key, candidate.level, sequence, refresh=False)

    def queue(  # noqa: PLR0913 - the parts of one queue entry
        self, changes: Changes, row: HostRow, key: str, level: int, sequence: int, *, refresh: bool
    ) -> None:
        """Put a known URL at the end of a level of its host's queue, and its host among the waiting ones.

        The caller puts the ledger row and the URL row.
        """
        place = level + LEVELS if refresh else level
        enqueue(changes, row, place, sequence, Entry(key, refresh))
        totals = self._counters.totals
        totals.queued += 1
        totals.queued_by_level[place] += 1
        totals.hosts_with_work += row.waiting_level < 0
        if row.waiting_level < 0 or level < row.waiting_level:
            self._waiting.put(changes, row, level, self._counters.sequence())


def shape_of_key(url: str) -> str:
    """The growth shape of a URL in its wire form."""
    return shape_of(url)
