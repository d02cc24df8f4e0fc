"""`gossamer export`: a selection of the archive as WARC files of its own."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.model.errors import UsageError
from gossamer.model.limits import GIB, MIB
from gossamer.model.takedown import Target, TargetKind
from gossamer.policy.selection import STATUS_ALLOWED, Selection, check_status, places_of, words_of
from gossamer.policy.takedown import TargetError
from gossamer.surface import checks, settings
from gossamer.surface.jsontext import json_text
from gossamer.surface.kinds import BadValueError, Size
from gossamer.surface.reading import require_crawl
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.times import parse_time
from gossamer.surface.units import plural, show_size

if TYPE_CHECKING:
    from gossamer.surface.exportrun import Report

TYPE_ALLOWED: Final = 'a media type such as "text/html", or "image/" for all of a type'
_SEGMENT: Final = Size(1 * MIB, 1024 * GIB)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    target: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to; it must not be there yet.")],
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    hosts: Annotated[
        list[str] | None, typer.Option("--host", metavar="HOST", help="Only this host; at every port if none is given.")
    ] = None,
    sites: Annotated[
        list[str] | None, typer.Option("--site", metavar="NAME", help="Only this name and every name under it.")
    ] = None,
    prefixes: Annotated[
        list[str] | None, typer.Option("--prefix", metavar="URL", help="Only addresses that begin so.")
    ] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--pattern", metavar="GLOB", help="Only addresses that match; * is any text.")
    ] = None,
    since: Annotated[str, typer.Option(metavar="TIME", help="Only visits from then on.")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Only visits until then.")] = "",
    statuses: Annotated[
        list[str] | None, typer.Option("--status", metavar="N", help="Only this status, as in 200 or 4xx.")
    ] = None,
    types: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help='Only this media type; "image/": all of them.')
    ] = None,
    segment_size: Annotated[
        str, typer.Option("--segment-size", metavar="SIZE", help="Where a file ends; else as the crawl's.")
    ] = "",
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Copy visits into WARC files of their own, without what is taken down. All of them if nothing is said.

    Options of one kind add up, those of several kinds must all hold. The crawl may run.
    """
    from gossamer.stage.fetch import user_agent
    from gossamer.surface.exportrun import Export

    require_crawl(directory)
    kinds: list[tuple[TargetKind, list[str] | None]] = [
        ("host", hosts), ("site", sites), ("prefix", prefixes), ("pattern", patterns)
    ]  # fmt: skip
    targets = [Target(kind, value) for kind, values in kinds for value in values or ()]
    selection = _selection(targets, since, until, statuses or [], types or [])
    config = settings.load(directory / settings.FILE_NAME, directory=str(directory))
    size = _size(segment_size) if segment_size else config.archive.segment_bytes
    run = Export(directory / "archive", target, selection, segment_bytes=size, agent=user_agent(config))
    report = run.run(words_of(selection, targets))
    typer.echo(json_text(report) if json else "\n".join(lines_of(report, target)))


def _selection(targets: list[Target], since: str, until: str, statuses: list[str], types: list[str]) -> Selection:
    for target in targets:
        try:
            places_of([target])
        except TargetError as error:
            shown = shorten(target.value, 80)
            allowed = error.allowed.removeprefix("allowed: ")
            raise UsageError(f"--{target.kind} {shown} is not allowed ({error}); it must be {allowed}") from error
    for status in statuses:
        if check_status(status) is not None:
            raise UsageError(f"--status {shorten(status, 40)} is not allowed; it must be {STATUS_ALLOWED}")
    for media_type in types:
        try:
            checks.plain(media_type)
            checks.media_type(media_type)
        except ValueError as error:
            shown = shorten(media_type, 80)
            raise UsageError(f"--type {shown} is not allowed ({error}); it must be {TYPE_ALLOWED}") from error
    now = time.time()
    first = parse_time(since, now, "--since", first=True) if since else -math.inf
    last = parse_time(until, now, "--until") if until else math.inf
    if first > last:
        raise UsageError(f"--since {escape(since)} is after --until {escape(until)}")
    kept = () if "*" in types else types
    return Selection(
        places=places_of(targets), since=first, until=last, statuses=frozenset(statuses), types=frozenset(kept)
    )


def _size(text: str) -> int:
    try:
        found = _SEGMENT.read(text)
    except BadValueError as error:
        raise UsageError(f"--segment-size {escape(text)} is not allowed; it must be {_SEGMENT.allowed}") from error
    assert isinstance(found, int)
    return found


def lines_of(report: Report, target: Path) -> list[str]:
    """What came of it, for a person."""
    written = f"{plural(report.visits, 'visit')} ({plural(report.records, 'record')}, {show_size(report.bytes)})"
    lines = [f"{written} in {plural(report.files, 'WARC file')} at {escape(str(target))}"]
    for count, noun, words in (
        (report.not_selected, "visit", "not selected"),
        (report.withheld, "visit", "left out: taken down"),
        (report.purged, "record", "left out: purged"),
        (report.referred, "visit", "besides: revisits refer to them"),
        (report.in_full, "revisit", "written in full: what they referred to is taken down"),
        (report.unresolved, "capture", "referred to by revisits, but not to be had"),
        (report.open_segments, "WARC file", "still being written: not exported"),
    ):
        if count:
            lines.append(f"  {plural(count, noun)} {words}")
    return lines
