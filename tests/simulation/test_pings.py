"""Pings: heard when the host shows the key, refused with a reason when it does not, and never a burden to it."""

from __future__ import annotations

import pytest

from gossamer.core import pings
from gossamer.model.limits import PING_URLS_MAX, PINGS_PER_HOST_DAY_MAX
from gossamer.model.page import Failure
from gossamer.model.ping import Ping
from gossamer.model.record import Cf
from gossamer.sim.check import everything, recount
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb, refused, robots

HOUR_S = 3_600.0
DAY_S = 86_400.0
KEY = "0123456789abcdef"
HOST, OTHER = "a.example", "b.example"


class Site:
    """Two hosts of ten pages, one of which shows a key."""

    def __init__(self, key: str = KEY, rules: Answer = NO_ROBOTS) -> None:
        self.key: Answer = Answer(body=f"{key}\n".encode())
        web = SimWeb(
            {
                HOST: SimHost(address="20.0.0.1", page=self.page, robots=rules),
                OTHER: SimHost(
                    address="20.0.1.1", page=lambda target: Answer(status=404) if ".txt" in target else Answer()
                ),
            }
        )
        settings = config(
            refresh={"policy": "uniform", "interval_s": 30 * DAY_S}, limits={"continuous": True}, scope={"mode": "site"}
        )
        self.run = Run(web, settings, [f"http://{HOST}/", f"http://{OTHER}/"], refresh=True)
        self.run.go(60.0, stay=True)
        self.run.wait(2 * HOUR_S)

    def page(self, target: str) -> Answer:
        if target.endswith(".txt"):
            return self.key
        return Answer(links=tuple(f"http://{HOST}/p{n}" for n in range(10)) if target == "/" else ())

    def ping(self, *paths: str, key: str = KEY, host: str = HOST) -> dict[str, str]:
        return self.run.partition.ping(
            Ping(key=key, urls=tuple(f"http://{host}{path}" for path in paths)), self.run.clock.now()
        )

    def visits(self, path: str, host: str = HOST) -> int:
        return sum((served.host, served.target) == (host, path) for served in self.run.served)

    def counts(self) -> dict[str, int]:
        return self.run.context.counters.totals.hints


def test_a_verified_ping_makes_pages_due_at_once_and_lets_new_ones_in() -> None:
    site = Site()
    assert site.ping("/p3", "/new") == {}
    site.run.go(60.0, stay=True)
    assert (site.visits("/p3"), site.visits("/new"), site.visits("/p4")) == (2, 1, 1)
    assert site.visits(f"/{KEY}.txt") == 1
    site.ping("/p4")
    site.run.go(60.0, stay=True)
    assert site.visits("/p4") == 2
    assert site.visits(f"/{KEY}.txt") == 1, "what was verified holds for a day"
    assert site.counts() == {pings.FOLLOWED: 3}
    assert recount(site.run.store) == []


def test_a_page_is_visited_no_sooner_than_its_least_interval() -> None:
    site = Site()
    for _ in range(20):
        site.ping("/p3")
        site.run.go(HOUR_S / 10, stay=True)
    assert site.visits("/p3") <= 1 + 1 + 2


@pytest.mark.parametrize("answer", [Answer(status=404), Answer(body=b"another-key"), Answer(body=b""),
                                    Answer(status=301, headers=(("location", f"http://{HOST}/"),))])  # fmt: skip
def test_a_ping_without_its_key_is_refused_counted_and_asks_the_host_once_an_hour(answer: Answer) -> None:
    site = Site()
    site.key = answer
    assert site.ping("/p3") == {}
    site.run.go(60.0, stay=True)
    assert site.visits("/p3") == 1
    assert site.counts() == {pings.NO_KEY: 1}
    for _ in range(20):
        assert set(site.ping("/p3", "/p4").values()) == {pings.NO_KEY}
        site.run.go(60.0, stay=True)
    assert site.visits(f"/{KEY}.txt") == 1
    assert site.counts() == {pings.NO_KEY: 41}


def test_the_key_of_one_host_says_nothing_of_another() -> None:
    site = Site()
    site.ping("/p3")
    site.run.go(60.0, stay=True)
    site.ping("/", host=OTHER)
    site.run.go(60.0, stay=True)
    assert site.visits("/", OTHER) == 1
    assert site.visits(f"/{KEY}.txt", OTHER) == 1
    assert site.counts() == {pings.FOLLOWED: 1, pings.NO_KEY: 1}


def test_what_is_not_of_the_crawl_is_refused_by_name() -> None:
    site = Site()
    urls = ("mailto:x@a.example", "http://elsewhere.example/", "http://deep.a.example/")
    found = site.run.partition.ping(Ping(key=KEY, urls=urls), site.run.clock.now())
    assert list(found.values()) == [pings.INVALID, pings.OUTSIDE, pings.UNKNOWN]


def test_pings_are_limited_for_each_host() -> None:
    site = Site()
    site.ping("/p1")
    site.run.go(60.0, stay=True)
    found = site.ping(*(f"/n{n}" for n in range(PING_URLS_MAX)))
    assert list(found.values()) == [pings.RATE]
    assert set(site.ping("/p2").values()) == {pings.RATE}
    site.run.go(HOUR_S, stay=True)
    site.run.wait(DAY_S)
    assert site.ping("/p2") == {}
    assert sum(served.target.startswith("/n") for served in site.run.pages()) == PINGS_PER_HOST_DAY_MAX - 1


def test_robots_txt_forbids_the_key_too() -> None:
    site = Site(rules=robots("User-agent: *\nDisallow: /*.txt\n"))
    site.ping("/p3")
    site.run.go(60.0, stay=True)
    assert site.visits(f"/{KEY}.txt") == 0
    assert site.counts() == {pings.NO_KEY: 1}


def test_a_ping_outlives_a_kill_and_a_failure() -> None:
    site = Site()
    site.key = refused(Failure.CONNECT)
    site.ping("/p3")
    site.run.go(20.0, stay=True)
    assert site.visits("/p3") == 1
    site.run.stop()
    site.key = Answer(body=KEY.encode())
    again = Run(site.run.web, site.run.context.config, [], store=site.run.store, clock=site.run.clock, refresh=True)
    again.go(HOUR_S, stay=True)
    assert sum(served.target == "/p3" for served in again.served) == 1
    assert not [key for key, _ in everything(again.store, Cf.META) if key.startswith(pings.PREFIX)]
    assert recount(again.store) == []


@pytest.mark.parametrize(
    "ping",
    [
        Ping(key="short", urls=("http://a.example/",)),
        Ping(key="x" * 129, urls=("http://a.example/",)),
        Ping(key="../../etc/passwd", urls=("http://a.example/",)),
        Ping(key=KEY, urls=()),
        Ping(key=KEY, urls=("http://a.example/",) * (PING_URLS_MAX + 1)),
        Ping(key=KEY, urls=("http://a.example/" + "x" * 100_000,)),
    ],
)
def test_malformed_pings_have_a_fault(ping: Ping) -> None:
    assert ping.fault()
