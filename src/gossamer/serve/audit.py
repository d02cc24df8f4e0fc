"""The audit log: who asked for which change, when, and what came of it. Only ever appended to; each line is synced.

A change has two lines under one id: that it was asked for, written before anything is done, and its result. A change
that cannot be written down is not made.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import ConfigError
from gossamer.model.jsonbytes import encode

FILE_NAME: Final = "audit.jsonl"
REFUSED_PER_MINUTE_MAX: Final = 60  # attempts without a right that are written one by one; more are counted
TEXT_MAX_CHARS: Final = 2_000  # of what was asked for


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    time: str  # UTC, RFC 3339
    id: str  # joins the lines of one request
    step: str  # "asked" | "done" | "refused" | "failed" | "dropped"
    who: str = ""  # name of the token; "" when there was none, or none that is known
    role: str = ""
    address: str = ""  # of the client
    what: str = ""  # method and path, or the command
    crawl: str = ""
    request: str = ""  # what was asked for, cut to TEXT_MAX_CHARS
    status: int = 0  # HTTP
    result: str = ""


def stamp(now: float) -> str:
    """Unix seconds as they stand in the log."""
    return datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditLog:
    """Appends entries. May be used from several threads, and by several processes at once."""

    def __init__(self, home: Path) -> None:
        """Open the log in a directory, which is created. Raises ConfigError."""
        self.path = home / FILE_NAME
        self._lock = threading.Lock()
        self._minute = 0
        self._refused = 0
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._end_torn_line()
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written: {error.strerror}") from error

    def _end_torn_line(self) -> None:
        """A process that died while it wrote left half a line: it stays, and the next one begins anew."""
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")

    def write(self, entry: Entry) -> None:
        """Append one line and wait until it is on the disk. Raises OSError."""
        cut = msgspec.structs.replace(entry, request=entry.request[:TEXT_MAX_CHARS])
        line = encode(cut) + b"\n"
        with self._lock:
            if os.write(self._file, line) != len(line):
                os.write(self._file, b"\n")
                raise OSError(28, "no room for the whole line")
            os.fdatasync(self._file)

    def refused(self, entry: Entry, now: float) -> None:
        """Append an attempt that nobody had a right to. A flood of them is counted, not written. Raises OSError."""
        with self._lock:
            minute = int(now // 60)
            dropped = max(0, self._refused - REFUSED_PER_MINUTE_MAX) if minute != self._minute else 0
            self._refused = 1 if minute != self._minute else self._refused + 1
            self._minute = minute
            is_flood = self._refused > REFUSED_PER_MINUTE_MAX
        if dropped:
            text = f"{dropped} more refused attempts in a minute before"
            self.write(Entry(time=stamp(now), id="-", step="dropped", result=text))
        if not is_flood:
            self.write(entry)

    def close(self) -> None:
        """Release the file."""
        os.close(self._file)
