"""`gossamer links`: what leads to a page, as far as that is kept.

Links are not kept page by page (docs/decisions/importance.md). What is: the page on which each URL was first found,
redirects, copies and rel=canonical in the URL table, and in the link log which hosts lead to which.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.model.errors import UsageError
from gossamer.model.url import Url, parse
from gossamer.surface.jsontext import json_text
from gossamer.surface.reading import require_crawl, show
from gossamer.surface.seeds import complete
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.units import plural, show_count

if TYPE_CHECKING:
    from gossamer.surface.linkfacts import HostLinks, Links, Ties

CELLS: Final = 90


def register(app: typer.Typer) -> None:
    """Add the command to the program."""
    app.command()(links)


def links(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page asked about.")],
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """What leads to a page: where it was found, redirects, copies; which hosts lead to its host, and where it leads.

    Reads the whole URL table and the whole link log, whose last minute may be missing while the crawl runs.
    """
    require_crawl(directory)
    asked = parse(complete(url))
    if not isinstance(asked, Url):
        raise UsageError(f"{escape(url)} is no http(s) URL")
    from gossamer.surface.linkfacts import links_of

    found = links_of(directory, asked)
    if json:
        typer.echo(json_text(found))
    else:
        show(_told(found))


def _told(found: Links) -> RenderableType:
    lines = [escape(found.url) + ("" if found.known else ": not known to this crawl")]
    if found.found_on:
        as_what = "found on  " if "/" in found.found_on else "found as a"
        lines.append(f"{as_what} {shorten(found.found_on, CELLS)}")
    for words, ties in (
        ("redirects to it", found.redirects),
        ("copies of it", found.copies),
        ("rel=canonical names it", found.canonicals),
        ("first found on it", found.found),
    ):
        lines += _tie_lines(words, ties)
    parts: list[RenderableType] = [Text("\n".join(lines))]
    parts += _table(f"that lead to {escape(found.host)}", found.leading)
    parts += _table(f"that {escape(found.host)} leads to", found.led)
    if found.left_out:
        parts.append(Text(f"\n{show_count(found.left_out)} links are not in the log: too many on a page, or no room"))
    return Group(*parts)


def _tie_lines(words: str, ties: Ties) -> Iterator[str]:
    if ties.total:
        yield f"{words}: {show_count(ties.total)}"
        yield from (f"  {shorten(url, CELLS)}" for url in ties.urls)
        if ties.total > len(ties.urls):
            yield f"  and {show_count(ties.total - len(ties.urls))} more"


def _table(words: str, links: HostLinks) -> list[RenderableType]:
    if not links.hosts:
        return [Text(f"\nhosts {words}: none")]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("host", overflow="fold")
    table.add_column("pages", justify="right")
    for host, pages in links.named:
        table.add_row(Text(shorten(host, CELLS)), show_count(pages))
    more = links.hosts - len(links.named)
    rest = [Text(f"and {plural(more, 'host')} more", style="dim")] if more else []
    return [Text(f"\nhosts {words}: {show_count(links.hosts)} of {plural(links.sites, 'site')}"), table, *rest]
