"""What a benchmark says: rows with an aim, a figure and a verdict. Kept in docs/performance.json, told as a table."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from bench.harness import calibration_ms, machine

DOCS: Final = Path(__file__).parents[1] / "docs"
RESULTS: Final = DOCS / "performance.json"
DIGITS: Final = 3  # significant ones of a figure
MISSED: Final = 3  # exit code of a benchmark that ran and missed an aim; 1 is a fault's


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. With `most` or `least` it has an aim; `note` says how it came about, or why it misses its aim."""

    name: str
    value: float
    unit: str = ""
    most: float | None = None
    least: float | None = None
    note: str = ""

    @property
    def holds(self) -> bool | None:
        """Whether the aim is reached; None when there is none."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.value <= self.most) and (self.least is None or self.value >= self.least)

    @property
    def aim(self) -> str:
        """The aim in words; "" when there is none."""
        parts = [] if self.least is None else [f"at least {figure(self.least)}"]
        parts += [] if self.most is None else [f"at most {figure(self.most)}"]
        return " and ".join(parts) + (f" {self.unit}" if parts and self.unit else "")


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """What one benchmark found."""

    place: int  # in the table
    name: str  # of its module in bench/
    title: str
    command: str
    date: str
    machine: str
    busy: float  # wall clock over CPU of a fixed piece of work, the worse of before and after; 1: a quiet machine
    took_s: float
    rows: tuple[Row, ...]


def figure(value: float) -> str:
    """A number with as many digits as mean something."""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{DIGITS}g}"
    return f"{float(text):g}" if "e" in text else text


def busy() -> float:
    """Wall clock over CPU of a fixed piece of Python: 1 when nobody else wants this core."""
    began = time.perf_counter()
    cpu_ms = calibration_ms()
    return max(1.0, (time.perf_counter() - began) * 1000 / cpu_ms)


class Bench:
    """Collects the rows of one benchmark while it runs."""

    def __init__(self, place: int, name: str, title: str) -> None:
        self.rows: list[Row] = []
        self._place, self._name, self._title = place, name, title
        self._began = time.monotonic()
        self._busy = busy()

    def row(
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        most: float | None = None,
        least: float | None = None,
        note: str = "",
    ) -> Row:
        """Add a row, and print it as it comes."""
        row = Row(name=name, value=value, unit=unit, most=most, least=least, note=note)
        self.rows.append(row)
        verdict = {None: "", True: "  holds", False: "  DOES NOT HOLD"}[row.holds]
        aim = f"  (aim: {row.aim})" if row.aim else ""
        print(f"  {name}: {figure(value)} {unit}{aim}{verdict}{f'  [{note}]' if note else ''}", flush=True)
        return row

    def finish(self, *, keep: bool) -> int:
        """Keep the rows if that is wanted; MISSED when an aim is not reached, else 0."""
        section = Section(
            place=self._place,
            name=self._name,
            title=self._title,
            command=" ".join(
                ["python -m", f"bench.{self._name}", *(word for word in sys.argv[1:] if word != "--keep")]
            ),
            date=time.strftime("%Y-%m-%d", time.gmtime()),
            machine=machine(),
            busy=round(max(self._busy, busy()), 2),
            took_s=round(time.monotonic() - self._began, 1),
            rows=tuple(self.rows),
        )
        print(f"  busy: {section.busy:g} (1: a quiet machine), {section.took_s:g} s")
        if keep:
            write(section)
        return MISSED if any(row.holds is False for row in self.rows) else 0


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Arguments that every benchmark has."""
    found = argparse.ArgumentParser(description=doc)
    found.add_argument("--keep", action="store_true", help="write what was found into docs/performance.json")
    return found


def read(path: Path = RESULTS) -> dict[str, Section]:
    """What was kept, by the benchmark's name; nothing when there is no file. Raises msgspec.DecodeError."""
    if not path.exists():
        return {}
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Section])


def write(section: Section, path: Path = RESULTS) -> None:
    """Put one benchmark's findings in the place of its earlier ones."""
    kept = read(path)
    kept[section.name] = section
    ordered = dict(sorted(kept.items(), key=lambda item: item[1].place))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def markdown(sections: dict[str, Section]) -> str:
    """The one table, and the commands."""
    lines = ["| what | aim | measured | reached |", "| --- | --- | ---: | --- |"]
    for section in sorted(sections.values(), key=lambda each: each.place):
        lines.append(f"| **{section.title}** | | | |")
        for row in section.rows:
            verdict = {None: "", True: "yes", False: "**no**"}[row.holds]
            note = f"<br>{row.note}" if row.note else ""
            lines.append(
                f"| {row.name}{note} | {row.aim} | {figure(row.value)} {row.unit} | {verdict} |".replace("  ", " ")
            )
    lines += ["", "| command | day | how busy the machine was | took |", "| --- | --- | ---: | ---: |"]
    lines += [
        f"| `{section.command}` | {section.date} | {section.busy:.2f} | {section.took_s:,.0f} s |"
        for section in sorted(sections.values(), key=lambda each: each.place)
    ]
    return "\n".join(lines) + "\n"


def plain(sections: dict[str, Section]) -> str:
    """The same table for a terminal."""
    text = markdown(sections).replace("**", "").replace("<br>", " — ").replace("`", "")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    rows = [row for row in rows if not all(re.fullmatch(r"-+:?", cell) for cell in row)]
    widths = [max((min(len(row[n]), 70) for row in rows if n < len(row)), default=0) for n in range(4)]
    return "\n".join("  ".join(f"{cell:<{widths[n]}}" for n, cell in enumerate(row)).rstrip() for row in rows) + "\n"
