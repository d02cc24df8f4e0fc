"""What the commands need from the engine. `gossamer.node` fulfils `Engine`; tests put a fake in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from gossamer.model.config import Config
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


class LiveView(Protocol):
    """Shown the crawl while it runs."""

    def show(self, snapshot: Snapshot) -> None:
        """Take the present state; called about twice a second, and a last time when the crawl has ended.

        Returns within milliseconds and does not raise for a terminal that went away.
        """
        ...


class CrawlReader(Protocol):
    """A crawl's directory, opened for reading."""

    @property
    def config(self) -> Config:
        """The configuration the crawl runs under."""
        ...

    def snapshot(self) -> Snapshot:
        """The state as last committed."""
        ...

    def explain(self, url: str) -> Explanation:
        """Every step of a URL's road. Answers for URLs that were never seen, too."""
        ...

    def hosts(self) -> Iterator[HostView]:
        """All hosts, in the order of their names."""
        ...

    def report(self) -> ReportData:
        """Everything a report shows."""
        ...

    def captures(self, url: str) -> Sequence[Visit]:
        """Stored copies of a URL, newest first; empty when there is none."""
        ...

    def read(self, pointer: Pointer) -> Capture:
        """One stored copy. Raises ArchiveError."""
        ...

    def history(self, url: str, last: int = 0) -> History | None:
        """What each visit of a URL brought, or of the newest `last` ones; None when it is not known."""
        ...

    def text(self, pointer: Pointer) -> StoredText:
        """The main text of one stored copy, in lines. Raises ArchiveError."""
        ...

    def verify(self) -> Iterator[Problem | VerifyProgress]:
        """Check rows against records and records against rows; the last item is a VerifyProgress."""
        ...

    def close(self) -> None:
        """Release the store."""
        ...


class Engine(Protocol):
    """The two ways into a crawl. Both raise GossamerError."""

    def run_crawl(self, config: Config, view: LiveView) -> int:
        """Crawl until the work or a budget is exhausted or a signal comes; the exit code.

        Writes `gossamer.toml` (`surface.settings.save`) once it owns the store and before the first fetch, so that a
        store it cannot open stays untouched.
        """
        ...

    def open_crawl(self, directory: Path) -> CrawlReader:
        """Open a crawl for reading. Raises StoreError when there is none, or when it is in use or damaged."""
        ...
