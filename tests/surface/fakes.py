"""An engine that crawls nothing: it shows what it is told to show, and reads from values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gossamer.model.config import Config
from gossamer.model.errors import ArchiveError, GossamerError
from gossamer.model.page import Pointer
from gossamer.model.view import (
    Explanation,
    History,
    HostView,
    Problem,
    ReportData,
    Snapshot,
    StoredText,
    VerifyProgress,
    Visit,
)
from gossamer.ports.archive import Capture
from gossamer.surface import settings
from gossamer.surface.engine import Engine, LiveView
from tests.surface.samples import explanation, host, report, snapshot

DIGEST = "sha1:MNPAZKXH7ZCYQ3VXWIMMCOPYW4WYQHCS"


def capture(payload: bytes, encoding: str = "") -> Capture:
    headers = (("content-type", "text/html"), *((("content-encoding", encoding),) if encoding else ()))
    return Capture(
        record_type="response",
        warc_headers=(),
        url="https://example.com/",
        date=1_767_225_600.0,
        status=200,
        reason="OK",
        headers=headers,
        head_bytes=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n",
        payload=payload,
        payload_digest=DIGEST,
        digest_ok=True,
    )


class FakeReader:
    """A crawl that was opened for reading."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine
        self.config = Config()

    def snapshot(self) -> Snapshot:
        return snapshot()

    def explain(self, url: str) -> Explanation:
        self._engine.asked.append(url)
        return explanation()

    def hosts(self) -> Iterator[HostView]:
        return iter([host(1)])

    def report(self) -> ReportData:
        return report(hostile=self._engine.hostile)

    def captures(self, url: str) -> Sequence[Visit]:
        self._engine.asked.append(url)
        return self._engine.visits

    def read(self, pointer: Pointer) -> Capture:
        try:
            return self._engine.captures[pointer.offset]
        except KeyError as error:
            raise ArchiveError(f"{pointer.segment}: no record at {pointer.offset}") from error

    def history(self, url: str, last: int = 0) -> History | None:
        self._engine.asked.append(url)
        return self._engine.history

    def text(self, pointer: Pointer) -> StoredText:
        return self._engine.texts[pointer.offset]

    def verify(self) -> Iterator[Problem | VerifyProgress]:
        yield VerifyProgress(rows=1)
        yield from self._engine.problems
        yield VerifyProgress(rows=3, rows_total=3, records=9, segments=1, bytes=4_096)

    def close(self) -> None:
        self._engine.closed += 1


class FakeEngine:
    """Fulfils `Engine`."""

    def __init__(self) -> None:
        self.configs: list[Config] = []
        self.shown: tuple[Snapshot, ...] = (snapshot(),)
        self.code = 0
        self.error: GossamerError | None = None
        self.asked: list[str] = []
        self.visits: tuple[Visit, ...] = ()
        self.captures: dict[int, Capture] = {}
        self.history: History | None = None
        self.texts: dict[int, StoredText] = {}
        self.problems: tuple[Problem, ...] = ()
        self.hostile = False
        self.closed = 0

    def run_crawl(self, config: Config, view: LiveView) -> int:
        if self.error is not None:
            raise self.error
        self.configs.append(config)
        (Path(config.directory) / "log").mkdir(parents=True, exist_ok=True)
        settings.save(config)
        for shot in self.shown:
            view.show(shot)
        return self.code

    def open_crawl(self, directory: Path) -> FakeReader:
        if self.error is not None:
            raise self.error
        return FakeReader(self)


def _fulfils(engine: FakeEngine) -> Engine:
    return engine
