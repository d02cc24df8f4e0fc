"""`gossamer ping`: tell a crawl that pages have changed, and hear what becomes of it. That is the core's to decide."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.spool import SpoolFullError, answer, hand_in
from gossamer.core import pings
from gossamer.model.errors import StoreError, UsageError
from gossamer.model.ping import Ping
from gossamer.model.url import Url, parse
from gossamer.ports.store import Store
from gossamer.surface import settings
from gossamer.surface.offline import running_snapshot
from gossamer.surface.storescan import host_row
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.units import parse_duration, plural

WAIT: Final = "30s"  # a crawl looks for pings every five seconds, then waits for the gap of the host
LOOK_EVERY_S: Final = 0.5
URL_CELLS: Final = 100
EXIT_REFUSED: Final = 1
WORDS: Final = {
    pings.INVALID: "no URL that could be fetched",
    pings.OUTSIDE: "out of the crawl's scope",
    "ping-taken-down": "a takedown covers it",
    pings.UNKNOWN: "the crawl does not know its host",
    pings.RATE: "its host has had all the pings of a day",
    pings.NO_KEY: "its host does not show the key",
    pings.UNREACHABLE: "its host could not be asked for the key",
    pings.BUSY: "too many pings wait for keys; try again later",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ping)


def ping(
    urls: Annotated[list[str], typer.Argument(metavar="URL...", help="Pages that have changed.")],
    key: Annotated[str, typer.Option("--key", metavar="KEY", help="What their host serves at /KEY.txt.")],
    directory: Annotated[Path, typer.Option("--dir", help="The crawl.")] = Path("crawl"),
    wait: Annotated[
        str, typer.Option(metavar="TIME", help="How long to wait for what becomes of it; 0 does not wait.")
    ] = WAIT,
) -> None:
    """Tell a crawl that pages have changed, as IndexNow does.

    They are visited soon when their host shows the key. A crawl that does not run is told when it starts.
    """
    wait_s = parse_duration(wait)
    hears = wait_s > 0 and running_snapshot(directory / "log") is not None
    before = _refuted(directory, urls) if hears else {}
    path, made = submit(directory, urls, key, answer=hears)
    if not hears:
        where = escape(str(directory))
        count = plural(len(made.urls), "URL")
        typer.echo(f"{count} handed to the crawl in {where}; gossamer report tells what comes of it")
        return
    deadline = time.monotonic() + wait_s
    while (refused := answer(path)) is None:
        if time.monotonic() > deadline:
            typer.echo("the crawl has not read it yet; gossamer report tells what comes of it")
            return
        time.sleep(LOOK_EVERY_S)
    fates = _settled(directory, made, refused, before, deadline)
    for line in _told(fates, key):
        typer.echo(line)
    if not {"", pings.FOLLOWED}.issuperset(fates.values()):
        raise typer.Exit(EXIT_REFUSED)


def submit(directory: Path, urls: list[str], key: str, *, answer: bool = False) -> tuple[Path, Ping]:
    """Hand a ping to the crawl in a directory: the file it is in, and what it says.

    Raises UsageError for what is no ping. `answer`: somebody waits to hear what is refused.
    """
    if not (directory / settings.FILE_NAME).is_file():
        raise UsageError(f"there is no crawl in {escape(str(directory))}")
    wrong = next((url for url in urls if not isinstance(parse(url), Url)), None)
    if wrong is not None:
        raise UsageError(f"{escape(wrong)} is no http(s) URL")
    made = Ping(key=key, urls=tuple(dict.fromkeys(urls)), answer=answer)
    if made.fault():
        raise UsageError(made.fault())
    try:
        return hand_in(directory, made), made
    except SpoolFullError as error:
        raise UsageError("too many pings wait to be read by the crawl; try again when it runs") from error
    except OSError as error:
        raise UsageError(f"the ping cannot be written to {escape(str(directory))}: {error.strerror}") from error


def _settled(
    directory: Path, made: Ping, refused: dict[str, str], before: dict[str, float], deadline: float
) -> dict[str, str]:
    """URL -> how it is counted, "" while its host's key is waited for; looked up until all is known or time is up."""
    fates = {url: refused.get(_wire(url), refused.get(url, "")) for url in made.urls}
    while True:
        if not all(fates.values()):
            _look(directory, made.key, fates, before)
        if all(fates.values()) or time.monotonic() > deadline:
            return fates
        time.sleep(LOOK_EVERY_S)


def _wire(text: str) -> str:
    url = parse(text)
    return url.wire if isinstance(url, Url) else text


@contextmanager
def _state(directory: Path) -> Iterator[Store | None]:
    """The state of a crawl that runs, as it is now; None when it cannot be read at this moment."""
    try:
        store = RocksStore(directory / "state", read_only=True)
    except StoreError:  # files were renewed while it was opened
        yield None
        return
    try:
        yield store
    finally:
        store.close()


def _refuted(directory: Path, urls: Sequence[str]) -> dict[str, float]:
    """Host -> when it was last seen not to show a key, by the crawl's clock."""
    hosts = {url.host for url in map(parse, urls) if isinstance(url, Url)}
    with _state(directory) as store:
        rows = {host: host_row(store, host) for host in hosts} if store is not None else {}
    return {host: row.pings.refuted for host, row in rows.items() if row is not None and row.pings is not None}


def _look(directory: Path, key: str, fates: dict[str, str], before: dict[str, float]) -> None:
    """Fill in what the state of the crawl says of URLs whose ping was taken."""
    with _state(directory) as store:
        for text in [text for text, fate in fates.items() if not fate] if store is not None else ():
            url = parse(text)
            if not isinstance(url, Url) or store is None or pings.waiting_for(store, url.host) is not None:
                continue
            row = host_row(store, url.host)
            record = row.pings if row is not None else None
            if record is None:
                continue
            if record.refuted != before.get(url.host, 0.0):
                fates[text] = pings.NO_KEY
            elif record.key == key:
                fates[text] = pings.FOLLOWED


def _told(fates: dict[str, str], key: str) -> Iterator[str]:
    """One line for each way it went, and for each URL that is refused."""
    by_fate: dict[str, list[str]] = {}
    for url, fate in fates.items():
        by_fate.setdefault(fate, []).append(url)
    if followed := by_fate.pop(pings.FOLLOWED, []):
        yield f"{plural(len(followed), 'URL')} due now, or as soon as refresh.min_interval allows"
    if waiting := by_fate.pop("", []):
        yield f"{plural(len(waiting), 'URL')} waiting until the host shows {key} at /{key}.txt; explain and report tell"
    for fate, urls in sorted(by_fate.items()):
        yield from _refusals(fate, urls)


def _refusals(fate: str, urls: Sequence[str]) -> Iterator[str]:
    words = WORDS.get(fate, "the crawl does not follow it")
    for url in urls:
        yield f"refused    {shorten(url, URL_CELLS)}: {fate}: {words}"
