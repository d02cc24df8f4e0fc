"""Rate limits shared by many hosts: one GCRA bucket for each /24 (IPv6 /48) and each autonomous system."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from gossamer.model.config import Politeness
from gossamer.policy.politeness import GCRA_BURST, gcra_ready_at, gcra_take

ADDRESSES_REMEMBERED_MAX: Final = 16_384
BUCKETS_MAX: Final = 200_000  # past this, buckets that are full again are forgotten


class Buckets:
    """Theoretical arrival times by network. After a restart every bucket starts empty: no burst is given twice."""

    def __init__(
        self,
        politeness: Politeness,
        net_of: Callable[[str], str],
        as_of: Callable[[str], int | None],
        exempt: Callable[[str], bool],
        floor: float,
    ) -> None:
        """`exempt`: whether an address is a CDN's, which no bucket counts. `floor`: time (unix seconds) before which no
        bucket may be thought to have filled; 0 on a first start.
        """
        self._rates = (politeness.net_rate, politeness.as_rate)
        self._net_of = net_of
        self._as_of = as_of
        self._exempt = exempt
        self._floor = floor
        self._tats: dict[str, float] = {}
        self._names = lru_cache(ADDRESSES_REMEMBERED_MAX)(self._find_names)  # a turn asks twice

    def _find_names(self, address: str) -> list[tuple[str, float]]:
        names: list[tuple[str, float]] = []
        if self._exempt(address):
            return names
        if self._rates[0] > 0:
            names.append((self._net_of(address), self._rates[0]))
        if self._rates[1] > 0:
            number = self._as_of(address)
            if number is not None:
                names.append((f"AS{number}", self._rates[1]))
        return names

    def ready_at(self, address: str, now: float) -> float:
        """The earliest time, `now` or later, at which the networks of an address may be asked."""
        at = now
        for name, rate in self._names(address):
            at = max(at, gcra_ready_at(self._tat(name, rate), now, rate))
        return at

    def take(self, address: str, now: float) -> None:
        """Count one request to the networks of an address."""
        if len(self._tats) > BUCKETS_MAX:
            self._tats = {name: tat for name, tat in self._tats.items() if tat > now}
        for name, rate in self._names(address):
            self._tats[name] = gcra_take(self._tat(name, rate), now, rate)

    def _tat(self, name: str, rate: float) -> float:
        tat = self._tats.get(name)
        if tat is None:
            return self._floor + GCRA_BURST / rate if self._floor else 0.0
        return tat
