"""A manual of more than 1,000 pages on fifty hosts: every reachable page once, a valid archive, polite throughout.

Then the same under ten kills: nothing of it may change.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrawl
from tests.support.crawl import Crawl, end_group
from tests.support.evidence import assert_archive_is_valid, captured, unexcused_repeats
from tests.support.manual import Spread
from tests.support.nginx import Nginx
from tests.support.politeness import Hit, by_address, by_host, read_log, short_gaps

GAP_S = 0.1
KILLED_GAP_S = 0.4
KILLS = 10
UNSETTLED_S = 5.0  # longer ago than that before a kill, and a page must have been committed


def pages_asked(crawl: Crawl, hits: list[Hit]) -> list[Hit]:
    """Requests for pages: not for rules, and not the made-up address that shows a host's own not-found page."""
    made_up = {event["url"] for event in crawl.events() if event.get("kind") == "probe"}
    asked = [hit for hit in hits if not hit.is_robots and f"http://{hit.url}" not in made_up]
    probes = [hit for hit in hits if f"http://{hit.url}" in made_up]
    assert all(hit.status == 404 for hit in probes)
    return asked


def assert_corpus_is_the_manual(crawl: Crawl, expected: frozenset[str]) -> None:
    """Each page is captured once, and nothing else but rules and probes."""
    captures = captured(crawl)
    pages = {url: count for url, count in captures.items() if url in expected}
    assert set(pages) == expected
    assert {url: count for url, count in pages.items() if count > 1} == {}


def assert_polite(hits: list[Hit], gap_s: float) -> None:
    assert short_gaps(hits, gap_s, by_address) == []
    assert short_gaps(hits, gap_s, by_host) == []


@pytest.mark.timeout(400)
def test_every_page_once(
    manual_web: Spread, manual_pages: frozenset[str], manual_server: Nginx, make_crawl: MakeCrawl
) -> None:
    crawl = make_crawl(manual_web.seed, options={"politeness": {"min_delay": GAP_S}})
    result = crawl.run()
    assert result.code == 0, result.words[-3000:]
    hits = read_log(manual_server.log)
    asked = Counter(f"http://{hit.url}" for hit in pages_asked(crawl, hits))
    assert set(asked) == manual_pages
    assert {url: count for url, count in asked.items() if count > 1} == {}
    assert Counter(hit.host for hit in hits if hit.is_robots) == dict.fromkeys(manual_web.hosts, 1)
    assert_polite(hits, GAP_S)
    assert_archive_is_valid(crawl)
    assert_corpus_is_the_manual(crawl, manual_pages)
    again = crawl.run()
    assert again.code == 0, again.words[-3000:]
    assert len(read_log(manual_server.log)) == len(hits), "an exhausted crawl asks for nothing when it is begun again"


def wait_for_hits(log: Path, count: int, process: subprocess.Popen[bytes], limit_s: float = 30.0) -> None:
    """Until the server has seen so many requests."""
    deadline = time.monotonic() + limit_s
    while log.read_bytes().count(b"\n") < count:
        assert process.poll() is None, f"the crawl ended with {process.returncode}"
        assert time.monotonic() < deadline, "the crawl stands still"
        time.sleep(0.02)


@pytest.mark.timeout(600)
def test_ten_kills_change_nothing(
    manual_web: Spread, manual_pages: frozenset[str], manual_server: Nginx, make_crawl: MakeCrawl
) -> None:
    chance = random.Random(20)
    crawl = make_crawl(manual_web.seed, options={"politeness": {"min_delay": KILLED_GAP_S}})
    kills: list[float] = []
    for number in range(KILLS):
        seen = manual_server.log.read_bytes().count(b"\n")
        process = crawl.start()
        wait_for_hits(manual_server.log, seen + chance.randint(1, 60), process)
        time.sleep(chance.uniform(0.0, 0.3))
        assert process.poll() is None, f"exhausted before kill {number}: {crawl.output[-2000:]}"
        if number % 2:
            process.kill()  # its workers find out for themselves
        else:
            end_group(process, signal.SIGKILL)
        process.wait()
        kills.append(time.time())
    result = crawl.run()
    assert result.code == 0, result.words[-3000:]
    hits = read_log(manual_server.log)
    asked = pages_asked(crawl, hits)
    assert {f"http://{hit.url}" for hit in asked} == manual_pages
    assert unexcused_repeats(asked, kills, UNSETTLED_S) == []
    assert_polite(hits, KILLED_GAP_S)
    assert_archive_is_valid(crawl)
    assert_corpus_is_the_manual(crawl, manual_pages)
