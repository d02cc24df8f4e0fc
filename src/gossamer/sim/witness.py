"""What happened in a run, event by event, and an onlooker who judges it: requests, rules, records. He outlives the
process: given the events up to a kill, he knows what the servers and the disk know then.

What the state must look like after each commit is `shadow`; who makes the events is `watch`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.page import Digest, Kind, Outcome, Pointer
from gossamer.ports.store import Op
from gossamer.sim.manners import Manners
from gossamer.sim.oracle import RobotsOracle


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened at a time (unix seconds)."""

    now: float


class Written(Event, frozen=True, kw_only=True):
    """A commit was written."""

    ops: list[Op]


class Synced(Event, frozen=True, kw_only=True):
    """Everything written so far was made durable."""


class Sent(Event, frozen=True, kw_only=True):
    """A request went out."""

    turn: Turn


class Arrived(Event, frozen=True, kw_only=True):
    """Its answer is there, and nothing is made of it yet."""

    turn: Turn


class Ended(Event, frozen=True, kw_only=True):
    """What an answer means for its host is written."""

    turn: Turn
    outcome: Outcome
    body: bytes  # of a robots.txt, decoded


class Resolved(Event, frozen=True, kw_only=True):
    """Addresses, or none, of a name are there."""

    name: str


class Digested(Event, frozen=True, kw_only=True):
    """A page is archived, and not yet committed."""

    digest: Digest


EFFECTS = (Written, Synced, Sent, Arrived, Resolved, Digested)  # a kill may come before and after each of these


class Witness:
    """Judges events in their order. Every method returns the faults it found."""

    def __init__(self, config: Config) -> None:
        """Of a crawl with this configuration."""
        self._config = config
        self.oracle = RobotsOracle(config.identity.product, config.robots.ttl_s, config.robots.unparseable)
        self.manners = Manners(config.politeness, self.oracle.crawl_delay_s)
        self.archive: dict[tuple[str, int], Pointer] = {}  # segment and offset -> record
        self.last = 0.0  # time of the last event

    def take(self, event: Event) -> list[str]:
        """Note an event: what is wrong with it."""
        faults = [f"time runs backwards: {event.now} after {self.last}"] if event.now < self.last else []
        self.last = max(self.last, event.now)
        if isinstance(event, Sent):
            faults += self._sent(event.turn, event.now)
        elif isinstance(event, Ended):
            faults += self._ended(event)
        elif isinstance(event, Digested):
            faults += self._archived(event.digest)
        return faults

    def killed(self, committed: Mapping[str, int]) -> None:
        """The process is gone; the next one begins with what is on the disk, and cuts off what no commit refers to.

        `committed`: segment -> bytes that commits refer to.
        """
        self.manners.killed(self.last)
        whole = {
            place: pointer
            for place, pointer in self.archive.items()
            if pointer.offset + pointer.length <= committed.get(pointer.segment, 0)
        }
        self.archive = whole

    def _sent(self, turn: Turn, now: float) -> list[str]:
        faults = self.manners.begun(turn.host, turn.lane, turn.target, now)
        if turn.kind is Kind.ROBOTS and turn.errand is not None:
            wrong = self.oracle.asked(turn.errand.for_host, turn.errand.scheme, turn.url)
        else:
            wrong = self.oracle.judge(turn.host, turn.scheme, turn.target, now)
        return [*faults, f"{turn.url} is asked for: {wrong}"] if wrong else faults

    def _ended(self, event: Ended) -> list[str]:
        turn, outcome = event.turn, event.outcome
        ours = outcome.failure is not None and outcome.failure.means_nothing
        if turn.kind is Kind.ROBOTS and turn.errand is not None and not ours:
            content_type = (outcome.header("content-type") or "").partition(";")[0].strip().lower()
            self.oracle.answered(
                turn.errand.for_host,
                turn.errand.scheme,
                turn.url,
                status=0 if outcome.failure else outcome.status,
                location=outcome.header("location") or "",
                html=content_type == "text/html" or event.body.lstrip()[:1] == b"<",
                body=event.body,
                truncated=outcome.truncated,
                now=event.now,
            )
        return self.manners.ended(
            turn.host,
            turn.lane,
            event.now,
            elapsed_s=outcome.elapsed_s,
            troubled=not ours and (bool(outcome.failure) or outcome.status == 429 or outcome.status >= 500),
            wait=(outcome.header("retry-after") or "") if outcome.status in (429, 503) else "",
            ours=ours,
        )

    def _archived(self, digest: Digest) -> list[str]:
        pointer = digest.pointer
        if pointer is None:
            return []
        faults = []
        place = (pointer.segment, pointer.offset)
        if place in self.archive:
            faults.append(f"two records are said to stand at {pointer}")
        if digest.committed_end < pointer.offset + pointer.length:
            faults.append(f"{pointer} ends beyond the durable length {digest.committed_end} of its segment")
        self.archive[place] = pointer
        return faults
