"""The `get` command: stored copies of a URL, as they were received or decoded."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from gossamer.adapters.decode import applied_codings, decode_body
from gossamer.model.errors import UsageError
from gossamer.model.limits import GIB
from gossamer.model.page import Pointer
from gossamer.model.view import Visit
from gossamer.ports.archive import Capture
from gossamer.surface.explainview import moment, render_visits
from gossamer.surface.jsontext import json_text
from gossamer.surface.seeds import complete
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.times import choose, parse_time
from gossamer.surface.units import show_size

DECODED_MAX_BYTES: Final = 1 * GIB
OK: Final = 200
REDIRECT: Final = 300
NOT_MODIFIED: Final = 304
_NOTHING: Final = 1  # exit code: there is no copy


def get(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="A URL that was fetched.")],
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    at: Annotated[
        str,
        typer.Option("--at", metavar="TIME", help='The copy that was current then: "2026-01-31", "3 days ago"; UTC.'),
    ] = "",
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write to a file.")] = None,
    *,
    headers: Annotated[bool, typer.Option("--headers", help="The response head before the body.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="The body as received, content-encoding intact.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the stored copies.")] = False,
    json: Annotated[bool, typer.Option("--json", help="With --list: JSON.")] = False,
) -> None:
    """Print the stored copy of a URL: the newest, or that of --at."""
    from gossamer.surface.reading import opened

    moment_s = parse_time(at, time.time()) if at else None
    address = complete(url)
    with opened(ctx, directory) as reader:
        visits = reader.captures(address)
        if listed:
            _list(visits, json=json)
            return
        if not visits:
            sys.stderr.write(f"gossamer: {shorten(address, 200)}: no stored copy; gossamer explain tells why\n")
            raise typer.Exit(_NOTHING)
        visit = choose(visits, moment_s)
        _tell_disappearance(visit, visits)
        capture = reader.read(Pointer(visit.segment, visit.offset, visit.length))
    body = capture.payload if raw else decoded(capture)
    data = (capture.head_bytes if headers else b"") + body
    if output is not None:
        try:
            output.write_bytes(data)
        except OSError as error:
            raise UsageError(f"--output {escape(str(output))}: cannot be written: {error.strerror}") from error
    elif sys.stdout.isatty():
        _to_terminal(capture, data)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def _tell_disappearance(visit: Visit, visits: Sequence[Visit]) -> None:
    """Say that what is printed is no page but the answer that there is none, or that it is elsewhere."""
    if visit.record in {"", "metadata"} or visit.status == NOT_MODIFIED or OK <= visit.status < REDIRECT:
        return
    pages = [other for other in visits if OK <= other.status < REDIRECT and other.time < visit.time]
    last = (
        f'the last page is of {moment(pages[0].time)} (--at "{moment(pages[0].time)}")' if pages else "no page before"
    )
    sys.stderr.write(f"gossamer: the answer of {moment(visit.time)} was {visit.status}; {last}\n")


def decoded(capture: Capture) -> bytes:
    """The body without its content codings, as far as they apply and can be undone."""
    values = [value for name, value in capture.headers if name.lower() == "content-encoding"]
    codings, _ = applied_codings(values, capture.payload)
    return decode_body(capture.payload, codings, DECODED_MAX_BYTES).body


def _list(visits: Sequence[Visit], *, json: bool) -> None:
    if json:
        typer.echo(json_text(list(visits)))
    else:
        Console(highlight=False, markup=False, emoji=False).print(render_visits(visits))


def _to_terminal(capture: Capture, data: bytes) -> None:
    """Text with everything a terminal would obey written out; other bytes only into a file."""
    if b"\0" in data:
        raise UsageError(
            f"the copy of {shorten(capture.url, 100)} is {show_size(len(data))} that are not text; "
            "write it with --output FILE or redirect it"
        )
    for line in data.decode("utf-8", "replace").splitlines():
        typer.echo("    ".join(escape(part) for part in line.split("\t")))
