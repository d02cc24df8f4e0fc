"""Commands that look at a crawl: status, report, explain, verify, log.

`get` is in `surface.getting`, `history` and `diff` are in `surface.comparing`.
"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console, RenderableType

from gossamer.model.errors import EXIT_OK, EXIT_VERIFY, StoreError, UsageError
from gossamer.model.event import FetchEvent
from gossamer.model.url import name_of
from gossamer.model.view import Problem, VerifyProgress
from gossamer.surface import settings
from gossamer.surface.comparing import diff, history
from gossamer.surface.engine import CrawlReader
from gossamer.surface.explainview import problem_line, render_explanation, verify_line
from gossamer.surface.getting import get
from gossamer.surface.heritrix import format_heritrix
from gossamer.surface.jsontext import json_line, json_text
from gossamer.surface.logreader import read_events
from gossamer.surface.plain import notice_line, seed_failure_lines, summary_lines
from gossamer.surface.reporthtml import report_html
from gossamer.surface.reporttext import render_report
from gossamer.surface.seeds import complete
from gossamer.surface.statusfile import read_status
from gossamer.surface.terminal import escape

RUNNING_WITHIN_S = 30.0  # a running crawl rewrites its status file every two seconds
Dir = Annotated[Path, typer.Option("--dir", help="The crawl's directory.")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]
_CRAWL = Path("crawl")


class ReportFormat(StrEnum):
    """Forms of a report."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


class LogFormat(StrEnum):
    """Forms of a crawl-log line."""

    JSON = "json"
    HERITRIX = "heritrix"


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the program."""
    for command in (status, report, explain, get, history, diff, verify, log):
        app.command()(command)


@contextmanager
def opened(ctx: typer.Context, directory: Path) -> Iterator[CrawlReader]:
    """A crawl opened for reading, closed again at the end. Raises UsageError when there is no crawl."""
    from gossamer.surface.cli import engine_of

    require_crawl(directory)
    reader = engine_of(ctx).open_crawl(directory)
    try:
        yield reader
    finally:
        reader.close()


def require_crawl(directory: Path) -> None:
    """Raise UsageError unless the directory holds a crawl."""
    if not (directory / settings.FILE_NAME).is_file():
        where = escape(str(directory))
        raise UsageError(f"{where}: no crawl there ({settings.FILE_NAME} is missing); name its directory with --dir")


def show(what: RenderableType) -> None:
    """Print with the terminal's width and colours, or plainly where there is none."""
    Console(highlight=False, markup=False, emoji=False).print(what)


def status(ctx: typer.Context, directory: Dir = _CRAWL, *, json: Json = False) -> None:
    """Where a crawl stands; works while it runs."""
    require_crawl(directory)
    try:
        with opened(ctx, directory) as reader:
            snapshot = reader.snapshot()
    except StoreError:
        running = read_status(directory / "log")
        if running is None or running[1] > RUNNING_WITHIN_S:
            raise
        snapshot = running[0]
    if json:
        typer.echo(json_text(snapshot))
        return
    lines = summary_lines(snapshot)
    if snapshot.bound.sentence:
        lines.append(f"bound by   {snapshot.bound.name}: {escape(snapshot.bound.sentence)}")
    lines += [notice_line(notice) for notice in snapshot.notices] + seed_failure_lines(snapshot)
    typer.echo("\n".join(lines))


def report(
    ctx: typer.Context,
    directory: Dir = _CRAWL,
    form: Annotated[ReportFormat, typer.Option("--format", help="text, json or html.")] = ReportFormat.TEXT,
    output: Annotated[Path | None, typer.Option("--output", metavar="FILE", help="A file, or - for stdout.")] = None,
) -> None:
    """What came of a crawl: hosts, statuses, refusals; HTML has charts."""
    with opened(ctx, directory) as reader:
        data = reader.report()
    if form is ReportFormat.HTML and output is None and sys.stdout.isatty():
        output = directory / "reports" / "report.html"
    if form is ReportFormat.TEXT and (output is None or str(output) == "-"):
        show(render_report(data))
        return
    if form is ReportFormat.TEXT:
        console = Console(width=100, record=True, file=io.StringIO(), highlight=False, markup=False, emoji=False)
        console.print(render_report(data))
        text = console.export_text()
    else:
        text = report_html(data) if form is ReportFormat.HTML else json_text(data) + "\n"
    if output is None or str(output) == "-":
        sys.stdout.write(text)
        return
    try:
        if output.parent == directory / "reports":
            output.parent.mkdir(exist_ok=True)
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {escape(str(output))}: cannot be written: {error.strerror}") from error
    typer.echo(f"written to {escape(str(output))}")


def explain(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Any URL, known to the crawl or not.")],
    directory: Dir = _CRAWL,
    *,
    json: Json = False,
) -> None:
    """Why a URL was fetched or not: each step of its road."""
    with opened(ctx, directory) as reader:
        explanation = reader.explain(complete(url))
    if json:
        typer.echo(json_text(explanation))
    else:
        show(render_explanation(explanation))


def verify(ctx: typer.Context, directory: Dir = _CRAWL, *, json: Json = False) -> None:
    """Check that fetched pages, archive records and digests agree."""
    problems = 0
    last = VerifyProgress()
    with opened(ctx, directory) as reader:
        for item in reader.verify():
            if isinstance(item, Problem):
                problems += 1
                typer.echo(json_line(item) if json else problem_line(item))
            else:
                last = item
    if json:
        typer.echo(json_line({"problems": problems, **msgspec.structs.asdict(last)}))
    else:
        typer.echo(verify_line(last, problems))
    raise typer.Exit(EXIT_VERIFY if problems else EXIT_OK)


def log(
    directory: Dir = _CRAWL,
    form: Annotated[LogFormat, typer.Option("--format", help="json or heritrix (12 fields).")] = LogFormat.JSON,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Only visits of this host; any port if none is given.")
    ] = "",
    *,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="With --host: what was asked of it, counted.")] = False,
    json: Json = False,
) -> None:
    """Print the crawl log, oldest first; of one host for as long as 90 days back."""
    require_crawl(directory)
    wanted = host.strip().lower()
    if summary and (not wanted or follow):
        raise UsageError("--summary needs --host NAME, and does not go with --follow")

    def damaged(text: str) -> None:
        sys.stderr.write(f"gossamer: {escape(text)}\n")

    def wait(seconds: float) -> None:
        sys.stdout.flush()
        time.sleep(seconds)

    events = (
        event
        for event in read_events(directory / "log", damaged=damaged, wait=wait if follow else None, host=wanted)
        if wanted in ("", event.host, name_of(event.host))
    )
    if summary:
        from gossamer.surface.hostevidence import evidence_lines, evidence_of  # numpy: no other command waits for it

        found = evidence_of(wanted, events)
        typer.echo(json_text(found) if json else "\n".join(evidence_lines(found)))
        return
    for event in events:
        sys.stdout.write(_log_line(event, form) + "\n")


def _log_line(event: FetchEvent, form: LogFormat) -> str:
    return json_line(event) if form is LogFormat.JSON else format_heritrix(event)
