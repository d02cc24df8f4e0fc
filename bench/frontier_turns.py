"""Turns of a stored frontier: leased, answered, committed, in virtual time and a process of its own.

`python -m bench.frontier_turns FOLDER --start S ...` prints what it measured as JSON. What a turn brings is a page of
its own bytes without links and too short for a fingerprint: what the frontier itself costs, and every commit with it.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from bench.frontier_store import Syncer, address, open_partition
from bench.timed_store import Calls, TimedStore
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.partition import Partition
from gossamer.core.turn import Turn
from gossamer.model.page import Digest, Kind, Outcome, Pointer, Resolution
from gossamer.stage.dispatch import PURGE_EVERY_S

ROBOTS: Final = b"User-agent: *\nDisallow: /private/\n"
IN_FLIGHT: Final = 200
RESOLVES_AT_ONCE: Final = 200
FETCH_S: Final = 0.02
DAY_S: Final = 86_400.0
RECORD_BYTES: Final = 20_000
SEGMENT: Final = "BENCH-00000.warc.gz"


class Turns(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured."""

    pages: int
    wall_s: float
    cpu_s: float  # of the thread that does it all
    lease_cpu_s: float
    response_cpu_s: float  # taking what came back
    commit_cpu_s: float
    store: tuple[Calls, Calls, Calls] | None  # reads, scans, writes; None when they were not looked at
    p50_ms: float  # CPU of a page: its lease and its end
    p99_ms: float
    max_ms: float  # CPU of one call
    p99_clock_ms: float
    first_lease_s: float  # since the process was asked for
    open_s: float  # of it, opening the store and reading what a start reads
    rss_bytes: int
    peak_bytes: int


class Took(NamedTuple):
    """How long something took."""

    cpu_s: float  # of this thread
    clock_s: float


class _Since:
    """Measures from its making on."""

    def __init__(self) -> None:
        self._clock_s, self._cpu_s = time.perf_counter(), time.thread_time()

    def take(self) -> Took:
        """How long it has been."""
        return Took(time.thread_time() - self._cpu_s, time.perf_counter() - self._clock_s)


class Driver:
    """Takes turns and ends them."""

    def __init__(self, partition: Partition, syncer: Syncer, now: float) -> None:
        self._partition = partition
        self._syncer = syncer
        self.now = now
        self._flying: deque[tuple[Turn, Took]] = deque()
        self._offset = 0
        self._purged = now
        self.pages = 0
        self.lease_cpu_s = self.response_cpu_s = self.commit_cpu_s = 0.0
        self.page_s: list[float] = []
        self.page_clock_s: list[float] = []
        self.call_s: list[float] = []

    def go(self, pages: int) -> None:
        """Until so many pages are committed."""
        until = self.pages + pages
        while self.pages < until:
            turn = self.lease() if len(self._flying) < IN_FLIGHT else None
            if turn is None and self._flying:
                self._end(*self._flying.popleft())
            elif turn is None:
                at = self._partition.next_time()
                if at is None:
                    raise AssertionError("nothing is left to lease")
                self.now = max(self.now + 0.001, at)
            if self.now - self._purged >= PURGE_EVERY_S:
                self._purged = self.now
                self._partition.forget_lanes(self.now)
            self._syncer.look()

    def lease(self) -> Turn | None:
        """The next turn, names looked up as they are asked for."""
        began = _Since()
        turn = self._partition.next_turn(self.now)
        took = began.take()
        self.lease_cpu_s += took.cpu_s
        self.call_s.append(took.cpu_s)
        if turn is not None:
            self._flying.append((turn, took))
            return turn
        for name in self._partition.take_resolves(RESOLVES_AT_ONCE):
            number = int(name.partition("-")[0].removeprefix("www.h"))
            found = Resolution(name=name, addresses=(address(number),), expires=self.now + DAY_S)
            self._partition.resolved(name, found, self.now)
        return None

    def _end(self, turn: Turn, leased: Took) -> None:
        self.now += 0.0001
        payload = turn.url.encode()
        digest = "sha1:" + base64.b32encode(hashlib.sha1(payload).digest()).decode()
        status = 404 if turn.kind is Kind.PROBE else 200
        outcome = Outcome(
            status=status, reason="OK", http_version="HTTP/1.1", headers=(("content-type", "text/html"),),
            payload=payload, address=turn.address, started=turn.started, elapsed_s=FETCH_S, wire_bytes=RECORD_BYTES,
        )  # fmt: skip
        is_robots = turn.kind is Kind.ROBOTS
        if is_robots:
            outcome = msgspec.structs.replace(outcome, headers=(("content-type", "text/plain"),))
        began = _Since()
        jobs, events = self._partition.fetched(turn, outcome, digest, ROBOTS if is_robots else b"", self.now)
        took = [began.take()]
        self.response_cpu_s += took[0].cpu_s
        for job in jobs:
            self._offset += RECORD_BYTES
            pointer = Pointer(SEGMENT, self._offset, RECORD_BYTES)
            made = Digest(
                id=job.id, pointer=pointer, committed_end=self._offset + RECORD_BYTES, media_type="text/html",
                charset="utf-8", language="en", title="A page", content_hash=self._offset, text_chars=40,
            )  # fmt: skip
            began = _Since()
            self._partition.digested(made, self.now)
            took.append(began.take())
            self.commit_cpu_s += took[-1].cpu_s
        self._partition.logged(len(events) + len(jobs))
        self.call_s += [each.cpu_s for each in took]
        if turn.kind is Kind.PAGE:
            self.pages += 1
            self.page_s.append(leased.cpu_s + sum(each.cpu_s for each in took))
            self.page_clock_s.append(leased.clock_s + sum(each.clock_s for each in took))


def memory() -> tuple[int, int]:
    """RSS of this process now and at its highest, in bytes."""
    found = {}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in {"VmRSS", "VmHWM"}:
            found[name] = int(value.split()[0]) * 1024
    return found["VmRSS"], found["VmHWM"]


def measure(folder: Path, asked: float, now: float, slots: int, warm: int, pages: int, *, parts: bool) -> Turns:
    """Open, lease, warm up, measure. `asked`: when the process was asked for, by the wall clock. `parts`: note what the
    store takes of it, which takes a little itself.
    """
    began_s = time.perf_counter()
    store = RocksStore(folder / "state")
    timed = TimedStore(store) if parts else None
    partition = open_partition(timed or store, now, slots)
    syncer = Syncer(store)
    open_s = time.perf_counter() - began_s
    driver = Driver(partition, syncer, now)
    while driver.lease() is None:
        at = partition.next_time()
        driver.now = max(driver.now + 0.001, at if at is not None else 0.0)  # the gap after a restart passes unseen
    first_lease_s = time.time() - asked
    driver.go(warm)
    driver.page_s.clear()
    driver.page_clock_s.clear()
    driver.call_s.clear()
    driver.lease_cpu_s = driver.response_cpu_s = driver.commit_cpu_s = 0.0
    if timed is not None:
        timed.forget()
    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    driver.go(pages)
    wall_s, cpu_s = time.perf_counter() - wall_s, time.thread_time() - cpu_s
    rss_bytes, peak_bytes = memory()
    syncer.close()
    store.close()
    each, by_clock = sorted(driver.page_s), sorted(driver.page_clock_s)
    return Turns(
        pages=len(each), wall_s=wall_s, cpu_s=cpu_s, lease_cpu_s=driver.lease_cpu_s,
        response_cpu_s=driver.response_cpu_s, commit_cpu_s=driver.commit_cpu_s,
        store=None if timed is None else (timed.reads, timed.scans, timed.writes), p50_ms=each[len(each) // 2] * 1e3,
        p99_ms=each[int(len(each) * 0.99)] * 1e3, max_ms=max(driver.call_s) * 1e3,
        p99_clock_ms=by_clock[int(len(by_clock) * 0.99)] * 1e3, first_lease_s=first_lease_s,
        open_s=open_s, rss_bytes=rss_bytes, peak_bytes=peak_bytes,
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--asked", type=float, default=time.time())
    parser.add_argument("--start", type=float, required=True, help="virtual time of this start, unix seconds")
    parser.add_argument("--slots", type=int, default=1_000)
    parser.add_argument("--warm", type=int, default=1_000)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--parts", action="store_true", help="note what the store takes of it")
    options = parser.parse_args()
    size = (options.slots, options.warm, options.pages)
    found = measure(options.folder, options.asked, options.start, *size, parts=options.parts)
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
