"""`gossamer rank`: which hosts matter, from the links between them. The job is `surface.rankjob`'s."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.surface.jsontext import json_text
from gossamer.surface.reading import require_crawl, show
from gossamer.surface.terminal import shorten
from gossamer.surface.units import plural, show_count, show_duration

if TYPE_CHECKING:
    from gossamer.surface.rankrow import Summary

HOST_CELLS = 50


class Method(StrEnum):
    """Ways to rank hosts."""

    PAGERANK = "pagerank"
    HARMONIC = "harmonic"


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(rank)


def rank(
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    method: Annotated[
        Method, typer.Option(help="pagerank, or harmonic centrality: how near the sites are that lead to a host.")
    ] = Method.PAGERANK,
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Rank the hosts of a crawl by the links between them, and keep the result for its priorities and refreshes.

    The crawl must not be running. A site counts once, however many hosts it has.
    """
    require_crawl(directory)
    from gossamer.surface.rankjob import rank_crawl

    started_s = time.monotonic()
    summary = rank_crawl(directory, method.value, time.time(), _progress())
    if json:
        typer.echo(json_text(summary))
    else:
        show(_told(summary, time.monotonic() - started_s))


def _progress() -> Callable[[int, int], None] | None:
    """Writes how many logs are read over the line before; nothing where nobody looks."""
    if not sys.stderr.isatty():
        return None

    def told(done: int, total: int) -> None:
        sys.stderr.write(f"\rlinks of {done:,} of {plural(total, 'segment')}{chr(10) if done == total else ''}")

    return told


def _told(summary: Summary, elapsed_s: float) -> RenderableType:
    name = "PageRank" if summary.method == Method.PAGERANK else "harmonic centrality"
    how = name if summary.exact else f"{name}, estimated (standard error 13 %)"
    ended = plural(summary.rounds, "round") + ("" if summary.settled else ", not settled")
    lines = [
        f"ranked     {plural(summary.hosts, 'host')} of {plural(summary.sites, 'site')} by {how}: {ended}",
        f"links      {show_count(summary.links)} between hosts of different sites, on {plural(summary.pages, 'page')}",
        f"written    {plural(summary.written, 'ledger')} in {show_duration(elapsed_s)}",
    ]
    if summary.left_out:
        lines.append(f"left out   {show_count(summary.left_out)} links and pages: no room, or never written")
    if not summary.links:
        lines.append("note       no links between sites: every host has importance 0")
        return Text("\n".join(lines))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("host", overflow="fold")
    table.add_column("importance", justify="right")
    table.add_column(name, justify="right")
    for top in (top for top in summary.top if top.importance):
        table.add_row(Text(shorten(top.host, HOST_CELLS)), f"{top.importance:.3f}", f"{top.value:.3g}")
    return Group(Text("\n".join(lines)), Text(""), table)
