"""The seeded web over a year: pages appear, change by mixed laws, go and move; copies, mirrors; hosts that die.

What lasts (hosts, robots.txt, outages, traps, redirects, broken pages) is `world`'s; here is what passes. Bodies have
the lengths of real pages, so that what an archive stores of them can be counted in bytes.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Links, Resolution, SitemapEntry
from gossamer.sim.laws import DAY_S, draw, log_normal, mix, unit
from gossamer.sim.web import Answer, redirect, refused
from gossamer.sim.world import HTML, START, World
from gossamer.sim.worldhost import SITEMAP_MAX, Host
from gossamer.sim.worldpage import Page, linked_hosts, linked_pages, number_of, original_of, page_of
from gossamer.sim.worldtrap import entrance, is_trap
from gossamer.sim.yearpage import Life, live

TEXTS_SHARE: Final = 0.8  # of the hosts: pages with enough main text to be compared
NOISY_SHARE: Final = 0.05  # of the hosts: other bytes in every answer, such as a time or a token, around the same text
DYING_SHARE: Final = 0.04  # of the hosts: gone for good in the course of the year
LIARS_SHARE: Final = 0.25  # of the sitemaps: every page was changed just now, they say
BYTES_MEDIAN: Final = 20_000.0
BYTES_SIGMA: Final = 0.9
BYTES_MAX: Final = 400_000
ABSENT_BYTES: Final = 6_000  # of a not-found page
ENTRY_BYTES: Final = 120  # of a sitemap's entry
LIVING: Final = frozenset(("page", "copy", "near", "private", "sometimes"))  # kinds of pages that have a text


class YearWorld(World):
    """A `World` whose pages live. `days`: of its history."""

    def __init__(self, seed: int, hosts: int, urls: int, *, days: float = 365.0, start: float = START) -> None:
        """Make the hosts; pages are made when they are asked for, and then kept."""
        super().__init__(seed, hosts, urls, days=days, start=start)
        self._lives: dict[tuple[int, int], Life] = {}

    # -- what there is ---------------------------------------------------------------------------------------------

    def life(self, host: Host, page: Page) -> Life:
        """The life of a page at its place."""
        found = self._lives.get((host.number, page.number))
        if found is None:
            found = self._lives[host.number, page.number] = live(host, page, self.days)
        return found

    def text(self, host: Host, page: Page) -> tuple[Host, Page]:
        """Whose text stands there: a mirror shows another host's, a copy its original's."""
        host = self._shown(host)
        return host, page_of(host, original_of(page)) if page.kind in ("copy", "near") else page

    def dies(self, host: Host) -> float:
        """Day on which a host goes for good; infinite for most."""
        if host.hub or unit(mix(host.bits, 302)) >= DYING_SHARE:
            return math.inf
        return self.days * (0.1 + 0.9 * unit(mix(host.bits, 303)))

    def place(self, host: Host, target: str) -> tuple[Page, Life] | None:
        """The page that a path of a host belongs to, whether it is there now or not; None when there never is one."""
        shown = self._shown(host)
        found = number_of(target, shown.size)
        if found is None:
            return None
        page = page_of(shown, found[0])
        if page.kind not in LIVING or target not in (page.path, _moved_path(page)):
            return None
        return page, self.life(shown, page)

    def _shown(self, host: Host) -> Host:
        return self._mirrored(host) if host.mirror_of >= 0 else host

    # -- answers ---------------------------------------------------------------------------------------------------

    def resolve(self, name: str, now: float) -> Resolution:
        """What DNS says: nothing of every other host that is gone."""
        host = self.find(name)
        if host is not None and host.number % 2 and self.days_at(now) >= self.dies(host):
            return Resolution(name=name, error="nxdomain")
        return super().resolve(name, now)

    def answer(self, turn: Turn) -> Answer:
        """What the server of a turn sends."""
        host = self.find(turn.host)
        if host is not None and self.days_at(turn.started) >= self.dies(host):
            return refused(Failure.CONNECT, 0.05)
        return super().answer(turn)

    def _page(self, host: Host, turn: Turn, bits: int, seconds: float) -> Answer:
        if host.trap and is_trap(host, turn.name, turn.target):
            return super()._page(host, turn, bits, seconds)
        day = self.days_at(turn.started)
        place = self.place(host, turn.target)
        if place is None:
            found = number_of(turn.target, self._shown(host).size)
            kind = page_of(self._shown(host), found[0]).kind if found is not None else "missing"
            listed = host.sitemap and turn.target == "/sitemap.xml"
            if not listed and kind in ("missing", "gone"):
                return _absent(host, turn.target, 410 if kind == "gone" else 404, seconds)
            return super()._page(host, turn, bits, seconds)
        page, life = place
        moved = turn.target == _moved_path(page)
        if moved and not (life.end == "moved" and day >= life.ends):
            return _absent(host, turn.target, 404, seconds)
        if not moved and day < life.born:
            return _absent(host, turn.target, 404, seconds)
        if not moved and day >= life.ends:
            if life.end != "moved":
                return _absent(host, turn.target, 410 if life.end == "gone" else 404, seconds)
            answer = redirect(f"{host.scheme}://{host.name}{_moved_path(page)}", 301)
            return msgspec.structs.replace(answer, seconds=seconds)
        shown = self._shown(host)
        return self._content(shown, page, self.text(shown, page)[1], turn, seconds)

    def _content(self, host: Host, page: Page, same: Page, turn: Turn, seconds: float) -> Answer:
        """A page with text: its own, or that of the page it is a copy of."""
        version = self.life(host, same).version(self.days_at(turn.started))
        noisy = unit(mix(host.bits, 304)) < NOISY_SHARE
        etag = f'"{page.number}-{version}"'
        headers = (HTML, ("etag", etag)) if host.validators and not noisy else (HTML,)
        if host.validators and not noisy and turn.etag == etag:
            return Answer(status=304, headers=headers, body=b"", seconds=seconds)
        bits = mix(same.bits, 1_000 + version)
        near = page.kind == "near"
        body = f"{host.number}/{same.number}/{version}{'~' if near else ''}"
        if noisy:
            body += f" made {turn.started:.3f}"
        text = unit(mix(host.bits, 301)) < TEXTS_SHARE
        return Answer(
            headers=headers,
            body=body.encode().ljust(page_bytes(same)),
            groups=self._links_at(host, page, self.days_at(turn.started), turn.host),
            links=(entrance(host),) if page.number == 0 and host.trap else (),
            seconds=seconds,
            title=f"{bits:x}",
            content_hash=bits ^ near,
            simhash=(bits ^ (0b101 << 20) if near else bits) if text else None,
            sketch=(bits & 0xFFFF_FFFF).to_bytes(4, "big") if text else b"",
            text_chars=1_000 + bits % 5_000,
        )

    def _links_at(self, shown: Host, page: Page, day: float, name: str) -> tuple[Links, ...]:
        """Links of a page: to what is there now, at the address where it is now."""
        host = self.find(name) or shown
        base, paths = f"{host.scheme}://{host.name}", dict[str, None]()
        for number in linked_pages(shown, page):
            other = page_of(shown, number)
            if other.kind not in LIVING:
                paths[other.path] = None
                continue
            life = self.life(shown, other)
            if life.stands(day):
                paths[other.path] = None
            elif life.end == "moved" and day >= life.ends:
                paths[_moved_path(other)] = None
        groups = [Links(host.name, host.site, tuple((base + path, host.key(path)) for path in paths))]
        for number in linked_hosts(shown, page, len(self.all)):
            away = self.all[number]
            scheme = away.scheme if mix(page.bits, number) % 3 else "http"
            groups.append(Links(away.name, away.site, ((f"{scheme}://{away.name}/", away.key("/", scheme)),)))
        return tuple(groups)

    def _sitemap(self, host: Host, now: float, seconds: float) -> Answer:
        """What is there now, each with the time of its last change, or with a lie."""
        base, day = f"{host.scheme}://{host.name}", self.days_at(now)
        liar = unit(mix(host.bits, 305)) < LIARS_SHARE
        entries = []
        for number in range(min(host.size, SITEMAP_MAX)):
            page = page_of(host, number)
            if page.kind not in ("page", "copy", "near") or not (life := self.life(host, page)).stands(day):
                continue
            changes = self.life(*self.text(host, page)).changes
            version = self.life(*self.text(host, page)).version(day)
            changed = max(life.born, changes[version - 1] if version else 0.0)
            dated = now if liar else self.start + changed * DAY_S
            entries.append(SitemapEntry(base + page.path, host.key(page.path), host.name, host.site, dated))
        newest = max((entry.lastmod or 0.0 for entry in entries), default=0.0)
        body = f"{host.number} {len(entries)} {newest:.3f}".encode().ljust(ENTRY_BYTES * (1 + len(entries)))
        kind = (("content-type", "application/xml"),)
        return Answer(headers=kind, body=body, entries=tuple(entries), seconds=seconds)


def page_bytes(page: Page) -> int:
    """Length of a page's body; half of all are below BYTES_MEDIAN."""
    return min(BYTES_MAX, max(1_000, round(log_normal(mix(page.bits, 306), BYTES_MEDIAN, BYTES_SIGMA))))


def _moved_path(page: Page) -> str:
    return f"/m/{page.number}"


def _absent(host: Host, target: str, status: int, seconds: float) -> Answer:
    """A not-found page: the same for every address of most hosts; some say 200, some tell what was asked for."""
    bits = mix(host.bits, 400)
    told = target if unit(mix(host.bits, 307)) < 0.2 and not host.soft404 else ""
    return Answer(
        status=200 if host.soft404 else status,
        body=f"{host.number}/404 {told}".encode().ljust(ABSENT_BYTES),
        seconds=seconds,
        title="Not found",
        content_hash=bits,
        simhash=bits,
        sketch=(draw(bits, "sketch") & 0xFFFF_FFFF).to_bytes(4, "big"),
        text_chars=200,
    )
