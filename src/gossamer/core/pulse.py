"""Whether this process itself stood still: stopped by a signal (Ctrl-Z), frozen, starved. Times are arguments.

Deadlines that pass meanwhile say nothing about hosts or pages: nobody was there to read what came.
"""

from __future__ import annotations

from typing import Final

BEAT_S: Final = 0.5  # how often `beat` is to be called
STALL_S: Final = 1.5  # this much late and the process stood still


class Pulse:
    """Told the time every BEAT_S, it knows when that did not happen."""

    def __init__(self, now: float) -> None:
        """`now` on any clock that never goes back, in seconds; the same clock for every call."""
        self._last = now
        self._ended = float("-inf")
        self._stalls: list[tuple[float, float]] = []  # (end, length), the newest few

    def beat(self, now: float) -> float:
        """Note that the process runs. Returns when its last stall ended, -inf when there was none."""
        late_s = now - self._last - BEAT_S
        self._last = now
        if late_s > STALL_S:
            self._ended = now
            self._stalls = [*self._stalls[-15:], (now, late_s)]
        return self._ended

    def stood_still_s(self, since: float, now: float) -> float:
        """For how long in all the process stood still from `since` to now, 0 when it ran."""
        if self.beat(now) < since:
            return 0.0
        return min(now - since, sum(length_s for end, length_s in self._stalls if end >= since))
