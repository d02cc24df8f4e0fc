"""A capacity plan: all sections together, the resources it takes, and which of them binds.

The sections are computed in `plan_rates`, `plan_sets` and `plan_upkeep`, the formulas with names in `plan_formulas`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from gossamer.model.plan import YEAR_DAYS, Figure, Plan, PlanInputs, PlanTable, Resource, Section, Unit
from gossamer.policy.plan_rates import Numbers, Rates, machines, politeness, rates_of, storage, volume
from gossamer.policy.plan_sets import duplicates, frontier, seen_set
from gossamer.policy.plan_upkeep import dns_in_flight, names, refresh, robots, traps
from gossamer.policy.plan_words import WORDS

SECTIONS: Final = MappingProxyType(
    {
        "volume": volume,
        "storage": storage,
        "politeness": politeness,
        "machines": machines,
        "frontier": frontier,
        "seen": seen_set,
        "duplicates": duplicates,
        "traps": traps,
        "robots": robots,
        "dns": names,
        "refresh": refresh,
    }
)

PRESETS: Final = MappingProxyType(
    {
        "billion": PlanInputs(),
        # This program's own pause and its budget of processor time, on one machine that keeps one copy.
        "gossamer": PlanInputs(response_factor=10.0, cpu_s=0.0025, hosts_ready=2e3, processes=1, replication=1),
        "corpus": PlanInputs(
            wire_bytes=5e5, stored_ratio=10 / 3, replication=1, nics=10, fetch_s=2.0, hosts_ready=2.4e3,
            links_per_page=50, novelty=0.05, known_urls=2e10, false_positive=0.01, fingerprints=1.5e10, blocks=4,
            entry_bytes=16, hosts_known=5e7, refresh_share=0.6, disk_bytes=3e15,
        ),
        "ten-billion": PlanInputs(
            pages_per_month=1e10, wire_bytes=125e3, replication=1, keep_years=5, event_bytes=32e3, nics=16, cores=800,
            disk_bytes=2e16, processes=800, sockets_per_process=256, shards=32, gap_s=19.8, hosts_ready=1.6e5,
            slots=204_800, known_urls=1e11, bits_per_key=14.4, hosts_per_day=1e8, dns_at_once=1e3, render_share=0.2,
            render_machines=400,
        ),
        "search": PlanInputs(
            pages_per_month=3e10, peak_factor=1.62, wire_bytes=13e4, replication=1, nics=30, cores=160, cpu_s=0.00475,
            disk_bytes=1.2e16, processes=30, shards=32, fetch_s=0.8, hosts_ready=4e4, slots=1e5, known_urls=2e10,
            links_per_page=19, novelty=0.1, refresh_share=0.75, hosts_per_day=2e7, dns_at_once=1e3,
        ),
    }
)  # fmt: skip


def make_plan(inputs: PlanInputs) -> Plan:
    """Every figure that follows from the inputs.

    Args:
        inputs: within their bounds, and consistent (`problems` finds nothing).
    """
    rates = rates_of(inputs)
    resources = tuple(sorted(_resources(inputs, rates), key=lambda resource: -resource.load))
    first = resources[0]
    reached = rates.peak if first.load <= 1 else rates.peak / first.load
    sections = tuple(_with_words(key, section(inputs, rates)) for key, section in SECTIONS.items())
    return Plan(inputs, first.key, _sentence(first, inputs, rates), reached, resources, sections)


def _with_words(key: str, numbers: Numbers) -> Section:
    words = WORDS[key]
    assert words.figures.keys() == numbers.values.keys()
    assert words.tables.keys() == numbers.rows.keys()
    figures = (
        Figure(name, label, numbers.values[name], unit, how) for name, (label, unit, how) in words.figures.items()
    )
    tables = (PlanTable(name, title, columns, numbers.rows[name]) for name, (title, columns) in words.tables.items())
    return Section(key, words.title, words.remark, tuple(figures), tuple(tables))


def problems(inputs: PlanInputs) -> tuple[tuple[str, str], ...]:
    """(field, what is wrong) of inputs that contradict each other; bounds of one input alone are in `model.plan`."""
    found = []
    if inputs.exact_share > inputs.near_share:
        allowed = f"at most the share of near copies ({inputs.near_share:.6g}): equal pages are nearly equal, too"
        found.append(("exact_share", allowed))
    if inputs.blocks != int(inputs.blocks):
        found.append(("blocks", "a whole number"))
    return tuple(found)


def _resources(inputs: PlanInputs, rates: Rates) -> tuple[Resource, ...]:
    kept = rates.pages_per_day * rates.stored_bytes * YEAR_DAYS * inputs.keep_years * inputs.replication
    more = "slots" if inputs.slots < inputs.hosts_ready else "hosts with URLs"
    wanted: tuple[tuple[str, str, float, float, Unit, str], ...] = (
        (
            "hosts", "host diversity", rates.hosts_needed, min(inputs.hosts_ready, inputs.slots), "hosts",
            f"more {more} would raise it, more machines would not",
        ),
        (
            "bandwidth", "bandwidth", rates.peak * inputs.wire_bytes * 8,
            inputs.nic_bits_per_s * inputs.nics * inputs.utilisation, "bits/s", "more network would raise it",
        ),
        (
            "cpu", "processor", rates.peak * inputs.cpu_s, inputs.cores * inputs.utilisation, "cores",
            "more cores would raise it",
        ),
        (
            "sockets", "connections", rates.hosts_needed, inputs.processes * inputs.sockets_per_process, "sockets",
            "more processes, or more connections in each, would raise it",
        ),
        (
            "dns", "name look-ups", dns_in_flight(inputs, rates), inputs.dns_at_once, "requests",
            "more look-ups at once, or a longer cache, would raise it",
        ),
        ("disk", "disk", kept, inputs.disk_bytes, "bytes", "more disk, fewer copies or a shorter time would do"),
        (
            "browsers", "browsers", rates.peak * inputs.render_share * inputs.render_s,
            inputs.render_machines * inputs.renders_per_machine, "renders",
            "more render machines, or fewer pages in a browser, would raise it",
        ),
    )  # fmt: skip
    return tuple(
        Resource(key, name, demand, capacity, load, rates.peak / load if load > 0 else None, unit, remedy)
        for key, name, demand, capacity, unit, remedy in wanted
        for load in [demand / capacity]
    )


def _sentence(first: Resource, inputs: PlanInputs, rates: Rates) -> str:
    """Which resource binds, how far the plan is from its end, and what would move it."""
    who = f"{first.name[0].upper()}{first.name[1:]} binds"
    if first.key == "disk":
        days = inputs.keep_years * YEAR_DAYS / first.load
        when = f"it is full after {days:,.0f} days" if first.load > 1 else f"what is kept takes {first.load:.0%} of it"
        return f"{who}: {when}; {first.remedy}."
    most = _rate(rates.peak / first.load)
    if first.load > 1:
        return (
            f"{who}: the peak of {_rate(rates.peak)} pages/s needs {first.load:.3g} times what there is, "
            f"so the plan reaches {most}; {first.remedy}."
        )
    return (
        f"{who}: the peak of {_rate(rates.peak)} pages/s takes {first.load:.0%} of it, and {most} is the most "
        f"there can be; {first.remedy}."
    )


def _rate(pages_per_s: float) -> str:
    return f"{pages_per_s:,.0f}" if pages_per_s >= 100 else f"{pages_per_s:.3g}"
