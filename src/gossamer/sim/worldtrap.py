"""Traps of the seeded web: places with an endless number of addresses and nothing in them."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.sim.laws import draw, mix
from gossamer.sim.worldhost import Host

ITEMS: Final = 20  # pages that a session trap really has
WORDS: Final = ("red", "green", "blue", "small", "large", "new", "old", "cheap")
NAMES: Final = ("color", "size", "sort", "brand", "price", "stock", "page", "view")


class TrapPage(msgspec.Struct, frozen=True):
    """What stands in a trap: its links, as paths or whole addresses, and the text that all of it shares."""

    links: tuple[str, ...]
    text: int  # pages with the same number are copies of each other
    near: bool = False  # ... near copies


def entrance(host: Host) -> str:
    """The path by which a trap is entered; empty when the host has none."""
    return {
        "": "",
        "calendar": "/calendar/2023/11",
        "session": "/item/0?token=0",
        "facets": "/list?color=red",
        "loop": "/loop/a",
        "deep": "/deep/0",
        "names": f"http://x{host.bits:016x}.{host.site}/",
    }[host.trap]


def is_trap(host: Host, name: str, target: str) -> bool:
    """Whether a request is for something in a trap."""
    if name != host.name:
        return True
    return bool(host.trap) and target.startswith(("/calendar/", "/item/", "/list?", "/loop/", "/deep/"))


def trap_page(host: Host, name: str, target: str) -> TrapPage | None:
    """What a trap answers; None when the request is for no part of it."""
    if name != host.name:
        return TrapPage(tuple(f"http://x{mix(draw(host.bits, name), n):016x}.{host.site}/" for n in (1, 2, 3)), 1)
    if not is_trap(host, name, target):
        return None
    if host.trap == "calendar":
        return _calendar(target)
    if host.trap == "session":
        item = int(target[6:].partition("?")[0] or 0) % ITEMS
        bits = draw(host.bits, target)
        return TrapPage(tuple(f"/item/{n}?token={mix(bits, n):x}" for n in range(0, ITEMS, 4)), item)
    if host.trap == "facets":
        return _facets(target)
    if host.trap == "loop":
        return TrapPage((target + "/b", target + "/a", target + "/a/b"), 0, near=True)
    bits = draw(host.bits, target)
    return TrapPage((f"{target}/{bits % 1000}", f"{target}/{bits >> 20 & 1023}"), 0, near=True)


def _calendar(target: str) -> TrapPage:
    _, _, year, month, *_ = (target + "//").split("/")
    months = int(year) * 12 + int(month) - 1 if year.isdecimal() and month.isdecimal() else 0
    around = (months - 1, months + 1)
    return TrapPage(tuple(f"/calendar/{at // 12:04d}/{at % 12 + 1:02d}" for at in around if at >= 0), 0, near=True)


def _facets(target: str) -> TrapPage:
    query = target.partition("?")[2]
    chosen = dict(pair.partition("=")[::2] for pair in query.split("&") if pair)
    links = []
    for at, name in enumerate(NAMES):
        other = {**chosen, name: WORDS[(at + len(chosen)) % len(WORDS)]}
        links.append("/list?" + "&".join(f"{key}={other[key]}" for key in sorted(other)))
    return TrapPage(tuple(links), 0, near=True)
