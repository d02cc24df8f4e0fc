"""The doctor at the bedside: real crawls of real servers, each made to be bound by one resource."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from gossamer.surface.doctor import Diagnosis, diagnose
from gossamer.surface.doctorlook import look
from gossamer.surface.reader import Reader
from tests.http.raw_server import Peer
from tests.support.crawl import Crawl
from tests.support.evidence import making
from tests.support.web import HTML, Web, pages, reply

MakeCrawl = Callable[..., Crawl]
TEXT = " ".join(f"word{n}" for n in range(20_000))


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(tmp_path, network="127.93")
    yield made
    made.close()


@pytest.fixture
def make_crawl(web: Web, tmp_path: Path) -> Iterator[MakeCrawl]:
    yield from making(tmp_path, web.hosts_file, {"politeness": {"min_delay": "300ms"}})


def diagnosed(crawl: Crawl, resource: str, within_s: float = 60.0) -> Diagnosis:
    """What the doctor says, once it names the resource."""
    process = crawl.start()
    last: Diagnosis | None = None
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        time.sleep(0.5)
        if not (crawl.directory / "log" / "status.json").exists():
            continue
        reader = Reader(crawl.directory)
        last = diagnose(look(reader))
        reader.close()
        if last.resource == resource:
            return last
        assert process.poll() is None, (last, crawl.output[-2000:])
    raise AssertionError(f"{resource} was never named; last: {last}")


def site(count: int, body: str = "", *, robots: Any = None) -> Any:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(count))
    table: dict[str, Any] = {f"/{n}": f"<title>{n}</title><p>page {n} {body}" for n in range(count)}
    table |= {"/": f"<title>home</title>{links}"}
    return pages(table | ({"/robots.txt": robots} if robots is not None else {}))


async def silence(peer: Peer) -> None:
    await peer.reader.read()


async def passed_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(1 << 16):
        writer.write(part)
    writer.close()


def slow(seconds: float, count: int) -> Any:
    async def answer(peer: Peer) -> None:
        await asyncio.sleep(seconds)
        await peer.send(reply("".join(f'<a href="/{n}">{n}</a>' for n in range(count))))

    return pages(
        {"/robots.txt": reply("", status="404 Not Found"), **{f"/{n}": answer for n in range(count)}, "/": answer}
    )


def test_one_host(web: Web, make_crawl: MakeCrawl) -> None:
    found = diagnosed(make_crawl(web.add("one.example", site(300))), "host-diversity")
    assert "only 1 host has work" in found.sentence


def test_a_giant_among_small_ones(web: Web, make_crawl: MakeCrawl) -> None:
    seeds = [web.add(f"small{n}.example", site(2)) for n in range(5)]
    found = diagnosed(make_crawl(web.add("giant.example", site(600)), *seeds), "giant-hosts")
    assert any("giant.example" in line for line in found.evidence)


def test_slots(web: Web, make_crawl: MakeCrawl) -> None:
    seeds = [web.add(f"h{n}.example", site(200)) for n in range(4)]
    found = diagnosed(make_crawl(*seeds, options={"frontier": {"slots": 1}}), "slots")
    assert "frontier.slots" in found.advice[0]


def test_lanes(web: Web, make_crawl: MakeCrawl) -> None:
    names = tuple(f"shared{n}.example" for n in range(6))
    base = web.add("shared.example", site(200), names=names)
    seeds = [base.replace("shared.example", name) for name in names]
    diagnosed(make_crawl(*seeds, options={"politeness": {"min_delay": "50ms"}}), "lanes")


def test_requests_in_flight(web: Web, make_crawl: MakeCrawl) -> None:
    seeds = [web.add(f"slow{n}.example", slow(2.0, 50)) for n in range(6)]
    found = diagnosed(make_crawl(*seeds, options={"fetch": {"concurrency": 2}}), "fetch")
    assert "fetch.concurrency above 2" in found.advice[0]


def test_handshakes(web: Web, make_crawl: MakeCrawl) -> None:
    """Servers that take a second to shake hands, and shake them anew for each page."""
    names = [f"secure{n}.example" for n in range(6)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert(*names).configure_cert(context)
    body = "".join(f'<a href="/{n}">{n}</a>' for n in range(100))

    async def answer(peer: Peer) -> None:
        request = await peer.request()
        status = "404 Not Found" if b"robots.txt" in request else "200 OK"
        await peer.send(reply(body, status=status, headers=HTML + b"Connection: close\r\n"))

    port = int(web.add("behind.example", answer, tls=context).rpartition(":")[2])

    async def late(peer: Peer) -> None:
        await asyncio.sleep(1.0)
        reader, writer = await asyncio.open_connection(web.addresses["behind.example"], port)
        await asyncio.gather(passed_on(peer.reader, writer), passed_on(reader, peer.writer))

    seeds = [web.add(name, late).replace("http:", "https:") for name in names]
    found = diagnosed(make_crawl(*seeds, options={"fetch": {"concurrency": 2}}), "tls")
    assert any("TLS handshake" in line for line in found.evidence)


def test_names(web: Web, make_crawl: MakeCrawl) -> None:
    """A nameserver that takes its time, and many hosts that want an address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
        deaf.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{deaf.getsockname()[1]}"
        seeds = [f"http://never{n}.example/" for n in range(30)]
        crawl = make_crawl(*seeds, options={"dns": {"nameservers": [server], "timeout": "20s"}})
        diagnosed(crawl, "dns")


def test_rules(web: Web, make_crawl: MakeCrawl) -> None:
    seeds = [web.add(f"mute{n}.example", site(5, robots=silence)) for n in range(6)]
    diagnosed(make_crawl(*seeds), "robots")


def test_a_budget_is_not_running(web: Web, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(web.add("one.example", site(50)), flags=("--pages", "3"))
    assert crawl.run().code == 0
    found = json.loads(crawl.ask("doctor", "--json").out)
    assert found["resource"] == "not-running"
    assert "budget of 3 pages" in found["sentence"]
    assert crawl.ask("doctor").out.startswith("bound by   not-running: the crawl does not run (finished: ")


def test_idle(web: Web, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(web.add("one.example", site(2)), flags=("--continuous",))
    assert "next page becomes due" in diagnosed(crawl, "idle").sentence


@pytest.mark.long
def test_digest(web: Web, make_crawl: MakeCrawl) -> None:
    """Large pages of many hosts, and one worker."""
    seeds = [web.add(f"large{n}.example", site(200, TEXT)) for n in range(30)]
    options = {"politeness": {"min_delay": "0ms", "start_jitter": "0ms"}, "workers": {"count": 1}}
    found = diagnosed(make_crawl(*seeds, options=options), "digest-cpu", 60.0)
    assert any("ms of CPU" in line for line in found.evidence)
