"""The crawl log: one JSON object a line, appended, rotated by size and compressed. Reading is `surface.logreader`.

`crawl.jsonl` is being written; `crawl-000001.jsonl.gz` and so on came before. A process that dies while it writes
leaves at most one torn line, which is cut off at the next start. The 12-field form is `surface.heritrix`.
"""

from __future__ import annotations

import errno
import gzip
import os
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.limits import MIB

CURRENT: Final = "crawl.jsonl"
ROTATE_BYTES: Final = 256 * MIB
FILES_MAX: Final = 1_000  # rotated files kept; beyond, the oldest are deleted ...
KEPT_S: Final = 90 * 86_400.0  # ... but none before this age: a complaint is answered with it
HOSTS_SUFFIX: Final = ".hosts"  # beside a rotated file: which hosts it has lines of
BUFFER_BYTES: Final = 64 * 1024
_COPY_BYTES: Final = 1 * MIB
_HOST_FIELD: Final = b'"host":"'
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class CrawlLog:
    """Appends events. One writer at a time; who owns the store owns the log."""

    def __init__(
        self,
        directory: Path,
        *,
        rotate_bytes: int = ROTATE_BYTES,
        files_max: int = FILES_MAX,
        kept_s: float = KEPT_S,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Open the log in a directory, which is created; cut off a torn last line; finish a rotation cut short.

        Raises DiskFullError, StoreError.
        """
        self._directory = directory
        self._rotate_bytes = rotate_bytes
        self._files_max = files_max
        self._kept_s = kept_s
        self._now = now
        self._buffer = bytearray()
        self._squeezer: threading.Thread | None = None
        self.cut_bytes = 0  # of a torn line, at this start
        self.deleted_files = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for leftover in (*directory.glob("crawl-*.part"), *_compressed_already(directory)):
                leftover.unlink()
            self._fd, self._size = self._open()
        except OSError as error:
            raise _problem(directory, error) from error
        self._squeeze()

    def append(self, event: FetchEvent) -> None:
        """Add one event to the buffer, which is written when it is full or flushed. Raises DiskFullError."""
        self._buffer += encode(event)
        self._buffer += b"\n"
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()

    def flush(self, *, sync: bool = False) -> None:
        """Hand what is buffered to the system; with `sync`, wait until it is on the disk.

        Raises DiskFullError. What was not written stays in the buffer and goes first the next time.
        """
        try:
            while self._buffer:
                written = os.write(self._fd, self._buffer)
                self._size += written
                del self._buffer[:written]
            if sync:
                os.fsync(self._fd)
            if self._size >= self._rotate_bytes:
                self._rotate()
        except OSError as error:
            raise _problem(self._directory, error) from error

    def close(self) -> None:
        """Flush, sync and close; wait for a compression under way.

        Raises DiskFullError, StoreError. Lines that are not in the file are still in the store, for `complete`.
        """
        try:
            self.flush(sync=True)
        finally:
            os.close(self._fd)
            if self._squeezer is not None:
                self._squeezer.join()

    def complete(self, lines: list[bytes]) -> None:
        """Append, durably, what is missing of lines that end the log, should it have been written to the end.

        The last line of the log tells how far an earlier run came. Raises DiskFullError, StoreError.
        """
        last = self._last_line()
        have = len(lines) - lines[::-1].index(last) if last in lines else 0
        self._buffer += b"".join(line + b"\n" for line in lines[have:])
        self.flush(sync=True)

    def _last_line(self) -> bytes:
        if self._size:
            start = _whole_bytes(self._fd, self._size - 1)
            return os.pread(self._fd, self._size - 1 - start, start)
        files = rotated(self._directory)
        if not files:
            return b""
        with (gzip.open if files[-1][1].suffix == ".gz" else open)(files[-1][1], "rb") as stream:
            line = b""
            for line in stream:  # noqa: B007 - the last one is what is wanted
                pass
            return line.rstrip(b"\n")

    def _open(self) -> tuple[int, int]:
        fd = os.open(self._directory / CURRENT, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        size = os.fstat(fd).st_size
        whole = _whole_bytes(fd, size)
        if whole < size:
            os.ftruncate(fd, whole)
            self.cut_bytes = size - whole
        return fd, whole

    def _rotate(self) -> None:
        last = max((number for number, _ in rotated(self._directory)), default=0)
        os.fsync(self._fd)
        (self._directory / CURRENT).rename(self._directory / f"crawl-{last + 1:06d}.jsonl")
        os.close(self._fd)
        self._fd, self._size = self._open()
        self._squeeze()

    def _squeeze(self) -> None:
        """Compress rotated files and delete the oldest, on a thread of its own: it takes seconds of CPU."""
        if self._squeezer is not None and self._squeezer.is_alive():
            return  # it looks for new files before it ends; what it misses is found at the next rotation
        files = rotated(self._directory)
        if len(files) > self._files_max or any(path.suffix != ".gz" for _, path in files):
            self._squeezer = threading.Thread(target=self._squeeze_all, name="crawl-log-gzip", daemon=True)
            self._squeezer.start()

    def _squeeze_all(self) -> None:
        try:
            for _, path in rotated(self._directory):
                if path.suffix != ".gz":
                    _compress(path)
            for _, path in rotated(self._directory)[: -self._files_max]:
                if self._now() - path.stat().st_mtime < self._kept_s:
                    return  # and those after it are younger
                path.unlink()
                hosts_path(path).unlink(missing_ok=True)
                self.deleted_files += 1
        except OSError:
            return  # no room to compress: the plain file stays, readable, and the next rotation tries again


def rotated(directory: Path) -> list[tuple[int, Path]]:
    """Files that are no longer written, oldest first: (number, path)."""
    found: dict[int, Path] = {}
    for path in sorted(directory.glob("crawl-*.jsonl*")):
        number, dot, rest = path.name.removeprefix("crawl-").partition(".")
        if dot and number.isdigit() and rest in {"jsonl", "jsonl.gz"}:
            found[int(number)] = path  # when both are there, the compressed one is whole and sorts last
    return sorted(found.items())


def hosts_path(path: Path) -> Path:
    """Where the hosts of a rotated file are named."""
    return path.with_name(path.name.partition(".")[0] + HOSTS_SUFFIX)


def may_have(path: Path, host: str) -> bool:
    """Whether a rotated file may have lines of a host (at any port, if none is given). Without its list it may."""
    try:
        names = zlib.decompress(hosts_path(path).read_bytes())
    except (OSError, zlib.error):
        return True
    wanted = encode(host)[1:-1]
    if b"\\" in wanted:
        return True  # a name that is written with escapes is not listed whole
    return b"\n" + wanted + b"\n" in names or b"\n" + wanted + b":" in names


def _compressed_already(directory: Path) -> list[Path]:
    """Plain files whose compressed form is whole: a crash came between the two steps."""
    squeezed = [path.with_suffix("") for _, path in rotated(directory) if path.suffix == ".gz"]
    return [path for path in squeezed if path.exists()]


def _whole_bytes(fd: int, size: int) -> int:
    """Bytes up to the end of the last whole line."""
    end = size
    while end > 0:
        start = max(0, end - BUFFER_BYTES)
        cut = os.pread(fd, end - start, start).rfind(b"\n")
        if cut >= 0:
            return start + cut + 1
        end = start
    return 0


def _compress(path: Path) -> None:
    done = path.with_name(path.name + ".gz")
    part = path.with_name(path.name + ".part")
    hosts: set[bytes] = set()
    with path.open("rb") as source, part.open("wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=2) as target:
            while lines := source.readlines(_COPY_BYTES):
                hosts.update(map(_host_of, lines))
                target.write(b"".join(lines))
        raw.flush()
        os.fsync(raw.fileno())
    names = b"\n".join((b"", *sorted(hosts), b""))
    listing = hosts_path(path)
    listing.with_name(listing.name + ".part").write_bytes(zlib.compress(names, 6))
    listing.with_name(listing.name + ".part").rename(listing)
    os.utime(part, (path.stat().st_atime, path.stat().st_mtime))  # its age is that of its last line
    part.rename(done)
    path.unlink()


def _host_of(line: bytes) -> bytes:
    """The host that a line is of, undecoded: next to no name has anything to escape."""
    start = line.find(_HOST_FIELD) + len(_HOST_FIELD)
    return line[start : line.find(b'"', start)]


def _problem(directory: Path, error: OSError) -> DiskFullError | StoreError:
    if error.errno in _NO_ROOM:
        return DiskFullError(f"{directory}: no room left for the crawl log")
    return StoreError(f"{directory}: the crawl log cannot be written: {error.strerror}")
