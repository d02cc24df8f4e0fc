"""The doctor at the bedside: real crawls of real servers, each made to be bound by one resource."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from gossamer.model.control import AnyCommand, Change, Changed, Done, Pause, Resume
from gossamer.surface.controlling import Crawl as Control
from gossamer.surface.doctor import Diagnosis, diagnose
from gossamer.surface.doctorlook import look
from gossamer.surface.memory import MEMORY_FREE_MIN_BYTES
from gossamer.surface.reader import Reader
from tests.dns.name_server import NameServer
from tests.faults.test_machine import listen
from tests.faults.test_memory import release, squeeze
from tests.http.raw_server import Peer
from tests.support.crawl import Crawl
from tests.support.evidence import making
from tests.support.hooks import put
from tests.support.web import HTML, Web, pages, reply

WITHIN_S = 60.0
MakeCrawl = Callable[..., Crawl]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    made = Web(tmp_path, network="127.93")
    yield made
    made.close()


@pytest.fixture
def make_crawl(web: Web, tmp_path: Path) -> Iterator[MakeCrawl]:
    yield from making(tmp_path, web.hosts_file, {"politeness": {"min_delay": "300ms"}})


def diagnosed(crawl: Crawl, resource: str, *words: str) -> Diagnosis:
    """What the doctor says of a crawl that begins, once it names the resource."""
    crawl.start()
    return named(crawl, resource, *words)


def named(crawl: Crawl, resource: str, *words: str) -> Diagnosis:
    """What the doctor says of a crawl that runs, once it names the resource, with these words in its evidence."""
    last: Diagnosis | None = None
    until = time.monotonic() + WITHIN_S
    while time.monotonic() < until:
        time.sleep(0.3)
        if not (crawl.directory / "log" / "status.json").exists():
            continue
        reader = Reader(crawl.directory)
        last = diagnose(look(reader))
        reader.close()
        if last.resource == resource and all(word in "\n".join(last.evidence) for word in words):
            return last
        assert crawl.started[-1].poll() is None, (last, crawl.output[-2000:])
    raise AssertionError(f"{resource} was never named; last: {last}")


def site(count: int, *, robots: Any = None) -> Any:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(count))
    table: dict[str, Any] = {f"/{n}": f"<title>{n}</title><p>page {n}" for n in range(count)}
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


def giants(web: Web, make_crawl: MakeCrawl) -> Crawl:
    seeds = [web.add(f"small{n}.example", site(2)) for n in range(5)]
    return make_crawl(web.add("giant.example", site(600)), *seeds)


def slots(web: Web, make_crawl: MakeCrawl) -> Crawl:
    seeds = [web.add(f"h{n}.example", site(200)) for n in range(4)]
    return make_crawl(*seeds, options={"frontier": {"slots": 1}})


def lanes(web: Web, make_crawl: MakeCrawl) -> Crawl:
    names = tuple(f"shared{n}.example" for n in range(6))
    base = web.add("shared.example", site(300), names=names)
    seeds = [base.replace("shared.example", name) for name in names]
    return make_crawl(*seeds, options={"politeness": {"min_delay": "50ms"}})


def nothing_left(web: Web, make_crawl: MakeCrawl) -> Crawl:
    return make_crawl(web.add("done.example", site(2)), flags=("--continuous",))


def requests_in_flight(web: Web, make_crawl: MakeCrawl) -> Crawl:
    seeds = [web.add(f"slow{n}.example", slow(2.0, 50)) for n in range(6)]
    return make_crawl(*seeds, options={"fetch": {"concurrency": 2}})


def handshakes(web: Web, make_crawl: MakeCrawl) -> Crawl:
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
    return make_crawl(*seeds, options={"fetch": {"concurrency": 2}})


def names(web: Web, make_crawl: MakeCrawl) -> Crawl:
    """A nameserver that takes its time, and many hosts that want an address."""
    port = web.run(deaf())
    seeds = [f"http://never{n}.example/" for n in range(30)]
    return make_crawl(*seeds, options={"dns": {"nameservers": [f"127.0.0.1:{port}"], "timeout": "60s"}})


async def deaf() -> int:
    """The port of a nameserver that answers nothing."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0))
    return int(transport.get_extra_info("sockname")[1])


def rules(web: Web, make_crawl: MakeCrawl) -> Crawl:
    seeds = [web.add(f"mute{n}.example", site(5, robots=silence)) for n in range(6)]
    return make_crawl(*seeds, options={"fetch": {"first_byte_timeout": "60s", "total_timeout": "60s"}})


Bed = tuple[Callable[[Web, MakeCrawl], Crawl], str, str]
WARDS: list[list[Bed]] = [
    [
        (lanes, "lanes", "one server answers one request at a time"),
        (giants, "giant-hosts", "giant.example:"),
        (slots, "slots", "frontier.slots above 1"),
        (nothing_left, "idle", "next page becomes due"),
    ],
    [
        (names, "dns", "dns.nameservers"),
        (rules, "robots", "fetch.first_byte_timeout"),
        (handshakes, "tls", "began with a TLS handshake"),
        (requests_in_flight, "fetch", "fetch.concurrency above 2"),
    ],
]


@pytest.mark.parametrize("ward", WARDS, ids=lambda ward: " ".join(resource for _, resource, _ in ward))
def test_crawls_each_held_by_something_else(web: Web, make_crawl: MakeCrawl, ward: list[Bed]) -> None:
    """They run at once, for the sake of time: they wait more than they work."""
    beds = [(make(web, make_crawl), resource, words) for make, resource, words in ward]
    for crawl, _, _ in beds:
        crawl.start()
    for crawl, resource, words in beds:
        found = named(crawl, resource)
        assert words in "\n".join((found.sentence, *found.evidence, *found.advice)), found
        crawl.end()


def ask(crawl: Crawl, command: AnyCommand) -> None:
    answer = asyncio.run(Control(crawl.directory).ask(command))
    assert isinstance(answer, Done | Changed), answer


def test_one_crawl_held_up_by_one_thing_after_another(web: Web, make_crawl: MakeCrawl) -> None:
    """Few hosts, an order, memory, the resolver, and a limit that ends it."""
    base = web.add("one.example", site(600))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = NameServer({"one.example": [(web.addresses["one.example"], 1, "A")]})
    web.run(listen(server, port))
    dns = {"hosts_file": "", "nameservers": [f"127.0.0.1:{port}"], "timeout": "300ms", "ttl_min": "1s", "ttl_max": "1s"}
    crawl = make_crawl(base, options={"dns": dns})
    assert "only 1 host has work" in diagnosed(crawl, "host-diversity").sentence

    ask(crawl, Pause(reason="a drill", by="anna"))
    assert named(crawl, "paused").sentence == "paused by order by anna: a drill"
    ask(crawl, Resume())

    process = crawl.started[-1]
    squeeze(process.pid, "data", MEMORY_FREE_MIN_BYTES // 2)
    found = named(crawl, "memory")
    assert "of memory are left (limit of data" in found.sentence
    assert "frontier.slots" in found.advice[0]
    release(process.pid, "data")

    assert server._transport is not None
    server._transport.close()
    found = named(crawl, "network")
    assert found.sentence.startswith("paused: ")
    assert "resolver" in found.advice[0]
    web.run(listen(NameServer(server.table), port))
    named(crawl, "host-diversity")

    ask(crawl, Change(pages=1))
    assert process.wait(30) == 0, crawl.output[-2000:]
    ended = json.loads(crawl.ask("doctor", "--json").out)
    assert (ended["resource"], ended["evidence"]) == ("budget", ["the limit of pages is used up: 1"])
    assert "a higher limit" in ended["advice"][0]
    words = crawl.ask("doctor").out
    assert words.startswith("bound by   budget: the crawl does not run (finished: the budget of 1 pages is reached)")


BURN = """
import time

def hook(page):
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
"""
# What cannot be had from the disk of a test: that it takes its time, under the archive or under the store.
SLOW = """
import os, time

sync = os.fdatasync

def late(fd):
    time.sleep(0.5)
    sync(fd)

os.fdatasync = late

def hook(page):
    return None
"""


STORE = """
import time
from gossamer.adapters.rocksdb import RocksStore
from gossamer.stage import commit

sync, commit.LINES_UNSYNCED_MAX = RocksStore.sync, 50

def late(self):
    time.sleep(0.5)
    sync(self)

RocksStore.sync = late

def hook(page):
    return None
"""


@pytest.mark.parametrize(
    ("resource", "code", "point", "evidence"),
    [
        ("digest-cpu", BURN, "gossamer.digest", "ms of CPU"),
        ("main-cpu", BURN, "gossamer.sinks", "the main process: on a core"),
        ("disk", SLOW, "gossamer.digest", "for the disk"),
        ("disk", STORE, "gossamer.sinks", "commits durable takes"),
    ],
)
def test_pages_that_wait(
    web: Web,
    make_crawl: MakeCrawl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    resource: str,
    code: str,
    point: str,
    evidence: str,
) -> None:
    """Many quick hosts and one worker: hooks that burn CPU, in the worker or in the main process; a slow disk."""
    put(tmp_path / "site", "gossamer_hooked", code, {point: "mine = MODULE:hook"})
    paths = [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    seeds = [web.add(f"quick{n}.example", site(200)) for n in range(20)]
    options = {"politeness": {"min_delay": "0ms", "start_jitter": "0ms"}, "workers": {"count": 1}}
    found = diagnosed(make_crawl(*seeds, options=options), resource, evidence, "a worker: ")
    spent = {line.partition(":")[0]: line for line in found.evidence}
    shares = [int(share) for who in ("the main process", "a worker") for share in re.findall(r"(\d+)%", spent[who])]
    main, worker, disk = sum(shares[:2]), sum(shares[2:4]), shares[4]
    bound = {BURN: main if resource == "main-cpu" else worker, SLOW: disk, STORE: 100}[code]
    assert bound >= 40, found
    assert (disk >= 40) is (code is SLOW), found
