"""The life of WARC segments as the commits see it: cut back at a start, finished when all of them is committed.

What is missing of what was committed is told, whenever it is found: no row knows, and the crawl goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from gossamer.adapters.warc.files import OPEN, SUFFIX, passes, told
from gossamer.adapters.warc.recover import Report, missing, recover_directory, recover_segment
from gossamer.model.errors import GossamerError

PREFIX: Final = "GOSSAMER"
ORPHAN: Final = ".orphan"  # put aside, not deleted: somebody may have laid a file there

T = TypeVar("T")


class Workers(Protocol):
    """Those who write segments."""

    closed: list[str]
    abandoned: dict[str, int]


def _tried(work: Callable[[], T]) -> T | None:
    """What came of this; None when our machine is out of descriptors or memory now: it is tried again."""
    try:
        return work()
    except (OSError, GossamerError) as error:
        if passes(error):
            return None
        raise


class Segments:
    """Keeps the archive directory in step with what is committed."""

    def __init__(
        self, directory: Path, committed: dict[str, int], known: frozenset[str], tell: Callable[[str, str], None]
    ) -> None:
        """`committed`: segment -> bytes of it that commits refer to; entries of finished segments are removed.

        `known`: segments that some commit refers to, finished ones too. `tell`: called with the name of a segment and
        what of it is missing.
        """
        self._directory = directory
        self._known = known
        self._committed = committed
        self._tell = tell
        self._closed: list[str] = []
        self.count = 0
        self.bytes = 0
        with told(self._directory):
            directory.mkdir(parents=True, exist_ok=True)

    def recover(self) -> Report:
        """At a start: cut every open segment back to its committed length and finish it. Raises GossamerError."""
        with told(self._directory):
            report = recover_directory(self._directory, self._committed)
            for path in self._directory.glob(f"{PREFIX}-*{SUFFIX}"):
                if path.name not in self._known:  # finished, and killed before any page of it was committed
                    path.rename(path.with_name(path.name + ORPHAN))
        for name, damage in report.damaged.items():
            self._tell(name, damage)
        self._committed.clear()
        return report

    def tend(self, workers: Workers) -> bool:
        """Forget segments that are closed and wholly committed, cut back those of dead workers.

        Returns whether `committed` changed, so that it is to be written. Raises GossamerError.
        """
        with told(self._directory):
            return self._tend(workers)

    def _tend(self, workers: Workers) -> bool:
        self._closed += workers.closed
        workers.closed.clear()
        changed = False
        for name in list(workers.abandoned):
            committed = self._committed.get(name, 0)
            if committed >= workers.abandoned[name] and self._recovered(name, committed):
                self._committed.pop(name, None)
                del workers.abandoned[name]
                changed = True
        for name in list(self._closed):
            size_bytes, committed = self._size(name), self._committed.get(name, 0)
            if size_bytes <= committed:
                if size_bytes < committed:
                    self._tell(name, missing(size_bytes, committed))
                self._closed.remove(name)
                self._committed.pop(name, None)
                changed = True
        _tried(self._measure)
        return changed

    def _recovered(self, name: str, committed: int) -> bool:
        """Whether the segment of a dead worker could be cut back and finished."""
        outcome = _tried(partial(recover_segment, self._directory / (name + OPEN), committed))
        if outcome is not None and outcome.damage:
            self._tell(name, outcome.damage)
        return outcome is not None

    def _size(self, name: str) -> int:
        """Bytes of a finished segment, 0 when it was removed because it held no visit."""
        path = self._directory / name
        return path.stat().st_size if path.exists() else 0

    def _measure(self) -> None:
        files = list(self._directory.glob("*.warc.gz*"))
        segments = [path for path in files if not path.name.endswith(".cdxj")]
        self.count = len(segments)
        self.bytes = sum(path.stat().st_size for path in segments if path.exists())
