"""One crawl through all cages at once: each host costs what its deadline and its caps allow, and no other notices."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gossamer.node import open_crawl
from tests.hostile.conftest import FIRST_BYTE_S, HURRIED, MAX_BODY, SETTLE_S, TOTAL_S, sound
from tests.hostile.zoo import ATTRIBUTE_CHARS, bombs, cages
from tests.support.crawl import Crawl, Result, merged
from tests.support.web import Web

CAGES = 39
HEAD_TOO_LARGE, PROTOCOL, LATE = "head-too-large", "protocol", "first-byte-timeout"


@dataclass
class Visited:
    """The crawl after its end."""

    crawl: Crawl
    result: Result
    web: Web
    events: dict[str, list[dict[str, Any]]]  # by cage, robots.txt aside

    def front(self, cage: str) -> dict[str, Any]:
        """The visit of a cage's front page."""
        return next(event for event in self.events[cage] if event["via"] == "seed")


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visited]:
    folder: Path = tmp_path_factory.mktemp("zoo")
    web = Web(folder)
    try:
        seeds = [web.add(f"{cage}.zoo.example", handler) + "/" for cage, handler in cages().items()]
        crawl = Crawl(folder, seeds, merged(HURRIED, {"dns": {"hosts_file": str(web.hosts_file)}}))
        result = crawl.run()
        events: dict[str, list[dict[str, Any]]] = {cage: [] for cage in cages()}
        for event in crawl.events():
            if event["kind"] != "robots":
                events[event["host"].partition(".")[0]].append(event)
        yield Visited(crawl, result, web, events)
    finally:
        web.close()


def test_the_crawl_ends_by_itself_and_is_sound(
    visited: Visited, record_property: Callable[[str, object], None]
) -> None:
    record_property("cages", len(visited.events))
    assert len(visited.events) == CAGES
    sound(visited.crawl, visited.result)
    assert visited.result.elapsed_s < TOTAL_S + SETTLE_S
    assert visited.crawl.ask("report").code == 0


def test_every_front_page_has_one_outcome_in_time_and_explain_tells_it(visited: Visited) -> None:
    reader = open_crawl(visited.crawl.directory)
    for cage, seed in zip(cages(), visited.crawl.seeds, strict=True):
        front = visited.front(cage)
        assert bool(front.get("status")) != bool(front.get("failure")), cage
        assert front.get("elapsed_ms", 0) < (TOTAL_S + 2) * 1000, cage
        explained = reader.explain(seed)
        words = explained.verdict + " ".join(f"{step.text} {step.facts}" for step in explained.steps)
        assert str(front.get("status") or front["failure"]) in words, cage
    reader.close()


@pytest.mark.parametrize("cage", ["nul", "odd-bytes", "slow-head", "not-http"])
def test_what_a_server_said_reaches_no_terminal_raw(visited: Visited, cage: str) -> None:
    seed = next(seed for seed in visited.crawl.seeds if f"//{cage}." in seed)
    explained = visited.crawl.ask("explain", seed)
    assert explained.code == 0, explained.words
    assert not {"\x1b", "\0", "\x07"} & set(explained.out)


@pytest.mark.parametrize(
    ("cage", "failure"),
    [
        ("endless-header", HEAD_TOO_LARGE),
        ("endless-headers", HEAD_TOO_LARGE),
        ("endless-status", HEAD_TOO_LARGE),
        ("endless-100", PROTOCOL),
        ("slow-head", PROTOCOL),
        ("slow-headers", LATE),
        ("slow-100", LATE),
        ("silent", LATE),
        ("not-http", PROTOCOL),
        ("nul", PROTOCOL),
    ],
)
def test_no_usable_head_is_a_named_failure(visited: Visited, cage: str, failure: str) -> None:
    assert visited.front(cage)["failure"] == failure
    if failure == LATE:
        assert visited.front(cage)["elapsed_ms"] >= FIRST_BYTE_S * 1000 - 10


@pytest.mark.parametrize(
    ("cage", "truncated"),
    [
        ("endless-body", "length"),
        ("endless-chunks", "length"),
        ("endless-chunk-extension", "unspecified"),
        ("endless-trailer", "unspecified"),
        ("slow-body", "time"),
        ("slow-chunks", "time"),
        ("slow-chunk-size", "time"),
        ("slow-trailer", "time"),
        ("slow-gzip", "time"),
        ("deep", "length"),
        ("many-links", "length"),
    ],
)
def test_a_body_without_end_is_kept_up_to_its_cap_and_marked(visited: Visited, cage: str, truncated: str) -> None:
    front = visited.front(cage)
    assert (front["status"], front["truncated"]) == (200, truncated)
    assert front.get("payload_bytes", 0) <= MAX_BODY
    if truncated == "length":
        assert front["payload_bytes"] == MAX_BODY
    if truncated == "time":
        assert front["elapsed_ms"] >= TOTAL_S * 1000 - 10


@pytest.mark.parametrize("coding", sorted(coding.decode().replace(", ", "-in-") for coding in bombs()))
def test_a_bomb_is_archived_as_it_came_and_its_page_is_cut(visited: Visited, coding: str) -> None:
    front = visited.front(f"bomb-{coding}")
    assert (front["status"], front.get("truncated", "")) == (200, "")
    assert 0 < front["payload_bytes"] < 100_000
    assert front["error"] == f"decoded: cut at {MAX_BODY} bytes"
    assert front["error"] in visited.crawl.ask("explain", front["url"]).out


def test_a_redirect_whose_body_drips_is_a_redirect(visited: Visited) -> None:
    front = visited.front("slow-redirect")
    assert (front["status"], front["truncated"]) == (302, "time")
    assert "/on" in visited.web.targets("slow-redirect.zoo.example")


def test_redirects_without_end_end_at_the_limit(visited: Visited) -> None:
    assert len([event for event in visited.events["endless-redirects"] if event["status"] == 302]) == 11
    assert visited.events["endless-redirects"][-1]["reason"] == "redirect-limit"


def test_pages_that_say_the_same_for_ever_are_given_up(visited: Visited) -> None:
    fetched = [event for event in visited.events["same-text-for-ever"] if event.get("status") == 200]
    assert 2 <= len(fetched) < 400, "a probe may have shown that this is the site's not-found page"
    assert "trap-shape-without-new-content" in visited.result.out or "soft-404" in visited.result.out


def test_a_calendar_ends(visited: Visited) -> None:
    fetched = [event for event in visited.events["calendar"] if event.get("status") == 200]
    assert 10 < len(fetched) < 200


def test_a_hundred_thousand_links_are_capped_and_each_is_accounted_for(visited: Visited) -> None:
    front = visited.front("many-links")
    assert front["links_found"] == 10_000
    assert front["refused"]["links-per-page"] > 10_000
    reasons = Counter(event.get("reason") for event in visited.events["many-links"])
    assert reasons["robots-disallowed"] == 10_000
    assert visited.web.targets("many-links.zoo.example") == ["/robots.txt", "/"]


def test_a_giant_attribute_hides_no_link(visited: Visited) -> None:
    assert visited.front("long-attribute")["payload_bytes"] > ATTRIBUTE_CHARS
    assert "/after" in visited.web.targets("long-attribute.zoo.example")


def test_odd_bytes_cost_no_page_and_reach_no_terminal(visited: Visited) -> None:
    assert visited.front("odd-bytes")["status"] == 200
    assert "/good" in visited.web.targets("odd-bytes.zoo.example")
    for command in (("log",), ("report",), ("report", "--format", "html"), ("status",)):
        shown = visited.crawl.ask(*command)
        assert shown.code == 0, shown.words
        assert not {"\x1b", "\0", "\x07"} & set(shown.out), command


def test_a_server_that_answers_everything_with_a_robots_file_gets_one_page(visited: Visited) -> None:
    assert visited.web.targets("robots-everywhere.zoo.example") == ["/robots.txt", "/"]


@pytest.mark.parametrize(
    ("cage", "reason"),
    [
        ("to-a-file", "redirect-invalid"),
        ("to-a-script", "redirect-invalid"),
        ("to-nowhere", "redirect-invalid"),
        ("to-elsewhere", "scope-outside"),
    ],
)
def test_redirects_to_what_may_not_be_fetched(visited: Visited, cage: str, reason: str) -> None:
    assert visited.front(cage)["reason"] == reason


@pytest.mark.parametrize("cage", ["huge-length", "negative-length"])
def test_a_length_that_cannot_be_keeps_the_page_and_marks_it(visited: Visited, cage: str) -> None:
    front = visited.front(cage)
    assert (front["status"], front["payload_bytes"], front["truncated"]) == (200, 5, "time")


def test_a_second_run_asks_nobody_again(visited: Visited) -> None:
    before = {name: len(server.requests) for name, server in visited.web.servers.items()}
    started = time.monotonic()
    again = visited.crawl.run()
    assert again.code == 0, again.words
    assert time.monotonic() - started < SETTLE_S
    assert {name: len(server.requests) for name, server in visited.web.servers.items()} == before
