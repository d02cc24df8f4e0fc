"""The worlds that the suite of the port Digester runs in: `DigestPool` with worker processes, and `SimDigester` in
virtual time. Another digester needs a world of its own in `WORLDS`.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gossamer.adapters.digest.pool import DigestPool
from gossamer.adapters.warc.reader import Reader
from gossamer.model.config import Config, Scope, Workers
from gossamer.model.errors import ArchiveError, StoreError
from gossamer.model.page import Digest, Job, Pointer
from gossamer.policy.scope import compile_scope
from gossamer.ports.digester import Digester
from gossamer.sim.clock import VirtualClock
from gossamer.sim.loop import VirtualLoop
from gossamer.sim.ports import SimDigester

# A hook of the workers: what the URL names happens to the worker at the page.
ACCIDENTS = """
import os, signal, time

def accident(page):
    if "crash" in page.url:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "hang" in page.url:
        time.sleep(1000)
    if "unwritable" in page.url:
        written = os.pwrite
        def refuse(*_):
            os.pwrite = written
            raise OSError(5, os.strerror(5))
        os.pwrite = refuse
"""
HOOK = {"gossamer.digest": "accidents = MODULE:accident"}
ERRORS = {"crash": "digest-crash", "hang": "digest-timeout"}


@dataclass(frozen=True)
class Place:
    """A digester, its archive, and the disk under it."""

    digester: Digester
    stored: Callable[[Pointer], str]  # the URL of a record; ArchiveError when there is none
    fill_disk: Callable[[], None]
    free_disk: Callable[[], None]


Body = Callable[[Place], Awaitable[Any]]


class World(Protocol):
    """Runs a test's coroutine with a digester whose workers have `ERRORS` at pages that are named so."""

    def run(self, directory: Path, body: Body) -> Any: ...


class Real:
    """`DigestPool`; wants the hook installed."""

    def run(self, directory: Path, body: Body) -> Any:
        return asyncio.run(asyncio.wait_for(self._run(directory, body), 60))

    async def _run(self, directory: Path, body: Body) -> Any:
        config = Config(workers=Workers(count=2, timeout_s=1.5))
        pool = DigestPool(config, compile_scope(Scope(mode="any"), ()), directory, time.time)
        await pool.start()
        reader = Reader(directory)
        try:
            return await body(
                Place(
                    pool,
                    lambda pointer: reader.read(pointer).url,
                    lambda: _limit_files(pool, 1),
                    lambda: _limit_files(pool, resource.RLIM_INFINITY),
                )
            )
        finally:
            await pool.close()


def _limit_files(pool: DigestPool, most_bytes: int) -> None:
    """No file of a worker may grow beyond a size: its writes fail as they do on a full disk."""
    for worker in pool._workers:
        assert worker._process is not None
        _, hard = resource.prlimit(worker._process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(worker._process.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))


class Simulated:
    """`SimDigester` with two workers that take 50 ms for a page."""

    def run(self, directory: Path, body: Body) -> Any:
        clock = VirtualClock()
        archive: list[str] = []

        def make(job: Job) -> Digest:
            if "unwritable" in job.url:
                raise StoreError("cannot write the archive: Input/output error")
            archive.append(job.url)
            error = next((error for word, error in ERRORS.items() if word in job.url), "")
            title = "" if error else job.url.rpartition("/")[2]
            pointer = Pointer("sim", len(archive) - 1, 1)
            return Digest(id=job.id, pointer=pointer, committed_end=len(archive), error=error, title=title)

        def stored(pointer: Pointer) -> str:
            if not 0 <= pointer.offset < len(archive):
                raise ArchiveError("no such record")
            return archive[pointer.offset]

        digester = SimDigester(make, clock, seconds=lambda _: 0.05, workers=2)

        def set_full(*, full: bool) -> None:
            digester.full = full

        place = Place(digester, stored, lambda: set_full(full=True), lambda: set_full(full=False))
        return VirtualLoop(clock).run_until_complete(asyncio.wait_for(_awaited(body(place)), 60))  # type: ignore[abstract,unused-ignore]


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


WORLDS: dict[str, World] = {"pool": Real(), "simulated": Simulated()}
