"""A person operates a running crawl in a real Chromium; the log of the crawled server says what came of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.chromium import Browser
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import Hit, read_log
from tests.support.serving import Serving, log_in

ONE, TWO = "one.example", "two.example"
RULES = (
    "User-agent: *\n"
    "Disallow: /page1\n"
    "Allow: /page2\n"
    '# <img src=x onerror="window.pwned = 1"><script>window.pwned = 1</script>\n'
)
LOG_LATE_S = 4.0  # what happened before so long is in the log


@pytest.fixture
def port(nginx: Nginx, tmp_path: Path) -> int:
    number = free_port()
    for place, (name, robots) in enumerate(((ONE, ""), (TWO, RULES)), 1):
        folder = write_site(tmp_path / name, chain(1_500), robots)
        nginx.add(name, address=f"127.77.0.{place}", port=number, root=folder)
    nginx.start()
    return number


@pytest.fixture
def crawl(make_crawl: MakeCrawl, port: int) -> Crawl:
    options: dict[str, dict[str, Any]] = {"identity": {"contact": "https://bot.example/about"}}
    return make_crawl(*(f"http://{name}:{port}/index.html" for name in (ONE, TWO)), options=options)


@pytest.fixture
def server(crawl: Crawl, tmp_path: Path) -> Iterator[Serving]:
    crawl.start()
    wait_for((crawl.directory / "gossamer.toml").exists)
    with Serving(tmp_path / "home", crawl.directory) as serving:
        wait_for(lambda: serving.get("/v1/status")["pages"] > 3)
        yield serving


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[Browser]:
    with Browser(chromium, tmp_path / "profile") as started:
        started.size(1280)
        yield started


def wait_for(what: Callable[[], Any], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(0.05)


def hits(nginx: Nginx, name: str, since: float = 0.0) -> list[Hit]:
    return [hit for hit in read_log(nginx.log) if hit.host == name and hit.start >= since]


def fill(browser: Browser, field: str, text: str) -> float:
    """Type into the first field of a name and press Enter; when that was."""
    browser.run(f"document.querySelector('main [name={field}], [name={field}]').focus()")
    browser.type(text)
    browser.press("Enter")
    return time.time()


def shown(browser: Browser, place: str, text: str) -> None:
    browser.until(
        f"document.readyState === 'complete' && !!document.querySelector({place!r}) && "
        f"document.querySelector({place!r}).textContent.includes({text!r})"
    )


def test_a_crawl_is_operated_from_the_dashboard(
    nginx: Nginx, server: Serving, crawl: Crawl, browser: Browser, port: int
) -> None:
    log_in(browser, server.base, server.tokens["operate"])
    it_is_live(browser)
    a_host_tells_its_story(browser, port)
    a_host_is_slowed_down(nginx, browser)
    a_host_is_taken_down(nginx, server, browser, port)
    urls_are_found(browser, port)
    it_is_paused(nginx, browser)
    the_page_for_site_owners_is_true(nginx, server, browser)
    assert browser.run("window.pwned") is None
    assert browser.said == []
    assert [url for url in browser.requested if not url.startswith((server.base, "about:", "data:"))] == []
    a_mistake_leads_back(server, browser)
    the_log_is_evidence(nginx, crawl)


def it_is_live(browser: Browser) -> None:
    shown(browser, "#live-state", "live")
    pages = "Number(document.querySelector('.tile b').textContent.replaceAll(',', ''))"
    browser.run("window.unchanged = true")
    before = browser.run(pages)
    browser.until(f"{pages} > {before + 20}")
    assert browser.run("window.unchanged")
    for title in ("Pages a second", "Hosts by state", "Frontier", "Refused", "Freshness", "Copies", "Disk"):
        assert browser.run(f"[...document.querySelectorAll('h2')].some(one => one.textContent.startsWith({title!r}))")


def a_host_tells_its_story(browser: Browser, port: int) -> None:
    fill(browser, "q", TWO)  # without its port
    shown(browser, "h1", f"{TWO}:{port}")
    shown(browser, ".lines", "window.pwned")
    assert browser.run("document.querySelectorAll('.lines li').length") == 4
    shown(browser, "[data-live=charts]", "0 shorter than the gap in force")
    shown(browser, "[data-live=visits]", "robots-disallowed, robots.txt line 2: Disallow: /page1")
    shown(browser, "[data-live=visits] tbody", "no rule against it")
    assert browser.run("document.querySelectorAll('[data-live=charts] .columns rect.accent').length") > 5


def a_host_is_slowed_down(nginx: Nginx, browser: Browser) -> None:
    changed = fill(browser, "delay_s", "3s")
    shown(browser, ".said", "gap 3 s (operator)")
    time.sleep(4.5)
    assert len(hits(nginx, TWO, changed + 0.5)) <= 2
    assert len(hits(nginx, ONE, changed + 0.5)) > 10
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent.includes('Take back')).focus()")
    browser.press("Enter")
    shown(browser, ".said", "gap 0.1 s")
    wait_for(lambda: len(hits(nginx, TWO, changed + 4.5)) > 5)


def a_host_is_taken_down(nginx: Nginx, server: Serving, browser: Browser, port: int) -> None:
    fill(browser, "q", ONE)
    shown(browser, "h1", f"{ONE}:{port}")
    browser.leave("document.querySelector('main button.danger').click()")
    shown(browser, "h1", "Takedowns")
    assert browser.run("document.querySelector('main [name=value]').value") == f"{ONE}:{port}"
    asked = fill(browser, "reason", "the owner asked")
    shown(browser, "[data-live=list]", "confirmed at")
    time.sleep(max(0.0, asked + 2.0 - time.time()))
    assert hits(nginx, ONE, asked + 1.0) == []
    assert hits(nginx, TWO, asked + 1.0)
    audited = [(line["who"], line["what"], line["step"]) for line in server.audited() if "takedown" in line["what"]]
    assert audited == [("operate", "POST /v1/takedown", step) for step in ("asked", "done")]
    browser.run("document.querySelector('[data-live=list] [name=reason]').focus()")
    browser.type("settled")
    browser.press("Enter")
    shown(browser, "[data-live=list]", "lifted at")
    lifted = time.time()
    wait_for(lambda: hits(nginx, ONE, lifted))


def urls_are_found(browser: Browser, port: int) -> None:
    fill(browser, "q", f"http://{TWO}:{port}/page1.html")
    shown(browser, "[data-live=answer]", "robots.txt line 2: Disallow: /page1")
    browser.leave("[...document.querySelectorAll('.links a')].find(one => one.textContent.startsWith('Known')).click()")
    browser.until("document.querySelectorAll('[data-live=answer] tbody tr').length === 1")
    fill(browser, "q", f"http://{TWO}:{port}/page1*")
    browser.until("document.querySelectorAll('[data-live=answer] tbody tr').length > 50")


def it_is_paused(nginx: Nginx, browser: Browser) -> None:
    browser.leave("document.querySelector('a.brand').click()")
    shown(browser, "[data-live=actions]", "Pause")
    paused = fill(browser, "reason", "somebody called")
    shown(browser, "[data-live=state]", "somebody called")
    shown(browser, "[data-live=spoken]", "paused")
    shown(browser, "[data-live=actions] button", "Resume")
    assert [hit for name in (ONE, TWO) for hit in hits(nginx, name, paused + 1.0)] == []
    browser.leave("document.querySelector('[data-live=actions] button').click()")
    resumed = time.time()
    shown(browser, "[data-live=state]", "crawling")
    wait_for(lambda: hits(nginx, TWO, resumed))


def the_page_for_site_owners_is_true(nginx: Nginx, server: Serving, browser: Browser) -> None:
    browser.open(f"{server.base}/bot")
    told = browser.run("document.querySelector('main code').textContent")
    assert told.endswith("; +https://bot.example/about)")
    assert {hit.agent for hit in read_log(nginx.log)} == {told}


def a_mistake_leads_back(server: Serving, browser: Browser) -> None:
    browser.open(f"{server.base}/hosts?sort=queued")
    browser.run("location.href = '/host?host=never.example'")
    shown(browser, "main", "the crawl has never seen this host")
    assert browser.run("document.querySelectorAll('nav[aria-label=Pages] a').length") > 3
    assert browser.run("document.querySelector('main a').getAttribute('href')") == "/hosts?sort=queued"


def the_log_is_evidence(nginx: Nginx, crawl: Crawl) -> None:
    """Each request in the server's log is in ours, with its time, outcome, pause and rule."""
    until = time.time()
    time.sleep(LOG_LATE_S)
    answer = crawl.ask("log", "--host", TWO)
    lines = [json.loads(line) for line in answer.out.splitlines()]
    ours = [line for line in lines if line.get("started")]
    seen = [hit for hit in hits(nginx, TWO) if hit.start < until]
    assert len(seen) > 50
    targets = {line["url"].partition(f":{seen[0].port}")[2]: line for line in ours}
    for before, line in pairwise(ours):  # an order may change the delay while a page is fetched
        assert line["gap_s"] >= min(before["delay_s"], line["delay_s"]) - 0.002
    for hit in seen:
        line = targets[hit.target]
        assert abs(line["started"] - hit.start) < 0.5
        assert line["status"] == hit.status
        if not hit.is_robots:
            is_named = hit.target.startswith("/page2")
            assert line["robots"] == ("line 3: Allow: /page2" if is_named else "no rule against it")
            assert line["robots_at"] <= line["started"]
    refused = [line for line in lines if line.get("reason") == "robots-disallowed"]
    assert refused
    assert {line["detail"] for line in refused} == {"robots.txt line 2: Disallow: /page1"}
    summary = crawl.ask("log", "--host", TWO, "--summary").out
    assert "by robots.txt: no rule against it" in summary
