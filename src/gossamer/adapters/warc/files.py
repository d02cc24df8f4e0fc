"""What writer, reader and recovery share about segment files: names, durability, and whose they are."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.model.errors import ArchiveError, DiskFullError, GossamerError

SUFFIX = ".warc.gz"
OPEN = ".open"
PURGING = ".purge"  # ends the name of a segment that is being rewritten
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def failure(error: OSError, name: str) -> GossamerError:
    """The error a person can act on for a failed write to the file `name`."""
    if error.errno in _NO_ROOM:
        return DiskFullError(f"no room for the archive: {name}: {error.strerror}")
    return ArchiveError(f"cannot write {name}: {error.strerror or error}")


def sync_directory(directory: Path) -> None:
    """Make creations, renames and deletions in `directory` durable."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def lock(fd: int, name: str) -> None:
    """Claim an open segment for this process until `fd` is closed. Raises ArchiveError when another has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ArchiveError(f"{name} is being written by another process") from error


@contextmanager
def owned(path: Path) -> Iterator[int]:
    """The file opened for reading and writing, locked. Raises ArchiveError when it is missing or in use."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise ArchiveError(f"cannot open {path.name}: {error.strerror}") from error
    try:
        lock(fd, path.name)
        yield fd
    finally:
        os.close(fd)


def segment_name(path: Path) -> str:
    """The name of a segment in pointers: without `.open`."""
    return path.name.removesuffix(OPEN)


def segments(directory: Path) -> list[Path]:
    """Every segment in `directory`, finished or open, by name."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if segment_name(path).endswith(SUFFIX) and path.is_file()]
    return sorted(found, key=segment_name)
