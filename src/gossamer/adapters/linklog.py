"""The link log: which host's pages lead to which other hosts.

One file for each segment, written by its worker, in the directory `links` beside that of the segments:

    NAME.warc.gz.links   frames: payload length (4 bytes, big-endian), CRC-32 of the payload (4),
                         payload: zstd of a msgpack Batch

It is a by-product: written without a sync, and without ever failing a page. What is lost: what a worker had gathered
when it died (at most BATCH_PAGES pages, or those of BATCH_S), and a batch for which there was no room, which the next
one counts. What is too much: pages that were written and not committed are fetched again, and count twice. Readers
stop at the first frame that is not whole; recovery cuts the file there. A segment that is removed takes its log along.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX, LINK_LOG_FRAME_MAX_BYTES, LINK_LOG_PAIRS_MAX, MIB

DIRECTORY: Final = "links"
SUFFIX: Final = ".links"
BATCH_PAGES: Final = 1_000
BATCH_S: Final = 60.0
_LEVEL: Final = 3
_WINDOW_MAX_BYTES: Final = 8 * MIB


class Batch(msgspec.Struct, array_like=True):
    """What some pages of one segment say. Sources and targets are indexes into `hosts`; a pair stands once."""

    hosts: list[str]
    sources: list[int]
    targets: list[int]
    pages: list[int]  # of the source that lead to the target
    noted: int = 0  # pages this batch tells of
    cut: int = 0  # targets left out: more than LINK_HOSTS_PER_PAGE_MAX on one page
    lost: int = 0  # pages of earlier batches that could not be written


_decode: Final = msgspec.msgpack.Decoder(Batch).decode
_encode: Final = msgspec.msgpack.Encoder().encode


def log_path(segment: Path) -> Path:
    """The link log of a segment, open or finished."""
    return segment.parent.parent / DIRECTORY / (segment.name.removesuffix(".open") + SUFFIX)


class LinkLog:
    """Gathers the links of pages and appends them to the logs of the segments that the pages are in."""

    def __init__(self, directory: Path) -> None:
        """`directory`: of the segments."""
        self._directory = directory.parent / DIRECTORY
        self._segment = ""
        self._pairs: dict[str, dict[str, int]] = {}  # source -> target -> pages
        self._count = self._noted = self._cut = self._lost = 0
        self._since = 0.0  # of the first page that was gathered

    def note(self, segment: str, source: str, targets: Iterable[str], now: float) -> None:
        """A page of `source`, recorded in `segment`, leads to these other hosts: distinct ones, in page order.

        `now` in unix seconds, such as the date of the page.
        """
        if segment != self._segment:
            self.flush()
            self._segment = segment
        if not self._noted:
            self._since = now
        self._noted += 1
        counts = self._pairs.setdefault(source, {})
        before = len(counts)
        for number, target in enumerate(targets):
            if number >= LINK_HOSTS_PER_PAGE_MAX:
                self._cut += 1
            else:
                counts[target] = counts.get(target, 0) + 1
        self._count += len(counts) - before
        full = self._count >= LINK_LOG_PAIRS_MAX or self._noted >= BATCH_PAGES
        if full or not 0 <= now - self._since < BATCH_S:
            self.flush()

    def flush(self) -> None:
        """Append what was gathered. What cannot be written is dropped and counted."""
        if not self._noted:
            return
        if self._append(_frame(self._batch())):
            self._lost = 0
        else:
            self._lost += self._noted
        self._pairs.clear()
        self._count = self._noted = self._cut = 0

    def _batch(self) -> Batch:
        numbers: dict[str, int] = {}
        batch = Batch([], [], [], [], self._noted, self._cut, self._lost)
        for source, counts in self._pairs.items():
            for target, pages in counts.items():
                batch.sources.append(numbers.setdefault(source, len(numbers)))
                batch.targets.append(numbers.setdefault(target, len(numbers)))
                batch.pages.append(pages)
        batch.hosts = list(numbers)
        return batch

    def _append(self, frame: bytes) -> bool:
        """Whether it was written; whole, or cut off again."""
        path = self._directory / (self._segment + SUFFIX)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return False
        try:
            end = os.lseek(fd, 0, os.SEEK_END)
            try:
                written = os.write(fd, frame)
            except OSError:
                written = 0
            if written != len(frame):
                os.ftruncate(fd, end)
                return False
        except OSError:
            return False  # readers pass over the rest of a file behind a frame that is not whole
        finally:
            with contextlib.suppress(OSError):
                os.close(fd)
        return True


def _frame(batch: Batch) -> bytes:
    payload = zstandard.ZstdCompressor(level=_LEVEL).compress(_encode(batch))
    return len(payload).to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big") + payload


def read(path: Path) -> Iterator[Batch]:
    """The batches of a link log, up to the first that is not whole or not what it should be; none without a file."""
    for _, batch in _frames(path):
        yield batch


def cut(segment: Path) -> None:
    """Cut the log of a segment whose writer is gone back to its last whole frame."""
    path = log_path(segment)
    end = max((end for end, _ in _frames(path)), default=0)
    try:
        if path.stat().st_size > end:
            os.truncate(path, end)
    except OSError:
        return  # readers stop there as well


def remove(segment: Path) -> None:
    """Remove the log of a segment that is removed."""
    log_path(segment).unlink(missing_ok=True)


def _frames(path: Path) -> Iterator[tuple[int, Batch]]:
    """(where it ends, batch) of each whole frame."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    end = 0
    decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_MAX_BYTES)
    with file:
        while len(head := file.read(8)) == 8:
            size = int.from_bytes(head[:4], "big")
            payload = file.read(size) if size <= LINK_LOG_FRAME_MAX_BYTES else b""
            if len(payload) != size or zlib.crc32(payload) != int.from_bytes(head[4:], "big"):
                return
            try:
                if not 0 <= zstandard.frame_content_size(payload) <= LINK_LOG_FRAME_MAX_BYTES:
                    return
                batch = _decode(decompressor.decompress(payload))
            except (zstandard.ZstdError, ValueError):  # msgspec's errors are ValueErrors
                return
            if not _is_sound(batch):
                return
            end += 8 + size
            yield end, batch


def _is_sound(batch: Batch) -> bool:
    """Whether every number means something."""
    if not len(batch.sources) == len(batch.targets) == len(batch.pages):
        return False
    known = range(len(batch.hosts))
    ends = [pick(numbers) for numbers in (batch.sources, batch.targets) for pick in (min, max) if numbers]
    return all(end in known for end in ends) and (not batch.pages or 0 < min(batch.pages) <= max(batch.pages) < 2**31)
