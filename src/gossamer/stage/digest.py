"""Jobs → digest workers → commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gossamer.model.page import Digest, Job
from gossamer.ports.digester import Digester

Commit = Callable[[Digest], list[Job]]
Fail = Callable[[BaseException], None]


class DigestStage:
    """Hands jobs to the workers and their digests to the commit, in whatever order they come back."""

    def __init__(self, digester: Digester, *, commit: Commit, fail: Fail, done: Callable[[], None]) -> None:
        """`commit` takes a digest and returns jobs that waited for it; `fail` takes what ends the crawl."""
        self._digester = digester
        self._commit = commit
        self._fail = fail
        self._done = done
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, jobs: list[Job]) -> None:
        """Digest these jobs."""
        for job in jobs:
            task = asyncio.get_running_loop().create_task(self._run(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def load(self) -> int:
        """Jobs between fetch and commit."""
        return len(self._tasks)

    async def drain(self) -> None:
        """Wait until every submitted job is committed."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, job: Job) -> None:
        try:
            digest = await self._digester.digest(job)
            self.submit(self._commit(digest))
        except Exception as error:  # noqa: BLE001 - handed to the one who ends the crawl, with its cause
            self._fail(error)
        self._done()
