"""One site with endless host names: DNS answers any name, every page links to names that nobody has seen."""

from __future__ import annotations

import random

import pytest

from gossamer.core import admission
from gossamer.core.admission import Admission, Candidate
from gossamer.core.changes import Changes
from gossamer.core.counters import Counters, Totals
from gossamer.core.ledger import Ledger
from gossamer.core.waiting import Waiting
from gossamer.model.reason import Reason
from gossamer.policy.traps import judge_hosts
from gossamer.sim.memstore import MemoryStore
from tests.dns.name_server import NameServer
from tests.hostile.conftest import SETTLE_S, MakeCrawl, sound
from tests.hostile.test_doors import listen
from tests.http.raw_server import Peer
from tests.support.web import NOT_FOUND, Web, reply


class Wildcard(NameServer):
    """Every name has the same address."""

    def __init__(self, address: str) -> None:
        super().__init__({})
        self._address = address

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.table = _Any(self._address)
        super().datagram_received(data, addr)


class _Any(dict[str, object]):
    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address

    def get(self, key: str, default: object = None) -> object:
        return [(self._address, 60, "A")]


async def spam(peer: Peer) -> None:
    """The same words under every name, with links to five new names."""
    while request := await peer.request():
        if b"/robots.txt" in request.split(b"\r\n", 1)[0]:
            await peer.send(NOT_FOUND)
            continue
        names = [f"x{random.randrange(10**12)}.wild.example:{peer.server.port}" for _ in range(5)]
        links = " ".join(f'<a href="http://{name}/">more</a>' for name in names)
        await peer.send(reply(f"<title>Win</title><p>{' '.join(f'prize{k}' for k in range(400))}</p>{links}"))


def test_endless_names_with_one_content_are_given_up(web: Web, make_crawl: MakeCrawl) -> None:
    seed = web.add("www.wild.example", spam)
    server = Wildcard(web.addresses["www.wild.example"])
    options = {"dns": {"hosts_file": "", "nameservers": [web.run(listen(server))]}}
    crawl = make_crawl(seed + "/", options=options)
    result = crawl.run(timeout_s=60 + SETTLE_S)
    sound(crawl, result)
    assert 100 <= len(web.targets("www.wild.example")) < 400
    assert "trap-hosts-without-new-content" in result.out
    explained = crawl.ask("explain", f"http://never-seen.wild.example:{web.servers['www.wild.example'].port}/")
    assert "trap-hosts-without-new-content" in explained.out, explained.out


def candidates(site: str, count: int, *, depth: int = 1, start: int = 0) -> list[Candidate]:
    return [
        Candidate(url=f"http://{name}/", key=f"{name})/", host=name, site=site, level=3, depth=depth, via="seed")
        for name in (f"h{number}.{site}" for number in range(start, start + count))
    ]


def test_a_site_shows_a_bounded_number_of_hosts_whatever_is_on_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "SITE_HOSTS_MAX", 50)
    store = MemoryStore()
    counters = Counters(store)
    ledger = Ledger(store, 1.0, Totals())
    gate = Admission(ledger, counters, Waiting(store))

    def admit(found: list[Candidate]) -> tuple[int, dict[str, int]]:
        changes = Changes(store)
        result = gate.admit(changes, found, 1_000.0)
        store.write(changes.ops())
        return result.new, result.refused

    assert admit(candidates("wild.example", 80)) == (50, {Reason.SITE_HOSTS: 30})
    assert admit(candidates("wild.example", 50)) == (0, {}), "hosts that are known are known still"
    assert admit(candidates("wild.example", 10, start=80)) == (0, {Reason.SITE_HOSTS: 10})
    assert admit(candidates("other.example", 10)) == (10, {}), "other sites have bounds of their own"
    assert admit(candidates("wild.example", 3, depth=0, start=200)) == (3, {}), "seeds are taken as given"
    assert counters.totals.hosts == 63
    assert counters.totals.refused == {Reason.SITE_HOSTS: 40}
    assert ledger.find("h79.wild.example") is None


@pytest.mark.parametrize(
    ("fronts", "copied", "trapped"),
    [(99, 99, False), (100, 50, False), (100, 51, True), (500, 165, False), (500, 166, True), (0, 0, False)],
)
def test_judge_hosts(fronts: int, copied: int, trapped: bool) -> None:
    assert judge_hosts(fronts, copied) is (Reason.TRAP_HOSTS if trapped else None)
