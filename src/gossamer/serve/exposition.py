"""Families of samples, and the text format of Prometheus (version 0.0.4) for them. What is measured is `serve.metrics`;
the same families go to a collector by `serve.otlp`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
Kind = Literal["counter", "gauge", "histogram"]


class Point(msgspec.Struct, frozen=True):
    """One value."""

    labels: Labels
    value: float


class Spread(msgspec.Struct, frozen=True):
    """One distribution."""

    labels: Labels
    edges: tuple[tuple[float, int], ...]  # (upper edge, values up to it and above the one before), ascending
    total: float  # sum of all values

    @property
    def count(self) -> int:
        """How many values there are."""
        return sum(number for _, number in self.edges)


class Family(msgspec.Struct, frozen=True):
    """One metric with its samples."""

    name: str
    kind: Kind
    help: str
    since: float  # unix seconds from when it is counted; 0: from some earlier time, that is not known
    points: list[Point]
    spreads: list[Spread]  # of a histogram


class Exposition:
    """Gathers samples; families appear in the order in which they were first named."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._families: dict[str, Family] = {}
        self.since = 0.0  # of the families that are named next

    @property
    def families(self) -> list[Family]:
        """All of them."""
        return list(self._families.values())

    def _family(self, name: str, kind: Kind, text: str) -> Family:
        return self._families.setdefault(name, Family(name, kind, text, self.since, [], []))

    def counter(self, name: str, text: str, value: float, /, **labels: str) -> None:
        """A number that only grows; its name ends in _total."""
        self._family(name, "counter", text).points.append(Point(labels, value))

    def gauge(self, name: str, text: str, value: float, /, **labels: str) -> None:
        """A number of this moment."""
        self._family(name, "gauge", text).points.append(Point(labels, value))

    def histogram(
        self, name: str, text: str, edges: Iterable[tuple[float, int]], total: float, /, **labels: str
    ) -> None:
        """A distribution: (upper edge, count) pairs that are not cumulative, ascending, and the sum of all values."""
        self._family(name, "histogram", text).spreads.append(Spread(labels, tuple(edges), total))

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        lines = []
        for family in self._families.values():
            lines.append(f"# HELP {family.name} {_escaped(family.help)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += [_line(family.name, point.labels, point.value) for point in family.points]
            for spread in family.spreads:
                lines += _spread_lines(family.name, spread)
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _spread_lines(name: str, spread: Spread) -> list[str]:
    lines, count = [], 0
    for edge, number in spread.edges:
        count += number
        if not math.isinf(edge):
            lines.append(_line(f"{name}_bucket", {**spread.labels, "le": _number(edge)}, count))
    lines.append(_line(f"{name}_bucket", {**spread.labels, "le": "+Inf"}, count))
    lines.append(_line(f"{name}_sum", spread.labels, spread.total))
    lines.append(_line(f"{name}_count", spread.labels, count))
    return lines


def _line(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_quoted(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {_number(value)}" if told else f"{name} {_number(value)}"


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
