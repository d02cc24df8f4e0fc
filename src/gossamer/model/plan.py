"""A capacity plan as values: what it is computed from, with the bounds of each input, and what comes out.

The formulas are in `policy.plan` and its neighbours; reading flags and showing tables is `surface.planning`.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

DAY_S: Final = 86_400.0
MONTH_DAYS: Final = 30.0
YEAR_DAYS: Final = 365.0

Kind = Literal["count", "number", "bytes", "bits", "seconds", "share"]
Unit = Literal[
    "", "bits", "bits/key", "bytes", "bytes/s", "bits/s", "changes", "comparisons/s", "cores", "days", "hosts",
    "hours", "links", "lookups/s", "machines", "months", "pages", "pages/s", "processes", "renders", "requests",
    "requests/day", "requests/s", "seconds", "share", "sockets", "tables", "times", "URLs", "writes/s", "years",
]  # fmt: skip


def _meta(kind: Kind, low: float, high: float, description: str) -> msgspec.Meta:
    return msgspec.Meta(ge=low, le=high, description=description, extra={"kind": kind})


class PlanInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is computed from. Each field has bounds and a meaning; the defaults are a billion pages a month.

    Numbers are floats even where they count things: a plan has 1e9 of them, or 0.5.
    """

    # Volume
    pages_per_month: Annotated[float, _meta("count", 1, 1e15, "Pages fetched in 30 days.")] = 1e9
    peak_factor: Annotated[float, _meta("number", 1, 1000, "Rate of the busy hour over the average.")] = 2.0
    wire_bytes: Annotated[float, _meta("bytes", 1, 1e12, "A page as it is received, compressed.")] = 1e5
    stored_ratio: Annotated[float, _meta("number", 0.01, 1000, "Bytes received over bytes stored.")] = 5.0
    replication: Annotated[float, _meta("number", 1, 100, "Copies kept of each stored byte.")] = 3.0
    keep_years: Annotated[float, _meta("number", 0.01, 1000, "Years the archive is kept.")] = 1.0
    event_bytes: Annotated[float, _meta("bytes", 0, 1e9, "Message that tells of one fetch.")] = 1e3
    link_bytes: Annotated[float, _meta("bytes", 0, 1e6, "One link in a message to another owner.")] = 100.0
    segment_bytes: Annotated[float, _meta("bytes", 1, 1e15, "One WARC file.")] = 1e9
    # Machines
    nic_bits_per_s: Annotated[float, _meta("bits", 1, 1e15, "One network card.")] = 1e9
    nics: Annotated[float, _meta("number", 1, 1e6, "Network cards.")] = 1.0
    cores: Annotated[float, _meta("number", 0.01, 1e9, "Cores for fetching and digesting.")] = 16.0
    utilisation: Annotated[float, _meta("share", 0.01, 1, "Share of cores and network to plan with.")] = 0.8
    disk_bytes: Annotated[float, _meta("bytes", 1, 1e21, "Room for the archive, all copies together.")] = 1e15
    processes: Annotated[float, _meta("number", 1, 1e6, "Fetching processes, each with caches of its own.")] = 16.0
    sockets_per_process: Annotated[float, _meta("count", 1, 1e7, "Connections one process holds.")] = 1e4
    shards: Annotated[float, _meta("number", 1, 1e6, "Parts the seen-set is cut into.")] = 1.0
    # Politeness
    fetch_s: Annotated[float, _meta("seconds", 1e-4, 3600, "One fetch, on a kept-alive connection.")] = 0.2
    gap_s: Annotated[float, _meta("seconds", 0, DAY_S, "Pause after each fetch of a host.")] = 1.0
    response_factor: Annotated[float, _meta("number", 0, 1000, "The pause is at least this many fetch times.")] = 0.0
    hosts_ready: Annotated[float, _meta("count", 1, 1e12, "Hosts that have URLs to fetch at one moment.")] = 1e3
    slots: Annotated[float, _meta("count", 1, 1e12, "Hosts held in memory as active.")] = 1e4
    site_pages: Annotated[float, _meta("count", 1, 1e15, "Pages of one big site.")] = 1e8
    crawl_delay_s: Annotated[float, _meta("seconds", 0, DAY_S, "Crawl-delay that a site asks for ...")] = 10.0
    delayed_pages: Annotated[float, _meta("count", 1, 1e15, "... and the pages of that site.")] = 1e6
    shared_names: Annotated[float, _meta("count", 1, 1e9, "Host names on one shared address.")] = 5e3
    # Frontier and seen-set
    links_per_page: Annotated[float, _meta("number", 0.01, 1e5, "Links of a page.")] = 100.0
    novelty: Annotated[float, _meta("share", 0, 1, "Share of links that nobody has seen before.")] = 0.1
    collapse: Annotated[float, _meta("share", 0, 1, "Share of links that canonical form makes equal.")] = 0.3
    known_urls: Annotated[float, _meta("count", 1, 1e15, "URLs in the seen-set.")] = 1e10
    bits_per_key: Annotated[float, _meta("number", 1, 100, "Bloom filter, bits for each URL.")] = 20.0
    lean_bits: Annotated[float, _meta("number", 1, 100, "The cheaper filter to compare with.")] = 10.0
    false_positive: Annotated[float, _meta("share", 1e-12, 0.5, "A rate to find the bits for.")] = 1e-3
    overfill: Annotated[float, _meta("number", 1, 100, "Keys put in over keys it was made for.")] = 2.0
    url_key_bytes: Annotated[float, _meta("bytes", 1, 1e5, "One URL in an exact set.")] = 70.0
    url_row_bytes: Annotated[float, _meta("bytes", 1, 1e6, "One row of the URL table.")] = 200.0
    iops: Annotated[float, _meta("count", 1, 1e9, "Random reads a second of one device, many at once.")] = 5e5
    # Duplicates
    fingerprints: Annotated[float, _meta("count", 1, 1e15, "Fingerprints in the near-duplicate index.")] = 1e10
    blocks: Annotated[float, _meta("count", 4, 16, "Blocks that the 64 bits are cut into.")] = 6.0
    entry_bytes: Annotated[float, _meta("bytes", 1, 1000, "One entry of one table.")] = 8.0
    near_share: Annotated[float, _meta("share", 0, 1, "Pages that nearly equal another.")] = 0.3
    exact_share: Annotated[float, _meta("share", 0, 1, "Of all pages, those equal byte for byte.")] = 0.1
    minhashes: Annotated[float, _meta("count", 1, 1e4, "Hashes of a MinHash signature, 4 bytes each.")] = 128.0
    # Traps
    depth: Annotated[float, _meta("count", 1, 50, "Links from a seed that are followed.")] = 16.0
    url_bytes_max: Annotated[float, _meta("bytes", 1, 1e6, "Longest URL.")] = 1e3
    url_bytes_median: Annotated[float, _meta("bytes", 1, 1e6, "Median URL.")] = 66.0
    site_budget: Annotated[float, _meta("count", 1, 1e15, "Pages of one site in 30 days.")] = 1e4
    # robots.txt and names
    hosts_per_day: Annotated[float, _meta("count", 1, 1e12, "Hosts fetched from in one day.")] = 1e6
    hosts_known: Annotated[float, _meta("count", 1, 1e12, "Hosts with a ledger.")] = 1e8
    host_row_bytes: Annotated[float, _meta("bytes", 1, 1e7, "One ledger.")] = 2e3
    robots_ttl_s: Annotated[float, _meta("seconds", 1, DAY_S, "How long robots.txt is good.")] = DAY_S
    dns_latency_s: Annotated[float, _meta("seconds", 1e-6, 60, "One look-up that no cache answers.")] = 0.1
    dns_ttl_s: Annotated[float, _meta("seconds", 1, DAY_S, "How long an address is good.")] = DAY_S
    dns_at_once: Annotated[float, _meta("count", 1, 1e6, "Look-ups under way at once.")] = 100.0
    # Digest
    cpu_s: Annotated[float, _meta("seconds", 0, 3600, "Processor time of one page.")] = 0.010
    render_share: Annotated[float, _meta("share", 0, 1, "Pages that need a browser.")] = 0.0
    render_cpu_s: Annotated[float, _meta("seconds", 0, 3600, "Processor time of one page in a browser.")] = 1.0
    render_s: Annotated[float, _meta("seconds", 0.001, 3600, "Wall-clock time of one page in a browser.")] = 5.0
    renders_per_machine: Annotated[float, _meta("number", 1, 1e4, "Pages one render machine has open.")] = 24.0
    render_machines: Annotated[float, _meta("number", 1, 1e6, "Render machines.")] = 1.0
    # Refresh
    refresh_share: Annotated[float, _meta("share", 0, 1, "Fetches that go to pages already known.")] = 0.5
    corpus_pages: Annotated[float, _meta("count", 1, 1e15, "Pages the corpus is to hold.")] = 1e10
    unchanged: Annotated[float, _meta("share", 0, 1, "Refreshes answered with 304.")] = 0.5
    not_modified_bytes: Annotated[float, _meta("bytes", 1, 1e6, "A 304 on the wire.")] = 500.0
    fast_per_day: Annotated[float, _meta("number", 1e-6, 1e6, "Changes a day of a fast page ...")] = 10.0
    slow_per_day: Annotated[float, _meta("number", 1e-6, 1e6, "... and of a slow one, to share one fetch a day.")] = 0.1


class Figure(msgspec.Struct, frozen=True):
    """One number of a plan; `value` is None where there is none (a corpus that is never complete)."""

    key: str
    label: str
    value: float | None
    unit: Unit
    how: str  # the formula, in words


class PlanTable(msgspec.Struct, frozen=True):
    """One formula at several points."""

    key: str
    title: str
    columns: tuple[tuple[str, Unit], ...]  # name and unit of each
    rows: tuple[tuple[str | float, ...], ...]


class Section(msgspec.Struct, frozen=True):
    """Figures that belong together."""

    key: str
    title: str
    remark: str  # what the figures say, in a sentence
    figures: tuple[Figure, ...]
    tables: tuple[PlanTable, ...] = ()


class Resource(msgspec.Struct, frozen=True):
    """Something the crawl needs an amount of, and has an amount of, both in `unit`."""

    key: str
    name: str
    demand: float  # at the peak; of the disk, when the archive is as old as it gets
    capacity: float
    load: float  # demand over capacity; above 1 the plan does not hold
    ceiling_pages_per_s: float | None  # the peak rate that fills it; None when the crawl does not need it
    unit: Unit
    remedy: str  # what more of it means


class Plan(msgspec.Struct, frozen=True):
    """All sections, the resources by falling load, and the sentence that says which one binds."""

    inputs: PlanInputs
    binding: str  # key of the first resource
    sentence: str
    reached_pages_per_s: float  # at the peak: what was asked for, or what the binding resource allows
    resources: tuple[Resource, ...]
    sections: tuple[Section, ...]
