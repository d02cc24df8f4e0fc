"""Letting URLs in: known already?, budgets, growth traps, then a row and a place in the queue. One commit decides."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from gossamer.core.changes import Changes, decode_site, decode_stage, decode_url, encode
from gossamer.core.counters import Counters, bump
from gossamer.core.hostqueue import enqueue
from gossamer.core.ledger import Ledger
from gossamer.core.takedowns import TakedownDesk
from gossamer.core.twins import known_twin
from gossamer.core.waiting import Waiting, place_of
from gossamer.model.limits import LEVELS, MISSING_MAX, PENDING_PER_HOST_MAX, SITE_HOSTS_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, Entry, HostRow, NewUrlRow, SiteRow, State, UrlRow
from gossamer.policy.traps import judge_duplicates, judge_hosts, shapes_of

KNOWN_GENERATION_MAX: Final = 100_000  # keys in each of the two generations of the recently-known cache
DEFERRED_LEVEL: Final = 4  # past the pending cap only levels above this one are admitted ...
HIGHER_PRIORITY_FACTOR: Final = 2  # ... and past so many times the cap only seeds
GONE_IGNORED_S: Final = 90 * 86_400.0  # links to a page that was found to be gone are ignored for so long


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
    claimed_s: float = 0.0  # time between its changes, as its sitemap says


class Admitted(NamedTuple):
    """What became of candidates: how many were let in, how many were refused by reason, and the keys of these."""

    new: int
    refused: dict[str, int]
    refused_keys: tuple[str, ...]


class Known:
    """A bounded memory of URL keys that are surely in the store: two generations, the older one is dropped whole."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._young: set[str] = set()
        self._old: set[str] = set()

    def __contains__(self, key: object) -> bool:
        """Whether the key was seen lately. False says nothing."""
        return key in self._young or key in self._old

    def generations(self) -> tuple[AbstractSet[str], AbstractSet[str]]:
        """Both generations, for a loop over many keys."""
        return self._young, self._old

    def forget(self, key: str) -> None:
        """Look this key up again when it comes."""
        self._young.discard(key)
        self._old.discard(key)

    def add(self, key: str) -> None:
        """Remember a key."""
        self._young.add(key)
        if len(self._young) >= KNOWN_GENERATION_MAX:
            self._old, self._young = self._young, set()


class Admission:
    """The gate of the frontier."""

    def __init__(
        self, ledger: Ledger, counters: Counters, waiting: Waiting, takedowns: TakedownDesk | None = None
    ) -> None:
        """Admit into the queues of `waiting` and the rows of `ledger`."""
        self._ledger = ledger
        self._counters = counters
        self._waiting = waiting
        self._takedowns = takedowns
        self.known = Known()

    def admit(self, changes: Changes, candidates: list[Candidate], now: float) -> Admitted:
        """Let in what is new, or was gone for long. Known ones are neither let in nor refused."""
        fresh, gone = self._fresh(changes, candidates, now)
        admitted = 0
        refused: dict[str, int] = {}
        refused_keys: list[str] = []
        touched: dict[str, HostRow] = {}
        sites: dict[str, SiteRow | None] = {}
        closed = self._takedowns if self._takedowns is not None and self._takedowns.any else None
        for candidate in fresh:
            if closed is not None and closed.refusal(candidate.url):
                bump(refused, Reason.TAKEDOWN)
                refused_keys.append(candidate.key)
                self._counters.refuse(Reason.TAKEDOWN)
                continue
            row = touched.get(candidate.host)  # the ledger's cache may have let go of a row that is not written yet
            if row is None:
                row = self._ledger.find(candidate.host, changes)
                if row is None:
                    unwanted = self._host_refusal(changes, candidate, now)
                    if unwanted is not None:
                        bump(refused, unwanted)
                        refused_keys.append(candidate.key)
                        self._counters.refuse(unwanted)
                        continue
                    row, _ = self._ledger.load(candidate.host, candidate.site)
                    self._counters.totals.hosts += 1
                touched[row.host] = row
            reason = self._refusal(candidate, row) or self._twin(changes, candidate, sites)
            if reason is not None:
                bump(refused, reason)
                refused_keys.append(candidate.key)
                bump(row.refused, reason)
                self._counters.refuse(reason)
                continue
            if candidate.key in gone:
                self._revive(changes, candidate, row, gone[candidate.key])
            else:
                self._enter(changes, candidate, row, now)
            admitted += 1
        for row in touched.values():
            self._ledger.put(changes, row)
        return Admitted(admitted, refused, tuple(refused_keys))

    def _fresh(
        self, changes: Changes, candidates: list[Candidate], now: float
    ) -> tuple[list[Candidate], dict[str, UrlRow]]:
        """What is not known, and the rows of those among it that were gone for long."""
        unsure: dict[str, Candidate] = {}
        for candidate in candidates:
            if candidate.key not in self.known:
                unsure.setdefault(candidate.key, candidate)
        if not unsure:
            return [], {}
        found = changes.get_many(Cf.URL, [key.encode() for key in unsure])
        fresh: list[Candidate] = []
        gone: dict[str, UrlRow] = {}
        for (key, candidate), raw in zip(unsure.items(), found, strict=True):
            if raw is None:
                fresh.append(candidate)
            elif decode_stage(raw).state is not State.GONE:
                self.known.add(key)
            else:
                row = changes.url(key)
                if row is not None and row.host == candidate.host and now - row.visited >= GONE_IGNORED_S:
                    fresh.append(candidate)
                    gone[key] = row
        return fresh, gone

    def _host_refusal(self, changes: Changes, candidate: Candidate, now: float) -> Reason | None:
        """Whether a site may show another host: a wildcard name would show them without end. Counts those let in."""
        slot = candidate.site.encode()
        raw = changes.get(Cf.SITE, slot)
        site = decode_site(raw) if raw is not None else SiteRow(window_start=now)
        if candidate.depth:
            if site.hosts >= SITE_HOSTS_MAX:
                return Reason.SITE_HOSTS
            if judge_hosts(site.fronts, site.copied_fronts) is not None:
                return Reason.TRAP_HOSTS
        site.hosts += 1
        changes.put(Cf.SITE, slot, encode(site))
        return None

    def _refusal(self, candidate: Candidate, row: HostRow) -> Reason | None:
        if row.pending >= PENDING_PER_HOST_MAX and candidate.depth:
            full = row.pending >= HIGHER_PRIORITY_FACTOR * PENDING_PER_HOST_MAX
            if full or candidate.level >= DEFERRED_LEVEL:
                return Reason.HOST_PENDING_FULL
        if candidate.kind is not Kind.PAGE or candidate.depth == 0 or not row.fetched:
            return None
        if row.tired_shapes and any(shape in row.tired_shapes for shape in shapes_of(candidate.url)):
            return Reason.TRAP_SHAPE
        return judge_duplicates(row.fetched, row.duplicates) if row.duplicates else None

    def _twin(self, changes: Changes, candidate: Candidate, sites: dict[str, SiteRow | None]) -> Reason | None:
        """Whether a link leads to a page that is known under its other scheme, or with or without www."""
        if candidate.kind is not Kind.PAGE or candidate.depth == 0 or candidate.redirects:
            return None
        if candidate.site not in sites:
            raw = changes.get(Cf.SITE, candidate.site.encode())
            sites[candidate.site] = decode_site(raw) if raw is not None else None
        site = sites[candidate.site]
        if site is None or not site.twins or known_twin(changes, site, candidate.key, candidate.site) is None:
            return None
        return Reason.TWIN

    def _enter(self, changes: Changes, candidate: Candidate, row: HostRow, now: float) -> None:
        sequence = self._counters.sequence()
        fresh = NewUrlRow(
            candidate.url,
            row.host,
            State.QUEUED,
            candidate.kind,
            candidate.depth,
            candidate.level,
            sequence,
            now,
            candidate.via,
            candidate.redirects,
        )
        row_bytes = encode(fresh)
        if candidate.claimed_s:
            full = decode_url(row_bytes)
            full.claimed_s = candidate.claimed_s
            row_bytes = encode(full)
        changes.put(Cf.URL, candidate.key.encode(), row_bytes)
        self.known.add(candidate.key)
        self._counters.totals.urls += 1
        self.queue(changes, row, candidate.key, candidate.level, sequence, refresh=False)

    def _revive(self, changes: Changes, candidate: Candidate, host: HostRow, row: UrlRow) -> None:
        """A link leads to a page that was gone for long: one more look, and it is gone again if that finds nothing."""
        row.state, row.reason, row.detail = State.QUEUED, "", ""
        row.missing = min(row.missing, MISSING_MAX)
        row.level, row.sequence, row.attempts = candidate.level, self._counters.sequence(), 0
        changes.put_url(candidate.key, row)
        self._counters.totals.revived += 1
        self.queue(changes, host, candidate.key, row.level, row.sequence, refresh=False)

    def queue(self, changes: Changes, row: HostRow, key: str, level: int, sequence: int, *, refresh: bool) -> None:
        """Put a known URL at the end of a level of its host's queue, and its host among the waiting ones.

        The caller puts the ledger row and the URL row.
        """
        place = level + LEVELS if refresh else level
        enqueue(changes, row, place, sequence, Entry(key, refresh))
        totals = self._counters.totals
        totals.queued += 1
        totals.queued_by_level[place] += 1
        totals.hosts_with_work += row.pending == 1
        waits = place_of(row, refresh=refresh)[0]
        if waits < 0 or place < waits:
            self._waiting.put(changes, row, place, self._counters.sequence())
