"""NUL, control characters, escape sequences and bytes that are no text, wherever a server may put them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.conftest import HURRIED, SETTLE_S, TOTAL_S, sound
from tests.hostile.zoo import ODD
from tests.support.crawl import Crawl, Result, merged
from tests.support.web import Reply, Web, pages, reply

BAD = ODD + b"\0\x7f\x80\xed\xa0\x80\xf4\x90\x80\x80"
TEXT = b"Content-Type: text/plain\r\n"
XML = b"Content-Type: application/xml\r\n"
PAGE = "<title>a page</title><p>Here is a page that may be had.</p>"
RAW = {"\x1b", "\0", "\x07"}
ODD_LOCATIONS = {
    "nul": b"/to\0nul",
    "escape": b"/to\x1b[2Jthere",
    "no-text": b"/to\xff\xfe",
    "half-a-letter": b"/to\xc3",
    "surrogate": b"/to\xed\xa0\x80",
    "space": b"/to \t there",
    "nothing-but": BAD,
    "host": b"http://" + BAD + b"/",
    "port": b"http://host.example:" + BAD + b"/",
    "query": b"/to?" + BAD,
}


def hosts() -> dict[str, dict[str, Reply]]:
    """Hosts by their first label: what each serves."""
    rules = b"User-agent: *\nDisallow: /secret\n"
    around = BAD + b": " + BAD + b"\n"
    found: dict[str, dict[str, Reply]] = {
        "robots": {"/robots.txt": reply(around + rules + around + b"Disallow: /un\0seen\nAllow: " + BAD + b"\n"
                                        + b"Sitemap: /map" + BAD + b"\nCrawl-delay: \0" + BAD, headers=TEXT)},
        "robots-utf16": {"/robots.txt": reply(rules.decode().encode("utf-16"), headers=TEXT)},
        "robots-utf16-unmarked": {"/robots.txt": reply(rules.decode().encode("utf-16-be"), headers=TEXT)},
        "robots-nul-lines": {"/robots.txt": reply(rules.replace(b"\n", b"\0\n"), headers=TEXT)},
        "reason": {"/": b"HTTP/1.1 200 " + ODD + b"\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"},
        "value": {"/": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: " + ODD + b"\r\nContent-Length: 2\r\n\r\nhi"},
        "name": {"/": b"HTTP/1.1 200 OK\r\nX" + ODD + b": y\r\nContent-Length: 2\r\n\r\nhi"},
        "coding": {"/": b"HTTP/1.1 200 OK\r\nContent-Encoding: " + ODD + b"\r\nContent-Length: 2\r\n\r\nhi"},
        "length": {"/": b"HTTP/1.1 200 OK\r\nContent-Length: 2" + ODD + b"\r\n\r\nhi"},
        "chunk-size": {"/": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n" + BAD + b"\r\n0\r\n"},
        "retry-after": {"/": b"HTTP/1.1 503 Busy\r\nRetry-After: 1" + ODD + b"\r\nContent-Length: 0\r\n\r\n"},
        "body": {"/": reply(BAD * 2_000)},
        "links": {"/": reply(b"".join(b'<a href="/a%d-%c">x</a><a href="//h%c.example/">y</a>' % (n, n, n)
                                      for n in range(256) if n not in b'"') + b'<a href="/last">z</a>'),
                  "/last": PAGE},
        "sitemap": {"/robots.txt": reply(b"Sitemap: /map.xml\nSitemap: /map.txt\n", headers=TEXT), "/": PAGE,
                    "/first": PAGE, "/listed": PAGE,
                    "/map.xml": reply(b"<urlset><url><loc>HOST/first</loc></url><url><loc>HOST/x" + BAD
                                      + b"</loc></url></urlset>", headers=XML),
                    "/map.txt": reply(b"HOST/listed\nHOST/" + BAD + b"\n" + BAD + b"\n", headers=TEXT)},
    }  # fmt: skip
    for name, location in ODD_LOCATIONS.items():
        head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
        found[f"location-{name}"] = {"/": f'{PAGE}<a href="/go">go</a><a href="/on">on</a>', "/go": head, "/on": PAGE}
    return found


@dataclass
class Visited:
    """The crawl after its end."""

    crawl: Crawl
    result: Result
    web: Web
    events: list[dict[str, Any]]

    def of(self, host: str, path: str = "/") -> dict[str, Any]:
        """The last visit of a page."""
        port = self.web.servers[f"{host}.bytes.example"].port
        return [e for e in self.events if e["host"].startswith(host + ".") and e["url"].endswith(f":{port}{path}")][-1]

    def asked(self, host: str) -> list[str]:
        """What a host was asked for, robots.txt aside."""
        return [target for target in self.web.targets(f"{host}.bytes.example") if target != "/robots.txt"]


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visited]:
    folder: Path = tmp_path_factory.mktemp("bytes")
    web = Web(folder, "127.88")
    try:
        seeds = []
        for name, table in hosts().items():
            table.setdefault("/", PAGE)
            table.setdefault("/secret", PAGE)
            seed = web.add(f"{name}.bytes.example", pages(table))
            for target, what in table.items():
                if isinstance(what, bytes):
                    table[target] = sized(what.replace(b"HOST", seed.encode()))
            seeds += [seed + "/", *([seed + "/secret"] if name.startswith("robots") else [])]
        crawl = Crawl(folder, seeds, merged(HURRIED, {"dns": {"hosts_file": str(web.hosts_file)}}))
        result = crawl.run(timeout_s=60 + TOTAL_S + SETTLE_S)
        yield Visited(crawl, result, web, crawl.events())
    finally:
        web.close()


def sized(whole: bytes) -> bytes:
    """A sitemap's response with the length that it has since its host was put in."""
    head, _, body = whole.partition(b"\r\n\r\n")
    if b"Content-Length: " not in head or not body.startswith((b"<urlset", b"http://")):
        return whole
    before = head.rpartition(b"Content-Length: ")[0]
    return before + b"Content-Length: %d\r\n\r\n" % len(body) + body


def test_the_crawl_is_sound_and_its_words_are_clean(visited: Visited) -> None:
    sound(visited.crawl, visited.result)
    for command in (("log",), ("report",), ("report", "--format", "html"), ("status",)):
        shown = visited.crawl.ask(*command)
        assert shown.code == 0, shown.words
        assert not RAW & set(shown.out), command
    for seed in (seed for seed in visited.crawl.seeds if "//name." in seed or "//reason." in seed):
        explained = visited.crawl.ask("explain", seed)
        assert explained.code == 0, explained.words
        assert not RAW & set(explained.out), seed


def test_every_host_was_visited_and_no_worker_died_of_it(visited: Visited) -> None:
    seen = {event["host"].partition(".")[0] for event in visited.events}
    assert seen == set(hosts())
    assert len(seen) == 14 + len(ODD_LOCATIONS)
    assert [event for event in visited.events if "digest-" in event.get("error", "")] == []


@pytest.mark.parametrize("host", ["robots", "robots-nul-lines", "robots-utf16", "robots-utf16-unmarked"])
def test_rules_among_odd_bytes_hold(visited: Visited, host: str) -> None:
    assert visited.asked(host)[0] == "/"
    assert "/secret" not in visited.asked(host)
    refused = [event for event in visited.events if event.get("reason") == "robots-disallowed"]
    assert any(event["url"].endswith("/secret") and event["host"].startswith(host + ".") for event in refused)


@pytest.mark.parametrize("host", ["reason", "value", "name", "coding", "length", "chunk-size", "body", "links"])
def test_a_page_among_odd_bytes_is_kept(visited: Visited, host: str) -> None:
    front = visited.of(host)
    assert front["status"] == 200, front
    assert front["payload_bytes"] >= 2


def test_an_odd_retry_after_says_nothing(visited: Visited) -> None:
    front = visited.of("retry-after")
    assert (front["status"], front["next_allowed"] - front["time"] < 86_400) == (503, True)


def test_links_of_every_byte_lead_somewhere_or_nowhere_and_hide_none(visited: Visited) -> None:
    asked = visited.asked("links")
    assert "/last" in asked
    assert all(target.isascii() and target.isprintable() and " " not in target for target in asked)
    assert len(asked) > 150


def test_good_urls_before_odd_ones_in_a_sitemap_are_read(visited: Visited) -> None:
    assert {"/first", "/listed", "/map.xml", "/map.txt"} <= set(visited.asked("sitemap"))


@pytest.mark.parametrize("name", ODD_LOCATIONS)
def test_a_redirect_among_odd_bytes_harms_no_other_page(visited: Visited, name: str) -> None:
    asked = visited.asked(f"location-{name}")
    assert asked[:1] == ["/"]
    assert {"/go", "/on"} <= set(asked)
    assert all(target.isascii() and target.isprintable() and " " not in target for target in asked)
