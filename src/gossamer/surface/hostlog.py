"""The visits of one host from the crawl log, newest first, without reading all of a log that may have gigabytes.

The files are read from the newest on, up to a bound of bytes; how far that reached is told with what was found. Files
that have no line of the host are passed over unread, lines of other hosts undecoded.
"""

from __future__ import annotations

import gzip
import os
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.limits import MIB
from gossamer.surface.crawllog import CURRENT, may_have, rotated

LOOKED_BACK_BYTES: Final = 256 * MIB  # of log, decompressed
VISITS_MAX: Final = 10_000
_BLOCK_BYTES: Final = 4 * MIB
_LINE_MAX_BYTES: Final = 1 * MIB

_decode: Final = msgspec.json.Decoder(FetchEvent).decode


class HostLog(msgspec.Struct, frozen=True, kw_only=True):
    """Visits of one host as the log tells them."""

    events: tuple[FetchEvent, ...] = ()  # newest first
    since: float = 0.0  # unix seconds of the oldest line looked at; 0: no line was
    whole: bool = True  # the whole log was looked at


def host_log(directory: Path, host: str, last: int, max_bytes: int = LOOKED_BACK_BYTES) -> HostLog:
    """The newest `last` events of a host in a `log` directory."""
    needle = b'"host":' + encode(host) + b","
    found: list[FetchEvent] = []
    oldest = 0.0
    left = max_bytes
    passed: _File | None = None  # the oldest so far that has no line of the host
    for file in _files(directory):
        if file.lacks(host):
            passed = file
            continue
        passed = None
        size = 0
        matches: deque[bytes] = deque(maxlen=last - len(found))
        first = b""
        for block in file.blocks(left):
            size += len(block)
            first = first or block[: block.find(b"\n")]
            matches.extend(_lines_with(block, needle))
        found += [event for event in map(_event, reversed(matches)) if event is not None and event.host == host]
        start = _event(first)
        oldest = start.time if start is not None else oldest
        left -= size
        if len(found) >= last or left <= 0 or file.is_cut:
            return HostLog(events=tuple(found), since=oldest, whole=False)
    return HostLog(events=tuple(found), since=oldest if passed is None else passed.began(oldest))


def _files(directory: Path) -> Iterator[_File]:
    """The files of a log, newest first."""
    for path in (directory / CURRENT, *(path for _, path in reversed(rotated(directory)))):
        yield _File(path)


class _File:
    """One file of a log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_cut = False  # its beginning was not read

    def lacks(self, host: str) -> bool:
        """Whether the list beside it says that it has no line of a host."""
        return self._path.name != CURRENT and not may_have(self._path, host)

    def began(self, otherwise: float) -> float:
        """Unix seconds of its first line; `otherwise` when that cannot be read."""
        first = next(iter(self.blocks(_LINE_MAX_BYTES)), b"")
        event = _event(first[: first.find(b"\n")])
        return event.time if event is not None else otherwise

    def blocks(self, max_bytes: int) -> Iterable[bytes]:
        """Its last so many bytes in blocks of whole lines; a compressed one, which has no end to go to, whole."""
        for path in (self._path, self._path.with_name(self._path.name + ".gz")):  # compressed since it was listed
            try:
                if path.suffix == ".gz":
                    with gzip.open(path) as squeezed:
                        yield from _whole_lines(squeezed)
                else:
                    with path.open("rb") as file:
                        start = max(0, os.fstat(file.fileno()).st_size - max_bytes)
                        file.seek(start)
                        self.is_cut = start > 0
                        if start:
                            file.readline(_LINE_MAX_BYTES)
                        yield from _whole_lines(file)
            except FileNotFoundError:
                continue
            except (OSError, EOFError):  # damaged: what was read counts
                return
            return


def _whole_lines(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    held = b""
    while part := file.read(_BLOCK_BYTES):
        end = part.rfind(b"\n") + 1
        if end:
            yield held + part[:end]
            held = part[end:]
        elif len(held) < _LINE_MAX_BYTES:
            held += part


def _lines_with(block: bytes, needle: bytes) -> Iterator[bytes]:
    at = block.find(needle)
    while at >= 0:
        end = block.find(b"\n", at)
        yield block[block.rfind(b"\n", 0, at) + 1 : end]
        at = block.find(needle, end)


def _event(line: bytes) -> FetchEvent | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
