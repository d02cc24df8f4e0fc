"""Purging a real crawl: the content is gone from every file, all else is whole, and the crawl can go on."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl, program
from tests.support.nginx import Nginx, free_port

TAKEN, KEPT = "www.taken.example", "www.kept.example"
SECRET = "zwiebelfisch"
SAME = "<p>" + " ".join(f"common{number}" for number in range(200))


@pytest.fixture
def port(nginx: Nginx, tmp_path: Path) -> int:
    number = free_port()
    for place, name in enumerate((TAKEN, KEPT), 1):
        more = f" {SECRET}" if name == TAKEN else ""
        folder = write_site(tmp_path / name, {page: text + more for page, text in chain(12).items()})
        (folder / "same.html").write_text(SAME)
        nginx.add(name, address=f"127.75.0.{place}", port=number, root=folder)
    nginx.start()
    return number


@pytest.fixture
def crawl(make_crawl: MakeCrawl, port: int) -> Crawl:
    """Both hosts crawled; the page they share was fetched at the one that is taken down first."""
    made = make_crawl(f"http://{TAKEN}:{port}/same.html", f"http://{TAKEN}:{port}/index.html")
    assert made.run().code == 0
    made.seeds = (*made.seeds, f"http://{KEPT}:{port}/same.html", f"http://{KEPT}:{port}/index.html")
    assert made.run().code == 0
    return made


def texts(crawl: Crawl) -> str:
    return "".join(gzip.decompress(path.read_bytes()).decode("utf-8", "replace") for path in crawl.warcs())


def test_content_goes_for_good_the_rest_is_whole_and_what_is_lifted_is_fetched_anew(crawl: Crawl, port: int) -> None:
    assert SECRET in texts(crawl)
    same = f"http://{KEPT}:{port}/same.html"
    assert "revisit" in crawl.ask("get", same, "--list", "--json").out
    made = json.loads(crawl.ask("takedown", TAKEN, "--reason", "a court", "--json").out)["takedowns"][0]["id"]
    assert SECRET in texts(crawl), "a takedown alone leaves the archive as it is"
    told = crawl.ask("purge", made)
    assert (told.code, "--yes" in told.out) == (0, True)
    done = crawl.ask("purge", made, "--yes")
    assert done.code == 0, done.words
    left = texts(crawl)
    assert SECRET not in left
    assert f"//{TAKEN}" not in left
    for path in crawl.archive.glob("*.cdxj"):
        assert TAKEN not in path.read_text()
    assert crawl.ask("get", same).out == SAME, "its copy referred to a record that went; it has its own now"
    verified = crawl.ask("verify")
    assert verified.code == 0, verified.words
    with_digests = 0
    for path in crawl.warcs():
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.content_stream().read()
                with_digests += record.rec_type == "response"
    assert with_digests >= 14
    listed = json.loads(crawl.ask("takedown", "--list", "--json").out)["takedowns"][0]
    assert "purged" in {step["name"] for step in listed["steps"]}
    again = crawl.ask("purge", "--yes")
    assert (again.code, "0 records" in again.out) == (0, True)
    # Lifted, it is fetched anew.
    assert crawl.ask("takedown", "--lift", made).code == 0
    assert crawl.run().code == 0
    assert SECRET in crawl.ask("get", f"http://{TAKEN}:{port}/page3.html").out
    assert crawl.ask("verify").code == 0


def test_killed_at_any_moment_the_next_run_ends_it(crawl: Crawl) -> None:
    crawl.ask("takedown", TAKEN, "--reason", "a court")
    command = [*program(), "purge", "--yes", "--dir", str(crawl.directory)]
    for delay_s in (0.3, 0.5, 0.7, 0.9, 1.2):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert crawl.ask("purge", "--yes").code == 0
    assert SECRET not in texts(crawl)
    verified = crawl.ask("verify")
    assert verified.code == 0, verified.words


def test_a_running_crawl_is_not_purged(make_crawl: MakeCrawl, port: int) -> None:
    crawl = make_crawl(f"http://{KEPT}:{port}/index.html", flags=("--continuous",))
    process = crawl.start()
    until = time.monotonic() + 30
    while not (crawl.directory / "control.sock").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert crawl.ask("takedown", TAKEN, "--reason", "x").code == 0
    done = crawl.ask("purge", "--yes")
    assert (done.code, "stop the crawl first" in done.err) == (5, True)
    process.send_signal(signal.SIGINT)
    process.wait()
