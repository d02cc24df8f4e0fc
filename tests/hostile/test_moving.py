"""Names that have another address at each look-up: the host keeps its gap wherever it is, and so does every server."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

from gossamer.model.limits import BACKOFF_BASE_S
from tests.dns.name_server import NameServer
from tests.hostile.conftest import SETTLE_S, MakeCrawl, sound
from tests.hostile.test_doors import listen
from tests.http.raw_server import Handler, Peer
from tests.support.web import NOT_FOUND, Web, reply

GAP_S = 0.15
LEEWAY_S = 0.005  # the crawler's gap begins when it has read the answer, ours when we begin to write it
PAGES = 30


@dataclass(frozen=True)
class Hit:
    """One request as its server saw it. Times are monotonic."""

    address: str
    host: str
    target: str
    start: float
    end: float


class Turning(NameServer):
    """Every name has the next of its addresses at each look-up, to be kept for no time at all."""

    def __init__(self, addresses: dict[str, list[str]]) -> None:
        super().__init__({})
        self._addresses = addresses

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.table = {name: [self._now(name)] for name in self._addresses}
        super().datagram_received(data, addr)

    def _now(self, name: str) -> tuple[str, int, str]:
        addresses = self._addresses[name]
        return addresses[self.asked[name, "A"] % len(addresses)], 0, "A"


def witness(address: str, hits: list[Hit], pages: int) -> Handler:
    """Any number of names on one address; every request is written down."""

    async def handle(peer: Peer) -> None:
        while request := await peer.request():
            start = time.monotonic()
            target = request.split(b" ", 2)[1].decode()
            host = request.lower().split(b"\r\nhost: ", 1)[1].split(b"\r\n", 1)[0].split(b":")[0].decode()
            links = " ".join(f'<a href="/page{number}">{number}</a>' for number in range(pages))
            answer = NOT_FOUND if target == "/robots.txt" else reply(f"<p>{target} of {host}</p>{links}")
            end = time.monotonic()  # after the answer is out, a busy machine may keep us from the clock for long
            await peer.send(answer)
            hits.append(Hit(address, host, target, start, end))

    return handle


def served(web: Web, count: int, pages: int) -> tuple[list[str], int, list[Hit]]:
    """So many addresses with one port: (addresses, port, what they were asked)."""
    hits: list[Hit] = []
    addresses = [f"127.89.0.{number + 1}" for number in range(count)]
    port = 0
    for address in addresses:
        port = web.listen(witness(address, hits, pages), address, port)
    return addresses, port, hits


def kept(hits: list[Hit], unit: Callable[[Hit], str]) -> int:
    """No two of a unit overlap or follow too soon; how many pairs were looked at."""
    pairs = 0
    for name in {unit(hit) for hit in hits}:
        mine = sorted((hit for hit in hits if unit(hit) == name), key=lambda hit: hit.start)
        for before, after in itertools.pairwise(mine):
            assert after.start - before.end >= GAP_S - LEEWAY_S, (name, before, after)
            pairs += 1
    return pairs


OPTIONS = {"politeness": {"min_delay": f"{GAP_S}s"}}


def dns(web: Web, server: NameServer) -> dict[str, object]:
    return {"hosts_file": "", "nameservers": [web.run(listen(server))], "ttl_min": "1s", "ttl_max": "1s"}


def test_a_host_that_changes_its_address_at_each_look_up_keeps_its_gap(web: Web, make_crawl: MakeCrawl) -> None:
    addresses, port, hits = served(web, 5, PAGES)
    server = Turning({"moving.example": addresses})
    crawl = make_crawl(f"http://moving.example:{port}/", options=OPTIONS | {"dns": dns(web, server)})
    sound(crawl, crawl.run(timeout_s=30 + SETTLE_S))
    assert len({hit.address for hit in hits}) >= 3
    assert sorted(hit.target for hit in hits) == sorted(["/robots.txt", "/", *(f"/page{n}" for n in range(PAGES))])
    assert kept(hits, lambda hit: hit.host) == PAGES + 1
    assert [event for event in crawl.events() if event.get("failure")] == []


def test_hosts_that_exchange_their_addresses_share_each_server_politely(web: Web, make_crawl: MakeCrawl) -> None:
    addresses, port, hits = served(web, 3, 12)
    names = [f"h{number}.moving.example" for number in range(4)]
    turns: dict[str, list[str]] = {
        name: addresses[number % 3 :] + addresses[: number % 3] for number, name in enumerate(names)
    }
    crawl = make_crawl(
        *(f"http://{name}:{port}/" for name in names), options=OPTIONS | {"dns": dns(web, Turning(turns))}
    )
    sound(crawl, crawl.run(timeout_s=30 + SETTLE_S))
    assert len(hits) == 4 * 14
    assert len({(hit.host, hit.address) for hit in hits}) >= 8, "each was met at several addresses"
    assert kept(hits, lambda hit: hit.host) == 4 * 13
    assert kept(hits, lambda hit: hit.address) == 4 * 14 - 3


def test_a_host_whose_first_address_refuses_is_fetched_from_the_second(web: Web, make_crawl: MakeCrawl) -> None:
    """The first one is of IPv6, and nobody listens there, or this machine has no such network."""
    addresses, port, hits = served(web, 1, 3)
    web.hosts_file.write_text(f"::1 twice.example\n{addresses[0]} twice.example\n")
    allow = {"net": {"allow": ["127.0.0.0/8", "::1/128"]}}
    crawl = make_crawl(f"http://twice.example:{port}/", options=OPTIONS | allow)
    sound(crawl, crawl.run(timeout_s=30 + SETTLE_S))
    assert sorted(hit.target for hit in hits) == ["/", "/page0", "/page1", "/page2", "/robots.txt"]
    first, second = crawl.events()[:2]
    assert (first["address"], first["failure"]) == ("::1", "connect")
    assert (second["address"], second["status"]) == (addresses[0], 404)
    assert second["gap_s"] >= BACKOFF_BASE_S
    assert kept(hits, lambda hit: hit.host) == 4
