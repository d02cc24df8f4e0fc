"""The digest workers together: bounded hand-off, and one page at most lost to a worker that dies or hangs.

A job goes to the worker with the fewest. When a worker ends before its time, the page it was at is archived by another
without being parsed, the pages it had not answered are done again by others, and its segment is put down in
`abandoned` to be cut back: records beyond the last answer belong to nobody.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.process import TOO_LONG, Process
from gossamer.adapters.digest.unwritten import LACK_PAUSES_S, error_of, left_behind
from gossamer.core.pulse import Pulse
from gossamer.model.config import Config
from gossamer.model.errors import ConfigError, GossamerError
from gossamer.model.limits import DIGEST_JOBS_PER_WORKER_MAX, DIGEST_PENDING_MAX
from gossamer.model.page import Digest, Job
from gossamer.policy.scope import ScopeRules

WATCH_S: Final = 0.25  # how often hung workers are looked for
START_TIMEOUT_S: Final = 60.0
DEATHS_MAX: Final = 8  # workers that die in a row, with no page answered between, before the pool gives up
FINISH_TIMEOUT_S: Final = 60.0
RESTART_PAUSE_S: Final = 0.2
PREFIX: Final = "GOSSAMER"


class DigestPool:
    """Implements `ports.digester.Digester` with worker processes."""

    def __init__(
        self,
        config: Config,
        scope: ScopeRules,
        archive_dir: Path,
        now: Callable[[], float],
        *,
        software: str = PREFIX,
        user_agent: str = "",
        tell_all: bool = False,
    ) -> None:
        """Args:
        config: sections fetch, limits, identity, archive and workers are used.
        scope: the compiled scope, which the workers apply to links.
        archive_dir: where the segments go.
        now: unix seconds, the program's clock.
        software, user_agent: name and version, and the User-Agent that is sent, for warcinfo.
        tell_all: digests name all links of their pages, those included that `settled` said are known.
        """
        self._config = config
        self._directory = archive_dir
        self._now = now
        self._software = software
        self._user_agent = user_agent
        self._rules = LinkRules(
            scope=scope,
            types=config.fetch.types,
            depth_max=config.limits.depth,
            product=config.identity.product,
            body_max_bytes=config.fetch.max_body_bytes,
            tell_all=tell_all,
        )
        self._run = f"{PREFIX}-{time.strftime('%Y%m%d%H%M%S', time.gmtime(now()))}-{os.getpid() & 0xFFFF:04x}"
        self._count = config.workers.count or max(1, (os.cpu_count() or 1) - 1)
        self._serial = 0
        self._changed = 0  # workers started because the rules changed
        self._workers: set[Process] = set()
        self._all_gone = asyncio.Event()
        self._all_gone.set()
        self._backlog: deque[Job] = deque()
        self._futures: dict[int, asyncio.Future[Digest]] = {}
        self._callers: dict[int, int] = {}  # our job id -> the caller's
        self._causes: dict[int, str] = {}  # our job id -> why the page is not parsed
        self._lacking: dict[int, str] = {}  # our job id -> what workers lacked to write its page
        self._tellers: OrderedDict[int, tuple[Process, int]] = OrderedDict()  # caller's job id -> who told its links
        self._last_id = 0
        self._room = asyncio.Semaphore(DIGEST_PENDING_MAX)
        self._tasks: set[asyncio.Task[None]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._closing = False
        self._deaths = 0
        self._failure: GossamerError | None = None
        self._started: dict[Process, asyncio.Future[None]] = {}
        self._ends: dict[str, int] = {}  # segment -> its length up to the last answered page
        self.abandoned: dict[str, int] = {}  # segments of dead workers -> length up to the last answered page
        self.closed: list[str] = []  # segments finished since somebody last emptied this list

    async def start(self) -> None:
        """Start the workers and wait until they are ready. Raises ConfigError for a hook that can't be loaded."""
        self._watch = asyncio.create_task(self._watch_workers())
        try:
            await asyncio.gather(*(self._start_worker() for _ in range(self._count)))
        except BaseException:
            self._closing = True
            await self._end_workers()
            raise

    async def change_rules(self, scope: ScopeRules, depth_max: int) -> None:
        """Judge links by other rules from now on: other workers take the place of those that know the old ones.

        Those finish what they were given. Raises GossamerError when no worker can be started.
        """
        self._rules = msgspec.structs.replace(self._rules, scope=scope, depth_max=depth_max)
        before = [worker for worker in self._workers if worker.ready]
        if self._closing:
            return
        await asyncio.gather(*(self._start_worker() for _ in before))
        self._changed += len(before)
        for worker in before:
            worker.ready = False
            self._retire(worker)

    def _retire(self, worker: Process) -> None:
        """Let a worker that gets no jobs any more end when it has answered those it has."""
        if not worker.ready and not worker.jobs and worker in self._workers and not worker.doomed:
            worker.finish()

    def load(self) -> int:
        """Jobs accepted and not yet answered."""
        return len(self._futures)

    @property
    def workers(self) -> int:
        """Worker processes wanted."""
        return self._count

    @property
    def restarts(self) -> int:
        """Workers started in place of others so far."""
        return max(0, self._serial - self._count - self._changed)

    @property
    def lacking(self) -> str:
        """What workers lack to write pages, in one sentence: pages wait until it has passed. "" when they go on."""
        return next(iter(self._lacking.values()), "")

    def spent(self) -> list[tuple[int, float]]:
        """(process id, seconds it has waited for the disk so far) of each worker that takes jobs."""
        now_s = time.monotonic()
        return [spent for worker in self._workers if worker.ready and (spent := worker.spent(now_s)) is not None]

    async def abort(self) -> None:
        """End the processes at once; what they were given is not answered."""
        self._closing = True
        for future in list(self._futures.values()):
            future.cancel()
        await self._end_workers()

    async def digest(self, job: Job) -> Digest:
        """See `ports.digester.Digester`. Waits while DIGEST_PENDING_MAX jobs are in hand.

        Raises DiskFullError or StoreError for the archive, GossamerError when workers die faster than they work.
        """
        async with self._room:
            if self._failure is not None:
                raise self._failure
            if self._closing:
                raise GossamerError("the digest workers are closed")
            self._last_id += 1
            number = self._last_id
            self._callers[number] = job.id
            try:
                digest = await self._tried(msgspec.structs.replace(job, id=number))
            finally:
                self._futures.pop(number, None)
                self._callers.pop(number, None)
                self._causes.pop(number, None)
                self._lacking.pop(number, None)
        if digest.unwritten:
            raise error_of(digest)
        return digest

    async def _tried(self, job: Job) -> Digest:
        """The workers' answer; what they lack to write the page is waited for, LACK_PAUSES_S long."""
        future: asyncio.Future[Digest]
        future = self._futures[job.id] = asyncio.get_running_loop().create_future()
        for pause_s in (*LACK_PAUSES_S, 0.0):
            self._backlog.append(job)
            self._dispatch()
            digest = await future
            if digest.unwritten != "lacking" or not pause_s:
                break
            self._lacking[job.id] = digest.error
            future = self._futures[job.id] = asyncio.get_running_loop().create_future()
            await asyncio.wait({future}, timeout=pause_s)  # it may fail meanwhile
        return digest

    async def close(self) -> None:
        """Finish what was accepted, close the segments, end the processes."""
        self._closing = True
        while self._futures:
            await asyncio.wait(list(self._futures.values()))
        for worker in list(self._workers):
            worker.finish()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._all_gone.wait(), FINISH_TIMEOUT_S)
        await self._end_workers()

    async def _end_workers(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        for worker in list(self._workers):
            worker.kill()
        await self._all_gone.wait()

    # Workers

    async def _start_worker(self) -> None:
        setup = frames.Setup(
            rules=self._rules,
            directory=str(self._directory),
            prefix=f"{self._run}-{self._serial:02d}",
            segment_bytes=self._config.archive.segment_bytes,
            software=self._software,
            user_agent=self._user_agent,
            operator=self._config.identity.contact,
            memory_max_bytes=self._config.workers.memory_max_bytes,
            clock_offset_s=self._now() - time.monotonic(),
        )
        self._serial += 1
        worker = Process(setup, self._heard, self._ended)
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._started[worker] = ready
        self._workers.add(worker)
        self._all_gone.clear()
        try:
            await worker.start()
            await asyncio.wait_for(ready, START_TIMEOUT_S)
        except TimeoutError as error:
            worker.kill("start")
            raise GossamerError(f"a digest worker was not ready after {START_TIMEOUT_S:g} s") from error
        except OSError as error:
            self._forget(worker)
            raise GossamerError(f"a digest worker cannot be started: {error}") from error
        finally:
            self._started.pop(worker, None)

    def _forget(self, worker: Process) -> None:
        self._workers.discard(worker)
        if not self._workers:
            self._all_gone.set()

    def _heard(self, worker: Process, message: frames.FromWorker) -> None:
        if isinstance(message, frames.Answer):
            self._answered(worker, message.digest)
        elif isinstance(message, frames.Ready):
            ready = self._started.get(worker)
            if message.error:
                worker.doomed = "config"
                if ready is not None and not ready.done():
                    ready.set_exception(ConfigError(message.error))
                return
            worker.ready = True
            if ready is not None and not ready.done():
                ready.set_result(None)
            self._dispatch()
        else:
            worker.doomed = "finished" if not message.error else ""
            self._told_closed(worker, message.closed)

    def _answered(self, worker: Process, digest: Digest) -> None:
        worker.jobs.pop(digest.id, None)
        worker.lacking = digest.unwritten == "lacking"
        self._deaths = 0
        if digest.pointer is not None:
            self._ends[digest.pointer.segment] = digest.committed_end
            self._lacking.clear()
        self._told_closed(worker, digest.closed)
        if digest.links and digest.id in self._callers:
            self._tellers[self._callers[digest.id]] = worker, digest.id
            if len(self._tellers) > DIGEST_PENDING_MAX:
                self._tellers.popitem(last=False)
        self._resolve(digest)
        self._retire(worker)
        self._dispatch()

    def _told_closed(self, worker: Process, names: tuple[str, ...]) -> None:
        worker.closed.update(names)
        for name in names:
            self.closed.append(name)
            self._ends.pop(name, None)

    def settled(self, job_id: int, refused: tuple[str, ...] | None) -> None:
        """Every link that the digest of a job named has a row now, except for the keys that were refused: whoever told
        them need not do so again for a while. None: the links were not all looked at.
        """
        worker, number = self._tellers.pop(job_id, (None, 0))
        if worker is not None and refused is not None and len(worker.settled) < DIGEST_PENDING_MAX:
            worker.settled.append(frames.Settled(number, refused))

    def _resolve(self, digest: Digest) -> None:
        future = self._futures.get(digest.id)
        if future is not None and not future.done():
            error = self._causes.get(digest.id) or digest.error
            if digest.pointer is None:
                error = digest.error or error
            future.set_result(msgspec.structs.replace(digest, id=self._callers[digest.id], error=error))

    def _dispatch(self) -> None:
        """Hand waiting jobs to the workers that have the fewest, last to those that could not write their last page."""
        while self._backlog:
            worker = min((w for w in self._workers if w.ready), key=lambda w: (w.lacking, len(w.jobs)), default=None)
            if worker is None or len(worker.jobs) >= DIGEST_JOBS_PER_WORKER_MAX:
                return
            job = self._backlog.popleft()
            if job.id in self._futures and not worker.send(job):  # else its caller was cancelled
                self._resolve(Digest(id=job.id, pointer=None, error=TOO_LONG))

    def _ended(self, worker: Process) -> None:
        task = asyncio.ensure_future(self._bury(worker))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _bury(self, worker: Process) -> None:
        """A worker is gone: account for its pages and its segment, and replace it."""
        job_id, _ = worker.at()
        code, words = await worker.wait()
        self._forget(worker)
        if worker.doomed == "finished":
            return
        self._abandon(worker)
        ready = self._started.get(worker)
        if ready is not None and not ready.done():
            ready.set_exception(GossamerError(f"a digest worker ended with code {code}: {words or 'no message'}"))
        lost = list(worker.jobs.values())
        culprit = next((job for job in lost if job.id == job_id), None)
        for job in reversed(lost):
            if job is not culprit:
                self._backlog.appendleft(job)
        if culprit is not None:
            self._punish(culprit, "digest-timeout" if worker.doomed == "timeout" else "digest-crash")
        self._dispatch()
        # One that was never ready is the business of whoever started it.
        if worker.ready and self._failure is None and (self._futures or not self._closing):
            await self._replace(f"last: code {code}, {words or 'no message'}")

    def _punish(self, job: Job, cause: str) -> None:
        """Archive the page that a worker died on, unparsed; one on which even that fails is given up."""
        if job.id in self._causes:
            self._resolve(Digest(id=job.id, pointer=None, error=cause))
        else:
            self._causes[job.id] = cause
            self._backlog.appendleft(msgspec.structs.replace(job, parse=False))

    async def _replace(self, words: str) -> None:
        """Start another worker, again and again within the cap."""
        self._deaths += 1
        while self._deaths <= DEATHS_MAX:
            try:
                await self._start_worker()
            except GossamerError as error:
                self._deaths += 1
                words = str(error)
                await asyncio.sleep(RESTART_PAUSE_S)
            else:
                return
        self._fail(f"digest workers die without finishing a page ({words})")

    def _fail(self, why: str) -> None:
        """Give up: every caller is told."""
        self._failure = GossamerError(why)
        for future in self._futures.values():
            if not future.done():
                future.set_exception(self._failure)

    def _abandon(self, worker: Process) -> None:
        """Note the segments of a dead worker that may hold pages it has not answered for."""
        for name in left_behind(self._directory, worker.setup.prefix, worker.closed):
            self.abandoned[name] = self._ends.pop(name, 0)

    async def _watch_workers(self) -> None:
        """Kill workers that are at one page for too long. They stop with us: time that we stood still is no work."""
        pulse = Pulse(time.monotonic())
        while True:
            await asyncio.sleep(WATCH_S)
            now_s = time.monotonic()
            awake_since_s = pulse.beat(now_s)
            for worker in list(self._workers):
                job_id, since_s = worker.at()
                long_s = now_s - max(since_s, awake_since_s)
                if job_id and since_s and not worker.doomed and long_s > self._config.workers.timeout_s:
                    worker.kill("timeout")
