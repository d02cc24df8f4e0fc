"""What writer, reader and recovery share about segment files: names, durability, and whose they are."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.model.errors import ArchiveError, DiskFullError, GossamerError, StoreError

SUFFIX = ".warc.gz"
OPEN = ".open"
PURGING = ".purge"  # ends the name of a segment that is being rewritten
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}


def failure(error: OSError, name: str) -> GossamerError:
    """The error a person can act on for a failed write to the file `name`: DiskFullError or StoreError."""
    if error.errno in _NO_ROOM:
        return DiskFullError(f"no room for the archive: {name}: {error.strerror}")
    return StoreError(f"cannot write {name}: {error.strerror or error}")


@contextmanager
def told(path: Path) -> Iterator[None]:
    """What fails in here at files of `path` is an error that a person can act on."""
    try:
        yield
    except OSError as error:
        raise failure(error, str(path)) from error


def passes(error: BaseException) -> bool:
    """Whether an error, or what caused it, is that our machine is out of descriptors or memory now: it may pass."""
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno in _EXHAUSTED


def close(fd: int) -> None:
    """Close a file of which nothing is expected any more: it is durable already, or given up."""
    with contextlib.suppress(OSError):
        os.close(fd)


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
    """The file opened for reading and writing, locked.

    Raises ArchiveError when it is missing or in use, DiskFullError or StoreError when it cannot be opened.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise ArchiveError(f"cannot open {path.name}: {error.strerror}") from error
    except OSError as error:
        raise failure(error, path.name) from error
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
