"""Ready-made configurations and webs for simulations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from gossamer.model.config import Config, Politeness, Scope
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb


def config(**sections: dict[str, Any]) -> Config:
    """A configuration whose gap is the minimum, whatever the response time; no jitter, no network rate.

    `sections`: fields of a section that differ, as in `config(frontier={"slots": 2})`.
    """
    plain = Config(
        scope=Scope(mode="any"),
        politeness=Politeness(response_factor=0.0, net_rate=0.0, as_rate=0.0, start_jitter_s=0.0),
    )
    changed = {name: msgspec.structs.replace(getattr(plain, name), **fields) for name, fields in sections.items()}
    return msgspec.structs.replace(plain, **changed)


def chain(name: str) -> Callable[[str], Answer]:
    """A host without end: each page links to the next."""

    def page(target: str) -> Answer:
        number = int(target[2:] or 0) if target.startswith("/p") else 0
        return Answer(links=(f"http://{name}/p{number + 1}",))

    return page


def listing(name: str, count: int) -> Callable[[str], Answer]:
    """A host whose root links to `count` pages."""

    def page(target: str) -> Answer:
        return Answer(links=tuple(f"http://{name}/p{n}" for n in range(count)) if target == "/" else ())

    return page


def names(count: int) -> list[str]:
    """Host names, each a site of its own."""
    return [f"h{number}.example" for number in range(count)]


def address(number: int) -> str:
    """An IPv4 address, each in a /24 of its own for the first 65,536."""
    return f"20.{number >> 8 & 255}.{number & 255}.{1 + (number >> 16)}"


def farm(
    hosts: Iterable[str],
    page: Callable[[str], Callable[[str], Answer]],
    *,
    where: Callable[[int], str] = address,
    robots: Answer = NO_ROBOTS,
) -> SimWeb:
    """Hosts that are alike. `page(name)` makes the answers of a host, `where(number)` its address."""
    return SimWeb(
        {name: SimHost(address=where(number), page=page(name), robots=robots) for number, name in enumerate(hosts)}
    )


def roots(hosts: Iterable[str]) -> list[str]:
    """The home pages of hosts."""
    return [f"http://{name}/" for name in hosts]
