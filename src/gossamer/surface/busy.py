"""What the processes of a crawl do with their time, told from what Linux counts for each: /proc/PID/schedstat.

Its first number is the time a thread was on a core, its second the time it was ready and had none, both in nanoseconds.
Where there is no such file nothing is told, and what binds is judged without.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.model.view import Busy

WINDOW_S: Final = 5.0  # over which shares are told
SPAN_MIN_S: Final = 2.0  # nothing is told of less
OURS: Final = "thread-self"  # the thread that asks: the event loop's
_READ_BYTES: Final = 128


class Spent(msgspec.Struct, frozen=True):
    """What one process has spent since its start, in seconds."""

    cpu: float
    wait: float
    disk: float = 0.0


class Sample(msgspec.Struct, frozen=True):
    """All processes at one moment."""

    time: float  # seconds
    main: Spent | None
    workers: dict[int, Spent]  # by process id


class Meter:
    """Takes samples; shares follow from the first and the last of the window."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._samples: deque[Sample] = deque()

    def sample(self, now: float, workers: Iterable[tuple[int, float]]) -> None:
        """Look at this thread and at the workers: (process id, seconds waited for the disk). `now` in seconds."""
        found = {pid: spent for pid, disk_s in workers if (spent := spent_by(str(pid), disk_s)) is not None}
        self._samples.append(Sample(now, spent_by(OURS), found))
        while self._samples[0].time < now - WINDOW_S:
            self._samples.popleft()

    def busy(self) -> Busy | None:
        """Shares of the last seconds; None when they cannot be told, or not yet."""
        if not self._samples:
            return None
        first, last = self._samples[0], self._samples[-1]
        span_s = last.time - first.time
        if span_s < SPAN_MIN_S or first.main is None or last.main is None:
            return None
        pairs = [(first.workers[pid], spent) for pid, spent in last.workers.items() if pid in first.workers]
        workers = max(1, len(pairs))
        return Busy(
            main_cpu=_share(last.main.cpu - first.main.cpu, span_s),
            main_wait=_share(last.main.wait - first.main.wait, span_s),
            worker_cpu=_share(sum(after.cpu - before.cpu for before, after in pairs) / workers, span_s),
            worker_wait=_share(sum(after.wait - before.wait for before, after in pairs) / workers, span_s),
            worker_sync=_share(sum(after.disk - before.disk for before, after in pairs) / workers, span_s),
        )


def spent_by(process: str, disk_s: float = 0.0) -> Spent | None:
    """What a process has spent; None when that is not told. `process`: its id, or OURS."""
    try:
        fd = os.open(f"/proc/{process}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        numbers = os.read(fd, _READ_BYTES).split()
        return Spent(int(numbers[0]) / 1e9, int(numbers[1]) / 1e9, disk_s)
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(fd)


def _share(seconds: float, span_s: float) -> float:
    return min(1.0, max(0.0, seconds / span_s))
