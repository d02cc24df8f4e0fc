"""`gossamer crawl --continuous` on a served site that changes: refreshes and new pages, pings, and an end by Ctrl-C."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import decode_url, encode
from gossamer.core.keys import due_key
from gossamer.model.record import Cf
from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import read_log

NAME = "living.example"
KEY = "0123456789abcdef"
DAY_S = 86_400.0


def targets(nginx: Nginx) -> list[str]:
    return [hit.target for hit in read_log(nginx.log)]


def until(crawl: Crawl, what: Callable[[], bool], limit_s: float = 60.0) -> None:
    deadline = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < deadline, crawl.output[-2000:]
        time.sleep(0.1)


def grow_older(crawl: Crawl, seconds: float, due: str) -> None:
    """Let every visit lie back so far, and the page of this path be due."""
    store = RocksStore(crawl.directory / "state")
    for slot, raw in store.scan(Cf.URL, b"", None, 1_000):
        row = decode_url(raw)
        key = slot.decode()
        if not row.due:
            continue
        writes: list[tuple[Cf, bytes, bytes | None]] = [(Cf.DUE, due_key(row.due, key), None)]
        row.visited -= seconds
        row.due = time.time() - 1.0 if row.url.endswith(due) else row.due
        if row.pace is not None:
            row.pace.seen_at -= seconds
        store.write([*writes, (Cf.URL, slot, encode(row)), (Cf.DUE, due_key(row.due, key), row.host.encode())])
    store.close()


def test_a_site_that_changes_is_followed_until_ctrl_c(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    root = write_site(tmp_path / "site", chain(3))
    (root / f"{KEY}.txt").write_text(KEY + "\n")
    port = free_port()
    nginx.add(NAME, address="127.74.0.1", port=port, root=root)
    nginx.start()
    front = f"http://{NAME}:{port}"
    crawl = make_crawl(f"{front}/index.html")
    assert crawl.run().code == 0
    first = targets(nginx)
    grow_older(crawl, 10 * DAY_S, "index.html")

    (root / "index.html").write_text((root / "index.html").read_text() + '<a href="fresh.html">fresh</a> and new words')
    (root / "fresh.html").write_text("<!DOCTYPE html><title>fresh</title><body>It was not there before.")
    process = crawl.start("--continuous")
    until(crawl, lambda: "/fresh.html" in targets(nginx))
    assert targets(nginx)[len(first) :].count("/index.html") == 1
    assert "/page1.html" not in targets(nginx)[len(first) :], "it is not due"

    told = crawl.ask("ping", f"{front}/page1.html", "--key", KEY)
    assert (told.code, told.out) == (0, "1 URL due now, or as soon as refresh.min_interval allows\n")
    foreign = ("http://elsewhere.example/", f"http://deep.{NAME}:{port}/")
    refused = crawl.ask("ping", f"{front}/page2.html", *foreign, "--key", "not-the-key-it-has")
    assert refused.code == 1
    for why in ("page2.html: ping-key-not-found", "elsewhere.example/: ping-outside-scope", "/: ping-host-unknown"):
        assert why in refused.out
    until(crawl, lambda: "/page1.html" in targets(nginx)[len(first) :])
    until(crawl, lambda: not any((crawl.directory / "spool").iterdir()))
    assert process.poll() is None, "it goes on with nothing left to fetch"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130, crawl.output[-2000:]
    seen = targets(nginx)[len(first) :]
    assert seen.count(f"/{KEY}.txt") == 1
    assert "/page2.html" not in seen
    pages = [event for event in crawl.events() if event["kind"] == "page"]
    verdicts = {event["url"].rpartition("/")[2]: event["verdict"] for event in pages}
    changed, unchanged, new = (verdicts[name] for name in ("index.html", "page1.html", "fresh.html"))
    assert (changed, unchanged, new) == ("changed", "not-modified", "new")
    report = json.loads(crawl.ask("report", "--format", "json").out)
    assert report["hints"]["ping-followed"] == 1
    assert [(host["host"], host["hints"]) for host in report["misleading"]] == [
        (f"{NAME}:{port}", "pinged URLs refused: ping-key-not-found 1")
    ]
    assert "by a ping" in crawl.ask("explain", f"{front}/page1.html").out
    assert report["snapshot"]["refreshes"] == 2
