"""How much memory this process may still take: its own limits, its control group's, and what the machine has left."""

from __future__ import annotations

import os
import re
import resource
from pathlib import Path
from typing import Final

from gossamer.model.limits import MIB
from gossamer.surface.garbage import look_again

MEMORY_FREE_MIN_BYTES: Final = 32 * MIB  # less than this left and nothing more is fetched
MEMORY_FREE_AGAIN_BYTES: Final = 48 * MIB  # as much as this, and fetching goes on
_GROUPS: Final = Path("/sys/fs/cgroup")
_INACTIVE: Final = re.compile(r"^inactive_file (\d+)$", re.MULTILINE)
_AVAILABLE: Final = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


class Memory:
    """Says when memory has run short, until there is clearly enough again."""

    def __init__(self) -> None:
        """Find the control group, which does not change."""
        self._group = _control_group()
        self._short = False

    def lacking(self) -> str:
        """Why nothing more should be fetched now, in one sentence; "" while there is room."""
        left, whose = min(self._left())
        if not self._short and left < MEMORY_FREE_MIN_BYTES:
            look_again()
            left, whose = min(self._left())
        self._short = left < (MEMORY_FREE_AGAIN_BYTES if self._short else MEMORY_FREE_MIN_BYTES)
        if not self._short:
            return ""
        return (
            f"{max(0, left) // MIB} MiB of memory are left ({whose}), at least {MEMORY_FREE_AGAIN_BYTES // MIB} needed"
        )

    def _left(self) -> list[tuple[float, str]]:
        found = [(float("inf"), "")]
        sizes = _numbers(Path("/proc/self/statm"))
        for kind, place, name in (
            (resource.RLIMIT_AS, 0, "limit of address space, ulimit -v"),
            (resource.RLIMIT_DATA, 5, "limit of data, ulimit -d"),
        ):
            limit = resource.getrlimit(kind)[0]
            if limit != resource.RLIM_INFINITY and len(sizes) > place:
                found.append((limit - sizes[place] * resource.getpagesize(), name))
        limit_of_group = _numbers(self._group / "memory.max")
        used = _numbers(self._group / "memory.current")
        if limit_of_group and used:
            caches = _INACTIVE.search(_text(self._group / "memory.stat"))
            found.append((limit_of_group[0] - used[0] + (int(caches[1]) if caches else 0), "control group"))
        available = _AVAILABLE.search(_text(Path("/proc/meminfo")))
        if available:
            found.append((int(available[1]) * 1024, "of the machine"))
        return found


def _control_group() -> Path:
    """The directory of this process's control group (version 2)."""
    for line in _text(Path("/proc/self/cgroup")).splitlines():
        if line.startswith("0::"):
            return _GROUPS / line[3:].lstrip("/")
    return _GROUPS


def _numbers(path: Path) -> list[int]:
    """The numbers in a file of the system; none when it is not there or says "max"."""
    return [int(word) for word in _text(path).split() if word.isdigit()]


def _text(path: Path) -> str:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(fd, 16_384).decode("ascii", "replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
