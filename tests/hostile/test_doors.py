"""Trouble before the first page: no connection, no handshake, robots.txt and sitemaps as weapons, DNS that lies."""

from __future__ import annotations

import asyncio
import gzip
import socket

import pytest

from gossamer.model.limits import ROBOTS_MAX_BYTES
from tests.dns.name_server import NameServer, Records
from tests.hostile.conftest import CONNECT_S, SETTLE_S, TOTAL_S, MakeCrawl, sound
from tests.hostile.zoo import OK, coded, ended, endless, silent, slow
from tests.http.raw_server import Peer
from tests.support.web import Reply, Web, pages, redirect, reply

TEXT = b"Content-Type: text/plain\r\n"
XML = b"Content-Type: application/xml\r\n"
NOTHING = 6  # exit code: nothing was fetched
PAGE = "<title>a page</title><p>Here is a page that may be had.</p>"
LATER = {"robots": {"retry": "2h"}}  # what could not be read is not asked for again while a test lasts


def robots(text: str) -> bytes:
    return reply(text, headers=TEXT)


def test_connection_that_is_never_accepted_ends_at_the_connect_deadline(web: Web, make_crawl: MakeCrawl) -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.90.9.9", 0))
        deaf.listen(0)
        port = deaf.getsockname()[1]
        fill = [socket.socket() for _ in range(4)]
        for each in fill:
            each.setblocking(False)
            each.connect_ex(("127.90.9.9", port))  # the queue is full: further connections get no answer
        crawl = make_crawl(f"http://127.90.9.9:{port}/", flags=("--duration", "4s"))
        result = crawl.run(timeout_s=4 + SETTLE_S)
        for each in fill:
            each.close()
    sound(crawl, result, (NOTHING,))
    first = crawl.events()[0]
    assert first["failure"] == "connect-timeout"
    assert CONNECT_S * 1000 - 10 <= first["elapsed_ms"] < CONNECT_S * 1000 + 800


def test_handshake_that_never_ends_or_drips_meets_the_connect_deadline(web: Web, make_crawl: MakeCrawl) -> None:
    async def drip(peer: Peer) -> None:
        await peer.drip(b"\x16\x03\x03\x40\x00" + b"\0" * 100, 0.1)

    seeds = [web.add(f"{name}.tls.example", act).replace("http:", "https:") for name, act in
             (("mute", silent), ("drip", drip))]  # fmt: skip
    crawl = make_crawl(*(seed + "/" for seed in seeds), flags=("--duration", "4s"))
    sound(crawl, crawl.run(timeout_s=4 + SETTLE_S), (NOTHING,))
    failures = {event["host"].partition(".")[0]: event for event in reversed(crawl.events())}
    assert failures["mute"]["failure"] == "connect-timeout"
    assert failures["drip"]["failure"] in {"connect-timeout", "tls"}
    assert all(event["elapsed_ms"] < CONNECT_S * 1000 + 800 for event in failures.values())


def test_every_kind_of_robots_file_that_is_a_weapon(web: Web, make_crawl: MakeCrawl) -> None:
    rules = "User-agent: *\nDisallow: /secret\n"
    bomb = rules.encode() + b"#" * (64 << 20)
    weapons = {
        "bomb": coded(b"gzip", gzip.compress(bomb, 9)),
        "endless": endless(OK + TEXT + b"\r\n", rules.encode()),
        "stars": robots("User-agent: *\nDisallow: /secret\n" + f"Disallow: /{'*a' * 2000}$\n" * 100),
        "far": robots("# filler\n" * 20_000 + rules),
        "mark": robots("\ufeff" + rules),
        "others": robots("User-agent: other\nDisallow: /\n\n" + rules),
    }
    seeds = []
    for name, weapon in weapons.items():
        seed = web.add(f"{name}.rules.example", pages({"/robots.txt": weapon, "/": PAGE, "/secret": PAGE}))
        seeds += [seed + "/", seed + "/secret"]
    crawl = make_crawl(*seeds)
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    for name in weapons:
        asked = web.targets(f"{name}.rules.example")
        assert asked[0] == "/robots.txt", name
        assert "/secret" not in asked, name
        assert ("/" in asked) != (name == "stars"), "past the bound on wildcards rules are read as their beginnings"
    read = [event["payload_bytes"] for event in crawl.events() if event["kind"] == "robots"]
    assert len(read) == len(weapons)
    assert max(read) == ROBOTS_MAX_BYTES


def test_robots_that_come_in_part_open_nothing(web: Web, make_crawl: MakeCrawl) -> None:
    """Of a file that is cut off any rule may be missing. One without a declared length ends with its connection."""
    rules = b"User-agent: *\nDisallow: /secret\n"
    head = OK + TEXT + b"Content-Length: 500\r\n\r\n"
    gzipped = OK + TEXT + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(rules)
    shut = {
        "slow": slow(OK + TEXT + b"\r\n" + rules, b"#"),
        "nothing": ended(head),
        "line": ended(head + b"User-agent: *\n"),
        "chunk": ended(OK + TEXT + b"Transfer-Encoding: chunked\r\n\r\ne\r\nUser-agent: *\n\r\n"),
        "head-of-gzip": ended(gzipped[: -len(gzip.compress(rules)) + 9]),
        "half-of-gzip": ended(gzipped[:-20]),
    }
    whole = {
        "old": ended(b"HTTP/1.0 200 OK\r\n" + TEXT + b"\r\n" + rules),
        "empty": reply(b"", headers=TEXT),
        "gzip": ended(gzipped),
    }
    seeds = {
        name: web.add(f"{name}.part.example", pages({"/robots.txt": act, "/": PAGE}))
        for name, act in (shut | whole).items()
    }
    crawl = make_crawl(*(seed + "/" for seed in seeds.values()), options=LATER)
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    assert {name: web.targets(f"{name}.part.example") for name in shut} == {name: ["/robots.txt"] for name in shut}
    assert all("/" in web.targets(f"{name}.part.example") for name in whole)
    told = {event["host"].partition(".")[0]: event for event in crawl.events() if event["kind"] == "robots"}
    assert {name for name, event in told.items() if event.get("reason") == "robots-unreachable"} == set(shut)
    assert told["line"]["detail"] == "cut off by its server"
    assert "unreachable: cut off by its server; nothing is allowed" in crawl.ask("explain", seeds["line"] + "/").out


def test_a_small_cap_on_bodies_hides_no_rule(web: Web, make_crawl: MakeCrawl) -> None:
    text = "User-agent: *\n" + "".join(f"Disallow: /{n * n:x}\n" for n in range(2_000)) + "Disallow: /secret\n"
    served = {"plain": robots(text), "gzip": coded(b"gzip", gzip.compress(text.encode()))}
    seeds = [
        web.add(f"{name}.late.example", pages({"/robots.txt": act, "/": PAGE * 100, "/secret": PAGE}))
        for name, act in served.items()
    ]
    small = {"fetch": {"max_body": "4KiB"}}
    crawl = make_crawl(*(seed + path for seed in seeds for path in ("/", "/secret")), options=small)
    sound(crawl, crawl.run())
    for name in served:
        asked = web.targets(f"{name}.late.example")
        assert "/" in asked, name
        assert "/secret" not in asked, name
    assert all(event["truncated"] == "length" for event in crawl.events() if event["url"].endswith("/"))


def test_robots_of_one_authority_that_lives_elsewhere_stays_its_own(web: Web, make_crawl: MakeCrawl) -> None:
    there = web.add("b.elsewhere.example", pages({
        "/robots.txt": robots("User-agent: *\nDisallow: /b\n"),
        "/a/robots.txt": robots("User-agent: *\nDisallow: /a-only\n"),
        "/": PAGE, "/a-only": PAGE, "/b": PAGE}))  # fmt: skip
    here = web.add("a.elsewhere.example", pages({
        "/robots.txt": redirect(there + "/a/robots.txt"), "/": PAGE, "/a-only": PAGE, "/b": PAGE}))  # fmt: skip
    crawl = make_crawl(*(host + path for host in (here, there) for path in ("/", "/a-only", "/b")))
    sound(crawl, crawl.run())
    assert set(web.targets("a.elsewhere.example")) == {"/robots.txt", "/", "/b"}
    assert set(web.targets("b.elsewhere.example")) == {"/robots.txt", "/a/robots.txt", "/", "/a-only"}


def test_a_server_that_answers_each_request_with_the_rules_of_another_site(web: Web, make_crawl: MakeCrawl) -> None:
    """What comes for robots.txt rules, whosever it is, for this host alone; what comes for a page rules nothing."""
    other = web.add("other.foreign.example", pages({"/": PAGE, "/listed": PAGE}))
    shut = f"User-agent: *\nDisallow: /\nCrawl-delay: 2\nSitemap: {other}/listed\n"
    first = {"open": f"User-agent: *\nDisallow: {other}/\nDisallow: /b\n", "shut": shut}
    seeds = []
    for name, text in first.items():
        table: dict[str, Reply] = dict.fromkeys(("/", "/a", "/b"), robots(shut))
        seed = web.add(f"{name}.rules.example", pages(table | {"/robots.txt": robots(text)}))
        seeds += [seed + "/", seed + "/a", seed + "/b"]
    crawl = make_crawl(*seeds, options={"limits": {"duration": "20s"}})
    sound(crawl, crawl.run(timeout_s=20 + SETTLE_S))
    assert sorted(web.targets("open.rules.example")) == ["/", "/a", "/robots.txt"]
    assert web.targets("shut.rules.example") == ["/robots.txt"]
    assert web.targets("other.foreign.example") == []


def test_robots_that_redirect_for_ever_or_to_a_forbidden_address(web: Web, make_crawl: MakeCrawl) -> None:
    turns = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(30)}
    loop = web.add("loop.rules.example", pages({"/robots.txt": redirect("/hop0"), **turns, "/": PAGE}))
    inner = web.add(
        "inner.rules.example", pages({"/robots.txt": redirect("http://169.254.169.254/robots.txt"), "/": PAGE})
    )
    crawl = make_crawl(loop + "/", inner + "/", flags=("--duration", "6s"))
    sound(crawl, crawl.run(timeout_s=6 + SETTLE_S))
    asked = web.targets("loop.rules.example")
    assert asked[:6] == ["/robots.txt", *(f"/hop{n}" for n in range(5))]
    assert not any(target.startswith("/hop5") for target in asked)
    assert web.targets("inner.rules.example") == ["/robots.txt"], "rules that cannot be had forbid everything"
    assert not [event for event in crawl.events() if event["host"].startswith("169.") and event.get("status")]


def test_sitemaps_that_name_robots_themselves_and_each_other_end(web: Web, make_crawl: MakeCrawl) -> None:
    table: dict[str, Reply] = {}
    host = web.add("maps.example", pages(table))
    index = "".join(f"<sitemap><loc>{host}/map{n}.xml</loc></sitemap>" for n in range(4))
    body = reply(f"<sitemapindex>{index}</sitemapindex>", headers=XML)
    bomb = gzip.compress(b"<urlset>" + b" " * (64 << 20) + b"</urlset>", 9)
    deeper = "".join(f"<sitemap><loc>{host}/deeper{n}.xml</loc></sitemap>" for n in range(5))
    nested = reply(f"<sitemapindex>{deeper}</sitemapindex>", headers=XML)
    lines = f"Sitemap: /robots.txt\nSitemap: {host}/robots.txt\nSitemap: {host}/map0.xml\nSitemap: {host}/bomb.xml.gz\n"
    table |= {
        "/robots.txt": robots(f"User-agent: *\nDisallow:\n{lines}"),
        "/": PAGE,
        "/bomb.xml.gz": reply(bomb, headers=b"Content-Type: application/gzip\r\n"),
        **{f"/map{n}.xml": body for n in range(3)},
        "/map3.xml": nested,
        **{
            f"/deeper{n}.xml": reply(gzip.compress(bomb, 9), headers=b"Content-Type: application/gzip\r\n")
            for n in range(5)
        },
    }
    crawl = make_crawl(host + "/")
    sound(crawl, crawl.run(timeout_s=TOTAL_S + SETTLE_S))
    asked = web.targets("maps.example")
    assert asked.count("/robots.txt") == 1
    assert len(asked) == len(set(asked)), "a sitemap is fetched once, however often it is named"
    assert {"/map0.xml", "/map3.xml", "/bomb.xml.gz"} <= set(asked)


class Changing(NameServer):
    """Another answer at every look-up, with the shortest time to live."""

    def __init__(self, name: str, answers: list[str]) -> None:
        super().__init__({})
        self._name = name
        self._answers = answers

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        number = min(self.asked[self._name, "A"], len(self._answers) - 1)
        records: Records = [(self._answers[number], 0, "A")]
        self.table = {self._name: records}
        super().datagram_received(data, addr)


async def listen(server: NameServer) -> str:
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: server, local_addr=("127.0.0.1", 0)
    )
    return f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"


@pytest.mark.parametrize("target", ["169.254.169.254", "10.0.0.1"])
def test_name_that_is_rebound_to_a_forbidden_address_is_refused(web: Web, make_crawl: MakeCrawl, target: str) -> None:
    links = " ".join(f'<a href="/page{n}">{n}</a>' for n in range(40))
    table = {"/": links, **{f"/page{n}": f"<p>page {n}</p>" for n in range(40)}}
    host = web.add("rebound.example", pages(table))
    server = Changing("rebound.example", [web.addresses["rebound.example"], target])
    options = {
        "dns": {"hosts_file": "", "nameservers": [web.run(listen(server))], "ttl_min": "1s", "ttl_max": "1s"},
        "politeness": {"min_delay": "100ms"},
    }
    crawl = make_crawl(host + "/", options=options)
    result = crawl.run(timeout_s=15 + SETTLE_S)
    sound(crawl, result)
    assert server.asked["rebound.example", "A"] >= 2
    assert 2 <= len(web.targets("rebound.example")) < 40
    assert {event["address"] for event in crawl.events() if event.get("address")} == {web.addresses["rebound.example"]}
    explained = crawl.ask("explain", host + "/page39")
    assert "address-forbidden" in explained.out
    assert target in explained.out


def test_redirects_to_forbidden_addresses_are_refused_in_a_crawl_of_everything(web: Web, make_crawl: MakeCrawl) -> None:
    targets = ["169.254.169.254", "[::ffff:10.0.0.1]", "[64:ff9b::a00:1]", "100.64.0.1", "0x7f.1.1.1", "[::1]", "10.1"]
    links = "".join(f'<a href="http://{target}/">link</a>' for target in targets)
    table = {"/": links, **{f"/to{n}": redirect(f"http://{target}/latest") for n, target in enumerate(targets)}}
    table["/robots.txt"] = robots("User-agent: *\nDisallow:\nSitemap: /inside.xml\nSitemap: http://10.2.2.2/map.xml\n")
    table["/inside.xml"] = redirect("http://10.3.3.3/map.xml")
    host = web.add("door.example", pages(table))
    seeds = [host + path for path in table if not path.endswith((".txt", ".xml"))]
    options = {"scope": {"mode": "any"}, "identity": {"contact": "https://operator.example/bot"},
               "net": {"allow": ["127.90.0.0/16"]}}  # fmt: skip
    crawl = make_crawl(*seeds, options=options)
    sound(crawl, crawl.run(timeout_s=10 + SETTLE_S))
    events = crawl.events()
    assert {event["host"] for event in events if event.get("status")} == {host.removeprefix("http://")}
    assert "/inside.xml" in web.targets("door.example")
    for target in [*targets, "10.3.3.3"]:
        explained = crawl.ask("explain", f"http://{target}/")
        assert "address-forbidden" in explained.out, explained.out


def test_a_sitemap_that_another_host_links_to_is_read_before_and_after_its_robots_txt(
    web: Web, make_crawl: MakeCrawl
) -> None:
    table: dict[str, Reply] = {"/robots.txt": "", "/listed": "listed"}
    there = web.add("b.linked.example", pages(table))
    table["/robots.txt"] = reply(f"Sitemap: {there}/map.xml\n", headers=b"Content-Type: text/plain\r\n")
    table["/map.xml"] = reply(f"<urlset><url><loc>{there}/listed</loc></url></urlset>", headers=XML)
    seed = web.add("a.linked.example", pages({"/": f'<a href="{there}/map.xml">map</a>'})) + "/"
    crawl = make_crawl(seed)
    assert crawl.run().code == 0
    assert web.targets("b.linked.example") == ["/robots.txt", "/map.xml", "/listed"]


def test_links_of_a_page_with_status_203_are_followed(web: Web, make_crawl: MakeCrawl) -> None:
    changed = reply('<a href="/next">next</a>', status="203 Non-Authoritative Information")
    seed = web.add("proxied.example", pages({"/": changed, "/next": "next"})) + "/"
    crawl = make_crawl(seed)
    assert crawl.run().code == 0
    assert web.targets("proxied.example") == ["/robots.txt", "/", "/next"]
    assert {event["url"]: event["verdict"] for event in crawl.events()}[seed] == "new"
