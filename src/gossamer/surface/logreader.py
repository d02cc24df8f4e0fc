"""Reading the crawl log back, while it is written or not: rotated files first, then the current one."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, cast

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.limits import MIB
from gossamer.surface.crawllog import CURRENT, may_have, rotated

LINE_MAX_BYTES: Final = 1 * MIB
FOLLOW_S: Final = 0.5

_decoder: Final = msgspec.json.Decoder(FetchEvent)


def read_events(
    directory: Path,
    *,
    damaged: Callable[[str], None] | None = None,
    wait: Callable[[float], object] | None = None,
    host: str = "",
) -> Iterator[FetchEvent]:
    """Events of a log, oldest first, over rotated files and the current one.

    Args:
        directory: the crawl's `log` directory.
        damaged: told of each line that cannot be read ("FILE:LINE: why"), which is skipped.
        wait: sleeps so many seconds; when given, the end is waited at for more, for ever.
        host: only events of this host, at any port if none is given; lines of others are passed over undecoded.
    """
    tell = damaged or (lambda _: None)
    quoted = b'"host":' + encode(host)
    needles = (quoted, quoted[:-1] + b":") if host else ()
    current, files = _open_all(directory)
    for path in files:
        if host and not may_have(path, host):
            continue
        for opened in _open_rotated(path):
            with opened:
                yield from _events(opened, path.name, tell, torn=True, needles=needles)
    while current is not None:
        with current:
            yield from _events(
                current, CURRENT, tell, torn=wait is None, wait=wait, path=directory / CURRENT, needles=needles
            )
        current = (directory / CURRENT).open("rb") if wait is not None and (directory / CURRENT).exists() else None


def _open_all(directory: Path) -> tuple[BinaryIO | None, list[Path]]:
    """The current file and the rotated ones as they were at one moment."""
    while True:
        try:
            current: BinaryIO | None = (directory / CURRENT).open("rb")
        except FileNotFoundError:
            current = None
        files = [path for _, path in rotated(directory)]
        if _is_current(current, directory / CURRENT):
            return current, files
        if current is not None:
            current.close()


def _is_current(file: BinaryIO | None, path: Path) -> bool:
    try:
        inode = path.stat().st_ino
    except FileNotFoundError:
        return file is None
    return file is not None and os.fstat(file.fileno()).st_ino == inode


def _open_rotated(path: Path) -> Iterator[BinaryIO]:
    for candidate in (path, path.with_name(path.name + ".gz")):  # compressed while we read the ones before
        try:
            yield _open(candidate)
        except FileNotFoundError:
            continue
        return


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def _events(
    file: BinaryIO,
    name: str,
    tell: Callable[[str], None],
    *,
    torn: bool,
    wait: Callable[[float], object] | None = None,
    path: Path | None = None,
    needles: tuple[bytes, ...] = (),
) -> Iterator[FetchEvent]:
    number = 0
    held = b""
    while True:
        try:
            part = file.readline(LINE_MAX_BYTES)
        except (OSError, EOFError) as error:  # a compressed file that is cut off or damaged
            tell(f"{name}: line {number + 1}: {error}")
            return
        held = held + part if len(held) < LINE_MAX_BYTES else held
        if not part.endswith(b"\n"):
            if part:
                continue
            if wait is None or path is None or not _is_current(file, path):
                if held and torn:
                    tell(f"{name}:{number + 1}: the last line is torn")
                return
            wait(FOLLOW_S)
            continue
        number += 1
        line, held = held, b""
        if needles and not any(needle in line for needle in needles):
            continue
        try:
            yield _decoder.decode(line)
        except msgspec.MsgspecError as error:
            tell(f"{name}:{number}: {error}")
