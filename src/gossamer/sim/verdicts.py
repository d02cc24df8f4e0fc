"""What a simulated crawl ought to be, and whether it was: one claim a line, each judged beside its bound."""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.model.limits import LEVELS
from gossamer.sim.audit import Audit
from gossamer.sim.currency import Freshness
from gossamer.sim.month import Month, configuration
from gossamer.sim.onlooker import Wait, level_bound
from gossamer.sim.rates import Rate

RATE_SLACK: Final = 0.02  # by which a rate may miss what arithmetic says
COVERED: Final = 0.99  # of the wanted pages at each depth
RECOGNISED: Final = 0.99  # of the copies that showed the same as their original
COVER_DAYS_MIN: Final = 3.0  # shorter runs are not judged by it: hosts are away for as long
TRAPPED_MAX: Final = (
    400  # requests: a hundred hosts of one site tell that their names have no end, and some are under way
)
SIGMAS_MAX: Final = 5.0  # by which chance may miss its expectation: once in two million runs
FRESHNESS_SLACK: Final = 0.01  # copies change with their originals, so the pages of a sample are not independent
FRESHNESS_SIGMAS: Final = 4.0


class Claim(msgspec.Struct, frozen=True):
    """One thing that must hold."""

    key: str
    text: str
    expected: str
    measured: str
    holds: bool


def judge_rates(rates: list[Rate]) -> list[Claim]:
    """Pages a second against hosts in flight."""
    return [
        Claim(
            f"rate-{rate.hosts}-{rate.slots}",
            f"pages/s with {rate.hosts} hosts and {rate.slots:,} slots",
            f"{rate.expected:.0f}",
            f"{rate.measured:.1f}",
            abs(rate.measured - rate.expected) <= RATE_SLACK * rate.expected,
        )
        for rate in rates
    ]


def judge(month: Month) -> list[Claim]:
    """Everything that is claimed of the large run."""
    return [
        *manners(month.turns, month.impolite, month.disobedient), _budget(month), *audited(month.audit),
        *_starvation(month), *_cover(month), *_copies(month), *_effort(month), *_fresh(month),
    ]  # fmt: skip


def manners(turns: int, impolite: int, disobedient: int) -> list[Claim]:
    """Each request was judged when it was made."""
    of = f"of {turns:,}"
    return [
        Claim("politeness", f"impolite requests, {of}", "0", f"{impolite:,}", not impolite),
        Claim("robots", f"requests against robots.txt, {of}", "0", f"{disobedient:,}", not disobedient),
    ]


def audited(audit: Audit) -> list[Claim]:
    """State, memory and records: what was looked at, how often, and how much of it was wrong."""
    return [
        Claim(
            "state", f"state: faults of {audit.rows:,} URLs, counted anew {audit.recounts}×", "0",
            f"{audit.miscounted:,}", not audit.miscounted and audit.recounts > 0,
        ),
        Claim(
            "memory", f"memory: bounds passed, in {audit.looks:,} looks", "0", f"{audit.past_bounds:,}",
            not audit.past_bounds and audit.looks > 0,
        ),
        Claim(
            "records", f"records: missing, of {audit.fetched:,} fetched URLs", "0", f"{audit.unrecorded:,}",
            not audit.unrecorded and audit.recounts > 0,
        ),
    ]  # fmt: skip


def _budget(month: Month) -> Claim:
    limit = configuration(month.plan).limits.site_pages
    most = month.site_pages_max
    return Claim(
        "site-budget", "most pages of one site, in 30 days", f"≤ {limit:,}", f"{most:,}",
        most <= limit * math.ceil(month.plan.days / 30),
    )  # fmt: skip


def _starvation(month: Month) -> list[Claim]:
    worst = max(
        (level for level in range(2 * LEVELS) if month.level_turns[level]),
        key=lambda level: month.level_waits[level] / level_bound(level, month.turns),
        default=0,
    )
    bound = level_bound(worst, month.turns)
    fine = all(month.level_waits[level] <= level_bound(level, month.turns) for level in range(2 * LEVELS))
    return [
        Claim(
            "level-starvation",
            f"turns of its host a level waited, at worst ({worst})",
            f"≤ {bound:,}",
            f"{month.level_waits[worst]:,}",
            fine,
        ),
        _waited("host-starvation", "longest wait of a host free to be asked", month.host_wait),
        _waited("host-first", "longest wait of a new host", month.first_wait),
        _important(month),
    ]


def _waited(key: str, text: str, wait: Wait) -> Claim:
    return Claim(key, text, f"≤ {_time(wait.bound_s)}", _time(wait.seconds), wait.seconds <= wait.bound_s)


def _important(month: Month) -> Claim:
    """The highest level that has work is taken as often as its weight says: important pages come first, not alone."""
    choices = month.choices
    expected, share = (value / max(1, choices.count) for value in (choices.expected, choices.hits))
    text = f"highest level first, of {choices.count:,} choices"
    return Claim("important-first", text, f"{expected:.2%}", f"{share:.2%}", choices.sigmas <= SIGMAS_MAX)


def _cover(month: Month) -> list[Claim]:
    claims: list[Claim] = []
    if month.plan.days < COVER_DAYS_MIN:
        return claims
    for depth, cover in month.coverage.depths.items():
        share = cover.fetched / max(1, cover.wanted)
        text = f"fetched at depth {depth}, of {cover.wanted:,} wanted pages"
        claims.append(Claim(f"coverage-{depth}", text, f"≥ {COVERED:.0%}", f"{share:.2%}", share >= COVERED))
    return claims


def _copies(month: Month) -> list[Claim]:
    cover = month.coverage
    share = cover.recognised / max(1, cover.alike)
    known = Claim(
        "copies",
        f"copies known as such, of {cover.alike:,}",
        f"≥ {RECOGNISED:.0%}",
        f"{share:.2%}",
        share >= RECOGNISED,
    )
    mistaken = Claim(
        "copies-mistaken", "pages taken for copies of others", "0", f"{cover.mistaken:,}", not cover.mistaken
    )
    return [known, mistaken] if cover.alike else [mistaken]


def _effort(month: Month) -> list[Claim]:
    text = f"requests into the worst of {sum(month.trap_hosts.values()):,} traps"
    worst = month.trapped_max
    return [Claim("traps", text, f"≤ {TRAPPED_MAX}", f"{worst:,}", worst <= TRAPPED_MAX)]


def _slack(point: Freshness) -> float:
    """By how much a share of the sample may miss its expectation."""
    share = point.poisson_expected
    return FRESHNESS_SLACK + FRESHNESS_SIGMAS * math.sqrt(share * (1 - share) / max(1, point.poisson_pages))


def _fresh(month: Month) -> list[Claim]:
    if not any(point.poisson_pages for point in month.freshness):
        return []
    worst = max(month.freshness, key=lambda each: abs(each.poisson_fresh - each.poisson_expected) / _slack(each))
    text = f"copies current, against exp(-rate·age), day {worst.day:.1f}"
    near = abs(worst.poisson_fresh - worst.poisson_expected) <= _slack(worst)
    return [Claim("freshness", text, f"{worst.poisson_expected:.1%}", f"{worst.poisson_fresh:.1%}", near)]


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"
