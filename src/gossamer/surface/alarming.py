"""Alarms of a running crawl, judged every quarter of a minute and told to whoever is configured to be told.

What is raised is kept in `log/alarms.json`, so that a crawl that is killed and goes on does not raise it again, and
clears it when it is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Protocol

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.takedown import Takedown, unconfirmed_s
from gossamer.model.view import Snapshot
from gossamer.surface.alarmbook import AlarmBook, Change, Raised
from gossamer.surface.alarms import LOOK_S, Facts, History, judged
from gossamer.surface.forecast import DiskWatch, disk_forecast
from gossamer.surface.hoststory import is_too_short

FILE_NAME: Final = "alarms.json"
FILE_MAX_BYTES: Final = 1024 * 1024


class Teller(Protocol):
    """Who is told: `surface.notifying.Notifier`."""

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        ...

    def tell(self, event: str, lane: str = "", **data: object) -> None:
        """Send a message; those of one lane arrive in their order."""
        ...


def tell(teller: Teller, change: Change) -> None:
    """Send one change of an alarm."""
    alarm = change.alarm
    told = {"text": alarm.text, "advice": alarm.advice} if change.raised else {"text": change.why}
    teller.tell(
        "alarm",
        lane=alarm.name,
        alarm=alarm.name,
        state="raised" if change.raised else "cleared",
        severity=alarm.severity,
        since=change.since,
        **told,
    )


class Alarming:
    """Judges and tells."""

    def __init__(self, log: Path, teller: Teller, count_error: Callable[[str], None]) -> None:
        """`log` is the crawl's log directory; `count_error` counts what went wrong here."""
        self._path = log / FILE_NAME
        self._teller = teller
        self._count_error = count_error
        self._history = History()
        self._disk = DiskWatch()
        self._looked = float("-inf")
        self._too_short = 0
        self._too_short_at = 0.0
        self._book = AlarmBook(self._read() if teller.wanted else None)

    def saw(self, events: Iterable[FetchEvent]) -> None:
        """Take lines of the crawl log."""
        for event in events:
            if is_too_short(event):
                self._too_short += 1
                self._too_short_at = event.time

    def look(self, now: float, snapshot: Callable[[], Snapshot], takedowns: Iterable[Takedown]) -> None:
        """Judge, when it is time; to be called often. `now` in unix seconds."""
        if not self._teller.wanted or now - self._looked < LOOK_S:
            return
        self._looked = now
        self._disk.look(now, self._path.parent)
        shot = snapshot()
        self._history.add(shot)
        facts = Facts(
            disk=disk_forecast(shot, self._disk.samples),
            unconfirmed_s=unconfirmed_s(takedowns, now),
            too_short=self._too_short,
            too_short_at=self._too_short_at,
        )
        self._tell(self._book.judge(judged(shot, self._history, facts), now))

    def close(self) -> None:
        """Nobody judges any more: take back what is raised."""
        self._tell(self._book.end("the crawl does not run any more"))

    def _tell(self, changes: list[Change]) -> None:
        for change in changes:
            tell(self._teller, change)
        if changes:
            self._write()

    def _read(self) -> dict[str, Raised]:
        try:
            with self._path.open("rb") as file:
                return msgspec.json.decode(file.read(FILE_MAX_BYTES), type=dict[str, Raised])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            self._count_error("alarms-file")
            return {}

    def _write(self) -> None:
        """Keep what is raised. A disk without room does not end the crawl here: it is found where it matters."""
        temporary = self._path.with_name(FILE_NAME + ".new")
        try:
            if not self._book.raised:
                self._path.unlink(missing_ok=True)
                return
            temporary.write_bytes(encode(self._book.raised))
            temporary.replace(self._path)
        except OSError:
            self._count_error("alarms-file")
