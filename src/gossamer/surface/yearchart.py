"""A simulated year as one SVG file: six small charts over the same days."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.sim.year import Year

WIDTH: Final = 860
PANEL_WIDTH: Final = 340
PANEL_HEIGHT: Final = 150
LEFT: Final = 56
TOP: Final = 56
ACROSS: Final = 430  # from one panel to the one beside it
DOWN: Final = 236
TICKS: Final = 4
COLOURS: Final = ("#0969da", "#8b949e")
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.dim{fill:#59636e}.title{font-weight:600}"
    ".rule{stroke:#d1d9e0}.bound{stroke:#cf222e;stroke-dasharray:4 4}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.rule{stroke:#3d444d}}"
)


class Line(msgspec.Struct, frozen=True):
    """One curve."""

    name: str
    values: tuple[float, ...]


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One chart."""

    title: str
    lines: tuple[Line, ...]
    share: bool = False  # values are shares, shown as percentages
    bound: float | None = None  # what must not be exceeded


def chart(year: Year) -> str:
    """Freshness, age, waste and duplicates, and what is known, over the days."""
    days = [week.day for week in year.weeks]
    height = TOP + 3 * DOWN
    shapes = [
        _panel(panel, days, LEFT + number % 2 * ACROSS, TOP + number // 2 * DOWN)
        for number, panel in enumerate(panels(year))
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Freshness, age, visits in vain, duplicates and pages known over a simulated year">\n'
        f"<style>{STYLE}</style>\n" + "\n".join(shapes) + "\n</svg>\n"
    )


def panels(year: Year) -> tuple[Panel, ...]:
    """What is drawn."""
    weeks = year.weeks
    states = [week.state for week in weeks]
    full = duplicates = 0
    shares: list[float] = []
    for week in weeks:
        full, duplicates = full + week.stored.full, duplicates + week.stored.duplicates
        shares.append(duplicates / max(1, full))
    return (
        Panel(
            title="Freshness, weighted by importance",
            lines=(
                Line("this policy", tuple(state.fresh for state in states)),
                Line("every page equally often", tuple(state.equal for state in states)),
            ),
            share=True,
        ),
        Panel(
            title="Days for which stale texts have been so, mean",
            lines=(Line("days", tuple(state.age_days for state in states)),),
        ),
        Panel(
            title="Visits of known pages",
            lines=(
                Line("in vain", tuple(week.visits.vain / max(1, week.visits.refreshes) for week in weeks)),
                Line("rechecks", tuple(week.visits.rechecks / max(1, week.visits.refreshes) for week in weeks)),
            ),
            share=True,
        ),
        Panel(
            title="Duplicates among the payload bytes stored",
            lines=(Line("so far", tuple(shares)), Line("in the week", tuple(week.stored.share for week in weeks))),
            share=True,
            bound=0.05,
        ),
        Panel(
            title="Texts",
            lines=(
                Line("held", tuple(float(state.held) for state in states)),
                Line("there", tuple(float(state.live) for state in states)),
            ),
        ),
        Panel(
            title="Gone, and taken for live",
            lines=(Line("addresses", tuple(float(state.unnoticed) for state in states)),),
        ),
    )


def _panel(panel: Panel, days: Sequence[float], left: int, top: int) -> str:
    highest = max([panel.bound or 0.0, *(value for line in panel.lines for value in line.values)])
    step = _step(highest)
    ceiling = step * math.ceil(highest / step - 1e-9)
    last = max(days, default=1.0)
    bottom = top + PANEL_HEIGHT

    def y(value: float) -> float:
        return bottom - value / ceiling * PANEL_HEIGHT

    shapes = [f'<text class="title" x="{left}" y="{top - 34}">{panel.title}</text>']
    at = float(left)
    for line, colour in zip(panel.lines, COLOURS, strict=False):
        shapes.append(f'<rect x="{at:.0f}" y="{top - 22}" width="12" height="3" fill="{colour}"/>')
        shapes.append(f'<text class="dim" x="{at + 17:.0f}" y="{top - 16}">{line.name}</text>')
        at += 36 + 6.6 * len(line.name)
    for number in range(round(ceiling / step) + 1):
        value = number * step
        shapes.append(
            f'<line class="rule" x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'
        )
        shown = f"{value:.0%}" if panel.share else f"{value:,.0f}"
        shapes.append(f'<text class="dim" x="{left - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{shown}</text>')
    if panel.bound is not None:
        at_bound = y(panel.bound)
        shapes.append(
            f'<line class="bound" x1="{left}" x2="{left + PANEL_WIDTH}" y1="{at_bound:.1f}" y2="{at_bound:.1f}"/>'
        )
    for number in range(TICKS + 1):
        x, day = left + PANEL_WIDTH * number / TICKS, f"{last * number / TICKS:.0f}"
        shown = day if number else "day 0"
        shapes.append(f'<text class="dim" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{shown}</text>')
    for line, colour in zip(panel.lines, COLOURS, strict=False):
        points = " ".join(
            f"{left + day / last * PANEL_WIDTH:.1f},{y(value):.1f}"
            for day, value in zip(days, line.values, strict=True)
        )
        shapes.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return "\n".join(shapes)


def _step(highest: float) -> float:
    """A round step between rules, so that there are three to six."""
    rough = max(highest, 1e-9) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * times for times in (1.0, 2.0, 5.0, 10.0) if power * times >= rough * 0.99)
