"""Which alarms are raised: each is told once when it is raised and once when it is cleared, and not too often.

Times are arguments. A change that may not be told yet, because too many were, waits; when what it would tell is over
meanwhile, it is not told at all. So what is told is always a raise and a clear by turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from gossamer.surface.alarms import LASTS_S, Alarm
from gossamer.surface.allowance import Allowance

CLEAR_S: Final = 300.0  # for so long a thing must be gone before its alarm is cleared
CARRIED_S: Final = 3_600.0  # and so much longer when a run before has raised it: until this one knows what lasts
BURST: Final = 20  # changes that may be told at once
EVERY_S: Final = 180.0  # then one each so many seconds


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm that is raised or cleared now."""

    alarm: Alarm
    raised: bool
    since: float  # when it was raised; unix seconds
    why: str = ""  # why it is cleared


class Raised(msgspec.Struct, frozen=True):
    """An alarm that somebody was told of."""

    alarm: Alarm
    since: float  # unix seconds


class AlarmBook:
    """Told what holds, it says what changes."""

    def __init__(self, raised: Mapping[str, Raised] | None = None) -> None:
        """`raised`: what a run before has told of and not taken back."""
        self.raised: dict[str, Raised] = dict(raised or {})
        self._carried = set(self.raised)  # of them, those that this run has not found to hold
        self._held: dict[str, float] = {}  # not raised, holds since
        self._gone: dict[str, float] = {}  # raised, holds no more since
        self._allowance = Allowance(BURST, EVERY_S)

    def judge(self, holds: Mapping[str, Alarm], now: float) -> list[Change]:
        """What is to be told, now that these hold."""
        changes: list[Change] = []
        for name, alarm in holds.items():
            self._gone.pop(name, None)
            self._carried.discard(name)
            if name in self.raised:
                continue
            since = self._held.setdefault(name, now)
            if now - since >= LASTS_S.get(name, 0.0) and self._allowance.take(now):
                del self._held[name]
                self.raised[name] = Raised(alarm, now)
                changes.append(Change(alarm=alarm, raised=True, since=now))
        for name in [name for name in self._held if name not in holds]:
            del self._held[name]
        for name in [name for name in self.raised if name not in holds]:
            gone = self._gone.setdefault(name, now)
            clear_s = CLEAR_S + (CARRIED_S if name in self._carried else 0.0)
            if now - gone >= clear_s and self._allowance.take(now):
                changes.append(self._clear(name, "it is over"))
        return changes

    def end(self, why: str) -> list[Change]:
        """Clear everything: nobody judges any more."""
        return [self._clear(name, why) for name in list(self.raised)]

    def _clear(self, name: str, why: str) -> Change:
        self._gone.pop(name, None)
        self._carried.discard(name)
        raised = self.raised.pop(name)
        return Change(alarm=raised.alarm, raised=False, since=raised.since, why=why)
