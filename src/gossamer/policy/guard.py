"""Which addresses may never be fetched: everything that is not an ordinary public host.

The table is the IANA special-purpose registries of IPv4 and IPv6 (RFC 6890, as of 2026), multicast, and all of IPv6
outside global unicast. An IPv4 address inside an IPv6 one is judged too. Host names that are numbers in disguise
(decimal, octal, hex) become plain addresses when the URL is parsed; resolving and connecting are elsewhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from gossamer.model.errors import ConfigError
from gossamer.policy.networks import RangeSet, number_of, parse_range

Networks = RangeSet

_SPECIAL: Final = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared address space"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "AMT relay"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::/96", "IPv4-compatible"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("64:ff9b:1::/48", "local NAT64"),
    ("100::/64", "discard-only"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "AS112"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "unique local"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_NAT64: Final = "64:ff9b::/96"  # global: judged by the IPv4 address inside alone
_LOW32: Final = 0xFFFF_FFFF
# Where a range carries IPv4 addresses: how to take them out of the number (RFC 4291, 6052, 3056, 4380).
_EMBEDDED: Final[tuple[tuple[str, tuple[Callable[[int], int], ...]], ...]] = (
    ("::/96", (lambda n: n & _LOW32,)),
    ("::ffff:0:0/96", (lambda n: n & _LOW32,)),
    (_NAT64, (lambda n: n & _LOW32,)),
    ("64:ff9b:1::/48", (lambda n: n & _LOW32,)),
    ("2002::/16", (lambda n: n >> 80 & _LOW32,)),
    ("2001::/32", (lambda n: n >> 64 & _LOW32, lambda n: ~n & _LOW32)),
)


def _span(text: str) -> tuple[int, int]:
    """Bounds of a range of the tables above."""
    found = parse_range(text)
    assert found is not None, text
    return found


_V6_BASE: Final = _span("::/128")[0]
_RANGES: Final = tuple((*_span(text), f"{name} ({text})") for text, name in _SPECIAL)
_CARRIERS: Final = tuple((*_span(text), takes) for text, takes in _EMBEDDED)
_GLOBAL: Final = RangeSet([_span("2000::/3"), _span(_NAT64)])


def _flatten() -> tuple[list[int], list[str | None]]:
    """The IPv4 part as breakpoints: from each start on, the phrase that holds up to the next."""
    starts: list[int] = [0]
    phrases: list[str | None] = [None]
    for start, end, phrase in sorted(r for r in _RANGES if r[1] < _V6_BASE):
        if starts[-1] == start:
            phrases[-1] = phrase
        else:
            starts.append(start)
            phrases.append(phrase)
        starts.append(end + 1)
        phrases.append(None)
    return starts, phrases


_V4_STARTS, _V4_PHRASES = _flatten()


def parse_networks(texts: Iterable[str]) -> Networks:
    """The ranges of `net.allow`. Raises ConfigError that names the one that is none."""
    ranges = []
    for text in texts:
        found = parse_range(text.strip())
        if found is None:
            raise ConfigError(
                f"net.allow: {text[:80]!r} is not an address range; write 127.0.0.0/8, 10.1.2.3 or fd00::/8"
            )
        ranges.append(found)
    return RangeSet(ranges)


def forbidden(address: str, allow: Networks) -> str | None:
    """Why an address must not be connected to, for a person to read; None when it may be.

    `allow` lifts the ban on an address, and on an IPv4 address inside another, each by itself: allowing 127.0.0.0/8
    does not allow ::ffff:127.0.0.1. What cannot be read as an address, or has a scope id, is forbidden.
    """
    number = number_of(address)
    if number is None:
        return "not an IP address"
    if number < _V6_BASE:
        phrase = _V4_PHRASES[bisect_right(_V4_STARTS, number) - 1]
        return None if phrase is None or allow.has(number) else phrase
    phrase = _v6_phrase(number)
    if phrase is not None and not allow.has(number):
        return phrase
    for inner in _inner(number):
        phrase = _V4_PHRASES[bisect_right(_V4_STARTS, inner) - 1]
        if phrase is not None and not allow.has(inner):
            return f"an address that carries {phrase}"
    return None


@lru_cache(maxsize=8_192)
def _v6_phrase(number: int) -> str | None:
    """What is special about an IPv6 address itself: the first range of the table that has it."""
    for start, end, phrase in _RANGES:
        if start <= number <= end and start >= _V6_BASE:
            return phrase
    return None if _GLOBAL.has(number) else "outside global unicast (2000::/3)"


@lru_cache(maxsize=8_192)
def _inner(number: int) -> tuple[int, ...]:
    """IPv4 addresses inside an IPv6 one. `::` and `::1` look as if they had one and have none (RFC 4291, 2.5.5.1)."""
    if number - _V6_BASE <= 1:
        return ()
    for start, end, takes in _CARRIERS:
        if start <= number <= end:
            return tuple(take(number - _V6_BASE) for take in takes)
    return ()
