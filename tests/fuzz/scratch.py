"""A directory for targets that need files: in memory where there is such a place, removed at the end."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

MEMORY = Path("/dev/shm")


@cache
def scratch(name: str) -> Path:
    """An empty directory of this process, one for each name."""
    directory = Path(tempfile.mkdtemp(prefix=f"gossamer-fuzz-{name}-", dir=MEMORY if MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def emptied(name: str) -> Path:
    """The same, with nothing in it."""
    directory = scratch(name)
    for path in directory.iterdir():
        path.unlink()
    return directory
