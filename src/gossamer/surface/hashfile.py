"""Many 64-bit hashes in a file: added one by one, sorted where they lie, compared piece by piece, in little memory."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
AT_ONCE: Final = 1 << 20  # hashes held in memory; 8 MiB


class HashFile:
    """Hashes that are gathered, then asked for."""

    def __init__(self, path: Path) -> None:
        """`path` is created anew."""
        self._path = path
        self._waiting = array("Q")
        path.write_bytes(b"")

    def add(self, value: int) -> None:
        """Add one. Raises OSError."""
        self._waiting.append(value)
        if len(self._waiting) >= AT_ONCE:
            self._flush()

    def sorted(self) -> Hashes:
        """All of them, sorted, as a view of the file; nothing may be added any more. Raises OSError."""
        self._flush()
        if not self._path.stat().st_size:
            return np.empty(0, np.uint64)
        found: Hashes = np.memmap(self._path, np.uint64, "r+")
        found.sort()
        return found

    def _flush(self) -> None:
        with self._path.open("ab") as file:
            self._waiting.tofile(file)
        self._waiting = array("Q")


def places(wanted: Hashes, among: Hashes) -> NDArray[np.int64]:
    """Where each of `wanted` first stands in `among`, which is sorted; -1 where it does not."""
    if not len(among):
        return np.full(len(wanted), -1, np.int64)
    at = np.searchsorted(among, wanted)
    inside = np.minimum(at, len(among) - 1)
    return np.where(among[inside] == wanted, inside, -1)


def missing(wanted: Hashes, given: Hashes, into: HashFile) -> None:
    """Put those of `wanted` that are not in `given` into another file, each once; both are sorted. Raises OSError."""
    last = -1
    for start in range(0, len(wanted), AT_ONCE):
        piece = np.unique(wanted[start : start + AT_ONCE])
        for value in piece[places(piece, given) < 0].tolist():
            if value != last:
                into.add(value)
                last = value
