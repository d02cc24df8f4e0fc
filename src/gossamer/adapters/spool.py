"""The way into a crawl that runs: a directory of small files, written by other processes, read by the one that crawls.

A file appears under its name when it is whole. It is removed when what it says is in the store, so that a kill in
between makes it count twice, not never. Who waits for an answer finds it in a file beside, and removes it.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.limits import MIB, SPOOL_FILES_MAX
from gossamer.model.ping import Ping

NAME: Final = "spool"
ENDING: Final = ".json"
ANSWER: Final = ".answer"
ANSWER_KEPT_S: Final = 600.0  # for whom it is written has given up by then
FILE_MAX_BYTES: Final = 4 * MIB
TAKEN_AT_ONCE_MAX: Final = 20

_decode: Final = msgspec.json.Decoder(Ping).decode
_decode_answer: Final = msgspec.json.Decoder(dict[str, str]).decode


class SpoolFullError(Exception):
    """The crawl has not read what was handed to it before."""


def hand_in(directory: Path, ping: Ping) -> Path:
    """Put a ping where the crawl in `directory` finds it. Raises OSError, SpoolFullError."""
    spool = directory / NAME
    spool.mkdir(exist_ok=True)
    if sum(1 for _ in spool.iterdir()) >= SPOOL_FILES_MAX:
        raise SpoolFullError
    path = spool / f"ping-{time.time_ns()}-{secrets.token_hex(4)}{ENDING}"
    _write(path, msgspec.json.encode(ping))
    return path


def answer(path: Path) -> dict[str, str] | None:
    """What the crawl said of a ping handed in as `path`: URLs it refused, each with the reason. None: nothing yet.

    It is removed: it can be had once.
    """
    written = path.with_suffix(ANSWER)
    try:
        found = _decode_answer(written.read_bytes())
    except (OSError, ValueError):  # msgspec's errors are ValueErrors
        return None
    written.unlink(missing_ok=True)
    return found


def _write(path: Path, data: bytes) -> None:
    unfinished = path.with_suffix(".new")
    unfinished.write_bytes(data)
    unfinished.replace(path)


class Spool:
    """Reads what was handed in, the oldest first."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's."""
        self._spool = directory / NAME

    def take(self) -> Iterator[tuple[Ping | None, Callable[[Mapping[str, str]], None]]]:
        """Pings, at most TAKEN_AT_ONCE_MAX, each with what is to be told, when it is in the store, what was refused.

        None stands for a file that says nothing that can be understood: it is not ours, or damaged.
        """
        try:
            names = sorted(entry.name for entry in os.scandir(self._spool))
        except OSError:
            return
        for name in names:
            if name.endswith(ANSWER):
                self._drop_old(self._spool / name)
        for name in [name for name in names if name.endswith(ENDING)][:TAKEN_AT_ONCE_MAX]:
            path = self._spool / name
            ping = _read(path)
            yield ping, partial(_taken, path, ping)

    def _drop_old(self, path: Path) -> None:
        """Remove an answer that nobody has come for."""
        with suppress(OSError):
            if not 0 <= time.time() - path.lstat().st_mtime < ANSWER_KEPT_S:
                path.unlink()


def _taken(path: Path, ping: Ping | None, refused: Mapping[str, str]) -> None:
    """What a file says is in the store. An answer for which there is no room is not given."""
    if ping is not None and ping.answer:
        with suppress(OSError):
            _write(path.with_suffix(ANSWER), msgspec.json.encode(refused))
    path.unlink(missing_ok=True)


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
