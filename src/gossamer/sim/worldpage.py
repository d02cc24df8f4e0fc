"""The pages of one host of the seeded web: what stands at a path, where it links to, how it changes.

Pages are numbered. Page n links to pages 8n+1 to 8n+8, so that page 0 (the front page) reaches all of them, and to some
others besides. Only pages without such children are missing, moved, broken, copied or closed: what is wrong with a page
never hides others, and which pages a crawl can reach is known without crawling.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

import msgspec

from gossamer.sim.laws import Change, change_of, draw, mix, unit
from gossamer.sim.worldhost import Host

PageKind = Literal[
    "page", "missing", "gone", "broken", "flaky", "moved", "chain", "loop", "away", "copy", "near", "private",
    "sometimes",
]  # fmt: skip
BRANCHING: Final = 8
CHAIN_HOPS_MAX: Final = 12  # of a redirect chain: some are longer than a crawler follows
_KINDS: Final[tuple[tuple[float, PageKind], ...]] = (
    (0.030, "missing"), (0.040, "gone"), (0.046, "broken"), (0.054, "flaky"), (0.079, "moved"), (0.089, "chain"),
    (0.094, "loop"), (0.104, "away"), (0.134, "copy"), (0.164, "near"), (0.190, "private"), (0.215, "sometimes"),
)  # fmt: skip
_FOLDERS: Final[dict[PageKind, str]] = {"private": "private", "sometimes": "extra", "chain": "r", "loop": "l"}


class Page(msgspec.Struct, frozen=True):
    """One page."""

    number: int
    kind: PageKind
    bits: int
    path: str


def page_bits(host: Host, number: int) -> int:
    """64 random bits of a page."""
    return draw(host.bits, f"page:{number}")


def page_of(host: Host, number: int) -> Page:
    """The page of a number, which must be below the size of its host."""
    return _page(host.bits, host.size, number)


@lru_cache(maxsize=65_536)
def _page(host_bits: int, size: int, number: int) -> Page:
    bits = draw(host_bits, f"page:{number}")
    kind: PageKind = "page"
    if number and number * BRANCHING + 1 >= size:
        point = unit(mix(bits, 1))
        kind = next((kind for upper, kind in _KINDS if point < upper), "page")
    return Page(number, kind, bits, _path(number, kind))


def _path(number: int, kind: PageKind) -> str:
    if number == 0:
        return "/"
    path = f"/{_FOLDERS.get(kind, 'p')}/{number}"
    return path + "/0" if kind in ("chain", "loop") else path


def depth_of(number: int) -> int:
    """Links from the front page to a page, at most."""
    depth = 0
    while number:
        number, depth = (number - 1) // BRANCHING, depth + 1
    return depth


def number_of(path: str, size: int) -> tuple[int, int] | None:
    """(page number, hop) of a path, None when no page ever stood there. A hop is a step of a redirect chain."""
    if path == "/":
        return 0, 0
    parts = path.split("/")
    if len(parts) not in (3, 4) or not parts[2].isdecimal() or len(parts[2]) > 9:
        return None
    number = int(parts[2])
    hop = 0
    if len(parts) == 4:
        if parts[1] not in ("r", "l") or not parts[3].isdecimal() or len(parts[3]) > 3:
            return None
        hop = int(parts[3])
    return (number, hop) if number < size else None


def original_of(page: Page) -> int:
    """The page that a copy, a near copy or a moved page stands for: its parent, which is always an ordinary one."""
    return (page.number - 1) // BRANCHING


def hops_of(page: Page) -> int:
    """Length of the redirect chain that starts at a page."""
    return 1 + mix(page.bits, 2) % CHAIN_HOPS_MAX


def change_law(page: Page) -> Change:
    """How a page changes."""
    return change_of(page.bits, lively=page.number == 0)


def wanted(host: Host, page: Page) -> bool:
    """Whether a crawl that obeys is expected to have visited a page of a host that can be reached at all.

    Not: what robots.txt closes, always or now and then; what is left of a mirror once it has shown itself as one.
    """
    if page.kind == "private":
        return host.robots in ("none", "open", "login", "delay", "away")
    if page.kind == "sometimes":
        return host.robots != "changing"
    return True


def linked_pages(host: Host, page: Page) -> list[int]:
    """Numbers of the pages of its own host that a page links to."""
    first = page.number * BRANCHING + 1
    numbers = list(range(first, min(first + BRANCHING, host.size)))
    numbers.append(0)
    if host.size > BRANCHING:
        numbers.append(mix(page.bits, 3) % host.size)
        numbers.append(mix(page.bits, 4) % host.size)
    return numbers


def linked_hosts(host: Host, page: Page, hosts: int) -> list[int]:
    """Numbers of the hosts whose front pages a page links to: a hub's share of all hosts, elsewhere one now and then,
    those with low numbers more often.
    """
    found: list[int] = []
    if host.children:
        inner = max(1, (host.size - 1 + BRANCHING - 1) // BRANCHING)  # pages that have children
        if page.number < inner:
            found += host.children[page.number :: inner]
    if unit(mix(page.bits, 5)) < 0.3:
        found.append(int(hosts * unit(mix(page.bits, 6)) ** 2))
    return found
