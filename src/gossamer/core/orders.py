"""What those who operate a crawl order while it runs, as far as it concerns the partition. `surface` is told."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core import pings, probing, sweeping
from gossamer.core.active import ActiveHost
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.rulesfetch import RulesFetch
from gossamer.core.turn import Errand
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.takedown import Step, Takedown


class Orders:
    """Orders to one partition. Each is one commit."""

    def __init__(self, context: Context, rules: RulesFetch, events: list[FetchEvent]) -> None:
        """`events` takes log lines of what is refused."""
        self._c = context
        self._rules = rules
        self._events = events

    def take_down(self, given: Iterable[Takedown], now: float) -> list[Takedown]:
        """Hold to a list of takedowns from this moment on. Returns those that begin or cease to hold with it.

        Requests in flight are the caller's to cut off (`Partition.cut_off`), queues are swept by `sweep`.
        """
        changes = Changes(self._c.store)
        moved = self._c.takedowns.enforce(changes, given, now)
        for host in list(self._c.frontier.active.values()) if moved else ():
            forgone = [errand for errand in host.errands if self._c.takedowns.refusal(errand.url)]
            for errand in forgone:
                host.errands.remove(errand)
                self.forgo(changes, host, errand, now)
            if forgone:
                self._c.ledger.put(changes, host.row)
        self._c.apply(changes)
        for name in self._rules.take_freed():
            self._c.frontier.resettle(name, now)
        return moved

    def forgo(self, changes: Changes, host: ActiveHost, errand: Errand, now: float) -> None:
        """What an errand would ask for has been taken down. The caller puts the ledger."""
        if errand.kind is Kind.ROBOTS:
            self._rules.forgo(changes, host, errand, now)
        elif errand.kind is Kind.PROBE:
            probing.end(changes, host.row, "")
        else:
            pings.dropped(self._c, host.name)

    def take_step(self, takedown: str, step: Step, last_request: float = 0.0) -> None:
        """Something was done about a takedown."""
        changes = Changes(self._c.store)
        self._c.takedowns.note(changes, takedown, step, last_request=last_request)
        self._c.apply(changes)

    def sweep(self, now: float) -> bool:
        """Go on taking what is taken down out of queues and calendar. False: nothing is left to do."""
        return sweeping.carry_on(self._c, self._events, now)
