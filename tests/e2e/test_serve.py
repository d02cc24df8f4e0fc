"""A running crawl operated over HTTP: each change is judged by the log of the server that is crawled."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import Hit, read_log
from tests.support.serving import Serving

NAMES = ("one.example", "two.example", "new.example")
KEY = "0123456789abcdef"
CLIENT = Path(__file__).parents[2] / "docs" / "examples" / "fetcher.py"
T = TypeVar("T")
EVERYTHING = (
    {"scope": "pattern", "value": "*", "reason": "all"},
    {"scope": "site", "value": "example", "reason": "a public suffix"},
    {"scope": "host", "value": "no host", "reason": "x"},
    {"scope": "prefix", "value": "http://", "reason": "x"},
)


@pytest.fixture
def port(nginx: Nginx, tmp_path: Path) -> int:
    number = free_port()
    for place, name in enumerate(NAMES, 1):
        more = {f"{KEY}.txt": KEY, "unlinked.html": "nobody links to it"} if name == NAMES[1] else {}
        folder = write_site(tmp_path / name, chain(1_500) | more)
        if more:
            (folder / f"{KEY}.txt").write_text(KEY)
        nginx.add(name, address=f"127.76.0.{place}", port=number, root=folder)
    nginx.start()
    return number


@pytest.fixture
def crawl(make_crawl: MakeCrawl, port: int) -> Crawl:
    return make_crawl(*(f"http://{name}:{port}/index.html" for name in NAMES[:2]))


@pytest.fixture
def server(crawl: Crawl, tmp_path: Path) -> Iterator[Serving]:
    crawl.start()
    wait_for((crawl.directory / "gossamer.toml").exists)
    with Serving(tmp_path / "home", crawl.directory) as serving:
        wait_for(lambda: serving.get("/v1/status")["pages"] > 3)
        yield serving


def wait_for(what: Callable[[], T], seconds: float = 60.0) -> T:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def hits(nginx: Nginx, name: str, since: float = 0.0) -> list[Hit]:
    return [hit for hit in read_log(nginx.log) if hit.host == name and hit.start >= since]


def test_pause_and_takedown(nginx: Nginx, server: Serving, port: int) -> None:
    pause_and_resume(nginx, server)
    for body in EVERYTHING:
        refused_and_written_down(server, body)
    take_down_and_lift(nginx, server, port)


def test_hosts_seeds_limits_and_the_end(nginx: Nginx, server: Serving, crawl: Crawl, port: int) -> None:
    slow_down_and_let_go(nginx, server, port)
    add_and_stop(nginx, server, crawl, port)
    assert server.end() == 0
    assert "Traceback" not in server.output


def pause_and_resume(nginx: Nginx, server: Serving) -> None:
    server.do("POST", "/v1/pause", {"reason": "somebody called"})
    paused = time.time() + 0.5
    shown = wait_for(lambda: (found := server.get("/v1/status"))["state"] == "paused" and found)
    assert "somebody called" in shown["state_detail"]
    assert server.get("/v1/doctor")["resource"] == "paused"
    time.sleep(1.5)
    assert [hit for name in NAMES for hit in hits(nginx, name, paused)] == []
    server.do("POST", "/v1/resume", {})
    resumed = time.time()
    wait_for(lambda: len(hits(nginx, NAMES[0], resumed)) > 2)
    steps = [(line["who"], line["what"], line["step"]) for line in server.audited() if line["who"] == "operate"]
    assert steps == [
        ("operate", "POST /v1/pause", "asked"),
        ("operate", "POST /v1/pause", "done"),
        ("operate", "POST /v1/resume", "asked"),
        ("operate", "POST /v1/resume", "done"),
    ]


def take_down_and_lift(nginx: Nginx, server: Serving, port: int) -> None:
    called = time.time()
    made = server.do(
        "POST",
        "/v1/takedown",
        {"scope": "host", "value": f"{NAMES[0]}:{port}", "reason": "the owner asked", "ticket": "T-9"},
    )
    path = f"/v1/takedown/{made['takedown']['id']}"
    told = wait_for(lambda: (found := server.get(path))["confirmed"] and found)
    names = [step["name"] for step in told["takedown"]["steps"]]
    assert names[0] == "recorded"
    assert names[-1] == "confirmed"
    assert all(called <= step["at"] <= called + 30 for step in told["takedown"]["steps"])
    assert told["takedown"]["by"] == "operate"
    time.sleep(1.5)
    assert hits(nginx, NAMES[0], called + 1.0) == []
    assert hits(nginx, NAMES[1], called + 1.0)
    status, again = server.ask("POST", "/v1/takedown", {"scope": "host", "value": f"{NAMES[0]}:{port}", "reason": "x"})
    assert status == 409, again
    assert 'gossamer_takedowns_in_force{crawl="crawl"} 1' in _text(server, "/metrics")
    server.do("DELETE", path, {"reason": "settled"})
    lifted = time.time()
    wait_for(lambda: server.get(path)["status"].startswith("lifted"))
    wait_for(lambda: hits(nginx, NAMES[0], lifted))


def refused_and_written_down(server: Serving, body: dict[str, str]) -> None:
    status, answer = server.ask("POST", "/v1/takedown", body, "operate")
    assert status == 422, answer
    (fault,) = answer["faults"]
    assert fault["field"]
    assert fault["allowed"]
    last = server.audited()[-1]
    assert (last["step"], last["status"], last["who"]) == ("refused", 422, "operate")


def slow_down_and_let_go(nginx: Nginx, server: Serving, port: int) -> None:
    path = f"/v1/hosts/{NAMES[0]}:{port}"
    answer = server.do("PATCH", path, {"delay_s": 3})
    changed = time.time()
    assert answer["policy"]["delay_s"] == 3.0
    assert server.get(f"{path}/policy")["delay_s"] == 3.0
    time.sleep(5)
    starts = [hit.start for hit in hits(nginx, NAMES[0], changed + 0.5)]
    assert len(starts) <= 2
    assert len(hits(nginx, NAMES[1], changed + 0.5)) > 10
    server.do("PATCH", path, {"delay_s": None, "park_s": 60, "park_reason": "for a while"})
    assert "for a while" in server.get(path)["policy"]["parked"]
    parked = time.time() + 0.3
    time.sleep(1.5)
    assert hits(nginx, NAMES[0], parked) == []
    server.do("PATCH", path, {"park_s": None})
    wait_for(lambda: len(hits(nginx, NAMES[0], parked)) > 3)


def add_and_stop(nginx: Nginx, server: Serving, crawl: Crawl, port: int) -> None:
    taken = server.do("POST", "/v1/seeds", {"urls": [f"http://{NAMES[2]}:{port}/index.html"], "priority": "high"})
    assert taken["taken"] == 1
    wait_for(lambda: len(hits(nginx, NAMES[2])) > 3)
    offered = server.do("POST", "/v1/frontier/urls", {"urls": [{"url": f"http://{NAMES[2]}:{port}/page399.html"},
                                                               {"url": "http://elsewhere.example/"}]})  # fmt: skip
    assert "http://elsewhere.example/" in offered["refused"]
    status, refused = server.ask("PATCH", "/v1/limits", {"pages": 5}, "operate")
    assert status == 403, refused
    changes = server.do("PATCH", "/v1/limits", {"pages": 100_000, "exclude": ["*/page7*"]}, "admin")["changes"]
    assert any(line.startswith("limits.pages") for line in changes)
    pinged = {"key": KEY, "urlList": [f"http://{NAMES[1]}:{port}/unlinked.html"]}
    assert server.do("POST", "/v1/indexnow", pinged)["taken"] == 1
    wait_for(lambda: [hit for hit in hits(nginx, NAMES[1]) if hit.target == "/unlinked.html"])
    asked = [hit.target for hit in hits(nginx, NAMES[1])]
    assert asked.index(f"/{KEY}.txt") < asked.index("/unlinked.html")
    path = f"/v1/urls?url=http://{NAMES[1]}:{port}/unlinked.html"
    wait_for(lambda: server.get(path)["known"])
    fresh = server.get(f"/v1/freshness?host={NAMES[0]}:{port}")
    assert fresh["known_urls"] > 100
    assert fresh["fetched_this_month"] > 0
    assert fresh["expected"]["host"] == f"{NAMES[0]}:{port}"
    assert server.ask("POST", "/v1/stop", {}, "operate")[0] == 403
    server.do("POST", "/v1/stop", {"reason": "enough"}, "admin")
    process = crawl.started[-1]
    assert process.wait(30) in (0, 130)
    status, answer = server.ask("POST", "/v1/pause", {})
    assert status == 409, answer
    assert server.get("/v1/doctor")["resource"] == "not-running"
    wait_for(lambda: server.get("/v1/crawls")["crawls"][0]["running"] is False)


def test_the_example_of_the_guide_fetches_by_leases(nginx: Nginx, server: Serving, crawl: Crawl) -> None:
    command = [sys.executable, str(CLIENT), server.base, server.tokens["operate"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        try:
            assert client.stdout is not None
            lines = [client.stdout.readline() for _ in range(4)]
        finally:
            client.kill()
    assert all("taken" in line for line in lines), (lines, client.stderr and client.stderr.read())
    wait_for(lambda: server.get("/v1/status")["pages"] > 30)
    seen: dict[str, Any] = server.get(f"/v1/hosts/{NAMES[0]}:{hits(nginx, NAMES[0])[0].port}")["story"]
    assert seen["gaps"]["too_short"] == 0
    assert server.end() == 0
    assert crawl.started[-1].poll() is None  # it goes on


def _text(server: Serving, path: str) -> str:
    import urllib.request

    request = urllib.request.Request(server.base + path, headers={"Authorization": f"Bearer {server.tokens['read']}"})
    with urllib.request.urlopen(request) as answer:
        text: str = answer.read().decode()
    return text
