"""The command line: `gossamer crawl` and what surrounds it. Reading commands are in `surface.reading`.

Every error a person can act on is one line on stderr with an exit code (`model.errors`); nothing is created before
everything that was given has been checked.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, cast

import msgspec
import typer
from rich.console import Console
from typer.exceptions import Abort, TyperException

from gossamer.model.config import Config
from gossamer.model.errors import (
    EXIT_DISK_FULL,
    EXIT_INTERNAL,
    EXIT_INTERRUPTED,
    EXIT_MEMORY,
    EXIT_NOTHING_FETCHED,
    EXIT_OK,
    GossamerError,
    UsageError,
)
from gossamer.model.view import Snapshot
from gossamer.serve import command as serving
from gossamer.surface import (
    doctoring,
    exporting,
    identifying,
    linking,
    pinging,
    planning,
    ranking,
    reading,
    settings,
    simulating,
    takingdown,
)
from gossamer.surface.engine import Engine, LiveView
from gossamer.surface.live import LiveDisplay
from gossamer.surface.plain import NoticeLines, PlainLines, notice_line, seed_failure_lines, summary_lines
from gossamer.surface.seeds import check_seeds, complete, read_seed_file
from gossamer.surface.statusfile import StatusFile
from gossamer.surface.terminal import escape
from gossamer.version import VERSION

app = typer.Typer(
    name="gossamer",
    help="A web crawler that is light on every host it touches.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
reading.register(app)
doctoring.register(app)
exporting.register(app)
identifying.register(app)
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
pinging.register(app)
planning.register(app)
ranking.register(app)
linking.register(app)
simulating.register(app)
takingdown.register(app)
serving.register(app)


Continuous = Annotated[
    bool | None,
    typer.Option(
        "--continuous/--no-continuous",
        help="Go on when nothing is left to fetch, and visit pages again as they become due; kept with the crawl.",
    ),
]


def _say(line: str) -> None:
    try:
        sys.stderr.write(f"gossamer: {line}\n")
    except OSError:
        return  # nobody can be told; the exit code says it


@app.callback(invoke_without_command=True)
def _root(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False
) -> None:
    if version:
        typer.echo(f"gossamer {VERSION}")
        raise typer.Exit(EXIT_OK)


@app.command()
def crawl(
    ctx: typer.Context,
    seeds: Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="URLs to start from.")] = None,
    seed_file: Annotated[
        list[Path] | None,
        typer.Option("--seeds", metavar="FILE", help="A file with one seed a line; # begins a comment."),
    ] = None,
    directory: Annotated[Path, typer.Option("--dir", help="Where everything of this crawl is kept.")] = Path("crawl"),
    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="Configuration in TOML; replaces the one in --dir.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="Links that belong to the crawl: host, site, prefix or any.")
    ] = None,
    pages: Annotated[str | None, typer.Option(metavar="N", help='Stop after N pages; "none" lifts the limit.')] = None,
    depth: Annotated[str | None, typer.Option(metavar="N", help="Links from a seed.")] = None,
    duration: Annotated[str | None, typer.Option(metavar="TIME", help="Stop after 90s, 30m, 2h, ...")] = None,
    contact: Annotated[str | None, typer.Option(metavar="URL", help="URL or mail address for the User-Agent.")] = None,
    product: Annotated[
        str | None, typer.Option("--user-agent-product", metavar="NAME", help="Name in robots.txt and the User-Agent.")
    ] = None,
    *,
    continuous: Continuous = None,
    plain: Annotated[bool, typer.Option("--plain", help="Lines instead of a live view.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, only the summary.")] = False,
) -> None:
    """Crawl from SEEDs, or go on with the crawl in --dir.

    The same command again resumes. Ctrl-C finishes what is in flight and saves; a second one stops at once.
    """
    check_directory(directory)
    given = [(seed, "") for seed in seeds or []]
    checked = check_seeds([*given, *(pair for path in seed_file or [] for pair in read_seed_file(path))])
    flags = {
        "scope.mode": scope,
        "limits.pages": _whole(pages),
        "limits.depth": _whole(depth),
        "limits.duration": duration,
        "limits.continuous": continuous,
        "identity.contact": contact,
        "identity.product": product,
    }
    overrides = {key: value for key, value in flags.items() if value is not None}
    resolved, notes = resolve(directory, config, overrides, checked)
    for seed, _ in given:
        if complete(seed) != seed.strip():
            _say(f"{escape(seed)} is read as {check_seeds([(seed, '')])[0]}")
    for note in notes:
        _say(note)
    code, last = _run(engine_of(ctx), resolved, plain=plain, quiet=quiet)
    if last is not None:
        typer.echo("\n".join([*summary_lines(last), *map(notice_line, last.notices)]))
        typer.echo(f"\nnext       gossamer report --dir {escape(str(directory))}")
        for line in seed_failure_lines(last):
            _say(line)
    if code == EXIT_NOTHING_FETCHED:
        _say("nothing was fetched")
    raise typer.Exit(code)


def check_directory(directory: Path) -> None:
    """Whether a crawl can be kept there. Creates nothing. Raises UsageError."""
    there = next((path for path in (directory, *directory.parents) if path.exists()), directory)
    if not there.is_dir():
        where = "there is a file of that name" if there == directory else f"{escape(str(there))} is a file"
        raise UsageError(f"--dir {escape(str(directory))}: {where}; a directory is needed")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"--dir {escape(str(directory))}: {escape(str(there))} may not be written to")


def resolve(
    directory: Path, config_path: Path | None, overrides: dict[str, object], seeds: Sequence[str]
) -> tuple[Config, list[str]]:
    """The configuration of a crawl that is begun or resumed, and what to say about it.

    A configuration stored in the directory is the base, unless a file is given, which replaces it. Seeds add up:
    what was a seed once has its pages in the queue, and the scope follows from all seeds.

    Raises ConfigError, UsageError.
    """
    stored_path = directory / settings.FILE_NAME
    stored = settings.load(stored_path, directory=str(directory)) if stored_path.is_file() else None
    base = config_path or (stored_path if stored is not None else None)
    config = settings.load(base, overrides, directory=str(directory))
    merged = dict.fromkeys([*(stored.seeds if stored is not None else ()), *config.seeds, *seeds])
    config = msgspec.structs.replace(config, seeds=tuple(merged))
    if not config.seeds:
        raise UsageError("no seeds: name at least one URL, or a file of them with --seeds")
    if stored is None:
        return config, []
    changed = [f"changed since the last run: {escape(line)}" for line in settings.changes(stored, config)]
    return config, [f"resuming the crawl in {escape(str(directory))}", *changed]


def engine_of(ctx: typer.Context) -> Engine:
    """The engine that was handed in, or the real one."""
    if ctx.obj is not None:
        return cast("Engine", ctx.obj)
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)  # extension modules do not survive Ctrl-C while they load
    import gossamer.node  # loads everything, so only commands that crawl or read the store pay for it

    signal.signal(signal.SIGINT, handler)
    return gossamer.node


def _whole(text: str | None) -> object:
    """A number where the text is one; everything else is refused by the option's own check."""
    if text is not None and text.isascii() and text.removeprefix("-").isdigit() and len(text) < 20:
        return int(text)
    return text


class _Views:
    """Hands a snapshot to several views and keeps the last one."""

    def __init__(self, views: Sequence[LiveView]) -> None:
        self._views = views
        self.last: Snapshot | None = None

    def show(self, snapshot: Snapshot) -> None:
        self.last = snapshot
        for view in self._views:
            view.show(snapshot)


def _run(engine: Engine, config: Config, *, plain: bool, quiet: bool) -> tuple[int, Snapshot | None]:
    status = StatusFile(Path(config.directory) / "log")
    if quiet:
        views = _Views([NoticeLines(sys.stderr), status])
        return _told(engine, config, views), views.last
    lines = plain or not sys.stdout.isatty() or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    with PlainLines(sys.stdout) if lines else LiveDisplay(Console(highlight=False, markup=False)) as display:
        views = _Views([display, status])
        code = _told(engine, config, views)
    return code, views.last


def _told(engine: Engine, config: Config, views: _Views) -> int:
    """Run a crawl. What ends it badly stands in its last word, which would say until it is old that it runs."""
    try:
        return engine.run_crawl(config, views)
    except Exception as error:
        if views.last is not None:
            why = str(error) if isinstance(error, GossamerError) else f"an error in gossamer itself: {error!r}"
            views.show(msgspec.structs.replace(views.last, state="stopped", state_detail=why))
        raise


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"gossamer {VERSION}")


def run(arguments: Sequence[str], engine: Engine | None = None) -> int:
    """Run one command; the exit code. Errors are told on stderr.

    Args:
        arguments: what stands after the program's name.
        engine: stands in for the real engine.
    """
    try:
        code = app(args=list(arguments), obj=engine, standalone_mode=False, prog_name="gossamer")
    except GossamerError as error:
        for line in str(error).split("\n"):
            _say(line)
        return error.exit_code
    except TyperException as error:
        text = error.format_message()
        context = getattr(error, "ctx", None)
        if not text or type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(text or (context.get_help() if context is not None else ""))
        else:
            command = context.command_path if context is not None else "gossamer"
            _say(f"{escape(text.rstrip('.'))}; {command} --help tells what is allowed")
        return error.exit_code
    except (KeyboardInterrupt, Abort):
        return EXIT_INTERRUPTED
    except MemoryError:
        _say("out of memory; what was committed is safe, the same command goes on")
        return EXIT_MEMORY
    except BrokenPipeError:  # `gossamer log | head`
        _leave_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _leave_stdout()  # crawls and reports write files in modules that tell a full disk in words of their own
        _say(f"no room for the output: {error.strerror}")
        return EXIT_DISK_FULL
    return code if isinstance(code, int) else EXIT_OK


def _leave_stdout() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> int:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # what a terminal's encoding lacks is written out
    try:
        return run(sys.argv[1:])
    except Exception:  # noqa: BLE001 - the last line of defence: an error of ours, told as such
        traceback.print_exc()
        _say("this is an error in gossamer itself; what was committed is safe")
        return EXIT_INTERNAL
