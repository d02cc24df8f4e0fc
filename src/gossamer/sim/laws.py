"""Chance without state: draws that depend on a seed and a name alone, and the laws by which pages change.

Nothing is remembered: the same question has the same answer at any time, in any order, in any process.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, Literal

import msgspec
from xxhash import xxh3_64_intdigest

DAY_S: Final = 86_400.0
A_MOMENT_DAYS: Final = 1.0 / DAY_S  # so that rounding does not hide a change from who looks right then
CHANGES_MAX: Final = 100_000  # of one page; bounds the walk through its changes
Law = Literal["never", "poisson", "regular", "bursts"]

_MASK: Final = (1 << 64) - 1
_inverse_normal: Final = NormalDist().inv_cdf


def draw(seed: int, name: str) -> int:
    """64 random bits for a name."""
    return xxh3_64_intdigest(name.encode(), seed)


def mix(bits: int, salt: int) -> int:
    """Other 64 bits, from bits drawn before: the finaliser of SplitMix64 (Steele, Lea, Flood, 2014)."""
    bits = (bits + salt * 0x9E3779B97F4A7C15) & _MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK
    return bits ^ bits >> 31


def unit(bits: int) -> float:
    """A number in (0, 1) from 64 bits."""
    return ((bits >> 11) + 0.5) * 2.0**-53


def log_normal(bits: int, median: float, sigma: float) -> float:
    """A log-normal number from 64 bits: half of all are below `median`."""
    return median * math.exp(sigma * _inverse_normal(unit(bits)))


class Change(msgspec.Struct, frozen=True):
    """How a page changes: `rate` in changes a day, on average."""

    law: Law
    rate: float
    bits: int

    def at(self, days: float) -> tuple[int, float]:
        """How often the page has changed `days` after the start, and when last (in days; 0: never)."""
        if self.law == "never":
            return 0, 0.0
        if self.law == "poisson":
            return self._poisson(days)
        if self.law == "regular":
            return self._regular(days)
        return self._bursts(days)

    def after(self, days: float, until: float) -> float:
        """When the page changes first after `days`, within a second; `until` when it does not before."""
        if self.law == "never":
            return until
        if self.law == "poisson":
            count, last = self._poisson(days)
            return min(until, last + self._poisson_gap(count))
        period = (1.0 if self.law == "regular" else BURST) / self.rate
        first = period * unit(mix(self.bits, 1))
        if days < first:
            return min(until, first + A_MOMENT_DAYS)
        whole, inside = divmod(days - first, period)
        following = period
        if self.law == "bursts":
            step = min(BURST_DAYS, period) / BURST
            done = int(inside / step) + 1
            following = done * step if done < BURST else period
        return min(until, first + whole * period + following + A_MOMENT_DAYS)

    def _poisson_gap(self, count: int) -> float:
        """Days from one change to the next, of which there have been `count` before."""
        return -math.log(unit(mix(self.bits, count + 1))) / self.rate

    def _poisson(self, days: float) -> tuple[int, float]:
        count, last = 0, 0.0
        while count < CHANGES_MAX:
            at = last + self._poisson_gap(count)
            if at > days:
                break
            count, last = count + 1, at
        return count, last

    def _regular(self, days: float) -> tuple[int, float]:
        """Every 1/rate days, from a phase of its own on."""
        period = 1.0 / self.rate
        first = period * unit(mix(self.bits, 1))
        if days < first:
            return 0, 0.0
        before = int((days - first) / period)
        return before + 1, first + before * period

    def _bursts(self, days: float) -> tuple[int, float]:
        """BURST changes within BURST_DAYS, then rest, so that the average is the rate."""
        period = BURST / self.rate
        first = period * unit(mix(self.bits, 1))
        if days < first:
            return 0, 0.0
        whole, inside = divmod(days - first, period)
        step = min(BURST_DAYS, period) / BURST
        done = min(BURST, int(inside / step) + 1)
        return int(whole) * BURST + done, first + whole * period + (done - 1) * step


BURST: Final = 5
BURST_DAYS: Final = 1.0

# Shares and rates are ours: a third never changes, the rest between once in three months and once a day.
_LAWS: Final[tuple[tuple[float, Law], ...]] = ((0.35, "never"), (0.75, "poisson"), (0.88, "regular"), (1.0, "bursts"))
RATE_MIN: Final = 1 / 90  # changes a day
RATE_MAX: Final = 1.0


def _law_at(point: float) -> Law:
    for upper, law in _LAWS:
        if point <= upper:
            return law
    return "bursts"


def change_of(bits: int, *, lively: bool) -> Change:
    """The law of a page from its bits. `lively`: a front page, which changes more often than others."""
    point = unit(mix(bits, 101))
    law = _law_at(point)
    if lively and law == "never":
        law = "poisson"
    spread = unit(mix(bits, 102))
    if lively:
        spread = spread**0.3
    return Change(law, RATE_MIN * (RATE_MAX / RATE_MIN) ** spread, mix(bits, 103))
