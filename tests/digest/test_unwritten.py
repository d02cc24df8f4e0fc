"""An archive that real workers cannot write: told as ours, waited for when it passes, held against no page."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.adapters.digest import pool as pools
from gossamer.adapters.digest.pool import DigestPool
from gossamer.adapters.digest.process import Process
from gossamer.model.config import Workers
from gossamer.model.errors import StoreError
from gossamer.model.page import Digest
from tests.digest.conftest import Install, Run
from tests.digest.helpers import page, targets

# A worker that meets such a page cannot write any more.
BREAKING = """
import errno, os

def breaking(page):
    for name in ("EROFS", "EIO", "ESTALE"):
        if name in page.url:
            code = getattr(errno, name)
            def refuse(*_):
                raise OSError(code, os.strerror(code))
            os.pwrite = refuse
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [("EROFS", "Read-only file system"), ("EIO", "Input/output error"), ("ESTALE", "Stale file handle")],
)
def test_an_archive_that_cannot_be_written_is_an_error_of_the_call(
    name: str, words: str, install: Install, run: Run, tmp_path: Path
) -> None:
    install(BREAKING, {"gossamer.digest": "breaking = MODULE:breaking"})

    async def body(pool: DigestPool) -> None:
        assert (await pool.digest(page(1))).pointer is not None
        numbers: list[int | str] = [name, 2, 3]
        for number in numbers:
            with pytest.raises(StoreError, match=words) as caught:
                await pool.digest(page(number))
            said = str(caught.value)
            assert str(tmp_path / "archive") in said
            assert said.endswith("once that is mended, the same command goes on")
            assert "\n" not in said
        assert pool.load() == 0

    run(body, workers=Workers(count=1))
    assert targets(tmp_path / "archive") == ["http://example.org/1"]


@contextmanager
def no_descriptors(worker: Process) -> Iterator[None]:
    """It keeps the files it has and can open no other."""
    assert worker._process is not None
    pid = worker._process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))


async def lack(pool: DigestPool) -> None:
    """Wait until a page has met it."""
    async with asyncio.timeout(30):
        while not pool.lacking:  # noqa: ASYNC110 - what is waited for has no event of its own
            await asyncio.sleep(0.01)


def test_a_worker_without_descriptors_is_waited_for_at_a_rotation(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "LACK_PAUSES_S", (0.02,) * 2_000)

    async def body(pool: DigestPool) -> list[Digest]:
        [worker] = pool._workers
        found = [await pool.digest(page(0))]
        with no_descriptors(worker):
            waiting = [asyncio.create_task(pool.digest(page(number))) for number in range(1, 4)]
            await lack(pool)
            assert os.strerror(errno.EMFILE) in pool.lacking
            assert pool.load() == 3
        found += await asyncio.gather(*waiting)
        assert pool.lacking == ""
        assert pool.restarts == 0
        return found

    digests = run(body, workers=Workers(count=1), segment_bytes=1)
    assert [(found.title, found.error, found.unwritten) for found in digests] == [
        (f"Page {number}", "", "") for number in range(4)
    ]
    assert sorted(targets(tmp_path / "archive")) == [f"http://example.org/{number}" for number in range(4)]


def test_what_does_not_pass_is_told_after_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LACK_PAUSES_S", (0.01, 0.01))

    async def body(pool: DigestPool) -> None:
        [worker] = pool._workers
        await pool.digest(page(0))
        with no_descriptors(worker), pytest.raises(StoreError, match="Too many open files"):
            await pool.digest(page(1))
        assert (pool.lacking, pool.load()) == ("", 0)
        assert (await pool.digest(page(2))).pointer is not None

    run(body, workers=Workers(count=1), segment_bytes=1)


def test_pages_go_to_the_workers_that_can_write(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LACK_PAUSES_S", (0.01, 0.01))

    async def body(pool: DigestPool) -> None:
        with no_descriptors(next(iter(pool._workers))):
            for number in range(10):
                assert (await pool.digest(page(number))).pointer is not None

    run(body, workers=Workers(count=2), segment_bytes=1)


def test_a_close_waits_for_pages_that_wait(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "LACK_PAUSES_S", (0.02,) * 2_000)

    async def body(pool: DigestPool) -> Digest:
        [worker] = pool._workers
        await pool.digest(page(0))
        with no_descriptors(worker):
            waiting = asyncio.create_task(pool.digest(page(1)))
            await lack(pool)
            closing = asyncio.create_task(pool.close())
            await asyncio.sleep(0.1)
            assert not closing.done()
        await closing
        return await waiting

    assert run(body, workers=Workers(count=1), segment_bytes=1, close=False).pointer is not None
