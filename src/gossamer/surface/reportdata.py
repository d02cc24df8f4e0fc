"""What a report shows: the counters, the hosts, the groups of copies. The timeline is `surface.timeline`."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from gossamer.core.counters import Totals
from gossamer.core.votes import importance
from gossamer.model.config import Config
from gossamer.model.record import HostRow, UrlRow
from gossamer.model.view import DuplicateView, ReportData, Snapshot
from gossamer.policy.canonicals import is_distrusted
from gossamer.policy.scope import ScopeRules
from gossamer.ports.store import Store
from gossamer.surface.explainview import moment
from gossamer.surface.hostview import host_view, mislead
from gossamer.surface.rankrow import last_summary
from gossamer.surface.storescan import host_rows, url_row, url_rows
from gossamer.surface.timeline import timeline
from gossamer.surface.waiting import WaitingPages
from gossamer.version import VERSION

HOSTS_SHOWN: Final = 50
GROUPS_SHOWN: Final = 50
GROUPS_TRACKED: Final = 100_000  # groups of copies counted at once; beyond, the smallest are forgotten
LATENCY_EDGE_MAX_MS: Final = 32_768  # slower visits are one step: the last
SEEDS_SHOWN: Final = 1_000


class Ranking(msgspec.Struct):
    """The hosts that stand out, gathered in one pass."""

    total: int
    most: list[HostRow]
    slowest: list[HostRow]
    failing: list[HostRow]
    important: list[HostRow]
    mirrors: list[HostRow]
    misleading: list[HostRow]
    behind: list[HostRow]


class _Group(msgspec.Struct):
    """One group of copies while it is counted."""

    example: str
    copies: int = 0


def report_data(
    store: Store, totals: Totals, config: Config, scope: ScopeRules, snapshot: Snapshot, *, now: float, running: bool
) -> ReportData:
    """Everything a report shows; one pass over hosts, URL rows and the crawl log each, in bounded memory."""
    ranking = rank(host_rows(store))
    slices, slice_s = timeline(Path(config.directory) / "log")
    waiting = WaitingPages(now)
    duplicates = duplicate_groups(store, waiting.add)
    most, slowest, failing, important, mirrors, misleading, behind = (
        tuple(host_view(row, now, running=running) for row in rows)
        for rows in (
            ranking.most,
            ranking.slowest,
            ranking.failing,
            ranking.important,
            ranking.mirrors,
            ranking.misleading,
            ranking.behind,
        )
    )
    return ReportData(
        generated=now,
        version=VERSION,
        seeds=config.seeds[:SEEDS_SHOWN],
        scope=scope_words(config, scope),
        snapshot=snapshot,
        hosts=most,
        hosts_total=ranking.total,
        slowest=slowest,
        failing=failing,
        media_types=dict(totals.types),
        languages=dict(totals.languages),
        depths=dict(sorted(totals.depths.items())),
        response_ms=latency_steps(totals.latency),
        timeline=slices,
        slice_s=slice_s,
        duplicates=duplicates,
        errors=dict(totals.errors),
        important=important,
        importance_from=importance_words(store),
        mirrors=mirrors,
        misleading=misleading,
        waiting=waiting.told(),
        behind=behind,
        hints=dict(totals.hints),
    )


def importance_words(store: Store) -> str:
    """How the importance of the hosts was found."""
    summary = last_summary(store)
    if summary is None:
        return "by sites that link to them, as counted"
    return f"by {summary.method} of {moment(summary.time)}; newer hosts by sites that link to them"


def rank(rows: Iterable[HostRow]) -> Ranking:
    """HOSTS_SHOWN each of the hosts most fetched, slowest, in trouble, most important, of mirrors, liars, the overdue.

    The order is total.
    """
    boards: tuple[list[tuple[tuple[float, float], int, HostRow]], ...] = ([], [], [], [], [], [], [])
    total = 0
    for total, row in enumerate(rows, 1):
        marks = (
            (row.fetched, row.bytes) if row.fetched or row.failed else None,
            (row.response_s, row.fetched) if row.response_s else None,
            (bool(row.parked), row.failed) if row.parked or row.failed else None,
            (importance(row), row.fetched) if row.rank or (row.votes and row.rank is None) else None,
            (bool(row.mirror_of), row.fetched) if row.mirror_of or is_distrusted(row.canonicals) else None,
            (mislead(row), row.fetched) if mislead(row) else None,
            (row.late, row.fetched) if row.late else None,
        )
        for board, mark in zip(boards, marks, strict=True):
            if mark is not None:
                # Names come in order, so that of equals the first ones stay: -total breaks every tie.
                push = heapq.heappush if len(board) < HOSTS_SHOWN else heapq.heappushpop
                push(board, (mark, -total, row))
    return Ranking(total, *([row for _, _, row in sorted(board, reverse=True)] for board in boards))


def scope_words(config: Config, scope: ScopeRules) -> str:
    """The scope in one line."""
    places = sorted(scope.places)
    named = ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
    parts = [f"{config.scope.mode} ({named})" if named else config.scope.mode]
    for name, items in (
        ("SURT prefixes", scope.prefixes), ("include", config.scope.include), ("exclude", config.scope.exclude)
    ):  # fmt: skip
        if items:
            parts.append(f"{name} {', '.join(items[:3])}" + (f" and {len(items) - 3} more" if len(items) > 3 else ""))
    return "; ".join(parts)


def latency_steps(latency: dict[int, int]) -> tuple[tuple[float, int], ...]:
    """The histogram of response times without holes: (upper edge in ms, visits), the last edge infinite."""
    if not latency:
        return ()
    edges = sorted(latency)
    steps: list[tuple[float, int]] = []
    edge = edges[0]
    while edge <= min(edges[-1], LATENCY_EDGE_MAX_MS):
        steps.append((float(edge), latency.get(edge, 0)))
        edge *= 2
    return (*steps, (math.inf, sum(count for key, count in latency.items() if key > LATENCY_EDGE_MAX_MS)))


def duplicate_groups(store: Store, seen: Callable[[UrlRow], None]) -> tuple[DuplicateView, ...]:
    """The largest groups of copies; `seen` is told every row that is passed.

    The names of more than GROUPS_TRACKED groups are not held: small ones go first.
    """
    groups: dict[tuple[str, str], _Group] = {}
    for _, row in url_rows(store):
        seen(row)
        if not row.duplicate_of:
            continue
        group = groups.setdefault((row.duplicate_of, row.duplicate_kind), _Group(row.url))
        group.copies += 1
        if len(groups) > GROUPS_TRACKED:
            groups = dict(heapq.nlargest(GROUPS_TRACKED // 2, groups.items(), key=lambda item: item[1].copies))
    largest = heapq.nsmallest(GROUPS_SHOWN, groups.items(), key=lambda item: (-item[1].copies, item[0]))
    found = []
    for (key, kind), group in largest:
        original = url_row(store, key)
        url = original.url if original is not None else key
        found.append(DuplicateView(original=url, copies=group.copies, kind=kind or "exact", example=group.example))
    return tuple(found)
