"""The live view of a crawl on a terminal: when to draw. What is drawn is `surface.liverows`."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live

from gossamer.model.view import Snapshot
from gossamer.surface.liverows import render

EVERY_S: Final = 0.25


class LiveDisplay:
    """Redraws in place, at most four times a second. A context manager; the last state stays on the screen."""

    def __init__(self, console: Console) -> None:
        """`console` must be a terminal."""
        self._console = console
        self._ascii = not (console.encoding or "").lower().startswith("utf")
        self._live = Live(console=console, auto_refresh=False, transient=False, vertical_overflow="crop")
        self._drawn_s = float("-inf")
        self._last: Snapshot | None = None
        self._broken = False

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Draw the last state and give the terminal back."""
        if self._last is not None:
            self._draw(self._last)
        try:
            self._live.stop()
        except OSError:
            return  # the terminal is gone

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot unless one was drawn a moment ago."""
        self._last = snapshot
        now_s = time.monotonic()
        if now_s - self._drawn_s >= EVERY_S:
            self._drawn_s = now_s
            self._draw(snapshot)

    def _draw(self, snapshot: Snapshot) -> None:
        if self._broken:
            return
        width, height = self._console.size
        try:
            self._live.update(render(snapshot, width, height, ascii_only=self._ascii), refresh=True)
        except OSError:
            self._broken = True  # the terminal is gone; the crawl goes on
