"""`explain`, `verify` and lists of captures as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from gossamer.model.view import Explanation, Problem, Step, VerifyProgress, Visit
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_size

_MARKS: Final = {"ok": ("ok", "green"), "no": ("no", "bold red"), "wait": ("wait", "yellow"), "note": ("-", "dim")}


def moment(time: float) -> str:
    """Unix seconds as UTC text; "never" for 0."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}Z" if time else "never"


def render_explanation(explanation: Explanation) -> RenderableType:
    """Every step with its mark, in order; the answer first."""
    style = _MARKS[explanation.mark][1]
    head = Text.assemble((escape(explanation.url), "bold"), "\n", (escape(explanation.verdict), style))
    steps = Table.grid(padding=(0, 2))
    steps.add_column(no_wrap=True)
    steps.add_column(no_wrap=True)
    steps.add_column(overflow="fold")
    for step in explanation.steps:
        word, colour = _MARKS[step.mark]
        steps.add_row(Text(word, style=colour), Text(escape(step.name), style="bold"), _step_text(step))
    parts: list[RenderableType] = [head, Text(""), Padding(steps, (0, 0, 0, 2))]
    if explanation.visits:
        parts += [Text(""), Text("Stored copies, newest first"), render_visits(explanation.visits)]
    return Group(*parts)


def _step_text(step: Step) -> Text:
    text = Text(escape(step.text))
    for label, value in step.facts:
        text.append(f"\n{escape(label)}: ", style="dim")
        text.append(escape(value))
    return text


def render_visits(visits: Sequence[Visit]) -> RenderableType:
    """Captures of a URL, each with its record."""
    lines: list[RenderableType] = []
    for visit in visits:
        kind = "revisit" if visit.revisit else f"{escape(visit.media_type)}  {show_size(visit.bytes)}"
        lines.append(Text.assemble((moment(visit.time), "bold"), f"  {visit.status}  {kind}  {escape(visit.digest)}"))
        if visit.segment:
            record = f"{escape(visit.segment)} at {visit.offset:,}, {visit.length:,} bytes"
            lines.append(Padding(Text(record, style="dim", overflow="fold"), (0, 0, 0, 2)))
    return Padding(Group(*lines), (0, 0, 0, 2))


def problem_line(problem: Problem) -> str:
    """One problem of `verify`."""
    return f"{problem.kind}: {escape(problem.what)}: {escape(problem.text)}"


def verify_line(progress: VerifyProgress, problems: int) -> str:
    """What `verify` did and found."""
    found = plural(problems, "problem") if problems else "no problem found"
    return (
        f"{plural(progress.rows, 'row')} and {plural(progress.records, 'record')} in "
        f"{plural(progress.segments, 'WARC file')} ({show_size(progress.bytes)}) checked: {found}"
    )
