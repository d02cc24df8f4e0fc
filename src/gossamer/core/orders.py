"""What those who operate a crawl order while it runs, as far as it concerns the partition. `surface` is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gossamer.core import pings, probing, sweeping
from gossamer.core.active import ActiveHost
from gossamer.core.admission import Candidate
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.harvest import pure_refusal
from gossamer.core.rulesfetch import RulesFetch
from gossamer.core.turn import Errand
from gossamer.model.control import Taken
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.record import Cf
from gossamer.model.takedown import Step, Takedown
from gossamer.model.url import Url, parse

PAUSE_KEY: Final = b"paused"
VIA: Final = "api"


class Orders:
    """Orders to one partition."""

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

    def add(self, urls: Sequence[str], level: int, now: float) -> Taken:
        """Offer URLs to the frontier as a page one link from a seed would. One commit."""
        refused: dict[str, str] = {}
        changes = Changes(self._c.store)
        taken = known = 0
        for text in urls:
            url = parse(text)
            if not isinstance(url, Url):
                refused[text] = str(url)
                continue
            refusal = pure_refusal(self._c, url, 1, None, now)
            if refusal is not None:
                refused[text] = ": ".join(filter(None, refusal))
                continue
            candidate = Candidate(
                url=url.wire, key=url.key, host=url.host, site=url.site, level=level, depth=1, via=VIA
            )
            admitted = self._c.admission.admit(changes, [candidate], now)
            taken += admitted.new
            known += not admitted.new and not admitted.refused
            if admitted.refused:
                refused[text] = next(iter(admitted.refused))
        self._c.apply(changes)
        return Taken(taken=taken, known=known, refused=refused)

    def pause(self, reason: str) -> None:
        """Keep that the crawl is paused, and why; "" that it is not any more."""
        changes = Changes(self._c.store)
        if reason:
            changes.put(Cf.META, PAUSE_KEY, reason.encode())
        else:
            changes.delete(Cf.META, PAUSE_KEY)
        self._c.apply(changes)

    def paused(self) -> str:
        """Why the crawl is paused by order; "" when it is not."""
        raw = self._c.store.get(Cf.META, PAUSE_KEY)
        return raw.decode() if raw is not None else ""
