"""`gossamer doctor`: what binds a crawl and what to change, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.surface.doctor import Diagnosis, diagnose
from gossamer.surface.jsontext import json_text
from gossamer.surface.terminal import escape


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(doctor)


def doctor(
    where: Annotated[Path | None, typer.Argument(metavar="DIR", help="The crawl's directory.")] = None,
    directory: Annotated[Path, typer.Option("--dir", help="The same, as with the other commands.")] = Path("crawl"),
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Which resource binds the crawl now, why that is thought, and what to change."""
    from gossamer.surface.doctorlook import look
    from gossamer.surface.reader import Reader
    from gossamer.surface.reading import require_crawl

    place = where or directory
    require_crawl(place)
    reader = Reader(place)
    try:
        found = diagnose(look(reader))
    finally:
        reader.close()
    typer.echo(json_text(found) if json else "\n".join(diagnosis_lines(found)))


def diagnosis_lines(found: Diagnosis) -> list[str]:
    """A diagnosis as text."""
    lines = [f"bound by   {found.resource.value}: {escape(found.sentence)}"]
    lines += [f"evidence   {escape(text)}" for text in found.evidence]
    lines += [f"change     {escape(text)}" for text in found.advice]
    for note in found.notes:
        advice = f" ({escape(note.advice)})" if note.advice else ""
        lines.append(f"{note.severity:<10} {escape(note.text)}{advice}")
    return lines
