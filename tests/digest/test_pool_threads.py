"""Worker processes are looked after without a thread to start: where memory has run out, starting one may never end."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from gossamer.adapters.digest.pool import DigestPool
from gossamer.model.config import Workers
from gossamer.model.page import Digest
from tests.digest.conftest import Run
from tests.digest.helpers import page


def test_a_worker_is_replaced_and_ended_without_a_thread_to_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise AssertionError("a thread is started")

    async def body(pool: DigestPool) -> list[Digest]:
        monkeypatch.setattr(threading.Thread, "start", start)
        first = await pool.digest(page(1))
        (worker,) = pool._workers
        os.kill(worker._process.pid, signal.SIGKILL)
        second = await pool.digest(page(2))
        await pool.close()
        return [first, second]

    assert [found.error for found in run(body, workers=Workers(count=1))] == ["", ""]
