"""A witness beside the crawl: it reads the crawl log as it grows, and counts what the crawl does and whether it may.

Nothing of this is asked of the crawl. Gaps are judged by the times in the log, pages by the robots.txt in the store, as
it was when they were fetched; what cannot be judged (the rules were read anew since) is counted as such.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.url import wire_parts
from gossamer.policy.robots import Rules
from gossamer.surface.forecast import DiskSample, DiskWatch
from gossamer.surface.hoststory import is_too_short
from gossamer.surface.logtail import Follower
from gossamer.surface.reader import Reader

LOOK_S: Final = 5.0
EDGES_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
JUDGED_MAX: Final = 500  # pages of one look that are held against robots.txt
RULES_KEPT: Final = 2_000
OFFENDERS_MAX: Final = 20  # the last requests that should not have been made, told in full


class Histogram:
    """Counts of values by EDGES_S, and their sum."""

    def __init__(self) -> None:
        """Empty."""
        self.counts = [0] * (len(EDGES_S) + 1)
        self.total = 0.0

    def add(self, value_s: float) -> None:
        """Count one value."""
        self.total += value_s
        for place, edge in enumerate(EDGES_S):
            if value_s <= edge:
                self.counts[place] += 1
                return
        self.counts[-1] += 1

    def edges(self) -> list[tuple[float, int]]:
        """(upper edge, count), the last one infinite."""
        return [*zip(EDGES_S, self.counts, strict=False), (float("inf"), self.counts[-1])]


class Offence(msgspec.Struct, frozen=True):
    """A request that should not have been made."""

    time: float  # unix seconds
    url: str
    what: str


class Witness:
    """Watches one crawl."""

    def __init__(self, log: Path) -> None:
        """Watch from now on; `log` is the crawl's log directory."""
        self._log = log
        self._follower = Follower(log)
        self._unjudged: list[FetchEvent] = []
        self._rules: OrderedDict[tuple[str, str, float], Rules] = OrderedDict()
        self.visits: Counter[str] = Counter()  # by kind
        self.phases = {name: Histogram() for name in ("connect", "first_byte", "whole")}
        self.digest_s = Histogram()
        self.gaps_too_short = 0
        self.robots_judged = 0
        self.robots_not_judged = 0
        self.robots_violations = 0
        self.offences: list[Offence] = []
        self._disk = DiskWatch()
        self.began = 0.0  # unix seconds of the first look; 0: before it

    @property
    def disk(self) -> list[DiskSample]:
        """How much was free on the volume of the log, each minute."""
        return self._disk.samples

    def due(self) -> list[FetchEvent]:
        """Pages of the look before: what they are to be judged by is in the store by now."""
        pages, self._unjudged = self._unjudged, []
        return pages

    def look(self, now: float) -> None:
        """Take what was added to the log since the last look; `now` in unix seconds."""
        self.began = self.began or now
        self._disk.look(now, self._log)
        for event in self._follower.take():
            self._count(event)

    def _count(self, event: FetchEvent) -> None:
        if not event.started:
            return
        self.visits[event.kind.value] += 1
        self.phases["whole"].add(event.elapsed_ms / 1000)
        if event.status:
            self.phases["first_byte"].add(event.first_byte_ms / 1000)
        if event.connect_ms and not event.reused:
            self.phases["connect"].add(event.connect_ms / 1000)
        if event.digest_ms:
            self.digest_s.add(event.digest_ms / 1000)
        if is_too_short(event):
            self.gaps_too_short += 1
            self._accuse(event, f"{event.gap_s:.3f} s after the request before; the gap was {event.delay_s:.3f} s")
        if event.kind is Kind.PAGE:
            if len(self._unjudged) < JUDGED_MAX:
                self._unjudged.append(event)
            else:
                self.robots_not_judged += 1

    def judge(self, reader: Reader, pages: list[FetchEvent]) -> None:
        """Hold pages against the robots.txt that was in force when they were requested."""
        for event in pages:
            scheme, _, _, target = wire_parts(event.url)
            row = reader.host_row(event.host)
            state = row.robots.get(scheme) if row is not None else None
            if state is None or state.fetched > event.started or state.expires < event.started or state.failures:
                self.robots_not_judged += 1
                continue
            self.robots_judged += 1
            if state.verdict == "allow":
                continue
            why = f"robots.txt allows nothing ({state.why})"
            if state.verdict == "rules":
                rules = self._rules_of(reader, event.host, scheme, state.fetched)
                verdict = rules.decide(target) if rules is not None else None
                if verdict is None or verdict.allowed:
                    continue
                why = f"robots.txt line {verdict.line}: {verdict.rule}"
            self.robots_violations += 1
            self._accuse(event, why)

    def _rules_of(self, reader: Reader, host: str, scheme: str, fetched: float) -> Rules | None:
        key = (host, scheme, fetched)
        known = self._rules.get(key)
        if known is None:
            known = reader.rules(host, scheme)
            if known is None:
                return None
            self._rules[key] = known
            if len(self._rules) > RULES_KEPT:
                self._rules.popitem(last=False)
        return known

    def _accuse(self, event: FetchEvent, what: str) -> None:
        self.offences = [*self.offences[-OFFENDERS_MAX + 1 :], Offence(event.started, event.url, what)]

    def close(self) -> None:
        """Let the log go."""
        self._follower.close()
