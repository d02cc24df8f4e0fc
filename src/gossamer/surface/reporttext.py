"""A report as text: tables that stay readable in 60 columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.model.view import HostView, ReportData
from gossamer.surface.explainview import moment
from gossamer.surface.glyphs import bar, level_bars, spark, status_style
from gossamer.surface.plain import notice_line, seed_failure_lines, summary_lines
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.units import plural, show_count, show_duration, show_size

BAR_CELLS = 16
ROWS_MAX = 20
SEEDS_SHOWN_MAX = 5
URL_CELLS = 70


def render_report(data: ReportData) -> RenderableType:
    """All sections that have something to show."""
    shot = data.snapshot
    parts: list[RenderableType] = [_head(data), Text("\n".join(summary_lines(shot)))]
    if shot.bound.sentence:
        parts.append(Text(f"bound by   {shot.bound.name}: {escape(shot.bound.sentence)}"))
    if data.timeline:
        rate = spark([step.pages for step in data.timeline], 60)
        parts += _section(f"Pages over time ({show_duration(data.slice_s)} a step)", Text(rate, style="green"))
    parts += _section("Statuses", _bars(shot.statuses, styled=True))
    parts += _section("Failures", _bars(shot.failures))
    parts += _section("Refused, by reason", _bars(shot.refusals))
    parts += _section("Types", _types(data.media_types))
    parts += _section("Languages", _bars(data.languages))
    parts += _section("Depth", _bars({str(depth): count for depth, count in sorted(data.depths.items())}, ordered=True))
    parts += _section("Response time", _bars(dict(histogram_labels(data.response_ms)), ordered=True))
    if shot.queued:
        parts += _section("Queue by level", level_bars(shot.queue_by_level))
    parts += _section(f"Hosts ({show_count(data.hosts_total)}), most fetched first", _hosts(data.hosts))
    parts += _section("Slowest hosts", _hosts(data.slowest))
    parts += _section("Hosts in trouble", _troubled(data.failing))
    parts += _section(f"Hosts that matter, {escape(data.importance_from)}", _important(data.important))
    parts += _section("Copies, largest groups first", _copies(data))
    parts += _section("Mirrors, and hosts whose rel=canonical is not believed", _mirrors(data.mirrors))
    parts += _section("Hints and pings, by what became of them", _bars(data.hints))
    parts += _section("Hosts whose hints or pings are not believed", _misleading(data.misleading))
    parts += _section("Visits that are due and not made", _waiting(data))
    parts += _section("Digest and hook errors", _bars(data.errors))
    lines = [notice_line(notice) for notice in shot.notices] + seed_failure_lines(shot)
    parts += _section("Notices", Text("\n".join(lines)) if lines else None)
    return Group(*parts)


def histogram_labels(edges: Sequence[tuple[float, int]]) -> list[tuple[str, int]]:
    """(label, count) of each step of a histogram: "to 25 ms", …, "over 5.0 s"."""
    labels: list[tuple[str, int]] = []
    low_ms = 0.0
    for high_ms, count in edges:
        name = f"over {show_duration(low_ms / 1000)}" if math.isinf(high_ms) else f"to {show_duration(high_ms / 1000)}"
        labels.append((name, count))
        low_ms = high_ms
    return labels


def _head(data: ReportData) -> Text:
    seeds = ", ".join(shorten(seed, URL_CELLS) for seed in data.seeds[:SEEDS_SHOWN_MAX])
    if len(data.seeds) > SEEDS_SHOWN_MAX:
        seeds += f" and {len(data.seeds) - SEEDS_SHOWN_MAX:,} more"
    text = Text.assemble(("Crawl report", "bold"), f"  {moment(data.generated)}  gossamer {escape(data.version)}")
    return text.append(f"\nseeds      {seeds or 'none'}\nscope      {escape(data.scope) or '-'}")


def _section(title: str, body: RenderableType | None) -> list[RenderableType]:
    return [] if body is None else [Text(""), Text(title, style="bold"), body]


def _bars(counts: Mapping[str, int], *, styled: bool = False, ordered: bool = False) -> RenderableType | None:
    items = list(counts.items()) if ordered else sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if not items:
        return None
    top = max((count for _, count in items), default=0) or 1
    table = _grid(("", 0), ("right", 1), ("", 1))
    for name, count in items[:ROWS_MAX]:
        style = status_style(name) if styled else "blue"
        label = Text(shorten(name, 40), style=style if styled else "")
        table.add_row(label, show_count(count), bar(count / top, BAR_CELLS, style=style))
    _more(table, len(items))
    return table


def _types(types: Mapping[str, tuple[int, int]]) -> RenderableType | None:
    if not types:
        return None
    table = _grid(("", 0), ("right", 1), ("right", 1))
    for name, (count, size) in sorted(types.items(), key=lambda item: (-item[1][0], item[0]))[:ROWS_MAX]:
        table.add_row(Text(shorten(name, 40) or "none"), show_count(count), show_size(size))
    _more(table, len(types))
    return table


def _hosts(hosts: Sequence[HostView]) -> RenderableType | None:
    if not hosts:
        return None
    table = _headed("host", "fetched", "failed", "queued", "response", "gap")
    for view in hosts[:ROWS_MAX]:
        table.add_row(
            Text(shorten(view.host, 60)),
            show_count(view.fetched),
            show_count(view.failed),
            show_count(view.pending),
            show_duration(view.response_s),
            show_duration(view.delay_s),
        )
    _more(table, len(hosts))
    return table


def _important(hosts: Sequence[HostView]) -> RenderableType | None:
    if not hosts:
        return None
    table = _headed("host", "importance", "fetched", "queued")
    for view in hosts[:ROWS_MAX]:
        figures = (f"{view.importance:.2f}", show_count(view.fetched), show_count(view.pending))
        table.add_row(Text(shorten(view.host, 60)), *figures)
    _more(table, len(hosts))
    return table


def _misleading(hosts: Sequence[HostView]) -> RenderableType | None:
    if not hosts:
        return None
    table = _grid(("", 0), ("", 0))
    for view in hosts[:ROWS_MAX]:
        table.add_row(Text(shorten(view.host, 60)), Text(escape(view.hints)))
    _more(table, len(hosts))
    return table


def _waiting(data: ReportData) -> RenderableType | None:
    waiting = data.waiting
    if not waiting.pages:
        return None
    levels = ", ".join(f"level {level}: {show_count(count)}" for level, count in enumerate(waiting.by_level) if count)
    late = f"late by {show_duration(waiting.median_s)} (median), {show_duration(waiting.most_s)} (most)"
    line = Text(f"{plural(waiting.pages, 'page')}, {late}; {levels}")
    if not data.behind:
        return line
    table = _headed("host", "put off", "queued", "gap")
    for view in data.behind[:ROWS_MAX]:
        figures = (show_count(view.late), show_count(view.pending), show_duration(view.delay_s))
        table.add_row(Text(shorten(view.host, 60)), *figures)
    _more(table, len(data.behind))
    return Group(line, table)


def _troubled(hosts: Sequence[HostView]) -> RenderableType | None:
    if not hosts:
        return None
    table = _grid(("", 0), ("right", 1), ("", 0))
    for view in hosts[:ROWS_MAX]:
        why = view.parked or view.why or view.robots
        table.add_row(Text(shorten(view.host, 60)), f"{show_count(view.failed)} failed", Text(escape(why)))
    _more(table, len(hosts))
    return table


def _mirrors(hosts: Sequence[HostView]) -> RenderableType | None:
    if not hosts:
        return None
    table = _grid(("", 0), ("right", 1), ("", 0))
    for view in hosts[:ROWS_MAX]:
        table.add_row(Text(shorten(view.host, 60)), show_count(view.fetched), Text(escape(view.copies)))
    _more(table, len(hosts))
    return table


def _copies(data: ReportData) -> RenderableType | None:
    if not data.duplicates:
        return None
    table = _grid(("right", 1), ("", 1), ("", 0))
    for group in data.duplicates[:ROWS_MAX]:
        table.add_row(show_count(group.copies), escape(group.kind), Text(shorten(group.original, URL_CELLS)))
    _more(table, len(data.duplicates))
    return table


def _grid(*columns: tuple[str, int]) -> Table:
    """A table without lines; a column is (justification, 1 when it must not wrap)."""
    table = Table.grid(padding=(0, 2))
    for justify, no_wrap in columns:
        table.add_column(justify="right" if justify == "right" else "left", no_wrap=bool(no_wrap), overflow="fold")
    return table


def _headed(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _more(table: Table, total: int) -> None:
    if total > ROWS_MAX:
        rest: Iterable[str] = [""] * (len(table.columns) - 1)
        table.add_row(Text(f"and {total - ROWS_MAX} more", style="dim"), *rest)
