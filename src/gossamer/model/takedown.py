"""A takedown: what must not be fetched, kept waiting or given out any more, since when, and what was done about it.

Which URLs a target covers is `policy.takedown`; where takedowns are kept is `adapters.exclusions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

import msgspec

TargetKind = Literal["host", "site", "prefix", "pattern"]


class Target(msgspec.Struct, frozen=True):
    """What a takedown is about.

    `host`: a name at every port, or NAME:PORT. `site`: a name and every name under it. `prefix`: an address; everything
    that begins with it, whatever the scheme. `pattern`: a glob for whole canonical URLs, * for any text.
    """

    kind: TargetKind
    value: str


class StepName(StrEnum):
    """What is done about a takedown, in this order; each is told with its time."""

    RECORDED = "recorded"  # durable: it survives restarts, and stored copies are not given out from here on
    ENFORCED = "enforced"  # the crawl dispatches nothing of it from here on
    ABORTED = "in-flight-aborted"  # count: requests cut off, leases of external fetchers among them
    REFUSED = "queued-refused"  # count: URLs taken out of queues and calendar
    CONFIRMED = "confirmed"  # all of the above is done
    PURGED = "purged"  # count: records removed from the archive
    LIFTED = "lifted"  # durable: copies are given out again
    RESTORED = "restored"  # count: URLs that are back in queues and calendar


class Step(msgspec.Struct, frozen=True):
    """One step that was taken."""

    name: StepName
    at: float  # unix seconds
    count: int = 0
    detail: str = ""


class Takedown(msgspec.Struct, frozen=True, kw_only=True):
    """One takedown, in force until it is lifted."""

    id: str
    target: Target
    reason: str
    ticket: str = ""
    by: str = ""  # who asked
    asked: float = 0.0  # unix seconds
    lifted: float = 0.0  # unix seconds; 0: in force
    lift_reason: str = ""
    lifted_by: str = ""
    last_request: float = 0.0  # unix seconds; when the last request to the target was sent, as far as this crawl knows
    steps: tuple[Step, ...] = ()

    @property
    def in_force(self) -> bool:
        """Whether it holds."""
        return not self.lifted

    def step(self, name: StepName) -> Step | None:
        """The last step of that name."""
        return next((step for step in reversed(self.steps) if step.name is name), None)

    @property
    def confirmed(self) -> bool:
        """Whether everything that its present state asks for is done."""
        if not self.in_force and self.step(StepName.ENFORCED) is None:
            return True  # no crawl has ever heard of it: there is nothing to undo
        last, since = (StepName.CONFIRMED, self.asked) if self.in_force else (StepName.RESTORED, self.lifted)
        step = self.step(last)
        return step is not None and step.at >= since


def unconfirmed_s(takedowns: Iterable[Takedown], now: float) -> float:
    """For how long the oldest takedown has waited to be confirmed, or its lifting to be; 0 when none waits."""
    since = [one.lifted or one.asked for one in takedowns if not one.confirmed]
    return max(0.0, now - min(since)) if since else 0.0
