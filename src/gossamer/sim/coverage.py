"""What of the seeded web a crawl has fetched, by depth, what became of the rest, and which pages it took for copies.

Asks the store for every page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet

import msgspec

from gossamer.core.changes import decode_url
from gossamer.model.record import Cf, State, UrlRow
from gossamer.ports.store import Store
from gossamer.sim.world import World
from gossamer.sim.worldhost import Host
from gossamer.sim.worldpage import BRANCHING, Page, change_law, depth_of, original_of, page_of, wanted

LINE_PAGES = 1_000  # rows read from the store at once
COPIES = ("copy", "near")


class DepthCover(msgspec.Struct):
    """Pages at one depth: links from the front page of their host, at most."""

    wanted: int = 0
    fetched: int = 0


class Coverage(msgspec.Struct):
    """Every page that an obedient crawl should have, compared with what it has."""

    depths: dict[int, DepthCover] = {}
    missed: dict[str, int] = {}  # why: a reason, a state, "unknown"
    trapped_wanted: int = 0  # pages of hosts with a trap, which guards may give up as a whole
    trapped_fetched: int = 0
    budgeted: int = 0  # pages that were not fetched because their site has had its fetches
    hosts_out: dict[str, int] = {}  # hosts of which nothing is wanted
    alike: int = 0  # copies that showed, when they were visited last, what their original showed then
    recognised: int = 0  # those of them that are known as copies, or their original as a copy of them
    mistaken: int = 0  # pages known as copies of what they are no copies of

    @property
    def wanted(self) -> int:
        """Pages of all depths."""
        return sum(depth.wanted for depth in self.depths.values())

    @property
    def fetched(self) -> int:
        """Those of them that were fetched."""
        return sum(depth.fetched for depth in self.depths.values())


def out(host: Host, mirrored: AbstractSet[int]) -> str:
    """Why nothing of a host is wanted; empty when something is. `mirrored`: numbers of the hosts that others show."""
    if host.dead:
        return "its name does not exist"
    if host.robots == "closed":
        return "robots.txt closes it"
    if host.robots == "html":
        return "its robots.txt is a web page"
    if host.robots == "too-slow":
        return "Crawl-delay beyond what is waited for"
    if host.mirror_of >= 0:
        return "a mirror"
    return "it has a mirror: one of the two is wanted" if host.number in mirrored else ""


def cover(world: World, store: Store, spent: AbstractSet[str]) -> Coverage:
    """Look every wanted page up. `spent`: sites that have had as many fetches as the configuration gives them."""
    found = Coverage()
    mirrored = {host.mirror_of for host in world.all}
    missed: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for host in world.all:
        why = out(host, mirrored)
        if why:
            outside[why] += 1
            continue
        for first in range(0, host.size, LINE_PAGES):
            numbers = range(first, min(first + LINE_PAGES, host.size))
            _cover_some(found, missed, host, store, numbers, spent=host.site in spent)
        if not host.trap:
            _compare(found, world, host, store)
    found.missed = dict(missed.most_common())
    found.hosts_out = dict(outside.most_common())
    found.depths = dict(sorted(found.depths.items()))
    return found


def _cover_some(
    found: Coverage, missed: Counter[str], host: Host, store: Store, numbers: range, *, spent: bool
) -> None:
    pages = [page for page in (page_of(host, number) for number in numbers) if wanted(host, page)]
    rows = store.get_many(Cf.URL, [host.key(page.path).encode() for page in pages])
    for page, raw in zip(pages, rows, strict=True):
        row = decode_url(raw) if raw is not None else None
        fetched = row is not None and row.visits > 0
        if row is not None and row.duplicate_of and page.kind in ("page", *COPIES):
            found.mistaken += row.duplicate_of not in _family(host, page)
        if host.trap:
            found.trapped_wanted += 1
            found.trapped_fetched += fetched
            continue
        if spent and not fetched:
            found.budgeted += 1
            continue
        depth = found.depths.setdefault(depth_of(page.number), DepthCover())
        depth.wanted += 1
        depth.fetched += fetched
        if row is None:
            missed["not found yet, or refused as a link"] += 1
        elif not fetched:
            missed[row.reason or ("still queued" if row.state is State.QUEUED else row.state.name.lower())] += 1


def _family(host: Host, page: Page) -> set[str]:
    """Keys of the pages that show the same as a page, itself included."""
    first = original_of(page) if page.kind in COPIES else page.number
    children = range(first * BRANCHING + 1, min(first * BRANCHING + BRANCHING + 1, host.size))
    same = [each for each in (page_of(host, number) for number in children) if each.kind in COPIES]
    return {host.key(each.path) for each in (page_of(host, first), *same)}


def _compare(found: Coverage, world: World, host: Host, store: Store) -> None:
    """Count the copies of a host that showed what their original did, and those of them that are known."""
    for number in range(host.size):
        page = page_of(host, number)
        if page.kind != "copy" and not (page.kind == "near" and host.texts):
            continue
        original = page_of(host, original_of(page))
        keys = [host.key(each.path) for each in (original, page)]
        rows = [decode_url(raw) for raw in store.get_many(Cf.URL, [key.encode() for key in keys]) if raw is not None]
        versions = {change_law(original).at(world.days_at(row.visited))[0] for row in rows if _shows(row)}
        if len(rows) != len(keys) or not all(map(_shows, rows)) or len(versions) != 1:
            continue
        found.alike += 1
        family = _family(host, page)
        found.recognised += any(row.duplicate_of in family for row in rows)


def _shows(row: UrlRow) -> bool:
    return row.visits > 0 and row.status == 200
