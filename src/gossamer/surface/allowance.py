"""How many messages somebody may be sent: some at once, then one each so many seconds. Times are arguments."""

from __future__ import annotations


class Allowance:
    """A bucket of tokens."""

    def __init__(self, burst: int, every_s: float) -> None:
        """Full: `burst` at once, then one each `every_s`."""
        self._burst = float(burst)
        self._every_s = every_s
        self._room = self._burst
        self._refilled: float | None = None

    def take(self, now: float) -> bool:
        """Whether one more is allowed; it counts as sent then."""
        if self._refilled is not None:
            self._room = min(self._burst, self._room + max(0.0, now - self._refilled) / self._every_s)
        self._refilled = now
        if self._room < 1.0:
            return False
        self._room -= 1.0
        return True
