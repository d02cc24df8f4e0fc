"""When the disk will be full, told from how it filled up to now: arithmetic on values, and who keeps the values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.view import Snapshot
from gossamer.surface.machine import disk_free_bytes

DAY_S: Final = 86_400.0
SPAN_MIN_S: Final = 60.0  # of watching the disk, before it is believed more than the average of the whole crawl
CRAWLED_MIN_S: Final = 10.0
STATE_SHARE: Final = 0.25  # what state and logs take beside the archive: 1 to 2 KB of state for pages of 5 KB and more
SAMPLES_MAX: Final = 720
SAMPLE_EVERY_S: Final = 60.0


class DiskSample(msgspec.Struct, frozen=True):
    """How much was free at one moment."""

    time: float  # unix seconds
    free_bytes: int


class DiskWatch:
    """Looks at a volume once a minute, and remembers the last twelve hours."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self.samples: list[DiskSample] = []  # oldest first

    def look(self, now: float, path: Path) -> None:
        """To be called often; `now` in unix seconds, `path` on the volume."""
        if self.samples and now - self.samples[-1].time < SAMPLE_EVERY_S:
            return
        free = disk_free_bytes(path)
        if free is not None:
            self.samples = [*self.samples[-SAMPLES_MAX + 1 :], DiskSample(now, free)]


class DiskForecast(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the disk fills."""

    free_bytes: int
    bytes_per_day: float
    days_left: float | None  # None: at this rate it does not fill
    basis: str  # what it is told from


def disk_forecast(shot: Snapshot, watched: Sequence[DiskSample] = ()) -> DiskForecast | None:
    """From the disk as it was watched, else from what the archive grew by on average; None when nothing is known."""
    if shot.disk_free_bytes is None:
        return None
    span_s = watched[-1].time - watched[0].time if len(watched) > 1 else 0.0
    if span_s >= SPAN_MIN_S:
        used = watched[0].free_bytes - watched[-1].free_bytes
        rate, basis = used / span_s * DAY_S, f"the disk as it filled in the last {span_s / 60:.0f} min"
    elif shot.elapsed_s >= CRAWLED_MIN_S:
        rate = shot.archive_bytes * (1 + STATE_SHARE) / shot.elapsed_s * DAY_S
        basis = "the archive's average growth, and a quarter more for state and log"
    else:
        return None
    left = shot.disk_free_bytes / rate if rate > 0 else None
    return DiskForecast(free_bytes=shot.disk_free_bytes, bytes_per_day=rate, days_left=left, basis=basis)
