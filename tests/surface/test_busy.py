"""What processes do with their time, from what Linux counts: this one burns a core, another sleeps, a third is gone."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from gossamer.adapters.digest import frames
from gossamer.surface.busy import SPAN_MIN_S, WINDOW_S, Meter, spent_by


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_shares_of_this_thread_and_of_workers() -> None:
    """Time between samples is what the test says; CPU is real."""
    program = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as sleeper:
        assert sleeper.stdin is not None
        assert sleeper.stdout is not None
        sleeper.stdout.readline()
        meter = Meter()
        pid = sleeper.pid
        assert meter.busy() is None
        meter.sample(100.0, [(pid, 5.0), (10**9, 0.0)])
        assert meter.busy() is None, "one sample is none"
        burn(0.2)
        meter.sample(100.0 + SPAN_MIN_S, [(pid, 5.5), (10**9, 0.0)])
        busy = meter.busy()
        assert busy is not None
        assert 0.08 <= busy.main_cpu < 0.2
        assert 0.0 <= busy.main_wait <= 1.0
        assert busy.worker_cpu < 0.05
        assert busy.worker_sync == pytest.approx(0.25)
        assert busy.worker == pytest.approx(busy.worker_cpu + busy.worker_wait + 0.25)
        meter.sample(100.0 + SPAN_MIN_S + WINDOW_S, [(pid, 5.5)])
        later = meter.busy()
        assert later is not None
        assert later.worker_sync == 0.0
        assert later.main_cpu < busy.main_cpu
        sleeper.stdin.close()


def test_what_cannot_be_told_is_not() -> None:
    assert spent_by("thread-self") is not None
    assert spent_by(str(10**9)) is None
    assert spent_by("../meminfo") is None


def test_shares_are_shares_whatever_a_worker_says() -> None:
    meter = Meter()
    own = [(int(Path("/proc/self").resolve().name), disk_s) for disk_s in (5.0, float("nan"))]
    meter.sample(0.0, own[:1])
    meter.sample(SPAN_MIN_S, own[1:])
    busy = meter.busy()
    assert busy is not None
    assert 0.0 <= busy.worker_sync <= 1.0


def test_the_shared_page_tells_how_long_a_worker_has_waited_for_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(bytes(frames.PROGRESS_BYTES))
    with path.open("r+b") as file:
        worker, pool = frames.Progress(file.fileno()), frames.Progress(file.fileno())
    worker.begin(7, 99.0)
    assert pool.disk_s(100.0) == 0.0
    worker.wait_for_disk(100.0)
    assert pool.disk_s(101.5) == 1.5
    worker.waited(102.0)
    assert pool.disk_s(110.0) == 2.0
    worker.wait_for_disk(120.0)
    worker.waited(121.0)
    assert pool.disk_s(130.0) == 3.0
    assert pool.read() == (7, 99.0)
    worker.close()
    pool.close()
