"""Small charts made of characters: sparklines, bars, stacked bars; with ASCII forms for terminals without Unicode."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from rich.cells import cell_len
from rich.text import Text

_LEVELS: Final = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS: Final = "_.-=*#"
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
STATUS_STYLES: Final = {"2": "green", "3": "cyan", "4": "yellow", "5": "red"}


def resample(values: Sequence[float], count: int) -> list[float]:
    """At most `count` means of neighbouring values; fewer when there are fewer values."""
    if count <= 0 or not values:
        return []
    if len(values) <= count:
        return list(values)
    edges = [index * len(values) // count for index in range(count + 1)]
    return [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]


def spark(values: Sequence[float], width: int, *, ascii_only: bool = False) -> str:
    """A sparkline from zero to the largest value."""
    glyphs = _ASCII_LEVELS if ascii_only else _LEVELS
    points = resample(values, width)
    top = max(points, default=0.0)
    if top <= 0:
        return glyphs[0] * len(points)
    return "".join(glyphs[min(round(max(point, 0.0) / top * (len(glyphs) - 1)), len(glyphs) - 1)] for point in points)


def level_bars(counts: Sequence[int], *, ascii_only: bool = False) -> Text:
    """One glyph for each queue level, on a logarithmic scale so that small levels show: "0█ 1▅ 2▂ 3· …"."""
    glyphs = _ASCII_LEVELS if ascii_only else _LEVELS
    top = max(max(counts, default=0), 1).bit_length()
    text = Text(no_wrap=True)
    for level, count in enumerate(counts):
        text.append(f"{level}", style="dim")
        if count <= 0:
            text.append("." if ascii_only else "·", style="dim")
        else:
            text.append(glyphs[min(count.bit_length() * len(glyphs) // (top + 1), len(glyphs) - 1)], style="blue")
        text.append(" ")
    text.rstrip()
    return text


def bar(share: float, width: int, *, style: str = "blue", ascii_only: bool = False) -> Text:
    """A bar of `width` columns filled by a share from 0 to 1, in eighths of a column."""
    share = min(max(share, 0.0), 1.0)
    if ascii_only:
        full = round(share * width)
        return Text.assemble(("#" * full, style), ("-" * (width - full), "dim"))
    eighths = round(share * width * 8)
    full, part = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return Text.assemble((drawn, style), ("─" * (width - len(drawn)), "dim"))


def stacked(parts: Sequence[tuple[float, str]], width: int, *, ascii_only: bool = False) -> Text:
    """A bar of `width` columns in which each (amount, style) has its share; none that is not zero vanishes."""
    total = sum(amount for amount, _ in parts)
    text = Text(no_wrap=True)
    if total <= 0 or width <= 0:
        return text
    shown = [(amount, style) for amount, style in parts if amount > 0]
    cells = [max(1, int(amount / total * width)) for amount, _ in shown]
    while sum(cells) > width and max(cells) > 1:
        cells[cells.index(max(cells))] -= 1
    cells[cells.index(max(cells))] += max(width - sum(cells), 0)
    for index, ((_, style), count) in enumerate(zip(shown, cells, strict=True)):
        text.append(("=#*+%o"[index % 6] if ascii_only else "█") * count, style=style)
    return text


def pack(items: Sequence[Text], width: int, *, gap: str = "  ") -> Text:
    """Items beside each other as far as they fit in `width` columns; what does not fit is counted: "+3"."""
    text = Text(no_wrap=True, overflow="ellipsis")
    used = 0
    for index, item in enumerate(items):
        size = cell_len(item.plain) + (len(gap) if used else 0)
        left = len(items) - index - 1
        reserve = len(gap) + len(f"+{left + 1}") if left else 0
        if used and used + size + reserve > width:
            text.append(gap + f"+{left + 1}", style="dim")
            return text
        if used:
            text.append(gap)
        text.append_text(item)
        used += size
    return text


def status_style(status: str) -> str:
    """The colour of a status or of the name of a failure."""
    return STATUS_STYLES.get(status[:1], "magenta")
