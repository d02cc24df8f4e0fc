"""Capacity planning, what goes beside the pages: trap guards, robots.txt, names, refreshing."""

from __future__ import annotations

from typing import Final

from gossamer.model.plan import DAY_S, PlanInputs
from gossamer.policy.plan_formulas import best_split, depth_that_reaches, freshness, split_freshness
from gossamer.policy.plan_rates import Numbers, Rates

DEPTH_POINTS: Final = (8.0, 10.0)  # besides the plan's own
DEPTH_SLACK: Final = 1e6  # how many corpora a depth may reach before nothing real can be that deep
FRESHNESS_POINTS: Final = (0.1, 1.0, 7.0, 30.0)  # changes between two visits


def traps(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Guards that follow from numbers: depth, length, budget."""
    branching = inputs.links_per_page * inputs.novelty
    reach = branching**inputs.depth
    values: dict[str, float | None] = {
        "branching": branching,
        "depth_of_corpus": depth_that_reaches(inputs.corpus_pages, branching),
        "depth_of_million": depth_that_reaches(inputs.corpus_pages * DEPTH_SLACK, branching),
        "depth_slack": reach / inputs.corpus_pages,
        "url_guard": inputs.url_bytes_max / inputs.url_bytes_median,
        "host_pages_per_day": DAY_S * rates.per_host,
        "budget_days": inputs.site_budget / rates.per_host / DAY_S,
        "budget_hosts": inputs.pages_per_month / inputs.site_budget,
    }
    points = sorted({*DEPTH_POINTS, inputs.depth})
    return Numbers(values, {"depth": tuple((depth, branching**depth) for depth in points)})


def robots(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Fetches of robots.txt: none cached, one cache, a cache for each process."""
    none = rates.pages_per_day
    shared = per_day_behind_cache(inputs, rates, inputs.robots_ttl_s)
    split = min(none, shared * inputs.processes)
    values: dict[str, float | None] = {
        "robots_uncached": none,
        "robots_shared": shared,
        "robots_saving": none / shared,
        "robots_per_process": split,
        "robots_inflation": split / shared,
        "robots_per_s": shared / DAY_S,
        "robots_share_peak": shared / DAY_S / rates.peak,
        "robots_turns": shared / (shared + none),
    }
    return Numbers(values)


def names(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Look-ups of host names."""
    lookups = per_day_behind_cache(inputs, rates, inputs.dns_ttl_s)
    blocking = lookups * inputs.dns_latency_s / DAY_S
    values: dict[str, float | None] = {
        "dns_per_day": lookups,
        "dns_per_s": lookups / DAY_S,
        "dns_hit_rate": 1 - lookups / rates.pages_per_day,
        "dns_uncached_per_s": rates.average,
        "dns_blocking": blocking,
        "dns_behind": max(0.0, (blocking - 1) * 24),
        "dns_in_flight": dns_in_flight(inputs, rates),
    }
    return Numbers(values)


def per_day_behind_cache(inputs: PlanInputs, rates: Rates, ttl_s: float) -> float:
    """Requests a day that a cache lets through: one for each host and lifetime, and no more than one for each page."""
    return min(rates.pages_per_day, inputs.hosts_per_day * DAY_S / ttl_s)


def dns_in_flight(inputs: PlanInputs, rates: Rates) -> float:
    """Look-ups under way at once in the busy hour (Little's law)."""
    return per_day_behind_cache(inputs, rates, inputs.dns_ttl_s) / DAY_S * inputs.peak_factor * inputs.dns_latency_s


def refresh(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Freshness, how to split a budget, what a 304 saves, when the corpus is complete."""
    discovery = 1 - inputs.refresh_share
    again = rates.pages_per_day * inputs.refresh_share
    saved = rates.peak * inputs.refresh_share * inputs.unchanged * (inputs.wire_bytes - inputs.not_modified_bytes) * 8
    months = inputs.corpus_pages / (inputs.pages_per_month * discovery) if discovery else None
    visit_days = inputs.corpus_pages / again if again else None
    splits = _splits(inputs)
    total = {name: fast + slow for name, _, fast, slow in splits}
    values: dict[str, float | None] = {
        "discovery_pages_per_s": rates.average * discovery,
        "corpus_months": months,
        "refreshes_per_day": again,
        "revisit_days": visit_days,
        "not_modified_saving": inputs.wire_bytes / inputs.not_modified_bytes,
        "not_modified_bits_per_s": max(0.0, saved),
        "split_proportional": total["proportional"],
        "split_uniform": total["uniform"],
        "split_optimal": total["optimal"],
        "split_uniform_gain": total["uniform"] / total["proportional"],
        "split_optimal_gain": total["optimal"] / total["uniform"],
    }
    curve = tuple((changes, freshness(changes)) for changes in FRESHNESS_POINTS)
    rows = tuple((*split, split[2] + split[3]) for split in splits)
    return Numbers(values, {"freshness": curve, "splits": rows})


def _splits(inputs: PlanInputs) -> tuple[tuple[str, float, float, float], ...]:
    """(policy, share of the fast page, freshness of the fast page, of the slow one)."""
    shares = {
        "proportional": inputs.fast_per_day / (inputs.fast_per_day + inputs.slow_per_day),
        "uniform": 0.5,
        "optimal": best_split(inputs.fast_per_day, inputs.slow_per_day),
        "all to the slow page": 0.0,
    }
    return tuple(
        (name, share, *split_freshness(inputs.fast_per_day, inputs.slow_per_day, share))
        for name, share in shares.items()
    )
