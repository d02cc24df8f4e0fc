"""Time as the program sees it."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """A clock that never runs backwards while the program runs."""

    def now(self) -> float:
        """Unix seconds. Within one run it advances with the monotonic clock, whatever the wall clock does."""
        ...
