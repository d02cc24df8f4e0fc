"""What a simulated year ought to come to, and whether it did: one claim a line, each judged beside its bound."""

from __future__ import annotations

from functools import reduce
from typing import Final

from gossamer.sim.verdicts import Claim, audited, manners
from gossamer.sim.year import Week, Year
from gossamer.sim.yearbook import Visits

DUPLICATES_MAX: Final = 0.05  # of the payload bytes stored in full
VAIN_MAX: Final = 0.5  # of the visits of known pages
SETTLED: Final = 0.5  # of the time: what is judged of the later half only, since rates must be learned first
LATE_DAYS: Final = 7.0  # beyond the longest interval, within which a page that is gone must have been noticed
OVERSPENT: Final = 1.05  # of the budget, in a year too short for what its first weeks overspend to be paid back
USED_MIN: Final = 0.95  # of the budget
SEEN_TIMES: Final = 4.0  # longest intervals after which these are judged: by half of them all pages were seen twice


def judge(year: Year) -> list[Claim]:
    """Everything that is claimed of a year."""
    later = settled(year)
    visits, days = reduce(Visits.and_then, (week.visits for week in later)), sum(_lengths(year)[-len(later) :])
    fresh, equal = (_mean([week.state.fresh for week in later]), _mean([week.state.equal for week in later]))
    bound = year.max_interval_days + LATE_DAYS
    unnoticed = max(week.state.unnoticed_days for week in year.weeks)
    long = year.plan.days >= SEEN_TIMES * year.max_interval_days
    spent, budget = visits.refreshes / days, year.plan.budget_per_day
    most = budget if long else budget * OVERSPENT
    share = year.stored.share
    vain = visits.vain / max(1, visits.refreshes)
    claims = [
        *manners(year.turns, year.impolite, year.disobedient),
        *audited(year.audit),
        Claim(
            "duplicates", "payload bytes stored although their content was there", f"< {DUPLICATES_MAX:.0%}",
            f"{share:.2%}", share < DUPLICATES_MAX,
        ),
        Claim(
            "vain", "visits of known pages that found the same text", f"< {VAIN_MAX:.0%}", f"{vain:.1%}",
            vain < VAIN_MAX,
        ),
        Claim(
            "gone", "longest time that a page was gone and taken for live", f"≤ {bound:.0f} days",
            f"{unnoticed:.1f} days", unnoticed <= bound,
        ),
        Claim(
            "budget", "visits of known pages a day", f"≤ {most:,.0f}", f"{spent:,.0f}", spent <= most,
        ),
    ]  # fmt: skip
    if long:
        used = spent / budget
        text = "share of the allowed visits that were made"
        claims.append(Claim("used", text, f"≥ {USED_MIN:.0%}", f"{used:.1%}", used >= USED_MIN))
        text = "freshness, against visiting every page equally often"
        claims.append(Claim("fresh", text, f"> {equal:.4f}", f"{fresh:.4f}", fresh > equal))
    return claims


def settled(year: Year) -> list[Week]:
    """The weeks of the later half."""
    return [week for week in year.weeks if week.day > SETTLED * year.plan.days]


def _lengths(year: Year) -> list[float]:
    """Days in each week: the last one may be short."""
    ends = [week.day for week in year.weeks]
    return [end - begin for begin, end in zip([0.0, *ends], ends, strict=False)]


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))
