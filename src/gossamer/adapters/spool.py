"""The way into a crawl that runs: a directory of small files, written by other processes, read by the one that crawls.

A file appears under its name when it is whole. It is removed when what it says is in the store, so that a kill in
between makes it count twice, not never.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.limits import MIB, SPOOL_FILES_MAX
from gossamer.model.ping import Ping

NAME: Final = "spool"
ENDING: Final = ".json"
FILE_MAX_BYTES: Final = 4 * MIB
TAKEN_AT_ONCE_MAX: Final = 20

_decode: Final = msgspec.json.Decoder(Ping).decode


class SpoolFullError(Exception):
    """The crawl has not read what was handed to it before."""


def hand_in(directory: Path, ping: Ping) -> Path:
    """Put a ping where the crawl in `directory` finds it. Raises OSError, SpoolFullError."""
    spool = directory / NAME
    spool.mkdir(exist_ok=True)
    if sum(1 for _ in spool.iterdir()) >= SPOOL_FILES_MAX:
        raise SpoolFullError
    path = spool / f"ping-{time.time_ns()}-{secrets.token_hex(4)}{ENDING}"
    unfinished = path.with_suffix(".new")
    unfinished.write_bytes(msgspec.json.encode(ping))
    return unfinished.replace(path)


class Spool:
    """Reads what was handed in, the oldest first."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's."""
        self._spool = directory / NAME

    def take(self) -> Iterator[tuple[Ping | None, Callable[[], None]]]:
        """Pings, at most TAKEN_AT_ONCE_MAX, each with what is to be called when it is in the store.

        None stands for a file that says nothing that can be understood: it is not ours, or damaged.
        """
        try:
            names = sorted(entry.name for entry in os.scandir(self._spool) if entry.name.endswith(ENDING))
        except OSError:
            return
        for name in names[:TAKEN_AT_ONCE_MAX]:
            path = self._spool / name
            yield _read(path), lambda path=path: path.unlink(missing_ok=True)  # type: ignore[misc]


def _read(path: Path) -> Ping | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            ping = _decode(file.read(FILE_MAX_BYTES))
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return None
    return None if ping.fault() else ping
