"""The crawls that are served: each a directory, opened for reading for seconds at a time, and a way to its control.

A reader holds the rows of one moment, and files that the crawl may have deleted since: it is opened anew when it is
older than REOPEN_S, and let go when nobody has asked for IDLE_S. Reading happens in threads, one at a time per crawl.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from gossamer.model.config import Config
from gossamer.model.errors import ConfigError, GossamerError, StoreError, UsageError
from gossamer.model.view import Snapshot
from gossamer.ports.control import Control
from gossamer.serve.faults import ApiError
from gossamer.serve.witness import Witness
from gossamer.surface import settings
from gossamer.surface.doctor import Diagnosis, diagnose
from gossamer.surface.doctorlook import look
from gossamer.surface.forecast import disk_forecast
from gossamer.surface.offline import running_snapshot
from gossamer.surface.reader import Reader
from gossamer.surface.terminal import escape

REOPEN_S: Final = 3.0
REOPEN_FACTOR: Final = 20.0  # a crawl that takes long to open is opened less often
IDLE_S: Final = 30.0
STOPPED_SNAPSHOT_S: Final = 30.0  # how long the state of a crawl that does not run is believed
READS_WAITING_MAX: Final = 32  # for one crawl; beyond, a client is asked to come again
RETRY_S: Final = 2
DIAGNOSIS_S: Final = 10.0
CRAWLS_MAX: Final = 64

T = TypeVar("T")


class Served:
    """One crawl directory."""

    def __init__(self, name: str, directory: Path, control: Control) -> None:
        """`name` is what the API calls it; `control` reaches the crawl while it runs."""
        self.name = name
        self.directory = directory
        self.control = control
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._reader: Reader | None = None
        self._opened_s = 0.0
        self._used_s = 0.0
        self._keep_s = REOPEN_S
        self._stopped: tuple[float, Snapshot] | None = None
        self._config: tuple[tuple[int, int], Config] | None = None
        self._diagnosis: tuple[float, Diagnosis] | None = None
        self.witness = Witness(directory / "log")

    def running(self) -> Snapshot | None:
        """The running crawl's own word, at most a few seconds old; None when none runs."""
        return running_snapshot(self.directory / "log")

    def config(self) -> Config:
        """What the crawl is configured to. Raises ApiError."""
        path = self.directory / settings.FILE_NAME
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if self._config is None or self._config[0] != stamp:
                self._config = (stamp, settings.load(path, directory=str(self.directory)))
        except (OSError, GossamerError) as error:
            raise ApiError(
                503, f"the configuration of {self.name} cannot be read", headers=(("Retry-After", "10"),)
            ) from error
        return self._config[1]

    async def snapshot(self) -> Snapshot:
        """The state of the crawl, running or not. Raises ApiError."""
        running = await asyncio.to_thread(self.running)
        if running is not None:
            self._stopped = None
            return running
        if self._stopped is None or time.monotonic() - self._stopped[0] > STOPPED_SNAPSHOT_S:
            self._stopped = (time.monotonic(), await self.read(Reader.snapshot))
        return self._stopped[1]

    async def read(self, work: Callable[[Reader], T]) -> T:
        """What `work` finds in the crawl. Raises ApiError when it cannot be read, or when too many wait."""
        if self._waiting >= READS_WAITING_MAX:
            text = f"{READS_WAITING_MAX} requests wait to read crawl {self.name}"
            raise ApiError(503, text, headers=(("Retry-After", str(RETRY_S)),))
        self._waiting += 1
        try:
            async with self._lock:
                return await asyncio.to_thread(self._work, work)
        except (StoreError, ConfigError) as error:
            raise ApiError(503, str(error), headers=(("Retry-After", str(RETRY_S)),)) from error
        finally:
            self._waiting -= 1

    def _work(self, work: Callable[[Reader], T]) -> T:
        now_s = time.monotonic()
        if self._reader is not None and now_s - self._opened_s > self._keep_s:
            self._let_go()
        if self._reader is None:
            try:
                self._reader = Reader(self.directory)
            except StoreError:  # files come and go under a reader that opens while the crawl compacts its store
                self._reader = Reader(self.directory)
            self._opened_s = time.monotonic()
            self._keep_s = max(REOPEN_S, (self._opened_s - now_s) * REOPEN_FACTOR)
        self._used_s = time.monotonic()
        return work(self._reader)

    def _let_go(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    async def watch(self, now: float) -> None:
        """Let the witness take what is new, and hold it against what is in the store."""
        pages = self.witness.due()
        if pages:
            try:
                await self.read(lambda reader: self.witness.judge(reader, pages))
            except ApiError:
                self.witness.robots_not_judged += len(pages)
        await asyncio.to_thread(self.witness.look, now)

    async def diagnosis(self) -> Diagnosis:
        """What the doctor says, at most DIAGNOSIS_S old: it looks at every host. Raises ApiError."""
        if self._diagnosis is None or time.monotonic() - self._diagnosis[0] > DIAGNOSIS_S:
            shot = await self.snapshot()
            disk = disk_forecast(shot, self.witness.disk)
            found = await self.read(lambda reader: diagnose(look(reader, shot, disk)))
            self._diagnosis = (time.monotonic(), found)
        return self._diagnosis[1]

    async def tend(self) -> None:
        """Let the reader go when nobody has asked of late."""
        if self._reader is not None and time.monotonic() - self._used_s > IDLE_S:
            await self.close()

    async def close(self) -> None:
        """Let the reader go."""
        async with self._lock:
            await asyncio.to_thread(self._let_go)

    async def end(self) -> None:
        """Let everything go."""
        self.witness.close()
        await self.close()


class Crawls:
    """Every crawl that is served, by its name."""

    def __init__(self, directories: Iterable[Path], control_of: Callable[[Path], Control]) -> None:
        """Names are those of the directories. Raises UsageError when there is no crawl, or two of one name."""
        self.all: dict[str, Served] = {}
        self.exports: Counter[str] = Counter()  # by OTLP, by what became of them (`serve.otlp`)
        self.lost: Counter[str] = Counter()  # by crawl: messages of this server that were given up (`serve.herald`)
        for directory in directories:
            where = escape(str(directory))
            if not (directory / settings.FILE_NAME).is_file():
                raise UsageError(f"{where}: no crawl there ({settings.FILE_NAME} is missing)")
            name = directory.resolve().name
            if name in self.all:
                raise UsageError(f"{where}: a crawl named {escape(name)} is served already; rename one directory")
            self.all[name] = Served(name, directory, control_of(directory))
        if not 0 < len(self.all) <= CRAWLS_MAX:
            raise UsageError(f"name 1 to {CRAWLS_MAX} crawl directories")

    def pick(self, name: str) -> Served:
        """The crawl of this name, or the only one. Raises ApiError."""
        names = ", ".join(self.all)
        if not name:
            if len(self.all) > 1:
                raise ApiError(422, "which crawl is meant?", field="query.crawl", allowed=f"one of {names}")
            return next(iter(self.all.values()))
        found = self.all.get(name)
        if found is None:
            raise ApiError(404, "no such crawl is served", field="query.crawl", value=name, allowed=f"one of {names}")
        return found

    async def watch(self, now: float) -> None:
        """Let the witnesses look; `now` in unix seconds."""
        for served in self.all.values():
            await served.watch(now)

    async def tend(self) -> None:
        """Let go what nobody asks for."""
        for served in self.all.values():
            try:
                await served.tend()
            except GossamerError:  # it was let go all the same
                continue

    async def close(self) -> None:
        """Let everything go."""
        for served in self.all.values():
            try:
                await served.end()
            except GossamerError:
                continue
