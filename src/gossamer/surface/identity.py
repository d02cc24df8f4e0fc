"""Who a crawler says it is: what is published of it, and whether that is true of an address. Values, no I/O."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final, Literal

import msgspec

from gossamer.model.config import Config
from gossamer.stage.fetch import user_agent

ADDRESSES_MAX: Final = 256  # of all ranges that are checked one by one
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Prefix(msgspec.Struct, frozen=True, omit_defaults=True):
    """A range in the form that search engines publish theirs in."""

    ipv4Prefix: str = ""  # noqa: N815 - their name
    ipv6Prefix: str = ""  # noqa: N815


class Published(msgspec.Struct, frozen=True, kw_only=True):
    """`/.well-known/crawler-ip-ranges`."""

    ranges: tuple[str, ...]
    prefixes: tuple[Prefix, ...]
    userAgents: tuple[str, ...]  # noqa: N815 - the name it is published by
    verifyDoc: str  # noqa: N815
    reverseDns: tuple[str, ...]  # noqa: N815 - names of the addresses end so


def published(configs: Iterable[Config], about: str = "") -> Published:
    """What is told of crawls with these configurations; `about` is the page for site owners if there is no contact."""
    every = list(configs)
    ranges = tuple(dict.fromkeys(text for config in every for text in config.identity.ranges))
    contacts = [config.identity.contact for config in every if config.identity.contact.startswith("http")]
    return Published(
        ranges=ranges,
        prefixes=tuple(_prefix(text) for text in ranges),
        userAgents=tuple(dict.fromkeys(user_agent(config) for config in every)),
        verifyDoc=contacts[0] if contacts else about,
        reverseDns=tuple(dict.fromkeys(config.identity.rdns for config in every if config.identity.rdns)),
    )


def _prefix(text: str) -> Prefix:
    network = ipaddress.ip_network(text)
    return Prefix(ipv4Prefix=str(network)) if network.version == 4 else Prefix(ipv6Prefix=str(network))


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    mark: Literal["ok", "no", "note"]
    what: str
    text: str


def addresses_of(ranges: Iterable[str]) -> Iterator[str]:
    """The addresses of ranges, ADDRESSES_MAX at most, each range from its beginning."""
    left = ADDRESSES_MAX
    for text in ranges:
        network = ipaddress.ip_network(text)
        for address in network if network.prefixlen >= network.max_prefixlen - 1 else network.hosts():
            if not left:
                return
            left -= 1
            yield str(address)


def is_inside(address: str, ranges: Iterable[str]) -> bool:
    """Whether an address is in one of the ranges."""
    place = ipaddress.ip_address(address)
    return any(place in ipaddress.ip_network(text) for text in ranges)


def is_named(name: str, suffix: str) -> bool:
    """Whether a host name is `suffix` or under it."""
    return name == suffix or name.endswith("." + suffix)


def judge_address(address: str, names: tuple[str, ...], confirmed: tuple[str, ...], suffix: str) -> Finding:
    """Forward-confirmed reverse DNS: a name under `suffix` that leads back to the address.

    Args:
        address: the IP address.
        names: what it points to (PTR).
        confirmed: those of the names that point back to it (A, AAAA).
        suffix: identity.rdns.
    """
    if not names:
        return Finding("no", address, "has no name: it needs a PTR record")
    ours = [name for name in names if is_named(name, suffix)]
    if not ours:
        return Finding("no", address, f"is named {', '.join(names)}, which is not under {suffix}")
    good = [name for name in ours if name in confirmed]
    if not good:
        return Finding("no", address, f"is named {', '.join(ours)}, which does not lead back to it (A or AAAA)")
    return Finding("ok", address, f"is {good[0]}, and {good[0]} is {address}")


def judge_published(ours: Published, theirs: Published, where: str) -> list[Finding]:
    """What is published against what is configured."""
    found = []
    for what, mine, seen in (
        ("ranges", set(ours.ranges), set(theirs.ranges)),
        ("user agents", set(ours.userAgents), set(theirs.userAgents)),
    ):
        if mine == seen:
            found.append(Finding("ok", what, f"{where} says the same as the configuration"))
        if mine - seen:
            found.append(Finding("no", what, f"{where} lacks {', '.join(sorted(mine - seen))}"))
        if seen - mine:
            found.append(Finding("note", what, f"{where} has {', '.join(sorted(seen - mine))} besides"))
    return found
