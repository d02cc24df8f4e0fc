"""What a person must be told of while a crawl runs: shown once in words, kept with its last word, and counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gossamer.adapters.segments import Segments
from gossamer.core.context import Context
from gossamer.core.counters import Totals, bump, known_segments
from gossamer.model.view import Notice

KEPT_MAX: Final = 100  # notices; all are counted


class Notices:
    """The last ones, newest last."""

    def __init__(self, totals: Totals, now: Callable[[], float]) -> None:
        """They are counted among the errors of `totals`; `now`: unix seconds."""
        self.last: deque[Notice] = deque(maxlen=KEPT_MAX)
        self._totals = totals
        self._now = now

    def damaged(self, segment: str, damage: str) -> None:
        """A WARC file lacks something of what was committed. The rows of its pages stay as they are."""
        bump(self._totals.errors, "archive-damaged")
        text = f"archive/{segment}: {damage}; gossamer verify names the pages whose records are lost"
        self.last.append(Notice(self._now(), "error", text))


def recovered(directory: Path, context: Context, notices: Notices) -> Segments:
    """The segments of a crawl, brought back to what was committed; what cannot be brought back is told."""
    committed, known = context.counters.totals.committed, known_segments(context.store)
    segments = Segments(directory / "archive", committed, known, notices.damaged)
    segments.recover()
    return segments
