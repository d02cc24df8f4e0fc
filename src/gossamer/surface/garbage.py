"""How Python's garbage collector runs in a crawling process: it looks through what lives long once, not at each run.

What a crawl drops goes by reference counts; cycles are rare with it. A full run of the collector finds next to nothing,
but visits every object of every host, and the event loop stands still meanwhile. So what outlives the runs over the
young is set apart (`gc.freeze`), and looked through again once in LOOK_AGAIN_S, or when memory runs short.
"""

from __future__ import annotations

import asyncio
import gc
from typing import Final

LOOK_AGAIN_S: Final = 3_600.0
SET_APART_FROM: Final = 1  # the generation whose survivors are: they have outlived two runs


class Garbage:
    """The collector's ways while a crawl runs; all of it is undone at its end."""

    def __init__(self) -> None:
        """Set apart what the start has made. Needs a running event loop."""
        self._loop = asyncio.get_running_loop()
        gc.callbacks.append(self._ran)
        self._again()

    def close(self) -> None:
        """Leave the collector as it was found."""
        self._timer.cancel()
        gc.callbacks.remove(self._ran)
        gc.unfreeze()

    def _again(self) -> None:
        look_again()
        self._timer = self._loop.call_later(LOOK_AGAIN_S, self._again)

    def _ran(self, phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] >= SET_APART_FROM:
            gc.freeze()


def look_again() -> None:
    """Free the cycles that nobody holds any more, also among what was set apart."""
    gc.unfreeze()
    gc.collect()
