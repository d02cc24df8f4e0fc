"""A crawl's directory opened for reading, while the crawl runs or not: what `gossamer.surface.engine.CrawlReader` asks.

The rows are those of one moment, the opening. What is told from them is in modules of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gossamer.adapters.networks import load_cdn
from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.warc import files
from gossamer.core.changes import decode_robots
from gossamer.core.counters import load_totals
from gossamer.core.keys import robots_key
from gossamer.model.config import Config
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, HostRow
from gossamer.model.url import Url, parse
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
from gossamer.policy.robots import Rules
from gossamer.policy.robots import parse as parse_robots
from gossamer.policy.scope import compile_scope
from gossamer.ports.archive import Capture
from gossamer.surface import settings
from gossamer.surface.captures import Captures
from gossamer.surface.evidence import Crawled
from gossamer.surface.explaining import explain
from gossamer.surface.hostfreshness import HostFreshness, host_freshness
from gossamer.surface.hoststory import VISITS_SHOWN, HostStory, host_story
from gossamer.surface.hostview import host_view
from gossamer.surface.offline import running_snapshot, stored_snapshot
from gossamer.surface.reportdata import report_data
from gossamer.surface.storedtexts import StoredTexts
from gossamer.surface.storescan import decoded, host_row, host_rows, url_row
from gossamer.surface.urllist import URLS_SHOWN, UrlList, url_list
from gossamer.surface.verifying import verify
from gossamer.surface.versions import history


class Reader:
    """Reads one crawl. Nothing of it is changed."""

    def __init__(self, directory: Path, *, now: Callable[[], float] = time.time) -> None:
        """Open the crawl in `directory`; `now` tells the time in unix seconds.

        Raises ConfigError for a damaged gossamer.toml, StoreError when there is no state, or when it is damaged or of
        a newer version.
        """
        self._directory = directory
        self._now = now
        self._config = settings.load(directory / settings.FILE_NAME, directory=str(directory))
        seeds = [url for url in map(parse, self._config.seeds) if isinstance(url, Url)]
        self._scope = compile_scope(self._config.scope, seeds)
        # Listed before the store is opened: whatever is finished here is committed there.
        self._segments = [files.segment_name(path) for path in files.segments(directory / "archive")]
        self._store = RocksStore(directory / "state", read_only=True)
        try:
            self._totals = load_totals(self._store)
        except BaseException:
            self._store.close()
            raise
        self._captures = Captures(self._store, directory / "archive")
        self._texts = StoredTexts(self._captures, self._config, self._scope)

    @property
    def config(self) -> Config:
        """The configuration the crawl runs under."""
        return self._config

    def snapshot(self) -> Snapshot:
        """The running crawl's own word when it runs, else its state as last committed."""
        running = running_snapshot(self._directory / "log")
        if running is not None:
            return running
        return stored_snapshot(self._store, self._totals, self._config, self._scope, self._now())

    def explain(self, url: str) -> Explanation:
        """Every step of a URL's road. Answers for URLs that were never seen, too."""
        crawl = Crawled(
            config=self._config,
            scope=self._scope,
            store=self._store,
            totals=self._totals,
            cdn=load_cdn(self._config.politeness.cdn_ranges),
            now=self._now(),
            running=running_snapshot(self._directory / "log") is not None,
        )
        return explain(crawl, self._captures, url)

    def hosts(self, after: str = "") -> Iterator[HostView]:
        """All hosts whose name is greater than `after`, in the order of their names."""
        now = self._now()
        running = running_snapshot(self._directory / "log") is not None
        return (host_view(row, now, running=running) for row in host_rows(self._store, after=after))

    def host_row(self, host: str) -> HostRow | None:
        """The ledger of a host, or None. Raises StoreError for a damaged row."""
        return host_row(self._store, host)

    def rules(self, host: str, scheme: str) -> Rules | None:
        """The rules of a host's robots.txt as they are for us, or None where there is none."""
        body = self._robots(host, scheme)
        return None if body is None else parse_robots(body, self._config.identity.product)

    def _robots(self, host: str, scheme: str) -> bytes | None:
        key = robots_key(host, scheme)
        raw = self._store.get(Cf.HOST, key)
        return None if raw is None else decoded(decode_robots, Cf.HOST, key, raw).body

    def story(self, host: str, last: int = VISITS_SHOWN) -> HostStory | None:
        """Everything that is known of a host, with its newest `last` visits; None when it was never seen."""
        row = host_row(self._store, host)
        if row is None:
            return None
        running = running_snapshot(self._directory / "log") is not None
        bodies = {scheme: self._robots(host, scheme) or b"" for scheme in row.robots}
        return host_story(row, self._config, self._now(), running=running, last=last, bodies=bodies)

    def urls(self, prefix: str, after: str = "", limit: int = URLS_SHOWN) -> UrlList | None:
        """Known URLs that begin so, in the order of their keys; None when that is no beginning of a URL."""
        return url_list(self._store, prefix, after, limit)

    def freshness(self, host: str) -> HostFreshness | None:
        """How current the copies of a host's pages are; None when it was never seen."""
        row = host_row(self._store, host)
        return None if row is None else host_freshness(self._store, row, self._now())

    def report(self) -> ReportData:
        """Everything a report shows."""
        running = running_snapshot(self._directory / "log")
        now = self._now()
        # Counters and rows of one moment: what the running crawl says of itself is newer than the rows read here.
        stored = stored_snapshot(self._store, self._totals, self._config, self._scope, now)
        head = stored if running is None else _present(running, stored)
        return report_data(
            self._store, self._totals, self._config, self._scope, head, now=now, running=running is not None
        )

    def captures(self, url: str) -> Sequence[Visit]:
        """Stored copies of a URL, newest first; empty when there is none."""
        return self._captures.of(url)

    def read(self, pointer: Pointer) -> Capture:
        """One stored copy, a revisit with the payload of its original. Raises ArchiveError."""
        return self._captures.read(pointer)

    def history(self, url: str, last: int = 0) -> History | None:
        """What each visit of a URL brought, or of the newest `last` ones; None when it is not known."""
        parsed = parse(url)
        row = url_row(self._store, parsed.key) if isinstance(parsed, Url) else None
        if row is None or not isinstance(parsed, Url):
            return None
        visits = self._captures.of_row(parsed.key, row)
        return history(parsed.key, row, visits, self._texts.fingerprint, self._texts.size, last)

    def text(self, pointer: Pointer) -> StoredText:
        """The main text of a stored copy, read in a process of its own. Raises ArchiveError."""
        return self._texts.text(pointer)

    def verify(self) -> Iterator[Problem | VerifyProgress]:
        """Check rows against records, records against rows, queues against rows; last comes a VerifyProgress."""
        return verify(self._store, self._totals, self._directory / "archive", self._segments)

    def close(self) -> None:
        """Release the store, end the process that reads texts."""
        self._texts.close()
        self._store.close()


def _present(running: Snapshot, stored: Snapshot) -> Snapshot:
    """The running crawl's own snapshot, with what it does not keep."""
    return msgspec.structs.replace(running, seed_failures=running.seed_failures or stored.seed_failures)
