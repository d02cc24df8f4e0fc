"""The hosts of the seeded web: how large, how fast, where, and what is wrong with each. Pages are `worldpage`'s.

Every trait is drawn from the seed and the host's number, so that a host is the same however late it is looked at.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from gossamer.policy.networks import RangeSet, parse_range
from gossamer.sim.laws import DAY_S, draw, log_normal, mix, unit

Trap = Literal["", "calendar", "session", "facets", "loop", "deep", "names"]
RobotsKind = Literal[
    "none", "open", "private", "delay", "changing", "away", "login", "html", "closed", "too-slow"
]  # fmt: skip
Outage = Literal["", "timeout", "refused", "error"]

TRAPS: Final[tuple[Trap, ...]] = ("calendar", "session", "facets", "loop", "deep", "names")
SIZE_SHIFT: Final = 4.0  # flattens the head of the power law: the largest of 20,000 hosts has 22,000 of a million URLs
HUB_SHARE: Final = 0.005  # of the hosts: the seeds, in good order, whose pages link to all other hosts
SITEMAP_MAX: Final = 1_000  # pages that a sitemap lists
PLAIN: Final = " http"  # how the key of a URL without TLS ends
TOLD_TO_WAIT_S: Final = 120  # Retry-After of the hosts that send one
THROTTLE_WINDOW_S: Final = 900.0
CDN: Final = RangeSet([parsed for parsed in (parse_range("104.16.0.0/13"),) if parsed is not None])
_ROBOTS: Final[tuple[tuple[float, RobotsKind], ...]] = (
    (0.35, "none"), (0.60, "open"), (0.86, "private"), (0.91, "delay"), (0.94, "changing"), (0.96, "away"),
    (0.97, "login"), (0.98, "html"), (0.997, "closed"), (1.0, "too-slow"),
)  # fmt: skip


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """One host of the seeded web."""

    number: int
    name: str
    site: str
    prefix: str  # of its URL keys, as in "example,h7)"
    size: int  # pages
    hub: bool
    bits: int
    address: str
    scheme: Literal["http", "https"]
    median_s: float  # response time
    robots: RobotsKind
    crawl_delay_s: float
    robots_period_s: float  # of a "changing" one
    robots_away_s: float  # for how long an "away" one is not served
    trap: Trap
    mirror_of: int  # -1: of none
    dead: bool  # its name does not exist
    outage: Outage
    outage_from: float  # days after the start
    outage_until: float
    dns_until: float  # days for which its name does not resolve, although it exists
    throttled: bool  # answers 429 now and then
    told: bool  # ... with Retry-After
    soft404: bool
    texts: bool  # its pages have a main text that can be compared
    validators: bool  # sends ETag and answers 304
    sitemap: bool
    children: tuple[int, ...] = ()  # hosts that a hub links to

    def key(self, path: str, scheme: str = "") -> str:
        """URL key of a path, under the host's own scheme or another."""
        return f"{self.prefix}{path}{PLAIN}" if (scheme or self.scheme) == "http" else self.prefix + path

    @property
    def unreadable(self) -> bool:
        """Whether its rules close it, or its robots.txt is no such file: nothing of it is ever wanted."""
        return self.robots in ("html", "closed", "too-slow")


def path_of(key: str) -> str:
    """The path that a URL key ends with."""
    return "/" + key.partition(")/")[2].removesuffix(PLAIN)


def sizes(hosts: int, urls: int) -> list[int]:
    """Pages of each host by rank: a power law (Zipf, shifted), one page at least, `urls` in all as near as may be."""
    weights = [1.0 / (rank + SIZE_SHIFT) for rank in range(1, hosts + 1)]
    scale = max(0, urls - hosts) / sum(weights)
    return [1 + round(weight * scale) for weight in weights]


def make_hosts(seed: int, hosts: int, urls: int, days: float) -> list[Host]:
    """All hosts. Hubs come first among the numbers; large and small hosts are spread over the rest by chance."""
    hubs = max(1, round(hosts * HUB_SHARE))
    order = sorted(range(hubs, hosts), key=lambda number: draw(seed, f"rank:{number}"))
    by_rank = sizes(hosts, urls)
    middle = len(by_rank) // 20
    size_of = dict(zip(order, by_rank[:middle] + by_rank[middle + hubs :], strict=True))
    size_of.update(zip(range(hubs), by_rank[middle : middle + hubs], strict=True))
    return [_host(seed, number, size_of[number], hubs, hosts, days) for number in range(hosts)]


def _host(seed: int, number: int, size: int, hubs: int, hosts: int, days: float) -> Host:
    bits = draw(seed, f"host:{number}")
    hub = number < hubs
    salt = iter(range(1, 100))

    def chance(share: float) -> bool:
        return unit(mix(bits, next(salt))) < share and not hub

    def between(low: float, high: float) -> float:
        return low + (high - low) * unit(mix(bits, next(salt)))

    child = chance(0.10)  # a host below another host's site
    name = f"s{number}.h{number - 1}.example" if child else f"h{number}.example"
    site = f"h{number - 1}.example" if child else name
    slow = chance(0.005)
    median_s = between(8.0, 16.0) if slow else min(6.0, log_normal(mix(bits, 50), 0.15 if hub else 0.25, 0.7))
    robots = next(kind for upper, kind in _ROBOTS if unit(mix(bits, 51)) <= upper)
    failing = chance(0.03)
    down = between(0.0, days * 0.8)
    trap = TRAPS[number % len(TRAPS)] if chance(0.012) else ""
    mirror = hubs + mix(bits, 52) % max(1, hosts - hubs) if chance(0.02) else -1
    return Host(
        number=number,
        name=name,
        site=site,
        prefix=",".join(reversed(name.split("."))) + ")",
        size=size,
        hub=hub,
        bits=bits,
        address=_address(bits, number),
        scheme="https" if unit(mix(bits, 53)) < 0.7 else "http",
        median_s=median_s,
        robots="open" if hub else robots,
        crawl_delay_s=400.0 if robots == "too-slow" else round(between(2.0, 15.0)),
        robots_period_s=between(1.5, 6.0) * DAY_S,
        robots_away_s=between(0.1, 2.0) * DAY_S,
        trap=trap,
        mirror_of=mirror if mirror < number else -1,
        dead=chance(0.02),
        outage=("timeout", "refused", "error")[number % 3] if failing else "",
        outage_from=down,
        outage_until=down + between(0.1, 3.0),
        dns_until=between(0.05, 1.0) if chance(0.01) else 0.0,
        throttled=chance(0.01),
        told=bool(number % 2),
        soft404=chance(0.02),
        texts=chance(0.10),
        validators=chance(0.5),
        sitemap=chance(0.2),
        children=tuple(range(hubs + number, hosts, hubs)) if hub else (),
    )


def _address(bits: int, number: int) -> str:
    """Of its own for most; one of few behind a CDN, on shared machines, or on the one of a large platform."""
    point, which = unit(mix(bits, 60)), mix(bits, 61)
    if point < 0.03:
        return "23.0.0.1"
    if point < 0.13:
        return f"22.{which % 4}.{which >> 8 & 31}.{1 + (which >> 16) % 4}"
    if point < 0.28:
        return f"104.16.{which % 8}.{1 + (which >> 8) % 8}"
    return f"20.{number >> 8 & 255}.{number & 255}.{1 + (number >> 16)}"


def as_number(address: str) -> int | None:
    """The autonomous system of an address: one for each /16."""
    first, second, *_ = address.split(".")
    return 64_512 + (int(first) << 8 | int(second)) % 1_024
