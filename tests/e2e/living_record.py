"""What a crawl of the living web leaves: rows, ledgers, records of the archive, and what commands say of them."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warcio.archiveiterator import ArchiveIterator

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import decode_host, decode_site
from gossamer.model.record import Cf, HostRow, SiteRow, UrlRow
from gossamer.model.url import Url, parse
from gossamer.sim.check import url_rows
from gossamer.surface import cli
from tests.e2e.living_web import LivingWeb
from tests.support.crawl import Crawl
from tests.support.evidence import state_faults


@dataclass(frozen=True)
class Record:
    """One record of the archive."""

    kind: str
    status: str
    digest: str
    refers_to: str
    profile: str
    bytes: int  # of its payload


@dataclass
class Life:
    """The crawl that has ended, and what it left."""

    web: LivingWeb
    crawl: Crawl
    rows: dict[str, UrlRow]  # by wire form
    hosts: dict[str, HostRow]
    sites: dict[str, SiteRow]
    records: dict[str, list[Record]]  # by URL

    def said(self, *arguments: str, errors: bool = False) -> str:
        """What a command prints, in this process: starting one for each question would take most of the time."""
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.run([*arguments, "--dir", str(self.crawl.directory)])
        assert code == 0, err.getvalue()
        out.flush()
        return err.getvalue() if errors else out.buffer.getvalue().decode()

    def row(self, name: str, target: str) -> UrlRow:
        return self.rows[self.web.url(name, target)]

    def host(self, name: str) -> HostRow:
        return self.hosts[self.web.front[name].partition("://")[2]]

    def history(self, name: str, target: str) -> list[dict[str, Any]]:
        """Versions, oldest first."""
        versions: list[dict[str, Any]] = json.loads(self.said("history", self.web.url(name, target), "--json"))[
            "versions"
        ]
        return versions[::-1]

    def verdicts(self, name: str, target: str) -> list[str]:
        return [version["verdict"] for version in self.history(name, target)]

    def explained(self, name: str, target: str) -> str:
        return self.said("explain", self.web.url(name, target))

    def kept(self, name: str, target: str) -> list[Record]:
        return self.records[self.web.url(name, target)]

    def report(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.said("report", "--format", "json"))
        return said


def key_of(url: str) -> str:
    parsed = parse(url)
    assert isinstance(parsed, Url)
    return parsed.key


def archived(paths: list[Path]) -> dict[str, list[Record]]:
    """Every response and revisit, as warcio reads them."""
    found: dict[str, list[Record]] = {}
    for path in paths:
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type not in ("response", "revisit"):
                    continue
                get = record.rec_headers.get_header
                found.setdefault(get("WARC-Target-URI"), []).append(
                    Record(
                        record.rec_type,
                        record.http_headers.get_statuscode(),
                        get("WARC-Payload-Digest"),
                        get("WARC-Refers-To-Target-URI") or "",
                        (get("WARC-Profile") or "").rpartition("/")[2],
                        len(record.content_stream().read()),
                    )
                )
    return found


def gathered(web: LivingWeb, crawl: Crawl) -> Life:
    assert state_faults(crawl) == []
    assert crawl.ask("verify").code == 0
    store = RocksStore(crawl.directory / "state", read_only=True)
    try:
        rows = {row.url: row for row in url_rows(store).values()}
        names = {row.host for row in rows.values()}
        ledgers = {name: store.get(Cf.HOST, name.encode()) for name in names}
        sites = {name: store.get(Cf.SITE, name.encode()) for name in ("twin.example", "pair.example")}
        return Life(
            web,
            crawl,
            rows,
            {name: decode_host(raw) for name, raw in ledgers.items() if raw is not None},
            {name: decode_site(raw) for name, raw in sites.items() if raw is not None},
            archived(crawl.warcs()),
        )
    finally:
        store.close()
