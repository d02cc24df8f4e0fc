"""What the evaluation of refresh policies must show: the reference figures, and that the default policy deserves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, get_args

from gossamer.model.config import Refresh
from gossamer.policy.refresh import Name, Policy, fit
from gossamer.policy.refresh_class import Group
from gossamer.policy.refresh_rate import DAY_S
from gossamer.policy.refresh_value import freshness
from gossamer.sim.refreshtrial import KNOWN, Result
from gossamer.sim.verdicts import Claim

SLACK: Final = 5e-4  # figures of the reference have three places
REFERENCE: Final[tuple[tuple[Name, float], ...]] = (("proportional", 0.198), ("uniform", 0.956), ("optimal", 0.962))
FEED, BLOG = 10.0, 0.1  # changes a day of two pages that share one visit a day
BETTER: Final = 0.10  # than uniform, on the mix of HEAVY
HEAVY: Final = "heavy-tailed"
VAIN_MAX: Final = 0.5


def two_pages(name: Name) -> float:
    """Summed freshness of a feed and a blog that share one visit a day."""
    groups = [Group(rate / DAY_S, 1.0, 1) for rate in (FEED, BLOG)]
    fitted = fit(Policy(name=name, scale=1.0, min_s=60.0, max_s=1_000 * DAY_S), groups, 1 / DAY_S)
    return sum(freshness(one.rate * fitted.interval_s(one.rate, one.importance)) for one in groups)


def judge(results: Sequence[Result]) -> list[Claim]:
    """Every claim. Those about a policy are about the configured default."""
    default = Refresh().policy
    claims = [_figure("freshness-1", "freshness at one change an interval", 0.632, freshness(1.0))]
    claims += [
        _figure(f"two-{name}", f"two pages, one visit a day, {name}", expected, two_pages(name))
        for name, expected in REFERENCE
    ]
    for one in results:
        if one.policy == default:
            claims += _on_mix(one)
    means = {name: _mean_gain(results, name) for name in get_args(Name)}
    best = max(means, key=lambda name: means[name])
    claims.append(
        Claim("default", "best policy over all mixes", default, f"{best} ({means[best]:+.1%})", best == default)
    )
    return claims


def _on_mix(one: Result) -> list[Claim]:
    gain, width = one.against_uniform
    claims = [
        Claim(
            f"uniform-{one.mix}",
            f"{one.mix}: not worse than uniform",
            ">= 0 %",
            f"{gain:+.1%} ± {width:.1%}",
            gain + width >= 0,
        ),
        Claim(
            f"vain-{one.mix}",
            f"{one.mix}: visits in vain",
            f"< {VAIN_MAX:.0%}",
            f"{one.wasted[0]:.1%} ± {one.wasted[1]:.1%}",
            one.wasted[0] < VAIN_MAX,
        ),
    ]
    if one.mix == HEAVY:
        claims.append(
            Claim(
                "heavy",
                f"{one.mix}: fresher than uniform",
                f">= {BETTER:.0%}",
                f"{gain:+.1%} ± {width:.1%}",
                gain >= BETTER,
            )
        )
    return claims


def _mean_gain(results: Sequence[Result], name: str) -> float:
    gains = [one.against_uniform[0] for one in results if one.policy == name and one.policy != KNOWN]
    return sum(gains) / max(1, len(gains))


def _figure(key: str, text: str, expected: float, measured: float) -> Claim:
    return Claim(key, text, f"{expected:.3f}", f"{measured:.3f}", abs(expected - measured) <= SLACK)
