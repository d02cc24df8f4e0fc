"""Charts as HTML with inline SVG. Text is HTML, so that it keeps its size when a chart is narrow; shapes are SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from markupsafe import Markup

from gossamer.surface.terminal import escape
from gossamer.surface.units import show_count

LABELS_MAX: Final = 12
WIDE_LABELS: Final = 5
HEIGHT: Final = 100
GAP: Final = 0.16  # of a column's width


class Bar(msgspec.Struct, frozen=True):
    """One row of a bar chart. `colour` is a class of the page's style sheet."""

    label: str
    value: int
    colour: str = "accent"
    shown: str = ""  # instead of the number
    href: str = ""  # where its label leads


class Column(msgspec.Struct, frozen=True):
    """One column of a column chart; `below` is drawn in the failure colour from the base line."""

    label: str
    value: int
    below: int = 0
    title: str = ""


def bars(rows: Sequence[Bar]) -> Markup:
    """Horizontal bars with label and number; empty when there is nothing to show."""
    if not any(row.value for row in rows):
        return Markup()
    top = max(row.value for row in rows)
    return Markup('<div class="bars">{}</div>').format(Markup().join(_bar(row, top) for row in rows))


def _bar(row: Bar, top: int) -> Markup:
    return Markup(
        '<div class="bar">{label}'
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="10" rx="1"/>'
        '<rect class="{colour}" width="{width}" height="10" rx="1"/>'
        '</svg><span class="number">{value}</span></div>'
    ).format(
        label=_bar_label(row),
        colour=row.colour,
        width=f"{max(row.value / top * 100, 0.6 if row.value else 0):.2f}",
        value=escape(row.shown) or show_count(row.value),
    )


def _bar_label(row: Bar) -> Markup:
    name = escape(row.label)
    if row.href:
        return Markup('<a class="name" href="{}">{}</a>').format(row.href, name)
    return Markup('<span class="name">{}</span>').format(name)


def columns(points: Sequence[Column], *, wide: bool = False, top_label: str = "") -> Markup:
    """Vertical columns with labels beneath and the largest value above; empty when there is nothing to show.

    `top_label` stands for the largest value where the columns are in a unit of their own.
    """
    if not any(point.value or point.below for point in points):
        return Markup()
    top = max(max(point.value, point.below) for point in points)
    shapes = Markup().join(_column(index, point, top) for index, point in enumerate(points))
    return Markup(
        '<div class="columns{wide}"><div class="top">{top}</div>'
        '<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="{spoken}">'
        '<line class="rule" x1="0" x2="{width}" y1="0.5" y2="0.5"/>'
        '<line class="rule" x1="0" x2="{width}" y1="{half}" y2="{half}"/>{shapes}'
        '<line class="base" x1="0" x2="{width}" y1="{height}" y2="{height}"/></svg>{labels}</div>'
    ).format(
        wide=" wide" if wide else "",
        top=escape(top_label) or show_count(top),
        width=len(points) * 10,
        height=HEIGHT,
        half=HEIGHT // 2,
        spoken=escape(", ".join(point.title or f"{point.label}: {point.value}" for point in points[-LABELS_MAX:])),
        shapes=shapes,
        labels=_labels(points, wide=wide),
    )


def _column(index: int, point: Column, top: int) -> Markup:
    title = escape(point.title or f"{point.label}: {point.value:,}")
    shapes = [Markup("<title>{}</title>").format(title)]
    left = index * 10 + 10 * GAP / 2
    shapes.append(Markup('<rect class="hit" x="{}" width="10" height="{}"/>').format(index * 10, HEIGHT))
    for value, colour in ((point.value, "accent"), (point.below, "failed")):
        if value:
            height = max(value / top * HEIGHT, 1.0)
            shapes.append(
                Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
                    colour, f"{left:.2f}", f"{HEIGHT - height:.2f}", f"{10 * (1 - GAP):.2f}", f"{height:.2f}"
                )
            )
    return Markup("<g>{}</g>").format(Markup().join(shapes))


def _labels(points: Sequence[Column], *, wide: bool) -> Markup:
    if wide:  # evenly spaced, first and last at the ends
        last = len(points) - 1
        picked = sorted({round(step * last / (WIDE_LABELS - 1)) for step in range(WIDE_LABELS)})
        chosen = [points[index].label for index in picked]
    else:
        chosen = [point.label for point in points]
    cells = Markup().join(Markup("<span>{}</span>").format(escape(label)) for label in chosen)
    return Markup('<div class="labels">{}</div>').format(cells)
