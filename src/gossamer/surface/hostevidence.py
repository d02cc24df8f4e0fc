"""What was asked of one host, counted from the crawl log: what a complaint is answered with.

Gaps are taken between the end of one request and the start of the next of the same name and port, whatever they were
for. Times are kept in arrays: 90 days at a request a second are eight million of them.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration, show_size

Floats = npt.NDArray[np.float64]
ASKED_TO_WAIT: Final = (429, 503)
ADDRESSES_MAX: Final = 100  # named; more are only counted
RULES_MAX: Final = 8
_RULES_COUNTED_MAX: Final = 10_000  # a robots.txt may have as many lines as it likes


class DayCount(msgspec.Struct, frozen=True):
    """Requests of one day (UTC)."""

    day: str
    requests: int
    bytes: int


class HostEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One host as the log tells of it."""

    host: str
    first: float = 0.0  # unix seconds, start of the first request
    last: float = 0.0
    requests: int = 0
    bytes: int = 0
    gap_min_s: float | None = None  # None: there were not two requests
    gap_median_s: float | None = None
    busiest_minute: int = 0  # requests that began within any one minute of the clock
    robots_fetched: int = 0
    robots_last: float = 0.0
    asked_to_wait: int = 0  # answers 429 and 503
    statuses: dict[str, int] = {}
    failures: dict[str, int] = {}
    allowed: dict[str, int] = {}  # rule of robots.txt -> requests that it let through; the RULES_MAX most used
    refused: dict[str, int] = {}  # reason -> URLs that were not asked for
    addresses: tuple[str, ...] = ()
    days: tuple[DayCount, ...] = ()


def evidence_of(host: str, events: Iterable[FetchEvent]) -> HostEvidence:
    """Count the events of a host, in any order."""
    spans: defaultdict[str, tuple[array[float], array[float]]] = defaultdict(lambda: (array("d"), array("d")))
    statuses: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    allowed: Counter[str] = Counter()
    days: Counter[str] = Counter()
    day_bytes: Counter[str] = Counter()
    addresses: dict[str, None] = {}
    robots_count, robots_last, received = 0, 0.0, 0
    for event in events:
        if not event.started:
            refused[event.reason] += 1
            continue
        starts, ends = spans[event.host]
        starts.append(event.started)
        ends.append(event.started + event.elapsed_ms / 1000)
        received += event.wire_bytes
        day = moment(event.started)[:10]
        days[day] += 1
        day_bytes[day] += event.wire_bytes
        if event.status:
            statuses[str(event.status)] += 1
        else:
            failures[event.failure] += 1
        if event.robots and (event.robots in allowed or len(allowed) < _RULES_COUNTED_MAX):
            allowed[event.robots] += 1
        if event.kind is Kind.ROBOTS:
            robots_count, robots_last = robots_count + 1, max(robots_last, event.started)
        if len(addresses) < ADDRESSES_MAX and event.address:
            addresses[event.address] = None
    gaps = np.concatenate([_gaps(*times) for times in spans.values()]) if spans else np.empty(0)
    all_starts = np.sort(np.concatenate([np.array(starts) for starts, _ in spans.values()])) if spans else np.empty(0)
    minutes = np.unique(all_starts // 60, return_counts=True)[1]
    return HostEvidence(
        host=host,
        first=float(all_starts[0]) if len(all_starts) else 0.0,
        last=float(all_starts[-1]) if len(all_starts) else 0.0,
        requests=len(all_starts),
        bytes=received,
        gap_min_s=float(gaps.min()) if len(gaps) else None,
        gap_median_s=float(np.median(gaps)) if len(gaps) else None,
        busiest_minute=int(minutes.max()) if len(minutes) else 0,
        robots_fetched=robots_count,
        robots_last=robots_last,
        asked_to_wait=sum(statuses[str(status)] for status in ASKED_TO_WAIT),
        statuses=dict(statuses.most_common()),
        failures=dict(failures.most_common()),
        allowed=dict(allowed.most_common(RULES_MAX)),
        refused=dict(refused.most_common()),
        addresses=tuple(addresses),
        days=tuple(DayCount(day, days[day], day_bytes[day]) for day in sorted(days)),
    )


def _gaps(starts: array[float], ends: array[float]) -> Floats:
    """Seconds between the end of each request and the start of the next."""
    order = np.argsort(np.array(starts), kind="stable")
    gaps: Floats = np.array(starts)[order][1:] - np.array(ends)[order][:-1]
    return gaps


def evidence_lines(found: HostEvidence) -> list[str]:
    """The same for a person."""
    if not found.requests and not found.refused:
        return [f"{escape(found.host)}: the crawl log has no line of it"]
    lines = [f"{escape(found.host)}: {plural(found.requests, 'request')}, {show_size(found.bytes)} received"]
    if found.requests:
        lines.append(f"  first     {moment(found.first)}")
        lines.append(f"  last      {moment(found.last)}")
        lines.append(f"  busiest   {plural(found.busiest_minute, 'request')} within one minute")
    if found.gap_min_s is not None and found.gap_median_s is not None:
        shortest, median = show_duration(found.gap_min_s), show_duration(found.gap_median_s)
        lines.append(f"  gaps      from the end of one to the start of the next: shortest {shortest}, median {median}")
    if found.robots_fetched:
        count = plural(found.robots_fetched, "time")
        lines.append(f"  robots    asked for {count}, last at {moment(found.robots_last)}")
    allowed = found.allowed.items()
    lines += [f"  allowed   {plural(count, 'request')} by robots.txt: {escape(rule)}" for rule, count in allowed]
    for name, counts in (("statuses", found.statuses), ("failed", found.failures), ("refused", found.refused)):
        if counts:
            words = ", ".join(f"{escape(key)}: {show_count(count)}" for key, count in counts.items())
            lines.append(f"  {name:<9} {words}")
    if found.asked_to_wait:
        lines.append(f"  asked us to wait {plural(found.asked_to_wait, 'time')} (429 or 503)")
    if found.addresses:
        lines.append(f"  servers   {', '.join(map(escape, found.addresses))}")
    lines += [f"  {day.day}  {plural(day.requests, 'request')}, {show_size(day.bytes)}" for day in found.days]
    return lines
