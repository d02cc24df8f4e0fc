"""The real clock."""

from __future__ import annotations

import time


class SystemClock:
    """Unix time that follows the monotonic clock from the moment it was made: a jump of the wall clock is not seen."""

    def __init__(self) -> None:
        """Read the wall clock once."""
        self._base = time.time() - time.monotonic()

    def now(self) -> float:
        """Unix seconds; never less than before."""
        return self._base + time.monotonic()
