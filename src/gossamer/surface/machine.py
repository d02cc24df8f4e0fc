"""What this machine has left: disk, memory, file descriptors."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import Final

from gossamer.model.errors import ConfigError, DiskFullError, StoreError

DESCRIPTORS_OURS: Final = 640  # RocksDB's open files, workers, logs and the rest of the program
DISK_FREE_MIN_BYTES: Final = 16 * 1024 * 1024  # less than this left on a volume ends the crawl
DESCRIPTORS_PER_FETCH: Final = 2  # one in flight and one idle


def disk_free_bytes(path: Path) -> int | None:
    """Bytes that may still be written on the volume of a path, or of its nearest parent that exists."""
    while not path.exists():
        if path == path.parent:
            return None
        path = path.parent
    usage = os.statvfs(path)
    return usage.f_bavail * usage.f_frsize


def check_disk(directory: Path) -> None:
    """Whether state, archive and log of a crawl have room and may be written, wherever each of them is.

    Raises DiskFullError, StoreError.
    """
    for name in ("state", "archive", "log"):
        path = directory / name
        try:
            free = disk_free_bytes(path)
            closed = path.is_dir() and not os.access(path, os.W_OK | os.X_OK, effective_ids=True)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror}; once that is mended, the same command goes on") from error
        if free is not None and free < DISK_FREE_MIN_BYTES:
            msg = (
                f"disk full: {free // 1024} KiB are left for {path}, at least "
                f"{DISK_FREE_MIN_BYTES // 1024} KiB are needed; free some space and run the same command"
            )
            raise DiskFullError(msg)
        if closed:
            why = "its permissions, or its volume is read-only"
            raise StoreError(f"{path} cannot be written ({why}); once that is mended, the same command goes on")


def resident_bytes() -> int:
    """Resident memory of this process."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
        return int(fields[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def descriptors_for(concurrency: int) -> int:
    """Raise the limit of open files as far as allowed; the number of fetches in flight that fits under it.

    Raises ConfigError when not even a few fit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS_OURS + DESCRIPTORS_PER_FETCH * concurrency
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return concurrency
    fitting = (soft - DESCRIPTORS_OURS) // DESCRIPTORS_PER_FETCH
    if fitting < 1:
        least = DESCRIPTORS_OURS + DESCRIPTORS_PER_FETCH
        msg = f"the limit of open files is {soft}, at least {least} are needed (ulimit -n)"
        raise ConfigError(msg)
    return fitting
