"""The commands `history` and `diff`: what became of a URL over its visits, and how the text of its page changed."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from gossamer.model.view import Visit
from gossamer.surface.comparison import compare
from gossamer.surface.difftext import diff_lines, in_colour
from gossamer.surface.engine import CrawlReader
from gossamer.surface.explainview import moment
from gossamer.surface.historytext import history_lines
from gossamer.surface.jsontext import json_text
from gossamer.surface.seeds import complete
from gossamer.surface.terminal import shorten
from gossamer.surface.times import choose, parse_time

CONTEXT_MAX: Final = 1_000
LAST_MAX: Final = 100_000
NOTHING: Final = 1  # exit code: there is no copy
Address = Annotated[str, typer.Argument(metavar="URL", help="A URL that was fetched.")]
Dir = Annotated[Path, typer.Option("--dir", help="The crawl's directory.")]
_CRAWL: Final = Path("crawl")


def history(
    ctx: typer.Context,
    url: Address,
    directory: Dir = _CRAWL,
    last: Annotated[
        int, typer.Option("--last", metavar="N", min=1, max=LAST_MAX, help="Only the newest N visits.")
    ] = LAST_MAX,
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Every visit of a URL that left a record: when, its status, what it brought, where it is stored."""
    from gossamer.surface.reading import opened

    address = complete(url)
    with opened(ctx, directory) as reader:
        told = reader.history(address, last)
    if told is None or not told.versions:
        _say_nothing(address)
    elif json:
        typer.echo(json_text(told))
    else:
        typer.echo("\n".join(history_lines(told)))


def diff(
    ctx: typer.Context,
    url: Address,
    directory: Dir = _CRAWL,
    since: Annotated[
        str, typer.Option("--from", metavar="TIME", help='The page of that time: "2026-01-31", "3 days ago".')
    ] = "",
    until: Annotated[str, typer.Option("--to", metavar="TIME", help="The page to compare it with.")] = "",
    context: Annotated[
        int, typer.Option("--context", metavar="N", min=0, max=CONTEXT_MAX, help="Unchanged lines around changes.")
    ] = 3,
    *,
    words: Annotated[bool, typer.Option("--words", help="Compare changed lines word by word.")] = False,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """How the main text of a page changed: between the newest copy and the one before, or between two times."""
    from gossamer.surface.reading import opened
    from gossamer.surface.versions import pointer_of

    now = time.time()
    since_s = parse_time(since, now, "--from") if since else None
    until_s = parse_time(until, now, "--to") if until else None
    address = complete(url)
    with opened(ctx, directory) as reader:
        old, new = _sides(reader, address, since_s, until_s)
        sides = [(visit, reader.text(pointer_of(visit))) for visit in (old, new)]
    compared = compare(address, sides[0], sides[1], words=words, context=context)
    if json:
        typer.echo(json_text(compared))
    else:
        sys.stdout.writelines(f"{line}\n" for line in diff_lines(compared, colour=in_colour()))


def _sides(reader: CrawlReader, address: str, since_s: float | None, until_s: float | None) -> tuple[Visit, Visit]:
    """The two copies to compare: of the times asked for, else the newest page, and the one before with other bytes."""
    from gossamer.surface.versions import is_page

    pages = [visit for visit in reader.captures(address) if is_page(visit)]
    if not pages:
        _say_nothing(address)
    new = choose(pages, until_s)
    if since_s is not None:
        return choose(pages, since_s), new
    older = pages[pages.index(new) + 1 :]
    if not older:
        _end(f"{shorten(address, 200)}: one page is stored, of {moment(new.time)}; none before it to compare")
    return next((page for page in older if page.digest != new.digest), older[0]), new


def _say_nothing(address: str) -> NoReturn:
    _end(f"{shorten(address, 200)}: no stored page; gossamer explain tells why")


def _end(text: str) -> NoReturn:
    sys.stderr.write(f"gossamer: {text}\n")
    raise typer.Exit(NOTHING)
