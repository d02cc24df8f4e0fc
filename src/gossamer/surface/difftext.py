"""A comparison of two stored copies as lines of text, in colour or not: a unified diff of their main texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import typer
from rich.console import Console

from gossamer.surface.comparison import Comparison, Hunk, Piece, Side
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_size

_COLOURS: Final = {"-": "red", "+": "green"}
_BRACKETS: Final = {"-": "[-{}-]", "+": "{{+{}+}}", " ": "{}"}  # as `git diff --word-diff` marks them


def in_colour() -> bool:
    """Whether standard output is a terminal that shows colours and was not told not to."""
    console = Console()
    return console.is_terminal and console.color_system is not None and not console.no_color


def diff_lines(compared: Comparison, *, colour: bool) -> Iterator[str]:
    """The two copies, then the hunks. Whatever a page says is escaped; nothing wraps or is cut."""
    yield _painted(f"--- {_side(compared.url, compared.old)}", "-", colour=colour)
    yield _painted(f"+++ {_side(compared.url, compared.new)}", "+", colour=colour)
    for side, name in ((compared.old, "old"), (compared.new, "new")):
        if side.error:
            yield f"the {name} copy could not be read whole: {escape(side.error)}"
        if side.cut:
            yield f"of the {name} copy only the first {side.chars:,} characters are compared"
    if compared.old.title != compared.new.title:
        yield _painted(f"-title: {escape(compared.old.title)}", "-", colour=colour)
        yield _painted(f"+title: {escape(compared.new.title)}", "+", colour=colour)
    yield from _verdict(compared)
    for hunk in compared.hunks:
        yield from _hunk(hunk, colour=colour)


def _side(url: str, side: Side) -> str:
    kind = escape(side.media_type) or "-"
    return f"{escape(url)}  {moment(side.time)}  {side.status}  {kind}  {show_size(side.bytes)}  {escape(side.digest)}"


def _verdict(compared: Comparison) -> Iterator[str]:
    """One line, where the hunks do not say it all."""
    if compared.same_payload:
        yield "both have the same payload"
    elif not compared.is_text:
        if not compared.old.error and not compared.new.error:
            yield "the payloads differ, and there is no text in them to compare"
    elif not compared.hunks:
        yield f"the payloads differ, the main text is the same ({plural(compared.new.chars, 'character')})"
    elif compared.unchanged:
        yield "so little changed that the crawl counts it as no change"


def _hunk(hunk: Hunk, *, colour: bool) -> Iterator[str]:
    head = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"
    yield typer.style(head, fg="cyan") if colour else head
    for line in hunk.lines:
        if len(line) == 1:
            yield _painted(line[0].sign + escape(line[0].text), line[0].sign, colour=colour)
        else:
            yield "~" + " ".join(_word_run(piece, colour=colour) for piece in line)


def _word_run(piece: Piece, *, colour: bool) -> str:
    text = escape(piece.text)
    return _painted(text, piece.sign, colour=True) if colour else _BRACKETS[piece.sign].format(text)


def _painted(text: str, sign: str, *, colour: bool) -> str:
    return typer.style(text, fg=_COLOURS[sign]) if colour and sign in _COLOURS else text
