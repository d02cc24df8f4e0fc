"""What a visit every so often is worth: freshness and age of a copy, and the interval at which one more visit pays.

Changes come at random at a rate, visits at a fixed interval; x is rate times interval (Cho and Garcia-Molina,
"Synchronizing a Database to Improve Freshness", 2000, and "Effective Page Refresh Policies for Web Crawlers", 2003).
"""

from __future__ import annotations

import math
from typing import Final

SMALL: Final = 1e-4
NEWTON_STEPS: Final = 6


def freshness(x: float) -> float:
    """The share of time in which the copy is current, for x changes an interval on average."""
    return 1.0 - x / 2 if x < SMALL else -math.expm1(-x) / x


def age(x: float) -> float:
    """Mean age of the copy in intervals: how long ago it ceased to be current, 0 while it is."""
    return x / 6 if x < SMALL else 0.5 - 1.0 / x - math.expm1(-x) / (x * x)


def gain(x: float) -> float:
    """What more visits bring, from 1 (page is hardly ever seen current) to 0: 1 - (1 + x) e^(-x).

    With w the importance and f = rate / x the visits a second, d(w F) / d(f) = w / rate * gain(x).
    """
    return x * x / 2 if x < SMALL else -math.expm1(-x) - x * math.exp(-x)


def worth(rate: float, importance: float, elapsed_s: float) -> float:
    """What a visit now brings, of a page that changes `rate` times a second and was seen `elapsed_s` ago.

    It is what one more visit a second adds to importance * freshness when the page is visited at such intervals: little
    while nothing can have changed, and little of a page that will not stay as it is seen.
    """
    return importance / rate * gain(rate * max(0.0, elapsed_s))


def changes_between(wanted: float) -> float:
    """The x whose gain is `wanted`; infinite from 1 on: no interval pays.

    With s = -ln(1 - gain), x - ln(1 + x) = s: convex, so that Newton's method comes down from s + sqrt(2 s).
    """
    if wanted >= 1.0:
        return math.inf
    s = -math.log1p(-wanted)
    x = s + math.sqrt(2 * s)
    for _ in range(NEWTON_STEPS):
        if x < SMALL:  # sqrt(2 s) is exact to 1e-4 there
            break
        x -= (x - math.log1p(x) - s) * (1 + x) / x
    return x
