"""Takedowns in force, and how far the crawl has come with each.

What closes a target is the look at `refusal` wherever a URL is admitted, hinted at or about to be requested; that
holds from the moment of `enforce`. Queues and calendar are swept afterwards (`core.sweeping`). Every takedown has a
row of its own with the place that its sweep has come to, so that a kill in between costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.core.changes import Changes, encode
from gossamer.model.limits import HOST_CACHE_MAX
from gossamer.model.record import Cf
from gossamer.model.takedown import Step, StepName, Takedown
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import TakedownRules, closing, compile_takedowns, covering
from gossamer.ports.store import Store

PREFIX: Final = b"takedown\x00"
READ_AT_ONCE: Final = 1_000
ROBOTS_PATH: Final = "/robots.txt"


class Kept(msgspec.Struct, array_like=True):
    """A takedown as the crawl has it."""

    takedown: Takedown
    cursor: str | None = ""  # URL key from which the sweep goes on; None: it is done
    count: int = 0  # URLs that this sweep has changed
    visited: float = 0.0  # last visit of any of them; unix seconds


_decode: Final = msgspec.msgpack.Decoder(Kept).decode


class TakedownDesk:
    """Which URLs are taken down, as of now."""

    def __init__(self, store: Store) -> None:
        """Go on with what the store holds."""
        self.kept: dict[str, Kept] = {}
        start, stop = PREFIX, PREFIX[:-1] + b"\x01"
        while rows := store.scan(Cf.RULE, start, stop, READ_AT_ONCE):
            self.kept.update((slot[len(PREFIX) :].decode(), _decode(raw)) for slot, raw in rows)
            start = rows[-1][0] + b"\x00"
        self._changed: dict[str, Takedown] = {}
        self._closed: dict[tuple[str, str], str] = {}  # answers of `closed` since the rules were compiled; bounded
        self.rules: TakedownRules
        self.any = False  # whether there are rules: asked for each URL
        self._compile()

    def _compile(self) -> None:
        self.rules = compile_takedowns(kept.takedown for kept in self.kept.values())
        self.any = bool(self.rules)
        self._closed.clear()

    # -- asked ---------------------------------------------------------------------------------------------------------

    def refusal(self, wire: str) -> str:
        """The id of the takedown by which a URL may not be requested; "" when it may.

        A host whose robots.txt may not be requested is closed whole, as if that forbade everything.
        """
        if not self.any:
            return ""
        url = parse(wire)
        if not isinstance(url, Url):
            return ""
        return covering(self.rules, url) or self.closed(url.host, url.scheme)

    def closed(self, host: str, scheme: str) -> str:
        """The id of the takedown by which nothing of a host and scheme may be requested; "" when something may."""
        if not self.any:
            return ""
        found = self._closed.get((host, scheme))
        if found is None:
            if len(self._closed) >= HOST_CACHE_MAX:
                self._closed.clear()
            found = self._closed[host, scheme] = self._closing(host, scheme)
        return found

    def _closing(self, host: str, scheme: str) -> str:
        found = closing(self.rules, host)
        if found or not (self.rules.prefixes or self.rules.patterns):
            return found
        robots = parse(f"{scheme}://{host}{ROBOTS_PATH}")
        return covering(self.rules, robots) if isinstance(robots, Url) else ""

    # -- told ----------------------------------------------------------------------------------------------------------

    def enforce(self, changes: Changes, given: Iterable[Takedown], now: float) -> list[Takedown]:
        """Hold to a list of takedowns from now on; those that begin or end to hold with it.

        One that is known and not in the list holds on: only being lifted ends a takedown.
        """
        moved: list[Takedown] = []
        for takedown in given:
            kept = self.kept.get(takedown.id)
            if kept is None and takedown.in_force:
                step = Step(StepName.ENFORCED, now)
                kept = Kept(msgspec.structs.replace(takedown, steps=(*takedown.steps, step)))
            elif kept is not None and kept.takedown.in_force and not takedown.in_force:
                lifted = msgspec.structs.replace(
                    kept.takedown,
                    lifted=takedown.lifted,
                    lift_reason=takedown.lift_reason,
                    lifted_by=takedown.lifted_by,
                    steps=_merged(kept.takedown.steps, takedown.steps),
                )
                kept = Kept(lifted)
            else:
                continue
            self._keep(changes, kept)
            self._changed[kept.takedown.id] = kept.takedown
            moved.append(kept.takedown)
        self._compile()
        return moved

    def note(self, changes: Changes, id_: str, step: Step, *, last_request: float = 0.0) -> None:
        """A step was taken; the last one of those that a takedown asks for confirms it."""
        kept = self.kept[id_]
        takedown = kept.takedown
        steps = (*takedown.steps, step)
        last = max(takedown.last_request, last_request)
        kept.takedown = msgspec.structs.replace(takedown, steps=steps, last_request=last)
        asked_for = (StepName.ENFORCED, StepName.ABORTED, StepName.REFUSED)
        if takedown.in_force and not kept.takedown.confirmed and all(map(kept.takedown.step, asked_for)):
            confirmed = Step(StepName.CONFIRMED, step.at)
            kept.takedown = msgspec.structs.replace(kept.takedown, steps=(*steps, confirmed))
        self._changed[id_] = kept.takedown
        self._keep(changes, kept)

    def sweeping(self) -> Kept | None:
        """The takedown whose sweep is to go on; None when all are done."""
        return next((kept for kept in self.kept.values() if kept.cursor is not None), None)

    def swept(self, changes: Changes, kept: Kept, cursor: str | None, count: int, visited: float, now: float) -> None:
        """A sweep has come to `cursor`, or to its end (None), and has changed so many more rows; `visited`: the last
        visit of those it has seen.
        """
        kept.cursor, kept.count, kept.visited = cursor, kept.count + count, max(kept.visited, visited)
        if cursor is not None:
            self._keep(changes, kept)
            return
        name = StepName.REFUSED if kept.takedown.in_force else StepName.RESTORED
        last = kept.visited if kept.takedown.in_force else 0.0
        self.note(changes, kept.takedown.id, Step(name, now, kept.count), last_request=last)

    def without_abort(self) -> list[Takedown]:
        """Those in force whose requests in flight have not been seen to yet."""
        found = (kept.takedown for kept in self.kept.values())
        return [one for one in found if one.in_force and one.step(StepName.ABORTED) is None]

    def take_changed(self) -> list[Takedown]:
        """Takedowns with steps that were not told before, for the exclusion list; they are in the store."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def _keep(self, changes: Changes, kept: Kept) -> None:
        slot = PREFIX + kept.takedown.id.encode()
        if kept.takedown.step(StepName.RESTORED) is not None and kept.cursor is None:
            self.kept.pop(kept.takedown.id, None)
            changes.delete(Cf.RULE, slot)
            return
        self.kept[kept.takedown.id] = kept
        changes.put(Cf.RULE, slot, encode(kept))


def _merged(own: tuple[Step, ...], given: tuple[Step, ...]) -> tuple[Step, ...]:
    return (*own, *(step for step in given if step not in own))
