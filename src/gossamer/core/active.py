"""A host that holds a slot: everything of it that lives in memory only."""

from __future__ import annotations

from collections import deque
from enum import StrEnum

from gossamer.core.hostqueue import HostQueue
from gossamer.core.lanes import Lane
from gossamer.core.turn import Errand
from gossamer.model.record import HostRow
from gossamer.policy.robots import Rules
from gossamer.ports.store import Store


class Phase(StrEnum):
    """What an active host waits for; printed by `explain`."""

    RESOLVING = "waits for DNS"
    LANE = "waits for its turn in the lane of its address"
    IN_FLIGHT = "is being fetched"
    DIGEST = "waits for its fetched pages to be committed"
    ROBOTS = "waits for a robots.txt that is served by another host"


class ActiveHost:
    """One host in a slot."""

    __slots__ = (
        "errands",
        "lane",
        "phase",
        "queue",
        "robots_elsewhere",
        "row",
        "rules",
        "stale",
        "turns",
        "uncommitted",
    )

    def __init__(self, store: Store, row: HostRow) -> None:
        """Activate a host from its ledger."""
        self.row = row
        self.queue = HostQueue(store, row)
        self.errands: deque[Errand] = deque()
        self.lane: Lane | None = None
        self.phase = Phase.RESOLVING
        self.turns = 0
        self.uncommitted = 0
        self.stale: set[str] = set()  # URL keys whose next turn takes a new connection; each is next in its queue
        self.robots_elsewhere: set[str] = set()
        self.rules: dict[str, tuple[float, Rules]] = {}  # scheme -> (when fetched, parsed)

    @property
    def name(self) -> str:
        """The ledger key of the host."""
        return self.row.host
