"""The state of a running crawl for other processes: a small file beside the log, rewritten every few seconds.

The store has one owner. While a crawl runs, `gossamer status` answers from this file.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.jsonbytes import encode
from gossamer.model.view import Snapshot

FILE_NAME: Final = "status.json"
EVERY_S: Final = 2.0
FILE_MAX_BYTES: Final = 4 * 1024 * 1024


class StatusFile:
    """A live view that keeps the file. Failing to write it never stops a crawl: the engine finds a full disk itself."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's `log` directory; it need not exist yet."""
        self._path = directory / FILE_NAME
        self._written_s = float("-inf")
        self._state = ""

    def show(self, snapshot: Snapshot) -> None:
        """Write the snapshot when it is due or the state changed."""
        now_s = time.monotonic()
        if now_s - self._written_s < EVERY_S and snapshot.state == self._state:
            return
        self._written_s, self._state = now_s, snapshot.state
        temporary = self._path.with_name(FILE_NAME + ".new")
        try:
            temporary.write_bytes(encode(snapshot))
            temporary.replace(self._path)
        except OSError:
            return


def read_status(directory: Path) -> tuple[Snapshot, float] | None:
    """The last snapshot in a `log` directory and its age in seconds; None when there is none that can be read."""
    try:
        with (directory / FILE_NAME).open("rb") as file:
            age_s = time.time() - os.fstat(file.fileno()).st_mtime
            return msgspec.json.decode(file.read(FILE_MAX_BYTES), type=Snapshot), age_s
    except (OSError, msgspec.MsgspecError):
        return None
