"""The worlds that the suite of the port Resolver runs in: `DnsResolver` with a nameserver on the loopback address, and
`SimResolver` in virtual time. Both have the same zone. Another resolver needs a world of its own in `WORLDS`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import uvloop

from gossamer.adapters.dns import DnsResolver
from gossamer.model.config import Dns
from gossamer.model.limits import DNS_DOUBTFUL_S
from gossamer.model.page import Resolution
from gossamer.ports.web import Resolver
from gossamer.sim.clock import VirtualClock
from gossamer.sim.loop import VirtualLoop
from gossamer.sim.ports import SimResolver
from gossamer.sim.web import SimHost, SimWeb
from tests.dns.name_server import NXDOMAIN, REFUSED, SERVFAIL, SILENT, NameServer, Records, name_server
from tests.http.raw_server import FixedClock

START: Final = 1_700_000_000.0
KEPT_S: Final = 300.0  # how long an answer is kept; TTLs of 0 are raised to it, so that c-ares does not keep them too
CODES: Final = {"nxdomain": NXDOMAIN, "servfail": SERVFAIL, "refused": REFUSED, "timeout": SILENT}
Zone = dict[str, tuple[str, ...] | str]  # name -> addresses, or the word for why there are none


def kept_s(says: tuple[str, ...] | str) -> float:
    """How long it is kept what a zone says of a name: a failure to find out not for long."""
    return DNS_DOUBTFUL_S if says in {"servfail", "refused", "timeout"} else KEPT_S


@dataclass(frozen=True)
class Place:
    """A resolver, and the hands on what it asks."""

    resolver: Resolver
    zone: Zone  # may be changed
    asked: Callable[[str], int]  # queries for a name so far
    now: Callable[[], float]
    let_pass: Callable[[float], None]
    take_network: Callable[[], None]  # nothing answers any more
    give_network: Callable[[], None]


Body = Callable[[Place], Awaitable[Any]]


class World(Protocol):
    """Runs a test's coroutine with a resolver; every answer takes `delay_s`."""

    def run(self, zone: Zone, body: Body, *, delay_s: float = 0.0) -> Any: ...


class Real:
    """`DnsResolver` and a nameserver over UDP."""

    def run(self, zone: Zone, body: Body, *, delay_s: float = 0.0) -> Any:
        return uvloop.run(asyncio.wait_for(self._run(zone, body, delay_s), 20))

    async def _run(self, zone: Zone, body: Body, delay_s: float) -> Any:
        clock = FixedClock(START)
        async with name_server(_Table(zone)) as (server, address):
            server.delay_s = delay_s
            config = Dns(nameservers=(address,), timeout_s=0.6, ttl_min_s=KEPT_S, negative_ttl_s=KEPT_S)
            resolver = DnsResolver(config, clock)
            place = Place(
                resolver,
                zone,
                lambda name: server.asked[name, "A"],
                clock.now,
                lambda seconds: setattr(clock, "time", clock.time + seconds),
                lambda: _switch(server, on=False),
                lambda: _switch(server, on=True),
            )
            try:
                return await body(place)
            finally:
                await resolver.close()


class _Table(dict[str, Records | int]):
    """A zone as the nameserver reads it."""

    def __init__(self, zone: Zone) -> None:
        super().__init__()
        self._zone = zone
        self.network = True

    def get(self, name: str, default: Any = None) -> Any:
        if not self.network:
            return SILENT
        says = self._zone.get(name)
        if says is None:
            return default
        if isinstance(says, str):
            return CODES.get(says, [])
        return [(address, 0, "AAAA" if ":" in address else "A") for address in says]


def _switch(server: NameServer, *, on: bool) -> None:
    assert isinstance(server.table, _Table)
    server.table.network = on


class Simulated:
    """`SimResolver` in virtual time."""

    def run(self, zone: Zone, body: Body, *, delay_s: float = 0.0) -> Any:
        clock = VirtualClock(START)
        asked: Counter[str] = Counter()
        network = [True]

        def says(name: str, now: float) -> Resolution:
            asked[name] += 1
            if not network[0]:
                return Resolution(name=name, error="timeout", ours=True, expires=now)
            found = zone.get(name, "nxdomain")
            if isinstance(found, str):
                return Resolution(name=name, error=found, expires=now + kept_s(found))
            return Resolution(name=name, addresses=found, expires=now + KEPT_S)

        web = SimWeb(_Hosts(SimHost(address="", resolve=says)))
        place = Place(
            SimResolver(web, clock, delay_s),
            zone,
            asked.__getitem__,
            clock.now,
            lambda seconds: clock.jump(clock.now() + seconds),
            lambda: network.__setitem__(0, False),
            lambda: network.__setitem__(0, True),
        )
        return VirtualLoop(clock).run_until_complete(asyncio.wait_for(_awaited(body(place)), 20))


class _Hosts(dict[str, SimHost]):
    """Every name is that host, which decides what DNS says of it."""

    def __init__(self, host: SimHost) -> None:
        super().__init__()
        self._host = host

    def get(self, name: str, default: Any = None) -> Any:
        return self._host


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


WORLDS: dict[str, World] = {"dns": Real(), "simulated": Simulated()}
