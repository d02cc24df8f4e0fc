"""The verdict on a soak: did anything grow between its second and its last quarter, and was every gap kept.

The first quarter warms up: caches fill, hosts are met. A quarter's figure is the median of its samples. A measure holds
when the last quarter's figure is within TOLERANCE of the second's. Beside each time stands its change divided by that
of a fixed piece of Python, which tells a machine that others slow down from a crawler that has grown slow. It decides
nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.soak_watch import Sample

TOLERANCE: Final = 0.10
COUNT_SLACK: Final = 1.0  # threads are few: one more or less is no growth
TIME_SLACK_MS: Final = 1.0  # the crawler's log has milliseconds
REFERENCE: Final = "reference_ms"
LOAD_LEAST: Final = 0.8  # of the second quarter's pages/s: else the last quarter was an easier one


class Measure(msgspec.Struct, frozen=True):
    """What is compared. `slack`: a difference, in the measure's unit, that says nothing however small the figure is."""

    name: str
    field: str
    unit: str
    slack: float = 0.0


MEASURES: Final = (
    Measure("RSS of the main process", "rss_main_bytes", "MB"),
    Measure("RSS of the workers", "rss_workers_bytes", "MB"),
    Measure("open files of the main process", "files_main", ""),
    Measure("open files of the workers", "files_workers", "", COUNT_SLACK),
    Measure("threads of the main process", "threads_main", "", COUNT_SLACK),
    Measure("threads of the workers", "threads_workers", "", COUNT_SLACK),
    Measure("fetch, median", "fetch_p50_ms", "ms", TIME_SLACK_MS),
    Measure("fetch, 95th percentile", "fetch_p95_ms", "ms", TIME_SLACK_MS),
    Measure("fetched to committed, median", "commit_p50_ms", "ms", TIME_SLACK_MS),
    Measure("fetched to committed, 95th percentile", "commit_p95_ms", "ms", TIME_SLACK_MS),
    Measure("sync of the store", "sync_ms", "ms", TIME_SLACK_MS),
    Measure("lateness of the event loop", "loop_late_ms", "ms", TIME_SLACK_MS),
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One measure in the second and in the last quarter."""

    name: str
    unit: str
    second: float
    last: float
    change: float  # share of the second quarter's figure
    beside: float = 0.0  # the same, a time divided by how much slower the machine had become
    holds: bool


def quarters(samples: Sequence[Sample], duration_s: float) -> list[list[Sample]]:
    """The samples of each quarter of the planned time; a look after its end counts for none."""
    found: list[list[Sample]] = [[], [], [], []]
    for sample in samples:
        place = int(sample.at_s / duration_s * 4)
        if place < len(found):
            found[place].append(sample)
    return found


def figure(samples: Sequence[Sample], field: str) -> float:
    """The median of a field. Raises StatisticsError when there is no sample."""
    return float(statistics.median(getattr(sample, field) for sample in samples))


def judge(samples: Sequence[Sample], duration_s: float) -> list[Finding]:
    """Every measure, and that the load held. Raises StatisticsError when a quarter has no samples."""
    _, second, _, last = quarters(samples, duration_s)
    found = [_compare(measure, second, last) for measure in MEASURES]
    before, after = figure(second, "pages_per_s"), figure(last, "pages_per_s")
    found.append(
        Finding(
            name=f"pages a second (at least {LOAD_LEAST:.0%})",
            unit="",
            second=before,
            last=after,
            change=_change(before, after),
            beside=_change(before, after),
            holds=before > 0 and after >= LOAD_LEAST * before,
        )
    )
    found.append(
        Finding(
            name="a fixed piece of Python, CPU (the machine)",
            unit="ms",
            second=figure(second, REFERENCE),
            last=figure(last, REFERENCE),
            change=slowed(second, last) - 1,
            beside=0.0,
            holds=True,
        )
    )
    return found


def _compare(measure: Measure, second: Sequence[Sample], last: Sequence[Sample]) -> Finding:
    before, after = figure(second, measure.field), figure(last, measure.field)
    even = after / slowed(second, last) if measure.unit == "ms" else after
    scale = 1e6 if measure.unit == "MB" else 1.0
    return Finding(
        name=measure.name,
        unit=measure.unit,
        second=before / scale,
        last=after / scale,
        change=_change(before, after),
        beside=_change(before, even),
        holds=abs(after - before) <= max(TOLERANCE * before, measure.slack),
    )


def slowed(second: Sequence[Sample], last: Sequence[Sample]) -> float:
    """How much longer the machine took in the last quarter for what takes no longer by itself; 1 when unknown."""
    before, after = figure(second, REFERENCE), figure(last, REFERENCE)
    return after / before if before and after else 1.0


def _change(before: float, after: float) -> float:
    return after / before - 1 if before else 0.0


class Manners(msgspec.Struct, kw_only=True):
    """What the servers' logs say of the crawler's manners."""

    requests: int = 0
    addresses: int = 0
    shortest_gap_s: float = float("inf")
    short: int = 0  # gaps below what was asked for
    first_short: str = ""


def judge_manners(log: Path, gap_s: float, *, rounding_s: float, into: Manners) -> None:
    """Add a log to `into`: requests to one address must not overlap, and lie `gap_s` apart from end to start.

    Reads a line at a time and keeps one number for each address. Lines stand in the order in which requests ended,
    which shows a short gap just as the order of their starts would. `rounding_s`: what the log's own times are worth.
    """
    latest: dict[str, float] = {}
    with log.open(encoding="latin-1") as file:
        for line in file:
            ended, took, address, _, host, _, _, _, _, method, target, _ = line.rstrip("\n").split("\t")
            if not method:
                continue  # a connection that was opened and closed without a word
            into.requests += 1
            end, start = float(ended), float(ended) - float(took)
            before = latest.get(address)
            latest[address] = max(end, before or 0.0)
            if before is None:
                continue
            gap = start - before
            into.shortest_gap_s = min(into.shortest_gap_s, gap)
            if gap < gap_s - rounding_s:
                into.short += 1
                into.first_short = into.first_short or f"{address} {host}{target}: {gap:+.3f} s"
    into.addresses += len(latest)


def holds(findings: Iterable[Finding], manners: Manners) -> bool:
    """Whether everything is as it should be."""
    return all(finding.holds for finding in findings) and manners.short == 0
