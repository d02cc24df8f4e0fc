"""The end of a crawl log that grows: its newest lines, and what is added from now on. Reading it all is `logreader`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.limits import MIB
from gossamer.surface.crawllog import CURRENT

TAIL_BYTES_MAX: Final = 8 * MIB
FOLLOWED_BYTES_MAX: Final = 8 * MIB  # taken at once; more is for the next time

_decode: Final = msgspec.json.Decoder(FetchEvent).decode


def tail(directory: Path, count: int) -> list[FetchEvent]:
    """The newest events of the current file of a `log` directory, at most `count`, oldest first."""
    try:
        with (directory / CURRENT).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL_BYTES_MAX))
            data = file.read(TAIL_BYTES_MAX)
    except OSError:
        return []
    lines = data.split(b"\n")
    whole = lines[:-1] if size <= TAIL_BYTES_MAX else lines[1:-1]
    return decoded(whole[-count:])


def decoded(lines: list[bytes]) -> list[FetchEvent]:
    """Events of lines; those that cannot be read are passed over."""
    events = []
    for line in lines:
        try:
            events.append(_decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
    return events


class Follower:
    """Reads what is added to a log, over rotations: a file is read to its end before the next one is begun."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's `log`; begins at the present end of its file, which need not be there yet."""
        self._path = directory / CURRENT
        self._file = self._open()
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)

    def _open(self) -> BinaryIO | None:
        try:
            return self._path.open("rb")
        except OSError:
            return None

    def take(self) -> list[FetchEvent]:
        """Events added since the last call, at most FOLLOWED_BYTES_MAX of them."""
        if self._file is None:
            self._file = self._open()
        if self._file is None:
            return []
        try:
            data = self._file.read(FOLLOWED_BYTES_MAX)
            end = data.rfind(b"\n") + 1
            self._file.seek(end - len(data), os.SEEK_CUR)
            if not end and os.fstat(self._file.fileno()).st_ino != self._path.stat().st_ino:
                self.close()
        except OSError:
            self.close()
            return []
        return decoded(data[:end].split(b"\n")[:-1])

    def close(self) -> None:
        """Let the file go."""
        if self._file is not None:
            self._file.close()
            self._file = None
