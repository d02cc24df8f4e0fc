"""A seeded web of any size: a million pages on twenty thousand hosts, made when asked for and forgotten again.

Answers depend on the seed, the question and the time alone. Hosts are `worldhost`'s, pages `worldpage`'s, traps
`worldtrap`'s, chance `laws`'; here they become answers of servers.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Links, Resolution, SitemapEntry
from gossamer.sim.laws import DAY_S, Change, draw, log_normal, mix, unit
from gossamer.sim.web import DNS_TTL_S, NO_ROBOTS, Answer, SimWeb, redirect, refused, robots
from gossamer.sim.worldhost import (
    SITEMAP_MAX,
    THROTTLE_WINDOW_S,
    TOLD_TO_WAIT_S,
    Host,
    make_hosts,
)
from gossamer.sim.worldpage import (
    Page,
    change_law,
    hops_of,
    linked_hosts,
    linked_pages,
    number_of,
    original_of,
    page_of,
)
from gossamer.sim.worldtrap import TrapPage, entrance, trap_page

START: Final = 1_700_000_000.0
CONNECT_TIMEOUT_S: Final = 10.0
HTML: Final = ("content-type", "text/html")
Rules = tuple[str, ...] | None  # paths that are closed; None: everything is


class World(SimWeb):
    """The seeded web. `hosts` and `urls` are how many there are, traps and hops of redirects not counted."""

    def __init__(self, seed: int, hosts: int, urls: int, *, days: float = 30.0, start: float = START) -> None:
        """Make the hosts; pages are made when they are asked for. `start` in unix seconds, `days` of its history."""
        super().__init__({})
        self.seed = seed
        self.start = start
        self.days = days
        self.all = make_hosts(seed, hosts, urls, days)
        self._by_name = {host.name: host for host in self.all}
        self._endless = {host.site: host for host in self.all if host.trap == "names"}

    # -- asking ----------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Host | None:
        """The host of a name; a host with endless names answers to all of them."""
        host = self._by_name.get(name)
        if host is not None or not name.startswith("x"):
            return host
        return self._endless.get(name.partition(".")[2])

    def seeds(self) -> list[str]:
        """Front pages of the hubs."""
        return [f"{host.scheme}://{host.name}/" for host in self.all if host.hub]

    def days_at(self, now: float) -> float:
        """Days since the start."""
        return (now - self.start) / DAY_S

    def down(self, host: Host, days: float) -> bool:
        """Whether a host is out of order."""
        return bool(host.outage) and host.outage_from <= days < host.outage_until

    def resolve(self, name: str, now: float) -> Resolution:
        """What DNS says."""
        host = self.find(name)
        if host is None or host.dead:
            return Resolution(name=name, error="nxdomain")
        if self.days_at(now) < host.dns_until:
            return Resolution(name=name, error="the nameserver failed (SERVFAIL)")
        return Resolution(name=name, addresses=(host.address,), expires=now + DNS_TTL_S)

    def rules_at(self, host: Host, now: float) -> Rules:
        """What the robots.txt of a host closes at a time, for those who could read it then."""
        if host.unreadable and host.robots != "too-slow":
            return None
        if host.robots in ("none", "open", "login", "away", "delay", "too-slow"):
            return ()
        if host.robots == "changing" and int((now - self.start) / host.robots_period_s) % 2:
            return ("/private/", "/extra/")
        return ("/private/",)

    def answer(self, turn: Turn) -> Answer:
        """What the server of a turn sends."""
        host = self.find(turn.host)
        now = turn.started
        if host is None:
            return refused(Failure.CONNECT)
        bits = mix(draw(host.bits, turn.target), int(now * 1000))
        seconds = min(25.0, log_normal(bits, host.median_s, 0.3))
        if self.down(host, self.days_at(now)):
            if host.outage == "error":
                return Answer(status=503, body=b"", seconds=seconds)
            timeout = host.outage == "timeout"
            return refused(Failure.CONNECT_TIMEOUT, CONNECT_TIMEOUT_S) if timeout else refused(Failure.CONNECT, 0.05)
        if turn.target == "/robots.txt":
            return self._robots(host, now, seconds)
        if host.throttled and unit(mix(host.bits, 1_000 + int(now / THROTTLE_WINDOW_S))) < 0.15:
            wait = (("retry-after", str(TOLD_TO_WAIT_S)),) if host.told else ()
            return Answer(status=429, headers=(HTML, *wait), body=b"", seconds=seconds)
        if turn.scheme != host.scheme and turn.name == host.name:
            return _timed(redirect(f"{host.scheme}://{host.name}{turn.target}", 301), seconds)
        return self._page(host, turn, bits, seconds)

    # -- answers ---------------------------------------------------------------------------------------------------

    def _robots(self, host: Host, now: float, seconds: float) -> Answer:
        if host.robots == "none":
            return _timed(NO_ROBOTS, seconds)
        if host.robots == "login":
            return Answer(status=401, body=b"", seconds=seconds)
        if host.robots == "html":
            return Answer(body=b"<!doctype html><title>Hello</title>", seconds=seconds)
        if host.robots == "away" and now < self.start + host.robots_away_s:
            return Answer(status=503, body=b"", seconds=seconds)
        lines = ["User-agent: *"]
        rules = self.rules_at(host, now)
        lines += ["Disallow: /"] if rules is None else [f"Disallow: {path}" for path in rules]
        if host.robots in ("delay", "too-slow"):
            lines.append(f"Crawl-delay: {host.crawl_delay_s:g}")
        if host.sitemap:
            lines.append(f"Sitemap: {host.scheme}://{host.name}/sitemap.xml")
        return _timed(robots("\n".join(lines)), seconds)

    def _page(self, host: Host, turn: Turn, bits: int, seconds: float) -> Answer:
        trap = trap_page(host, turn.name, turn.target)
        if trap is not None:
            return _trapped(host, turn.target, trap, seconds)
        if host.sitemap and turn.target == "/sitemap.xml":
            return self._sitemap(host, turn.started, seconds)
        if host.mirror_of >= 0:
            host = self._mirrored(host)
        found = number_of(turn.target, host.size)
        page = page_of(host, found[0]) if found is not None else None
        if found is None or page is None or not _stands(page, turn.target, found[1]):
            return _missing(host, seconds)
        if page.kind == "page":
            return self._content(host, page, page, turn, seconds)
        return self._oddity(host, page, found[1], turn, bits, seconds)

    def _oddity(self, host: Host, page: Page, hop: int, turn: Turn, bits: int, seconds: float) -> Answer:
        """A page that is not what it seems."""
        base = f"{host.scheme}://{host.name}"
        kind = page.kind
        if kind in ("missing", "gone"):
            return _missing(host, seconds, 410 if kind == "gone" else 404)
        if kind == "broken" or (kind == "flaky" and unit(mix(bits, 7)) < 0.5):
            return Answer(status=500 if kind == "broken" else 503, body=b"", seconds=seconds)
        if kind == "away":
            other = self.all[mix(page.bits, 8) % len(self.all)]
            return _timed(redirect(f"{other.scheme}://{other.name}/", 302), seconds)
        if kind == "loop":
            return _timed(redirect(f"{base}/l/{page.number}/{1 - hop % 2}"), seconds)
        if kind == "moved" or (kind == "chain" and hop >= hops_of(page)):
            target = page_of(host, original_of(page)).path
            return _timed(redirect(base + target, 301 if kind == "moved" else 302), seconds)
        if kind == "chain":
            return _timed(redirect(f"{base}/r/{page.number}/{hop + 1}", 307), seconds)
        same = page_of(host, original_of(page)) if kind in ("copy", "near") else page
        return self._content(host, page, same, turn, seconds)

    def _content(self, host: Host, page: Page, same: Page, turn: Turn, seconds: float) -> Answer:
        """A page with text: its own, or that of the page it is a copy of."""
        version, _ = change_law(same).at(self.days_at(turn.started))
        etag = f'"{page.number}-{version}"'
        headers = (HTML, ("etag", etag)) if host.validators else (HTML,)
        if host.validators and turn.etag == etag:
            return Answer(status=304, headers=headers, body=b"", seconds=seconds)
        bits = mix(same.bits, 1_000 + version)
        body = f"{host.number}/{same.number}/{version}"
        if page.kind == "near":
            body += "~"
        text = host.texts
        return Answer(
            headers=headers,
            body=body.encode(),
            groups=self._links(host, page),
            links=(entrance(host),) if page.number == 0 and host.trap else (),
            seconds=seconds,
            title="" if not text else f"{bits:x}",
            content_hash=bits if page.kind != "near" else bits ^ 1,
            simhash=(bits ^ (0b101 << 20) if page.kind == "near" else bits) if text else None,
            sketch=(bits & 0xFFFF_FFFF).to_bytes(4, "big") if text else b"",
            text_chars=1_000 + bits % 5_000,
        )

    def _links(self, host: Host, page: Page) -> tuple[Links, ...]:
        base = f"{host.scheme}://{host.name}"
        paths = dict.fromkeys(page_of(host, number).path for number in linked_pages(host, page))
        own = Links(host.name, host.site, tuple((base + path, host.key(path)) for path in paths))
        groups = [own]
        for number in linked_hosts(host, page, len(self.all)):
            other = self.all[number]
            scheme = other.scheme if mix(page.bits, number) % 3 else "http"
            groups.append(Links(other.name, other.site, ((f"{scheme}://{other.name}/", other.key("/", scheme)),)))
        return tuple(groups)

    def _sitemap(self, host: Host, now: float, seconds: float) -> Answer:
        base = f"{host.scheme}://{host.name}"
        days = self.days_at(now)
        entries = []
        for number in range(min(host.size, SITEMAP_MAX)):
            page = page_of(host, number)
            changed = self.start + change_law(page).at(days)[1] * DAY_S
            if page.kind in ("page", "copy", "near"):
                entries.append(SitemapEntry(base + page.path, host.key(page.path), host.name, host.site, changed))
        return Answer(headers=(("content-type", "application/xml"),), entries=tuple(entries), seconds=seconds)

    def _mirrored(self, host: Host) -> Host:
        """What a mirror shows: the pages of another host, under its own name."""
        return msgspec.structs.replace(
            self.all[host.mirror_of], name=host.name, site=host.site, prefix=host.prefix, scheme=host.scheme
        )


def content_law(host: Host, page: Page) -> Change:
    """How the content at a page changes: a copy as its original does."""
    return change_law(page_of(host, original_of(page)) if page.kind in ("copy", "near") else page)


def _timed(answer: Answer, seconds: float) -> Answer:
    return msgspec.structs.replace(answer, seconds=seconds)


def _stands(page: Page, target: str, hop: int) -> bool:
    """Whether a page stands at a path that has its number."""
    if page.kind in ("chain", "loop"):
        return target.startswith(page.path[:-1]) and hop <= (1 if page.kind == "loop" else hops_of(page))
    return target == page.path


def _missing(host: Host, seconds: float, status: int = 404) -> Answer:
    """What a host says of a page that is not there; some say 200, and always the same text."""
    if not host.soft404:
        return Answer(status=status, body=b"", seconds=seconds)
    bits = mix(host.bits, 400)
    return Answer(
        body=b"%d/404" % host.number,
        seconds=seconds,
        title="Not found",
        content_hash=bits,
        simhash=bits,
        sketch=(bits & 0xFFFF_FFFF).to_bytes(4, "big"),
        text_chars=200,
    )


def _trapped(host: Host, target: str, trap: TrapPage, seconds: float) -> Answer:
    bits = mix(host.bits, 500 + trap.text)
    return Answer(
        body=target.encode() if trap.near else b"%d/trap/%d" % (host.number, trap.text),
        links=trap.links,
        seconds=seconds,
        title="Overview",
        content_hash=draw(bits, target) if trap.near else bits,
        simhash=bits,
        sketch=(bits & 0xFFFF_FFFF).to_bytes(4, "big"),
        text_chars=800,
    )
