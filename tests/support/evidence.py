"""What is left after a crawl, judged from outside: archive, state, the server's log. For killed crawls as well.

The checkers of the simulator look at the real store here.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fastwarc import ArchiveIterator, WarcRecordType

from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.page import Pointer
from gossamer.sim.check import recount, url_rows
from gossamer.sim.oracle import allowed, read
from gossamer.sim.shadow import Shadow
from tests.support.crawl import Crawl, merged
from tests.support.politeness import Hit

CAPTURES = WarcRecordType.response | WarcRecordType.revisit


def captured(crawl: Crawl) -> Counter[str]:
    """How many captures the archive has of each page."""
    urls: Counter[str] = Counter()
    for path in crawl.warcs():
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=CAPTURES, parse_http=False):
                urls[record.headers["WARC-Target-URI"]] += 1
    return urls


def assert_archive_is_valid(crawl: Crawl) -> None:
    """By the independent checker and by our own; no segment is left open."""
    warcs = crawl.warcs()
    assert warcs
    assert not list(crawl.archive.rglob("*.open"))
    checker = Path(sys.executable).with_name("warcio")
    checked = subprocess.run([checker, "check", *warcs], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout[-3000:]
    verified = crawl.ask("verify")
    assert verified.code == 0, verified.words[-3000:]


def state_faults(crawl: Crawl) -> list[str]:
    """What is wrong with the state of a crawl that does not run: queues, counters, calendar, records."""
    if not (crawl.directory / "state" / "CURRENT").exists():
        return []
    store = RocksStore(crawl.directory / "state", read_only=True)
    try:
        return [*recount(store), *Shadow(store).faults, *_missing(crawl, store)]
    finally:
        store.close()


def _missing(crawl: Crawl, store: RocksStore) -> Iterator[str]:
    """Rows whose record is not in the archive, by the lengths of its files."""
    lengths: dict[str, int] = {}
    for key, row in url_rows(store).items():
        for pointer in (row.pointer, *(record for _, _, record in row.history)):
            if pointer is not None and pointer.offset + pointer.length > _length(crawl, pointer, lengths):
                yield f"the record of {key} at {pointer} is not in the archive"


def _length(crawl: Crawl, pointer: Pointer, lengths: dict[str, int]) -> int:
    if pointer.segment not in lengths:
        paths = [crawl.archive / pointer.segment, crawl.archive / f"{pointer.segment}.open"]
        lengths[pointer.segment] = next((path.stat().st_size for path in paths if path.exists()), 0)
    return lengths[pointer.segment]


def forbidden_hits(hits: Iterable[Hit], rules: dict[str, bytes], product: str = "Gossamer") -> list[str]:
    """Requests of a server's log that the robots.txt of their host forbids, by the second opinion."""
    groups = {host: read(body, product)[0] for host, body in rules.items()}
    return [
        f"{hit.host} was asked for {hit.target}"
        for hit in hits
        if hit.host in groups and not hit.is_robots and not allowed(groups[hit.host], hit.target)
    ]


def unexcused_repeats(asked: Iterable[Hit], kills: list[float], unsettled_s: float) -> list[str]:
    """Pages asked for again although no kill came before their commit: longer ago than that, and it was committed."""
    last: dict[str, Hit] = {}
    found = []
    for hit in asked:
        before = last.get(hit.url)
        if before is not None and not any(
            before.start < kill < hit.start and kill - before.end < unsettled_s for kill in kills
        ):
            found.append(f"{hit.url} was asked for at {before.start} and {hit.start}, kills at {kills}")
        last[hit.url] = hit
    return found


def making(folder: Path, hosts_file: Path, base: dict[str, dict[str, Any]]) -> Iterator[Callable[..., Crawl]]:
    """For a fixture to yield from: makes crawls with the options `base`. What still runs at the end is ended, and then
    their states are judged, whatever the test was about and however its crawls ended.
    """
    made: list[Crawl] = []

    def make(*seeds: str, options: dict[str, dict[str, Any]] | None = None, flags: tuple[str, ...] = ()) -> Crawl:
        tables = merged(base, {"dns": {"hosts_file": str(hosts_file)}}, options or {})
        crawl = Crawl(folder / f"run{len(made)}", seeds, tables, flags)
        made.append(crawl)
        return crawl

    yield make
    for crawl in made:
        crawl.end()
    assert [fault for crawl in made if not crawl.is_spoilt for fault in state_faults(crawl)] == []
