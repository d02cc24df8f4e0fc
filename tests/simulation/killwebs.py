"""Small webs for kills at every effect, each with one thing that goes on in a crawl; answers may depend on the time.

Each leads to one final state, however often the crawl is killed: what differs with the order of visits is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Resolution
from gossamer.ports.store import Store
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import address, config
from gossamer.sim.run import Run
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb, redirect, refused, robots

BEGAN = VirtualClock().now()
DAY_S = 86_400.0
SKETCH = b"".join(n.to_bytes(4, "big") for n in range(1, 129))
A, B, C = "a.example", "b.example", "c.example"
Pages = Callable[[str], Answer]
Hosts = dict[str, SimHost]


@dataclass(frozen=True)
class Case:
    """A web, made anew for each process, and how it is crawled."""

    hosts: Callable[[Callable[[], float]], Hosts]  # given the seconds since the beginning
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    digest_s: float = 0.3
    later_s: tuple[float, ...] = ()  # when what is due is visited again
    timed: bool = False
    seeds: tuple[str, ...] = (f"http://{A}/",)

    def make(self, store: Store, clock: VirtualClock) -> Run:
        """A process."""
        web = SimWeb(self.hosts(lambda: clock.now() - BEGAN))
        return Run(web, config(**self.settings), list(self.seeds), store=store, clock=clock, digest_s=self.digest_s)

    def drive(self, run: Run) -> None:
        """Crawl to the end, and again at each later time."""
        assert run.go()
        for later_s in self.later_s:
            if run.clock.now() < BEGAN + later_s:
                run.clock.jump(BEGAN + later_s)
            while run.enqueue_due():
                pass
            assert run.go()


def table(pages: dict[str, Answer | Callable[[], Answer]]) -> Pages:
    """Pages by target, 404 for the rest."""

    def answer(target: str) -> Answer:
        found = pages.get(target, Answer(status=404, body=b"nothing here"))
        return found() if callable(found) else found

    return answer


def links(host: str, *targets: str) -> tuple[str, ...]:
    return tuple(f"http://{host}{target}" for target in targets)


def host(number: int, page: Pages, **more: Any) -> SimHost:
    return SimHost(address=address(number), page=page, **{"robots": NO_ROBOTS, **more})


def plain(_now: Callable[[], float]) -> Hosts:
    """Three hosts, two of them on one server; rules with a delay, a sitemap, a path that is forbidden."""
    rules = robots("User-agent: *\nDisallow: /no\nCrawl-delay: 3\nSitemap: /map.xml\n")
    front = links(A, "/1", "/2", "/no/1") + links(B, "/", "/x?b=2&a=1") + links(C, "/")
    return {
        A: host(1, table({"/": Answer(links=front), "/1": Answer(links=links(A, "/3")), "/2": Answer(),
                          "/3": Answer()})),
        B: host(2, table({"/": Answer(links=links(B, "/no/2", "/1")), "/1": Answer(seconds=1.5), "/x?b=2&a=1": Answer(),
                          "/map.xml": Answer(links=links(B, "/4", "/1")), "/4": Answer()}), robots=rules),
        C: SimHost(address=address(2), page=table({"/": Answer(links=(f"https://{C}/s",)), "/s": Answer()})),
    }  # fmt: skip


def redirects(_now: Callable[[], float]) -> Hosts:
    """Chains, loops, redirects to itself and to nowhere, and rules that another host serves."""
    front = links(A, "/r1", "/self", "/loop1", "/nowhere", "/away", "/long0", "/http") + links(C, "/")
    pages: dict[str, Answer | Callable[[], Answer]] = {
        "/": Answer(links=front), "/r1": redirect("/r2", 301), "/r2": redirect("/end"), "/end": Answer(),
        "/self": redirect("/self"), "/loop1": redirect("/loop2"), "/loop2": redirect("/loop1"),
        "/nowhere": redirect(""), "/away": redirect(f"http://{B}/in"), "/http": redirect(f"https://{A}/end", 308),
    }  # fmt: skip
    pages |= {f"/long{n}": redirect(f"/long{n + 1}") for n in range(13)}
    return {
        A: host(1, table(pages)),
        B: host(2, table({"/in": Answer(), "/rules": robots("User-agent: *\nDisallow: /shut\n")})),
        C: host(3, table({"/": Answer(links=links(C, "/shut", "/open")), "/shut": Answer(), "/open": Answer()}),
                robots=redirect(f"http://{B}/rules", 301)),
    }  # fmt: skip


def copies(_now: Callable[[], float]) -> Hosts:
    """The same bytes on several hosts at once, the same text in other bytes, and a host whose errors say 200."""

    def text(number: int, **more: Any) -> Answer:
        return Answer(simhash=number * 0x1111_1111_1111, sketch=SKETCH, text_chars=5_000, title="T",
                      content_hash=number, **more)  # fmt: skip

    lost = text(9, body=b"no such page", links=())
    front = links(A, "/s", "/n1", "/l1", "/l2", "/l3", "/l4") + links(B, "/", "/s") + links(C, "/", "/s")
    pages: dict[str, Answer | Callable[[], Answer]] = {
        "/": Answer(links=front), "/s": Answer(body=b"same"), "/n1": text(7), **{f"/l{n}": lost for n in range(1, 5)},
    }  # fmt: skip
    listed = table(pages)
    return {
        A: host(1, lambda target: lost if target.startswith("/gossamer-") else listed(target)),
        B: host(2, table({"/": Answer(links=links(B, "/n2")), "/s": Answer(body=b"same"), "/n2": text(7)})),
        C: host(3, table({"/": Answer(body=b"same"), "/s": Answer(body=b"same", seconds=1.0)})),
    }  # fmt: skip


def refresh(now: Callable[[], float]) -> Hosts:
    """Visited three times: pages that change, stay, vanish, come back, answer 304, become redirects."""

    def by_day(*days: Answer) -> Callable[[], Answer]:
        return lambda: days[min(len(days) - 1, int(now() // (20 * DAY_S)))]

    first = links(A, "/stays", "/changes", "/goes", "/moves", "/tagged", "/twice") + links(B, "/")
    tagged = (("content-type", "text/html"), ("etag", '"1"'))
    same = Answer(headers=tagged, body=b"tagged", content_hash=5)
    return {
        A: host(1, table({
            "/": by_day(Answer(links=first), Answer(body=b"front 2", links=links(A, "/new"))),
            "/stays": Answer(), "/changes": by_day(*(Answer(body=b"%d" % n, content_hash=n + 1) for n in range(4))),
            "/goes": by_day(Answer(), Answer(status=404, body=b"")), "/moves": by_day(Answer(), redirect("/new", 301)),
            "/tagged": by_day(same, Answer(status=304, headers=tagged, body=b"")), "/new": Answer(),
            "/twice": by_day(Answer(body=b"x"), Answer(status=410, body=b""), Answer(body=b"y")),
        })),
        B: host(2, table({"/": by_day(Answer(body=b"b1"), Answer(body=b"b2"))}), robots=robots("User-agent: *\n")),
    }  # fmt: skip


def trouble(now: Callable[[], float]) -> Hosts:
    """Errors for good and errors for a while, distress, pages that no worker can archive."""

    def until(end_s: float, first: Answer, then: Answer) -> Callable[[], Answer]:
        return lambda: first if now() < end_s else then

    busy = Answer(status=503, headers=(("retry-after", "7"),), body=b"busy")
    front = links(A, "/later", "/never", "/lost", "/gone", "/ok") + links(B, "/", "/p") + links(C, "/")
    slow_down = Answer(status=429, headers=(("retry-after", "20"),), body=b"")
    return {
        A: host(1, table({
            "/": Answer(links=front),
            "/later": until(15.0, busy, Answer()), "/never": refused(Failure.DISCONNECTED), "/lost": Answer(lost=True),
            "/gone": Answer(status=410, body=b""), "/ok": Answer(),
        })),
        B: host(2, table({"/": until(30.0, slow_down, Answer()), "/p": Answer()})),
        C: host(3, table({"/": until(40.0, refused(Failure.TIMEOUT, 5.0), Answer())})),
    }  # fmt: skip


def rules_change(now: Callable[[], float]) -> Hosts:
    """Rules that cannot be had at first, or in part only, and forbid more when the pages are due again."""

    def rules(turn: Turn) -> Answer:
        if now() < 200.0:
            if turn.scheme == "http":
                return Answer(status=503, body=b"")
            return msgspec.structs.replace(robots("User-agent: *\n"), breaks_off=True)
        return robots(f"User-agent: *\nDisallow: /no\n{'Disallow: /later' if now() > DAY_S else ''}\n")

    pages = table({"/": Answer(links=links(B, "/no", "/later", "/yes")), "/later": Answer(), "/yes": Answer()})
    return {
        A: host(1, table({"/": Answer(links=(*links(B, "/"), f"https://{B}/s"))})),
        B: host(2, pages, robots=rules),
    }


def outages(now: Callable[[], float]) -> Hosts:
    """Our network goes for a while, and our resolver, and then a server."""

    def ours() -> bool:
        return 4.0 < now() < 9.0

    def flaky(page: Pages) -> Pages:
        return lambda target: refused(Failure.OURS, 0.1) if ours() else page(target)

    def resolve(name: str, at: float) -> Resolution:
        if now() < 6.0:
            return Resolution(name=name, error="no nameserver answers", ours=True)
        return Resolution(name=name, addresses=(address(2),), expires=at + 50.0)

    def down(target: str) -> Answer:
        return refused(Failure.CONNECT, 0.1) if 20.0 < now() < 30.0 else chain(target)

    chain = table({"/": Answer(links=links(C, "/1")), "/1": Answer(links=links(C, "/2")), "/2": Answer()})
    front = table({"/": Answer(links=links(A, "/1", "/2", "/3") + links(B, "/") + links(C, "/")), "/1": Answer(),
                   "/2": Answer(), "/3": Answer()})  # fmt: skip
    return {
        A: host(1, flaky(front)),
        B: host(2, flaky(table({"/": Answer(links=links(B, "/1")), "/1": Answer()})), resolve=resolve),
        C: host(3, down),
    }


YIELDING = {"frontier": {"slots": 1}}
EVERY_PAGE = {"refresh": {"policy": "uniform"}}
CASES: dict[str, Case] = {
    "plain": Case(plain),
    "one slot": Case(plain, YIELDING, digest_s=0.0),
    "redirects": Case(redirects, {"frontier": {"slots": 2}}),
    "copies": Case(copies, digest_s=1.0),
    "refresh": Case(refresh, EVERY_PAGE, later_s=(35 * DAY_S, 70 * DAY_S)),
    "trouble": Case(trouble, {"fetch": {"retries": 6}, "politeness": {"park_after": 20}}, timed=True),
    "rules change": Case(rules_change, EVERY_PAGE, later_s=(35 * DAY_S,), timed=True),
    "outages": Case(outages, {"fetch": {"retries": 6}, "politeness": {"park_after": 20}}, timed=True),
}
