"""Address arithmetic: sets of ranges, the table of autonomous systems, and the names of lanes and networks.

Pure: text in, values out. Reading the files is `adapters.networks`; which addresses may be fetched is `guard`.
"""

from __future__ import annotations

import ipaddress
from array import array
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Protocol

from gossamer.model.errors import ConfigError

ADDRESS_MAX_CHARS: Final = 64  # no address is longer
_V6_BASE: Final = 1 << 32  # IPv6 addresses are numbered after all of IPv4, so that one number names one address


@lru_cache(maxsize=16_384)
def number_of(address: str) -> int | None:
    """The number of an address: IPv4 as it is, IPv6 after all of IPv4. None when it is not an address.

    Scope ids (`fe80::1%eth0`) are no part of an address that can be fetched, and give None.
    """
    if len(address) > ADDRESS_MAX_CHARS or "%" in address:
        return None
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    return int(parsed) if parsed.version == 4 else int(parsed) + _V6_BASE


def parse_range(text: str) -> tuple[int, int] | None:
    """First and last number of a CIDR range or single address; None when it is neither, or has host bits set."""
    if len(text) > ADDRESS_MAX_CHARS or "%" in text:
        return None
    try:
        network = ipaddress.ip_network(text, strict=True)
    except ValueError:
        return None
    base = 0 if network.version == 4 else _V6_BASE
    return int(network.network_address) + base, int(network.broadcast_address) + base


class RangeSet:
    """A set of addresses, as sorted ranges that do not overlap. Membership is a bisection."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        """The union of ranges of numbers (see `number_of`), both ends included."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(ranges):
            if self._ends and start <= self._ends[-1] + (start != _V6_BASE):  # ranges that touch are one
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    @classmethod
    def from_lines(cls, lines: Iterable[str], name: str) -> RangeSet:
        """One CIDR range or address a line; `#` starts a comment. Raises ConfigError with `name` and the line."""
        ranges = []
        for number, line in enumerate(lines, 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            found = parse_range(text)
            if found is None:
                raise ConfigError(f"{name}, line {number}: {text[:80]!r} is not an address range such as 192.0.2.0/24")
            ranges.append(found)
        return cls(ranges)

    def __contains__(self, address: object) -> bool:
        """Whether an address (text) is in the set; text that is no address is not."""
        number = number_of(address) if isinstance(address, str) else None
        return number is not None and self.has(number)

    def has(self, number: int) -> bool:
        """Whether the address of this number is in the set."""
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number <= self._ends[at]

    def __len__(self) -> int:
        """How many separate ranges there are."""
        return len(self._starts)


class AsLookup(Protocol):
    """Something that knows the autonomous system of an address."""

    def lookup(self, address: str) -> int | None:
        """AS number, or None when the address is in no announced range."""
        ...


class AsTable:
    """Autonomous systems by address range, in a few megabytes.

    IPv6 ranges are kept to the /64: nothing smaller is announced between networks.
    """

    __slots__ = ("_v4", "_v6")

    def __init__(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Rows of (first number, last number, AS number); ranges must not overlap."""
        v4: tuple[array[int], array[int], array[int]] = (array("I"), array("I"), array("I"))
        v6: tuple[array[int], array[int], array[int]] = (array("Q"), array("Q"), array("I"))
        for start, end, system in sorted(rows):
            table, low, high = (v4, start, end)
            if start >= _V6_BASE:
                table, low, high = v6, (start - _V6_BASE) >> 64, (end - _V6_BASE) >> 64
            table[0].append(low)
            table[1].append(high)
            table[2].append(system)
        self._v4, self._v6 = v4, v6

    def lookup(self, address: str) -> int | None:
        """AS number of an address, or None."""
        number = number_of(address)
        if number is None:
            return None
        (starts, ends, systems), key = (
            (self._v4, number) if number < _V6_BASE else (self._v6, (number - _V6_BASE) >> 64)
        )
        at = bisect_right(starts, key) - 1
        return systems[at] if at >= 0 and key <= ends[at] else None

    def __len__(self) -> int:
        """How many ranges there are."""
        return len(self._v4[0]) + len(self._v6[0])


def parse_as_lines(lines: Iterable[str], name: str) -> AsTable:
    """Read an iptoasn table: first address, last address, AS number, and more, separated by tabs.

    AS 0 stands for ranges that nobody announces, which are left out. Raises ConfigError with `name` and the line.
    """
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t", 3)
        start, end = (_plain_number(fields[at].strip()) if at < len(fields) else None for at in (0, 1))
        system = fields[2].strip().upper().removeprefix("AS") if len(fields) > 2 else ""
        digits = system.isascii() and system.isdecimal() and len(system) <= 10 and int(system) < _V6_BASE
        if start is None or end is None or not digits or start > end or (start < _V6_BASE) != (end < _V6_BASE):
            raise ConfigError(f"{name}, line {number}: expected FIRST<tab>LAST<tab>AS, found {line.strip()[:80]!r}")
        if int(system):
            rows.append((start, end, int(system)))
    return AsTable(rows)


def _plain_number(text: str) -> int | None:
    """Number of an address, past the cache: a table has each once. Plain integers are IPv4 (ip2asn-v4-u32)."""
    parts = text.split(".")
    if not text.isascii() or len(parts) != 4:
        if text.isascii() and text.isdecimal() and len(text) <= 10:
            return int(text) if int(text) < _V6_BASE else None
        return number_of.__wrapped__(text)
    number = 0
    for part in parts:
        if not part.isdecimal() or len(part) > 3 or int(part) > 255:
            return None
        number = number << 8 | int(part)
    return number


def lane_id(host: str, address: str, cdn: RangeSet) -> str:
    """Name of the lane that serves a host from an address: the address, or both where a CDN shares addresses."""
    return f"{host}|{address}" if address in cdn else address


@lru_cache(maxsize=16_384)
def net_id(address: str) -> str:
    """The network whose rate an address counts against: its /24, of IPv6 its /48. Text that is no address: itself."""
    number = number_of(address)
    if number is None:
        return address
    if number < _V6_BASE:
        return f"{ipaddress.IPv4Address(number & 0xFFFF_FF00)}/24"
    return f"{ipaddress.IPv6Address((number - _V6_BASE) >> 80 << 80)}/48"
