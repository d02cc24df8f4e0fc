"""`gossamer ping`: tell a crawl that pages have changed. What becomes of a ping is the core's to decide."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.adapters.spool import SpoolFullError, hand_in
from gossamer.model.errors import UsageError
from gossamer.model.ping import Ping
from gossamer.model.url import Url, parse
from gossamer.surface import settings
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ping)


def ping(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages that have changed.")],
    key: Annotated[str, typer.Option("--key", metavar="KEY", help="What their host serves at /KEY.txt.")],
    directory: Annotated[Path, typer.Option("--dir", help="The crawl.")] = Path("crawl"),
) -> None:
    """Tell a crawl that pages have changed, as IndexNow does.

    They are visited soon when their host shows the key. A crawl that does not run is told when it starts.
    """
    count = submit(directory, urls, key)
    where = escape(str(directory))
    typer.echo(f"{plural(count, 'URL')} handed to the crawl in {where}; gossamer report tells what comes of it")


def submit(directory: Path, urls: list[str], key: str) -> int:
    """Hand a ping to the crawl in a directory; how many URLs it names. Raises UsageError for what is not one."""
    if not (directory / settings.FILE_NAME).is_file():
        raise UsageError(f"there is no crawl in {escape(str(directory))}")
    wrong = next((url for url in urls if not isinstance(parse(url), Url)), None)
    if wrong is not None:
        raise UsageError(f"{escape(wrong)} is no http(s) URL")
    made = Ping(key=key, urls=tuple(dict.fromkeys(urls)))
    if made.fault():
        raise UsageError(made.fault())
    try:
        hand_in(directory, made)
    except SpoolFullError as error:
        raise UsageError("too many pings wait to be read by the crawl; try again when it runs") from error
    except OSError as error:
        raise UsageError(f"the ping cannot be written to {escape(str(directory))}: {error.strerror}") from error
    return len(made.urls)
