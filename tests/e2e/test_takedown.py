"""Takedowns against a real nginx, judged by its log: from one second after the call on it is asked for nothing.

The commands are those that a person types; the crawl is a process of its own, and is killed as processes are.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import Hit, read_log

PAGES = 150
KEPT_PAGES = 2_000  # as long as the test asks, something is left to fetch there
NAMES = ("www.taken.example", "blog.taken.example", "www.kept.example")
WITHIN_S = 1.0


@pytest.fixture
def port(nginx: Nginx, tmp_path: Path) -> int:
    number = free_port()
    for place, name in enumerate(NAMES, 1):
        # A large page that trickles: it takes a minute, so that it is in flight when the takedown comes.
        slow = "location = /slow.html { limit_rate 2k; }"
        folder = write_site(tmp_path / name, chain(PAGES if "taken" in name else KEPT_PAGES))
        (folder / "slow.html").write_text("<p>word " * 20_000)
        nginx.add(name, address=f"127.74.0.{place}", port=number, root=folder, extra=slow)
    nginx.start()
    return number


@pytest.fixture
def crawl(make_crawl: MakeCrawl, port: int) -> Crawl:
    return make_crawl(*(f"http://{name}:{port}/index.html" for name in NAMES))


def wait_for(what: Any, seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def hits(nginx: Nginx, name: str, since: float = 0.0) -> list[Hit]:
    found = read_log(nginx.log) if nginx.log.exists() else []
    return [hit for hit in found if hit.host == name and hit.start >= since]


def take_down(crawl: Crawl, *arguments: str) -> dict[str, Any]:
    result = crawl.ask("takedown", *arguments, "--json")
    assert result.code == 0, result.words
    found: dict[str, Any] = json.loads(result.out)
    return dict(found["takedowns"][0], running=found["running"])


def steps(takedown: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in takedown["steps"]}


def test_the_server_is_left_alone_within_a_second_and_for_good(nginx: Nginx, port: int, crawl: Crawl) -> None:
    process = crawl.start()
    wait_for(lambda: len(hits(nginx, NAMES[0])) > 10)
    made = take_down(crawl, "--site", "taken.example", "--reason", "the owner asked", "--ticket", "T-1")
    answered = time.time()
    assert made["running"]
    done = steps(made)
    assert {"recorded", "enforced", "in-flight-aborted", "queued-refused", "confirmed"} <= done.keys()
    called = done["recorded"]["at"]
    assert called <= done["enforced"]["at"] <= called + WITHIN_S
    assert done["confirmed"]["at"] <= answered
    assert done["queued-refused"]["count"] > PAGES / 2
    kept = len(hits(nginx, NAMES[2]))
    wait_for(lambda: len(hits(nginx, NAMES[2])) > kept + 20)
    for name in NAMES[:2]:
        assert hits(nginx, name, since=done["enforced"]["at"] + 0.05) == []
    url = f"http://{NAMES[0]}:{port}/index.html"
    given = crawl.ask("get", url)
    assert (given.code, given.out, "taken down since" in given.err) == (9, "", True)
    assert crawl.ask("get", f"http://{NAMES[2]}:{port}/index.html").code == 0
    assert "the owner asked" in crawl.ask("explain", f"http://{NAMES[0]}:{port}/page149.html").out

    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = time.time()
    crawl.start()
    kept = len(hits(nginx, NAMES[2]))
    wait_for(lambda: len(hits(nginx, NAMES[2])) > kept + 20)
    for name in NAMES[:2]:
        assert hits(nginx, name, since=killed) == []

    lifted = take_down(crawl, "--lift", made["id"], "--reason", "they changed their mind")
    assert steps(lifted)["restored"]["count"] > PAGES / 2
    wait_for(lambda: len(hits(nginx, NAMES[0], since=killed)) > 5)
    assert crawl.ask("get", url).code == 0


def test_a_request_in_flight_is_cut_off(nginx: Nginx, port: int, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(f"http://{NAMES[0]}:{port}/slow.html", f"http://{NAMES[2]}:{port}/index.html")
    crawl.start()
    wait_for(lambda: len(hits(nginx, NAMES[2])) > 10)
    assert [hit.target for hit in hits(nginx, NAMES[0])] == ["/robots.txt"], "nginx logs a request when it ends"
    made = take_down(crawl, NAMES[0], "--reason", "asked")
    assert steps(made)["in-flight-aborted"]["count"] == 1
    aborted = steps(made)["in-flight-aborted"]["at"]
    cut = wait_for(lambda: [hit for hit in hits(nginx, NAMES[0]) if hit.target == "/slow.html"], 5.0)[0]
    assert cut.end <= aborted + WITHIN_S
    assert abs(made["last_request"] - cut.start) < 0.5
    wait_for(lambda: any(event["failure"] == "cut-off" for event in crawl.events() if "failure" in event))


def test_without_a_running_crawl_it_holds_at_once_and_from_the_first_moment_of_the_next(
    nginx: Nginx, port: int, make_crawl: MakeCrawl
) -> None:
    crawl = make_crawl(*(f"http://{name}:{port}/index.html" for name in NAMES), flags=("--pages", "12"))
    assert crawl.run().code == 0
    made = take_down(crawl, NAMES[0], "--reason", "asked")
    assert (made["running"], list(steps(made))) == (False, ["recorded"])
    assert crawl.ask("get", f"http://{NAMES[0]}:{port}/index.html").code == 9
    before = len(hits(nginx, NAMES[0]))
    assert crawl.run("--pages", "40").code == 0
    assert len(hits(nginx, NAMES[0])) == before
    again = json.loads(crawl.ask("takedown", "--list", "--json").out)["takedowns"][0]
    assert "confirmed" in steps(again)
    assert crawl.ask("verify").code == 0


def test_what_means_nothing_or_everything_is_refused_and_changes_nothing(crawl: Crawl) -> None:
    assert crawl.ask("takedown", "a.example", "--reason", "x").code == 2, "there is no crawl yet"
    crawl.directory.mkdir(parents=True)
    (crawl.directory / "gossamer.toml").write_text("")
    for arguments in (
        (), ("a.example",), ("--site", "co.uk", "--reason", "x"), ("--pattern", "*://*/*", "--reason", "x"),
        ("--prefix", "a.example/x", "--reason", "x"), ("a b", "--reason", "x"), ("--lift", "td-none"),
        ("a.example", "--site", "b.example", "--reason", "x"), ("a.example", "--reason", "x" * 2_000),
    ):  # fmt: skip
        result = crawl.ask("takedown", *arguments)
        assert (result.code, bool(result.err)) == (2, True), arguments
    assert crawl.ask("takedown", "--list").out.strip() == "nothing is taken down"


def test_a_damaged_list_stops_everything(nginx: Nginx, port: int, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(*(f"http://{name}:{port}/index.html" for name in NAMES), flags=("--pages", "6"))
    assert crawl.run().code == 0
    take_down(crawl, NAMES[0], "--reason", "asked")
    path = crawl.archive / "exclusions.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    before = len(read_log(nginx.log))
    result = crawl.run("--pages", "20")
    assert (result.code, "exclusion list is damaged" in result.err) == (5, True)
    assert crawl.ask("get", f"http://{NAMES[2]}:{port}/index.html").code == 5
    assert len(read_log(nginx.log)) == before
    path.write_bytes(whole)
    assert crawl.run("--pages", "20").code == 0


def test_the_list_for_replay_names_it(crawl: Crawl) -> None:
    crawl.directory.mkdir(parents=True)
    (crawl.directory / "gossamer.toml").write_text("")
    made = [
        take_down(crawl, *arguments, "--reason", "x")["id"]
        for arguments in (("a.example:8080",), ("--site", "b.example"), ("--prefix", "http://c.example/d/"))
    ]
    lines = [line.split(" ", 2) for line in (crawl.archive / "exclusions.aclj").read_text().splitlines()]
    assert [front for front, _, _ in lines] == [
        "example,c)/d?",
        "example,c)/d;",
        "example,c)/d/",
        "example,c)/d###",
        "example,b:",
        "example,b,",
        "example,b)",
        "example,a:8080)",
    ]
    assert {json.loads(said)["access"] for _, _, said in lines} == {"exclude"}
    assert [json.loads(said)["takedown"] for _, _, said in lines] == [*made[2:] * 4, *made[1:2] * 3, made[0]]
