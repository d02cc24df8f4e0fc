"""Looks at a running crawl from outside, every few seconds: what the kernel says of its processes, what it says itself
in its status file, and what the visits of its crawl log took.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.harness import TICKS_PER_S, calibration_ms, tree
from gossamer.model.view import Snapshot
from gossamer.surface.statusfile import read_status

READ_BYTES: Final = 1 << 20
REFERENCE_ROUNDS: Final = 200_000  # some 10 ms of CPU at each look
RUNNING: Final = frozenset(("crawling", "paused"))


class Sample(msgspec.Struct, kw_only=True):
    """One look. Of the worker processes, sums. Times in milliseconds are of the visits since the look before."""

    at_s: float = 0.0  # since the crawl began
    rss_main_bytes: int = 0
    rss_workers_bytes: int = 0
    pss_bytes: int = 0  # all processes: shared memory counts once
    files_main: int = 0
    files_workers: int = 0
    threads_main: int = 0
    threads_workers: int = 0
    workers: int = 0
    worker_restarts: int = 0
    cpu_main_s: float = 0.0  # since the start
    cpu_workers_s: float = 0.0  # of those that live
    pages: int = 0
    pages_per_s: float = 0.0
    refreshed: int = 0  # visits since the look before that were not the first
    visits: int = 0
    fetch_p50_ms: float = 0.0  # exchange with an ordinary host, as the crawler saw it
    fetch_p95_ms: float = 0.0
    commit_p50_ms: float = 0.0  # from the end of the exchange to the commit
    commit_p95_ms: float = 0.0
    sync_ms: float = 0.0  # means of what the crawler said at every glance since the look before
    loop_late_ms: float = 0.0
    urls: int = 0
    hosts: int = 0
    queued: int = 0
    in_flight: int = 0
    bound: str = ""
    archive_bytes: int = 0
    state_bytes: int = 0
    log_bytes: int = 0
    reference_ms: float = 0.0  # CPU of a fixed piece of Python: how slow the machine was; 0: not looked at


class _Line(msgspec.Struct):
    """The part of a line of the crawl log that is looked at."""

    time: float
    host: str
    kind: str | int
    started: float = 0.0
    status: int = 0
    elapsed_ms: float = 0.0
    refresh: bool = False


class LogTail:
    """Reads what was added to the crawl log, over its rotations."""

    def __init__(self, path: Path) -> None:
        """`path`: the file being written; it need not exist yet."""
        self._path = path
        self._fd = -1
        self._torn = b""

    def lines(self) -> list[_Line]:
        """Whole lines since the last call."""
        found: list[_Line] = []
        while True:
            if self._fd < 0:
                if not self._path.exists():
                    return found
                self._fd = os.open(self._path, os.O_RDONLY)
            rotated = not self._path.exists() or os.fstat(self._fd).st_ino != self._path.stat().st_ino
            while block := os.read(self._fd, READ_BYTES):
                *whole, self._torn = (self._torn + block).split(b"\n")
                found += [msgspec.json.decode(line, type=_Line) for line in whole]
            if not rotated:
                return found
            os.close(self._fd)
            self._fd = -1

    def close(self) -> None:
        """Let the file go."""
        if self._fd >= 0:
            os.close(self._fd)


class Watcher:
    """Takes samples of one crawl."""

    def __init__(self, directory: Path, pid: int, hostile_port: int) -> None:
        """`directory` of the crawl, `pid` of its main process. Hosts on `hostile_port` say nothing about latency."""
        self._directory = directory
        self._pid = pid
        self._hostile = f":{hostile_port}"
        self._tail = LogTail(directory / "log" / "crawl.jsonl")
        self._began = time.monotonic()
        self._before: Sample | None = None
        self._syncs_s: list[float] = []
        self._late_s: list[float] = []

    def glance(self) -> Snapshot | None:
        """Note what swings within seconds, to be called between looks. None before it runs and when it winds up."""
        status = read_status(self._directory / "log")
        if status is None or status[0].state not in RUNNING:
            return None
        self._syncs_s.append(status[0].sync_s)
        self._late_s.append(status[0].loop_late_s)
        return status[0]

    def look(self) -> Sample | None:
        """A sample; None before the crawl runs and from when it winds up."""
        snapshot = self.glance()
        if snapshot is None:
            return None
        sample = Sample(
            at_s=time.monotonic() - self._began,
            workers=snapshot.workers,
            worker_restarts=snapshot.worker_restarts,
            pages=snapshot.pages,
            sync_ms=statistics.fmean(self._syncs_s) * 1000,
            loop_late_ms=statistics.fmean(self._late_s) * 1000,
            urls=snapshot.urls_known,
            hosts=snapshot.hosts_known,
            queued=snapshot.queued,
            in_flight=snapshot.in_flight,
            bound=snapshot.bound.name,
            archive_bytes=snapshot.archive_bytes,
            state_bytes=_size(self._directory / "state"),
            log_bytes=_size(self._directory / "log"),
            reference_ms=calibration_ms(REFERENCE_ROUNDS),
        )
        self._syncs_s, self._late_s = [], []
        try:
            for pid in tree(self._pid):
                self._process(sample, pid)
        except OSError:  # it ended just now
            return None
        self._visits(sample)
        before, self._before = self._before, sample
        if before is not None:
            sample.pages_per_s = (sample.pages - before.pages) / (sample.at_s - before.at_s)
        return sample

    def close(self) -> None:
        """Let the log go."""
        self._tail.close()

    def _process(self, sample: Sample, pid: int) -> None:
        place = Path(f"/proc/{pid}")
        memory = _fields(place / "smaps_rollup")
        threads = _fields(place / "status")["Threads"]
        files = len(os.listdir(place / "fd"))  # noqa: PTH208 - names only
        ticks = (place / "stat").read_text().rpartition(")")[2].split()[11:13]
        cpu_s = sum(map(int, ticks)) / TICKS_PER_S
        sample.pss_bytes += memory["Pss"] * 1024
        if pid == self._pid:
            sample.rss_main_bytes, sample.files_main = memory["Rss"] * 1024, files
            sample.threads_main, sample.cpu_main_s = threads, cpu_s
        else:
            sample.rss_workers_bytes += memory["Rss"] * 1024
            sample.files_workers += files
            sample.threads_workers += threads
            sample.cpu_workers_s += cpu_s

    def _visits(self, sample: Sample) -> None:
        visits = [line for line in self._tail.lines() if line.started]
        sample.visits = len(visits)
        sample.refreshed = sum(line.refresh for line in visits)
        ordinary = [line for line in visits if line.status and not line.host.endswith(self._hostile)]
        sample.fetch_p50_ms, sample.fetch_p95_ms = _percentiles([line.elapsed_ms for line in ordinary])
        waits = [(line.time - line.started) * 1000 - line.elapsed_ms for line in ordinary]
        sample.commit_p50_ms, sample.commit_p95_ms = _percentiles(waits)


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile; zeros of nothing."""
    if len(values) < 2:
        return (values[0], values[0]) if values else (0.0, 0.0)
    cuts = statistics.quantiles(values, n=20)
    return cuts[9], cuts[18]


def _fields(path: Path) -> dict[str, int]:
    """The numbers of a file of /proc in the form `Name:  number kB`."""
    found = {}
    for line in path.read_text().splitlines():
        name, _, rest = line.partition(":")
        first = rest.split()[:1]
        if first and first[0].isdigit():
            found[name] = int(first[0])
    return found


def _size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    total = 0
    for entry in os.scandir(folder):
        try:
            total += entry.stat().st_size
        except FileNotFoundError:  # RocksDB removes files all the time
            continue
    return total
