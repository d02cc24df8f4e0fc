"""A capacity plan on a terminal: what binds, the resources, then a table for each section.

Sizes are decimal here (1 kB is 1,000 bytes), as in the arithmetic of networks and disks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gossamer.model.plan import Figure, Kind, Plan, PlanInputs, PlanTable, Resource, Section, Unit
from gossamer.surface.glyphs import bar
from gossamer.surface.units import show_duration, write_duration

HOW_FROM_COLUMNS: Final = 100  # narrower terminals show the formulas only when asked, on lines of their own
BAR_FROM_COLUMNS: Final = 80
BAR_CELLS: Final = 16
NARROW_BAR_CELLS: Final = 8
LABEL_CELLS: Final = 42
NUMBER_CELLS: Final = 13
UNIT_CELLS: Final = 13
NEAR_FULL: Final = 0.8
SECONDS_SHOWN_MAX: Final = 120.0  # longer times are shown in minutes and hours
_SCALED: Final[Mapping[Unit, str]] = {"bytes": "B", "bytes/s": "B/s", "bits/s": "bit/s"}
_PREFIXES: Final = ("", "k", "M", "G", "T", "P", "E", "Z")
_WORDS: Final = ((1e15, None), (1e12, "trillion"), (1e9, "billion"), (1e6, "million"))
_ONE: Final[Mapping[Unit, str]] = {
    "pages": "page",
    "hosts": "host",
    "machines": "machine",
    "cores": "core",
    "days": "day",
    "years": "year",
    "months": "month",
}


def number_text(value: float) -> str:
    """A number for people, three figures or more: "926", "33.3 million", "0.0926", "1.00e+16"."""
    size = abs(value)
    for factor, word in _WORDS:
        if size >= factor * 0.9995:
            return f"{value:.2e}" if word is None else f"{_figures(value / factor)} {word}"
    if size >= 99.95 or math.isclose(value, round(value), rel_tol=1e-9):
        return f"{value:,.0f}"
    return _figures(value) if size >= 0.0095 else f"{value:.2g}" if size >= 1e-4 else f"{value:.1e}"


def _figures(value: float) -> str:
    size = abs(value)
    if size >= 9.995:
        return f"{value:.0f}" if size >= 99.95 else f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.995 else f"{value:.3g}"


def value_text(value: float | None, unit: Unit) -> tuple[str, str]:
    """The number and the unit as they are shown, "never" where there is no number."""
    if value is None:
        return "never", ""
    if unit in _SCALED:
        power = 0
        while abs(value) >= 999.5 and power < len(_PREFIXES) - 1:
            value, power = value / 1000, power + 1
        return (f"{value:,.0f}" if power == 0 else _figures(value)), _PREFIXES[power] + _SCALED[unit]
    if unit == "share":
        percent = value * 100
        return (f"{percent:.0f}" if percent in (0, 100) else number_text(percent)), "%"
    if unit == "seconds":
        if 1 <= value < SECONDS_SHOWN_MAX:
            return number_text(value), "s"
        number, _, word = show_duration(value).partition(" ")
        return number, word
    if unit == "times":
        return number_text(value), "×"
    text = number_text(value)
    return text, _ONE.get(unit, unit) if text == "1" else unit


def input_text(kind: Kind, value: float) -> str:
    """An input as a flag reads it."""
    if kind == "seconds":
        return write_duration(value)
    if kind == "share":
        return f"{value * 100:.6g}%"
    units = {"bytes": "B", "bits": "bps"}
    power = 0
    if kind in units:
        while abs(value) >= 1000 and power < len(_PREFIXES) - 1:
            value, power = value / 1000, power + 1
        return f"{value:.6g}{'' if power == 0 and kind == 'bytes' else _PREFIXES[power] + units[kind]}"
    for factor, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= factor:
            return f"{value / factor:.6g}{suffix}"
    return f"{value:.6g}"


class PlanView:
    """A plan, drawn for the width of the terminal."""

    def __init__(
        self, plan: Plan, preset: str, changed: Mapping[str, str], keys: tuple[str, ...], *, how: bool
    ) -> None:
        """Draw a plan.

        Args:
            plan: what is drawn.
            preset: name of where its inputs started from.
            changed: text of each input that differs from the preset, by flag.
            keys: sections to draw; all when empty.
            how: draw formulas on terminals that are too narrow to have them beside the figures.
        """
        self._plan = plan
        self._preset = preset
        self._changed = changed
        self._keys = keys
        self._how = how

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Called by rich."""
        plan = self._plan
        beside = options.max_width >= HOW_FROM_COLUMNS
        head = Text.assemble(("Capacity plan", "bold"), ("  preset ", "dim"), self._preset)
        for flag, text in self._changed.items():
            head.append(f"  {flag} {text}", style="cyan")
        yield head
        yield Text(_inputs_line(plan.inputs), style="dim")
        yield Text("")
        yield Text(plan.sentence, style=_load_style(plan.resources[0].load))
        yield Text("")
        bar_cells = BAR_CELLS if beside else NARROW_BAR_CELLS if options.max_width >= BAR_FROM_COLUMNS else 0
        yield _resources(plan.resources, bar_cells)
        label_cells = max(1, min(LABEL_CELLS, options.max_width - NUMBER_CELLS - UNIT_CELLS - 3))
        for section in plan.sections:
            if not self._keys or section.key in self._keys:
                yield _section(section, label_cells, beside=beside, below=self._how and not beside)


def _inputs_line(inputs: PlanInputs) -> str:
    hosts = number_text(min(inputs.hosts_ready, inputs.slots))
    gap_s = max(inputs.gap_s, inputs.response_factor * inputs.fetch_s)
    fetch, gap = (" ".join(value_text(seconds, "seconds")) for seconds in (inputs.fetch_s, gap_s))
    return (
        f"{number_text(inputs.pages_per_month)} pages a month of {' '.join(value_text(inputs.wire_bytes, 'bytes'))}; "
        f"{hosts} hosts, {fetch} a fetch, {gap} after it; {inputs.nics:g} × "
        f"{' '.join(value_text(inputs.nic_bits_per_s, 'bits/s'))}, {inputs.cores:g} cores, "
        f"{' '.join(value_text(inputs.disk_bytes, 'bytes'))} of disk"
    )


def _load_style(load: float) -> str:
    return "red" if load > 1 else "yellow" if load >= NEAR_FULL else "green"


def _resources(resources: tuple[Resource, ...], bar_cells: int) -> Table:
    """The table of resources; without room for bars it has no ceilings either."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("resource", no_wrap=True)
    names = ("load", "", "needed", "there is", "full at") if bar_cells else ("load", "needed", "there is")
    for name in names:
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for resource in resources:
        if resource.ceiling_pages_per_s is None:  # the crawl does not need it
            continue
        style = _load_style(resource.load)
        load = f"{resource.load:.1%}" if resource.load <= 1 else f"{number_text(resource.load)} ×"
        needed, unit = value_text(resource.demand, resource.unit)
        amounts = (
            f"{needed} {unit}" if resource.unit in _SCALED else needed,
            " ".join(value_text(resource.capacity, resource.unit)),
        )
        cells: tuple[RenderableType, ...] = (resource.name, Text(load, style=style))
        if bar_cells:
            ceiling = " ".join(value_text(resource.ceiling_pages_per_s, "pages/s"))
            cells = (*cells, bar(resource.load, bar_cells, style=style), *amounts, ceiling)
        else:
            cells = (*cells, *amounts)
        table.add_row(*cells)
    return table


def _section(section: Section, label_cells: int, *, beside: bool, below: bool) -> RenderableType:
    parts: list[RenderableType] = [Text(""), Text(section.title, style="bold")]
    if section.remark:
        parts.append(Text(f"  {section.remark}", style="italic dim"))
    parts.append(_figures_table(section.figures, label_cells, beside=beside, below=below))
    for table in section.tables:
        parts += [Text(""), Text(f"  {table.title}"), _points(table)]
    return Group(*parts)


def _figures_table(figures: tuple[Figure, ...], label_cells: int, *, beside: bool, below: bool) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=label_cells, overflow="fold")
    table.add_column(justify="right", no_wrap=True, width=NUMBER_CELLS)
    table.add_column(no_wrap=True, width=UNIT_CELLS)
    if beside:
        table.add_column(style="dim", overflow="fold")
    for figure in figures:
        number, unit = value_text(figure.value, figure.unit)
        label = Text(f"  {figure.label}")
        if below and figure.how:
            label.append(f"\n    {figure.how}", style="dim")
        cells = (label, Text(number, style="bold"), unit)
        table.add_row(*cells, figure.how) if beside else table.add_row(*cells)
    return table


def _points(points: PlanTable) -> Padding:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, (name, _) in enumerate(points.columns):
        table.add_column(name, justify="left" if index == 0 and isinstance(points.rows[0][0], str) else "right")
    for row in points.rows:
        table.add_row(*(_cell(value, unit) for value, (_, unit) in zip(row, points.columns, strict=True)))
    return Padding(table, (0, 0, 0, 2))


def _cell(value: str | float, unit: Unit) -> str:
    if isinstance(value, str):
        return value
    number, word = value_text(value, unit)
    return f"{number} {word}" if unit in {"share", "bytes", "times"} else number
