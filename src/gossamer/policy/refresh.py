"""When a page is visited again: four policies behind one interface, and the scale at which one keeps to a budget.

Every policy has one free number, its scale; larger means longer intervals. `fit` finds the one at which the pages that
there are, counted by classes (`refresh_class`), cost no more visits than the budget.

uniform       scale
proportional  scale / rate
poisson       scale / (rate * importance^alpha)
optimal       maximises the sum of importance * freshness: the last visit of every page brings the same, `scale` (the
              Lagrange multiplier; Cho and Garcia-Molina 2003; Azar, Horvitz, Lubetzky, Peres, Shahaf, "Tractable
              near-optimal policies for crawling", 2018). A page whose first visit would not bring that is given up on:
              it gets the longest interval. When too many visits would find nothing changed, `thrift` weighs those:
              maximising importance * freshness - thrift * scale * (visits in vain) has as closed a solution, since
              d(f e^(-rate/f)) / df = 1 - gain. From 0 on it moves visits to where something will have changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from gossamer.model.limits import LEVELS
from gossamer.policy.refresh_class import Group
from gossamer.policy.refresh_value import changes_between

Name = Literal["uniform", "proportional", "poisson", "optimal"]

DUPLICATE_FACTOR: Final = 4.0  # a copy is visited this much less often than its original
EARLY_SHARE: Final = 0.25  # of its interval that a page may be visited sooner, when the budget leaves room
PAGE_SHARE: Final = 0.01  # of the budget that one page may claim, or ...
PAGE_TIMES: Final = 10.0  # ... this many times an equal share, whichever is more
HOST_SHARE: Final = 0.1  # the same for a host
HOST_TIMES: Final = 2.0
COMPARED_FIRST: Final = 20.0  # visits for which the estimates are believed
COMPARED_KEPT: Final = 1_000.0  # visits in vain after which the past counts half
THRIFT_MIN: Final = 0.05
THRIFT_MAX: Final = 50.0
THRIFT_STEP: Final = 1.25
THRIFT_REST: Final = 0.02  # below the bound nothing is moved
BISECTIONS: Final = 64  # to the last bit: among very fast pages the cost hangs on it
NEAR: Final = 0.3  # of the logarithm of a scale: about how far it moves between two fits
LOG_SCALE_MAX: Final = 80.0


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A policy at its scale, with the limits it keeps."""

    name: Name
    scale: float
    min_s: float
    max_s: float
    alpha: float = 0.5
    thrift: float = 0.0  # policy optimal: what a visit in vain costs, in units of `scale`

    def interval_s(self, rate: float, importance: float) -> float:
        """Seconds between visits of a page that changes `rate` times a second (more than 0), within the limits."""
        if self.name == "uniform":
            wanted = self.scale
        elif self.name == "proportional":
            wanted = self.scale / rate
        elif self.name == "poisson":
            wanted = self.scale / (rate * math.pow(importance, self.alpha))
        else:
            price = min(1.0, self.scale * rate / importance)  # from 1 on, no interval pays
            wanted = changes_between(price * (1 + self.thrift) / (1 + self.thrift * price)) / rate
        return max(self.min_s, min(self.max_s, wanted))

    def wait_s(self, pages: Group) -> float:
        """Seconds between visits of pages of a class, whose state or host may make them rarer."""
        if pages.fixed_s:
            return pages.fixed_s
        return min(self.max_s, self.interval_s(pages.rate, pages.importance) * pages.rarer)


def importance_of(level: int) -> float:
    """Importance of a page by the level of its queue, as long as nothing better is known: halved every two levels."""
    return math.pow(2.0, -max(0, min(LEVELS - 1, level)) / 2)


def spent(policy: Policy, groups: Iterable[Group]) -> float:
    """Visits a second that the pages cost."""
    return sum(one.count / policy.wait_s(one) for one in groups)


def in_vain(policy: Policy, groups: Iterable[Group]) -> float:
    """The share of visits that will find nothing changed, of those that the policy plans."""
    visits = vain = 0.0
    for one in groups:
        if one.fixed_s:
            continue
        wait_s = policy.wait_s(one)
        visits += one.count / wait_s
        vain += one.count / wait_s * math.exp(-one.rate * wait_s)
    return vain / visits if visits else 0.0


def bias(unchanged: float, foreseen: float) -> float:
    """By what factor more visits find nothing changed than the estimates foresee, from counts of both."""
    return (COMPARED_FIRST + unchanged) / (COMPARED_FIRST + foreseen)


def thriftier(thrift: float, vain: float, vain_max: float) -> float:
    """The next value of `thrift`, a step towards where visits in vain are no more than `vain_max`."""
    if vain > vain_max:
        return min(THRIFT_MAX, max(THRIFT_MIN, thrift * THRIFT_STEP))
    if vain > vain_max - THRIFT_REST or thrift <= THRIFT_MIN:
        return thrift if vain > vain_max - THRIFT_REST else 0.0
    return thrift / THRIFT_STEP


def fit(policy: Policy, groups: list[Group], budget: float, near: float = 0.0) -> Policy:
    """The policy at the smallest scale whose cost is at most `budget` visits a second.

    When not even the longest intervals are cheap enough, they are what is left; what is too much then slips. `near`, if
    known, is a scale that was right a while ago: it is found sooner from there, to a millionth.
    """
    pages = sum(one.count for one in groups)
    if not pages or budget <= 0:
        return msgspec.structs.replace(policy, scale=math.exp(LOG_SCALE_MAX))
    capped = max(policy.min_s, 1.0 / page_cap(budget, pages))
    fitted = msgspec.structs.replace(policy, min_s=min(capped, policy.max_s))

    def dear(log_scale: float) -> bool:
        return spent(msgspec.structs.replace(fitted, scale=math.exp(log_scale)), groups) > budget

    low, high, close = -LOG_SCALE_MAX, LOG_SCALE_MAX, 0.0
    if near > 0 and dear(math.log(near) - NEAR) and not dear(math.log(near) + NEAR):
        low, high, close = math.log(near) - NEAR, math.log(near) + NEAR, 1e-6
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if dear(middle):
            low = middle
        else:
            high = middle
        if high - low < close:
            break
    return msgspec.structs.replace(fitted, scale=math.exp(high))


def page_cap(budget: float, pages: float) -> float:
    """Visits a second that one page may claim."""
    return max(PAGE_SHARE * budget, PAGE_TIMES * budget / pages)


def host_cap(budget: float, pages: int, of_host: int, gap_s: float, share: float) -> float:
    """Visits a second that a host may claim: of the budget, and of what its gap leaves for refreshes.

    Args:
        budget: visits a second, of all hosts; not used when there are no pages.
        pages: in the calendar, of all hosts.
        of_host: in the calendar, of this one.
        gap_s: from the start of one request to the start of the next.
        share: of a host's turns that refreshes may have.
    """
    of_budget = max(HOST_SHARE, HOST_TIMES * of_host / max(1, pages)) * budget
    return min(of_budget, max(share, 0.01) / max(gap_s, 0.01))
