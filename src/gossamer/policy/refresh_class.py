"""The classes in which pages are counted, so that what the plan of visits costs is known without a look at each page.

A class is a rate, an importance, and by how much rarer than the policy says its pages are visited: because they are
copies, are missing, have moved or show an error. Feeds have an interval of their own, and classes by it.
A class is one number, which is kept with the page and with the count.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

PER_OCTAVE: Final = 2  # classes of rate, of importance and of how much rarer, for each doubling
SPREAD: Final = 4  # rates that stand for those of a class, at ...
OFFSETS: Final = tuple(((step + 0.5) / SPREAD - 0.5) / PER_OCTAVE for step in range(SPREAD))  # ... these octaves
RATE_ZERO: Final = 84  # class of one change a second; from 2^-42 a second (once in 140,000 years) to 2^-10
CLASSES: Final = 64
IMPORTANCE_ZERO: Final = 32  # class of importance 1
RARER_CLASSES: Final = 16  # the last one: as seldom as may be
FIXED: Final = RARER_CLASSES * CLASSES**2  # the first class of those with an interval of their own
FIXED_CLASSES: Final = 32
FIXED_FIRST_S: Final = 3_600.0  # interval of that class
NUMBERS: Final = FIXED + FIXED_CLASSES


class Group(msgspec.Struct, frozen=True):
    """Pages that are alike."""

    rate: float  # changes a second
    importance: float
    count: float
    rarer: float = 1.0  # times as long as the policy says do they wait; infinite: as long as may be
    fixed_s: float = 0.0  # seconds between visits, whatever the policy says; 0: the policy does


def group_of(rate: float, importance: float, rarer: float = 1.0) -> int:
    """The class that a page is counted in, a number below FIXED."""
    by_rate = RATE_ZERO + round(PER_OCTAVE * math.log2(rate))
    by_importance = IMPORTANCE_ZERO + round(PER_OCTAVE * math.log2(importance))
    by_rarer = _clamped(round(PER_OCTAVE * math.log2(rarer)), RARER_CLASSES) if rarer < math.inf else RARER_CLASSES - 1
    return (by_rarer * CLASSES + _clamped(by_rate, CLASSES)) * CLASSES + _clamped(by_importance, CLASSES)


def group_of_fixed(interval_s: float) -> int:
    """The class of a page that is visited at an interval of its own, a number below NUMBERS."""
    return FIXED + _clamped(round(PER_OCTAVE * math.log2(interval_s / FIXED_FIRST_S)), FIXED_CLASSES)


def _clamped(number: int, classes: int) -> int:
    return max(0, min(classes - 1, number))


def groups_of(number: int, count: float) -> list[Group]:
    """A class by its number, its pages spread evenly over its rates.

    In the middle of it all or none of them would be worth a visit: policy optimal gives up on pages from one rate on.
    """
    if number >= FIXED:
        return [Group(1.0 / FIXED_FIRST_S, 1.0, count, fixed_s=FIXED_FIRST_S * 2.0 ** ((number - FIXED) / PER_OCTAVE))]
    rest, by_importance = divmod(number, CLASSES)
    by_rarer, by_rate = divmod(rest, CLASSES)
    importance = 2.0 ** ((by_importance - IMPORTANCE_ZERO) / PER_OCTAVE)
    rate = 2.0 ** ((by_rate - RATE_ZERO) / PER_OCTAVE)
    if by_rarer == RARER_CLASSES - 1:
        return [Group(rate, importance, count, math.inf)]
    rarer = 2.0 ** (by_rarer / PER_OCTAVE)
    return [Group(rate * 2.0**offset, importance, count / SPREAD, rarer) for offset in OFFSETS]
