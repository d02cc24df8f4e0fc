"""Responses between their fetch and their commit. Of several with one payload, one is archived and the others wait."""

from __future__ import annotations

import msgspec

from gossamer.core import ending
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.turn import Turn
from gossamer.model.page import Job, Kind, Outcome


class Pending(msgspec.Struct):
    """A response between its fetch and its commit."""

    turn: Turn
    outcome: Outcome
    job: Job
    gap_s: float | None
    lane: str


class Handover:
    """What was handed to digest, and what waits for it."""

    def __init__(self, context: Context) -> None:
        """Nothing is under way."""
        self._c = context
        self.pending: dict[int, Pending] = {}  # by job
        self.payloads: dict[str, list[Pending]] = {}  # payload being archived -> those that wait for it
        self.first: dict[int, str] = {}  # job -> payload that others may wait for

    def __len__(self) -> int:
        """Responses fetched and not yet committed."""
        return len(self.pending) + sum(map(len, self.payloads.values()))

    def give(
        self, changes: Changes, turn: Turn, outcome: Outcome, payload_digest: str, gap_s: float | None
    ) -> list[Job]:
        """Take a response; the jobs that can go now."""
        job = ending.make_job(self._c, changes, turn, outcome, payload_digest)
        return self._hand_over(Pending(turn, outcome, job, gap_s, turn.lane))

    def release(self, job_id: int) -> list[Job]:
        """A job is committed: those that waited for its payload can go, all at once when they are revisits of it."""
        digest = self.first.pop(job_id, None)
        if digest is None:
            return []
        jobs: list[Job] = []
        changes = Changes(self._c.store)
        for pending in self.payloads.pop(digest):
            pending.job = ending.make_job(self._c, changes, pending.turn, pending.outcome, digest)
            jobs += self._hand_over(pending)
        return jobs

    def _hand_over(self, pending: Pending) -> list[Job]:
        """A payload new to the corpus is archived by one job, so that the second becomes a revisit of the first."""
        job, digest = pending.job, pending.job.payload_digest
        if job.kind is not Kind.PAGE or job.status != ending.OK or job.revisit or job.truncated or not job.payload:
            self.pending[job.id] = pending
            return [job]
        waiting = self.payloads.get(digest)
        if waiting is not None:
            waiting.append(pending)
            return []
        self.payloads[digest] = []
        self.pending[job.id] = pending
        self.first[job.id] = digest
        return [job]
