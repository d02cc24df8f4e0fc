"""Crawls on disk: the real core in virtual time, a real store, real segments, a real log; only the web is simulated."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.warc import files
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.core.changes import Changes
from gossamer.model.config import Config, Identity, Net, Politeness
from gossamer.model.page import Digest, Job
from gossamer.sim.clock import VirtualClock
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimWeb
from gossamer.surface import settings
from gossamer.surface.crawllog import CrawlLog
from gossamer.surface.reader import Reader

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
NOARCHIVE = "noarchive"


class ArchivedRun(Run):
    """A simulation whose responses are archived."""

    writer: SegmentWriter

    def _make_digest(self, job: Job) -> Digest:
        answer = self.net.answers[job.id]
        digest = super()._make_digest(job)
        noarchive = answer.title == NOARCHIVE
        fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        job = msgspec.structs.replace(job, head_bytes=f"HTTP/1.1 {answer.status} X\r\n{fields}\r\n".encode())
        pointer = self.writer.write(job, metadata={"charset": "utf-8"}, noarchive=noarchive)
        self.writer.sync()
        return msgspec.structs.replace(
            digest, pointer=pointer, committed_end=self.writer.end, noarchive=noarchive, language="en"
        )


class Made:
    """A crawl in a directory, made step by step."""

    def __init__(self, directory: Path, config: Config, web: SimWeb, segment_bytes: int = 1 << 30) -> None:
        self.config = msgspec.structs.replace(config, directory=str(directory))
        self.directory = directory
        self.web = web
        self.clock = VirtualClock(START)
        self.runs = 0
        self._segment_bytes = segment_bytes

    def run(self, duration_s: float | None = None, *, finish: bool = True, due: bool = False) -> ArchivedRun:
        """One run; `finish` closes the segment as an orderly end does. Everything is closed afterwards."""
        self.directory.mkdir(parents=True, exist_ok=True)
        settings.save(self.config)
        store = RocksStore(self.directory / "state")
        run = ArchivedRun(self.web, self.config, list(self.config.seeds), store=store, clock=self.clock, seed=self.runs)
        run.writer = SegmentWriter(
            self.directory / "archive", f"t-{self.runs:03d}", segment_bytes=self._segment_bytes, software="test",
            user_agent="test", clock=self.clock.now,
        )  # fmt: skip
        self.runs += 1
        if due:
            run.enqueue_due()
        run.go(duration_s)
        totals = run.partition.context.counters.totals
        if finish:
            run.writer.close()
            totals.committed.clear()
            run.partition.context.apply(Changes(store))
        log = CrawlLog(self.directory / "log")
        for event in run.events:
            log.append(event)
        log.close()
        store.close()
        return run

    def change(self, change: Callable[[RocksStore], None]) -> None:
        """Tamper with the state."""
        store = RocksStore(self.directory / "state")
        change(store)
        store.close()

    def segments(self) -> list[Path]:
        return files.segments(self.directory / "archive")

    def copy(self, directory: Path) -> Made:
        """The same crawl in another directory."""
        shutil.copytree(self.directory, directory)
        other = Made(directory, self.config, self.web, self._segment_bytes)
        other.clock, other.runs = self.clock, self.runs
        return other

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.clock.jump(self.clock.now() + seconds)

    def reader(self, at: float | None = None) -> Reader:
        """Opened at the virtual time, or at another."""
        return Reader(self.directory, now=lambda: self.clock.now() if at is None else at)


def html(text: str, *links: str, **more: object) -> Answer:
    return Answer(body=text.encode(), links=links, **more)  # type: ignore[arg-type]


def site(pages: dict[str, Answer]) -> Callable[[str], Answer]:
    """Pages by target; 404 for the rest."""
    missing = Answer(status=404, body=b"nothing here")
    return lambda target: pages.get(target, missing)


def plain_config(seeds: tuple[str, ...], **sections: object) -> Config:
    defaults = {
        "identity": Identity(product="Gossamer"),
        "net": Net(allow=("0.0.0.0/0",)),
        "politeness": Politeness(start_jitter_s=0.0),
    }
    return Config(seeds=seeds, **{**defaults, **sections})  # type: ignore[arg-type]
