"""An archive that has lost what was committed: a real crawl, killed, its open segment shortened, gone on with."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl, end_group
from tests.support.nginx import Nginx, free_port

NAME = "damage.example"
PAGES = 60  # more than are fetched before it is killed, on however busy a machine
LOGGED = 4  # visits that are committed and durable when it is killed


@pytest.fixture
def crawl(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> Crawl:
    port = free_port()
    nginx.add(NAME, address="127.73.8.1", port=port, root=write_site(tmp_path / "site", chain(PAGES)))
    nginx.start()
    made = make_crawl(f"http://{NAME}:{port}/index.html", options={"politeness": {"min_delay": "250ms"}})
    made.is_spoilt = True  # rows go on naming the records that are lost
    return made


def killed(crawl: Crawl) -> Path:
    """Begin, and kill it when its log has lines; the segment that it leaves."""
    process = crawl.start()
    deadline = time.monotonic() + 60
    log = crawl.directory / "log"
    while sum(path.read_bytes().count(b"\n") for path in log.glob("*.jsonl")) < LOGGED:
        assert process.poll() is None, crawl.output[-2000:]
        assert time.monotonic() < deadline, "the crawl stands still"
        time.sleep(0.02)
    end_group(process, signal.SIGKILL)
    process.wait()
    [left] = crawl.archive.glob("*.open")
    return left


def test_a_start_says_what_the_archive_has_lost(crawl: Crawl) -> None:
    left = killed(crawl)
    size_bytes = left.stat().st_size // 3
    os.truncate(left, size_bytes)
    again = Crawl(crawl.folder, crawl.seeds, crawl.options, ("--pages", "8"))
    result = again.run()
    assert result.code == 0, result.words
    said = f"error: archive/{left.name.removesuffix('.open')}: {size_bytes} bytes are left of "
    begun, _, rest = result.out.partition(" crawling | ")
    assert sum(said in line for line in begun.splitlines()) == 1, result.words
    assert said in rest, "the summary has it too"
    assert "notices    1 error" in rest
    assert said in again.ask("status").out
    assert json.loads(again.ask("report", "--format", "json").out)["errors"] == {"archive-damaged": 1}
    checked = again.ask("verify")
    assert (checked.code, "record-missing" in checked.out) == (7, True), checked.words
