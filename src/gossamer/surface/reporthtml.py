"""A report as one HTML file that needs nothing else: no scripts, no fonts, no requests.

What comes from the web is escaped twice over: characters that are not printable are written out, then HTML's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Final

import msgspec
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from gossamer.model.view import HostView, ReportData
from gossamer.surface.charts import Bar, Column, bars, columns
from gossamer.surface.explainview import moment
from gossamer.surface.liverows import budget_text
from gossamer.surface.reporttext import histogram_labels
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration, show_rate, show_size

COLUMNS_MAX: Final = 120
BARS_MAX: Final = 12
MINUTE_S: Final = 60.0
_TEMPLATE: Final = "report.html"


class Tile(msgspec.Struct, frozen=True):
    """One figure at the head of the page."""

    label: str
    value: str
    note: str = ""


class Panel(msgspec.Struct, frozen=True):
    """One chart."""

    title: str
    chart: Markup
    wide: bool = False


def report_html(data: ReportData) -> str:
    """The whole page."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_written_out, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.update(
        count=show_count, size=show_size, seconds=show_duration, moment=moment, trouble=_trouble, budget=budget_text
    )
    template = environment.from_string(files("gossamer.surface").joinpath(_TEMPLATE).read_text(encoding="utf-8"))
    return template.render(data=data, shot=data.snapshot, tiles=_tiles(data), panels=_panels(data))


def _written_out(value: object) -> object:
    return escape(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _trouble(host: HostView) -> str:
    return host.parked or host.why or host.robots


def _tiles(data: ReportData) -> list[Tile]:
    shot = data.snapshot
    copies = shot.duplicates_exact + shot.duplicates_near
    return [
        Tile("pages", show_count(shot.pages), f"{show_rate(shot.rate_average)}/s in the last run"),
        Tile("received", show_size(shot.bytes), f"in {show_duration(shot.elapsed_s)}"),
        Tile("hosts", show_count(data.hosts_total or shot.hosts_known), f"{show_count(shot.hosts_parked)} parked"),
        Tile("queued", show_count(shot.queued), f"of {show_count(shot.urls_known)} known URLs"),
        Tile("copies", show_count(copies), f"{show_count(shot.duplicates_near)} of them near"),
        Tile("failed visits", show_count(sum(shot.failures.values())), plural(shot.errors, "error")),
        Tile("refused", show_count(sum(shot.refusals.values())), "links and URLs"),
        Tile("archive", show_size(shot.archive_bytes), plural(shot.segments, "WARC file")),
    ]


def _panels(data: ReportData) -> list[Panel]:
    shot = data.snapshot
    types = {name or "none": count for name, (count, _) in data.media_types.items()}
    hosts = {view.host: view.fetched for view in data.hosts}
    panels = [
        Panel(f"Pages over time, {show_duration(_step_s(data))} a column", _timeline(data), wide=True),
        Panel("Statuses and failures", bars(status_bars(shot.statuses, shot.failures))),
        Panel("Hosts, most fetched", bars(counted_bars(hosts))),
        Panel("Refused, by reason", bars(counted_bars(shot.refusals))),
        Panel("Types", bars(counted_bars(types))),
        Panel("Response time", columns([Column(name, count) for name, count in histogram_labels(data.response_ms)])),
        Panel("Queue by level", columns([Column(str(level), size) for level, size in enumerate(shot.queue_by_level)])),
        Panel("Refreshes over an hour late, by level", _by_level(shot.slipped_by_level)),
        Panel(_waiting_title(data), _by_level(data.waiting.by_level)),
        Panel("Pages by depth", columns([Column(str(depth), count) for depth, count in sorted(data.depths.items())])),
        Panel("Languages", bars(counted_bars(data.languages))),
        Panel("Hints and pings, by what became of them", bars(counted_bars(data.hints))),
        Panel("Digest and hook errors", bars(counted_bars(data.errors))),
    ]
    return [panel for panel in panels if panel.chart]


def _by_level(counts: Sequence[int]) -> Markup:
    return columns([Column(str(level), count) for level, count in enumerate(counts)]) if any(counts) else Markup()


def _waiting_title(data: ReportData) -> str:
    median, most = show_duration(data.waiting.median_s), show_duration(data.waiting.most_s)
    return f"Visits due and not made, by level; late by {median} (median), {most} (most)"


def status_bars(statuses: Mapping[str, int], failures: Mapping[str, int] | None = None) -> list[Bar]:
    """Responses by status, coloured by class; whatever is no status is a failure."""
    named = {"1": "c1", "2": "c2", "3": "c3", "4": "c4", "5": "c5"}
    rows = [Bar(status, count, named.get(status[:1], "failed")) for status, count in sorted(statuses.items())]
    return [*rows, *(Bar(name, count, "failed") for name, count in sorted((failures or {}).items()))]


def counted_bars(counts: Mapping[str, int]) -> list[Bar]:
    """The largest counts first; those past BARS_MAX are one bar."""
    rows = [Bar(name, count) for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    rest = sum(row.value for row in rows[BARS_MAX:])
    return [*rows[:BARS_MAX], Bar(f"{len(rows) - BARS_MAX} others", rest, "c1")] if len(rows) > BARS_MAX else rows


def _step(data: ReportData) -> int:
    return -(-len(data.timeline) // COLUMNS_MAX) or 1


def _step_s(data: ReportData) -> float:
    return data.slice_s * _step(data)


def _timeline(data: ReportData) -> Markup:
    step, step_s = _step(data), _step_s(data)
    groups = [data.timeline[start : start + step] for start in range(0, len(data.timeline), step)]
    points = [
        Column(
            moment(group[0].start)[11 : 16 if step_s >= MINUTE_S else 19],
            sum(part.pages for part in group),
            sum(part.failures for part in group),
            f"{moment(group[0].start)}: {sum(part.pages for part in group):,} pages, "
            f"{sum(part.failures for part in group):,} failed, {show_size(sum(part.bytes for part in group))}",
        )
        for group in groups
    ]
    return columns(points, wide=True)
