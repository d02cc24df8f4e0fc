"""Capacity planning, what a rate of pages costs: bytes, hosts, sockets, cores, machines.

Rates are *offered load* (what the work asks for) unless a name says capacity. A peak is computed from the peak rate of
pages, never by scaling another average. A day has 86,400 seconds, a month 30 days, a year 365.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.plan import DAY_S, MONTH_DAYS, YEAR_DAYS, PlanInputs

HOSTS_POINTS: Final = (1.0, 50.0, 500.0, 12_000.0)  # besides the plan's own


class Numbers(msgspec.Struct, frozen=True):
    """What a section computes, by the keys that `plan_words` has the words for."""

    values: dict[str, float | None]
    rows: dict[str, tuple[tuple[str | float, ...], ...]] = {}


class Rates(msgspec.Struct, frozen=True):
    """What nearly every section starts from."""

    pages_per_day: float
    average: float  # pages a second
    peak: float
    gap_s: float  # the pause that is really kept
    period_s: float  # between two fetches of one host
    per_host: float  # pages a second of one host
    hosts_needed: float  # in flight at the peak
    stored_bytes: float  # of one page


def rates_of(inputs: PlanInputs) -> Rates:
    """The rates that follow from the inputs."""
    average = inputs.pages_per_month / MONTH_DAYS / DAY_S
    peak = average * inputs.peak_factor
    gap_s = max(inputs.gap_s, inputs.response_factor * inputs.fetch_s)
    period_s = inputs.fetch_s + gap_s
    return Rates(
        pages_per_day=inputs.pages_per_month / MONTH_DAYS,
        average=average,
        peak=peak,
        gap_s=gap_s,
        period_s=period_s,
        per_host=1.0 / period_s,
        hosts_needed=peak * period_s,
        stored_bytes=inputs.wire_bytes / inputs.stored_ratio,
    )


def volume(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Pages a second and bytes on the wire."""
    peak_bits = rates.peak * inputs.wire_bytes * 8
    planned = inputs.nic_bits_per_s * inputs.utilisation
    values: dict[str, float | None] = {
        "pages_per_day": rates.pages_per_day,
        "pages_per_s_average": rates.average,
        "pages_per_s_peak": rates.peak,
        "wire_bytes_per_day": rates.pages_per_day * inputs.wire_bytes,
        "bits_per_s_average": rates.average * inputs.wire_bytes * 8,
        "bits_per_s_peak": peak_bits,
        "nic_share_peak": peak_bits / inputs.nic_bits_per_s,
        "nics_needed": peak_bits / planned,
    }
    return Numbers(values)


def storage(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Bytes at rest."""
    day = rates.pages_per_day * rates.stored_bytes
    year = day * YEAR_DAYS
    segment_s = inputs.segment_bytes * inputs.processes / (rates.average * rates.stored_bytes)
    values: dict[str, float | None] = {
        "stored_page_bytes": rates.stored_bytes,
        "stored_bytes_per_s": rates.average * rates.stored_bytes,
        "stored_bytes_per_day": day,
        "stored_bytes_per_month": day * MONTH_DAYS,
        "stored_bytes_per_year": year,
        "stored_bytes_replicated": year * inputs.replication,
        "stored_bytes_kept": year * inputs.keep_years,
        "raw_bytes_per_month": inputs.pages_per_month * inputs.wire_bytes,
        "segment_s": segment_s,
    }
    return Numbers(values)


def politeness(inputs: PlanInputs, rates: Rates) -> Numbers:
    """What one host gives, and so how many hosts a rate needs."""
    delayed_s = inputs.fetch_s + max(rates.gap_s, inputs.crawl_delay_s)
    usable = min(inputs.hosts_ready, inputs.slots)
    values: dict[str, float | None] = {
        "gap_s": rates.gap_s,
        "period_s": rates.period_s,
        "pages_per_s_per_host": rates.per_host,
        "pages_per_day_per_host": DAY_S * rates.per_host,
        "hosts_needed": rates.hosts_needed,
        "hosts_usable": usable,
        "usable_pages_per_s": usable * rates.per_host,
        "slots_headroom": inputs.slots / rates.hosts_needed,
        "site_days": inputs.site_pages / rates.per_host / DAY_S,
        "site_years": inputs.site_pages / rates.per_host / DAY_S / YEAR_DAYS,
        "delayed_period_s": delayed_s,
        "delayed_pages_per_s": 1 / delayed_s,
        "delayed_days": inputs.delayed_pages * delayed_s / DAY_S,
        "shared_by_name": inputs.shared_names * rates.per_host,
        "shared_by_address": rates.per_host,
    }
    points = sorted({*HOSTS_POINTS, usable, rates.hosts_needed})
    rows = tuple((hosts, hosts * rates.per_host, hosts * rates.per_host * DAY_S) for hosts in points)
    return Numbers(values, {"hosts": rows})


def machines(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Sockets, processes, cores, browsers, messages."""
    cores = rates.peak * inputs.cpu_s
    render_cores = rates.peak * inputs.render_share * inputs.render_cpu_s
    renders = rates.peak * inputs.render_share * inputs.render_s
    links = rates.average * inputs.links_per_page
    values: dict[str, float | None] = {
        "sockets": rates.hosts_needed,
        "requests_in_progress": rates.peak * inputs.fetch_s,
        "socket_processes": rates.hosts_needed / inputs.sockets_per_process,
        "process_pages_per_s": rates.peak / inputs.processes,
        "cores_demand": cores,
        "cores_needed": cores / inputs.utilisation,
        "render_all_cores": rates.peak * inputs.render_cpu_s,
        "render_ratio": inputs.render_cpu_s / inputs.cpu_s if inputs.cpu_s else None,
        "renders_at_once": renders,
        "render_cores": render_cores,
        "render_machines": renders / inputs.renders_per_machine / inputs.utilisation,
        "event_bytes_per_s": rates.peak * inputs.event_bytes,
        "event_bytes_average": rates.average * inputs.event_bytes,
        "link_bytes_per_s": links * inputs.link_bytes,
    }
    return Numbers(values)
