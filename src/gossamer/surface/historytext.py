"""The history of a URL as lines of text: a table, one line for each visit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gossamer.model.view import History, Version
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_size

_HEAD: Final = ("time", "status", "verdict", "size", "stored", "digest", "record")
_RIGHT: Final = frozenset((3, 4))  # columns of numbers
_GAP: Final = "  "


def history_lines(history: History) -> Iterator[str]:
    """The URL and its state, the table, newest visit first, and what is not in it. Nothing wraps or is cut."""
    state = f", leads to {escape(history.redirect_to)}" if history.redirect_to else ""
    yield f"{escape(history.url)}: {history.state}{state}; {plural(history.visits, 'visit')}"
    yield ""
    rows = [_HEAD, *(_row(version) for version in history.versions)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row, version in zip(rows, (None, *history.versions), strict=True):
        yield _line(row, widths)
        if version is not None:
            yield from _notes(version)
    if history.unlisted:
        yield ""
        yield (
            f"{plural(history.unlisted, 'visit')} more left records that nothing names any more: "
            "the row of a URL names its last 100 captures, and a 304 is in no index"
        )


def _row(version: Version) -> tuple[str, ...]:
    return (
        moment(version.time),
        str(version.status or "-"),
        version.verdict,
        show_size(version.bytes),
        show_size(version.length),
        escape(version.digest) or "-",
        f"{escape(version.segment)}:{version.offset}",
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if column in _RIGHT else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return _GAP.join(cells).rstrip()


def _notes(version: Version) -> Iterator[str]:
    """Further lines of a visit, where there is more to say."""
    if version.url:
        yield f"{_GAP}fetched as {escape(version.url)}"
    if version.duplicate_of:
        yield f"{_GAP}the same as {escape(version.duplicate_of)}"
    if version.error:
        yield f"{_GAP}its text could not be compared: {escape(version.error)}"
