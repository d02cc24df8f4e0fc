"""The text format of Prometheus (version 0.0.4): families of samples as text. What is measured is `serve.metrics`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


class Family(msgspec.Struct, frozen=True):
    """One metric with its samples."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    samples: list[tuple[str, Labels, float]]  # (suffix of the name, labels, value)


class Exposition:
    """Gathers samples; families appear in the order in which they were first named."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._families: dict[str, Family] = {}

    def _family(self, name: str, kind: Literal["counter", "gauge", "histogram"], text: str) -> Family:
        return self._families.setdefault(name, Family(name, kind, text, []))

    def counter(self, name: str, text: str, value: float, **labels: str) -> None:
        """A number that only grows; its name ends in _total."""
        self._family(name, "counter", text).samples.append(("", labels, value))

    def gauge(self, name: str, text: str, value: float, **labels: str) -> None:
        """A number of this moment."""
        self._family(name, "gauge", text).samples.append(("", labels, value))

    def histogram(self, name: str, text: str, edges: Iterable[tuple[float, int]], total: float, **labels: str) -> None:
        """A distribution: (upper edge, count) pairs that are not cumulative, ascending, and the sum of all values."""
        samples = self._family(name, "histogram", text).samples
        count = 0
        for edge, number in edges:
            count += number
            if not math.isinf(edge):
                samples.append(("_bucket", {**labels, "le": _number(edge)}, count))
        samples.append(("_bucket", {**labels, "le": "+Inf"}, count))
        samples.append(("_sum", labels, total))
        samples.append(("_count", labels, count))

    def text(self) -> bytes:
        """Everything."""
        lines = []
        for family in self._families.values():
            lines.append(f"# HELP {family.name} {_escaped(family.help)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            for suffix, labels, value in family.samples:
                told = ",".join(f'{name}="{_quoted(text)}"' for name, text in labels.items())
                lines.append(f"{family.name}{suffix}{{{told}}} {_number(value)}" if told else
                             f"{family.name}{suffix} {_number(value)}")  # fmt: skip
        return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _number(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
