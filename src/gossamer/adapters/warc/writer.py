"""The segment writer: appends the records of pages to `.open` files, rotates them, keeps them whole.

One process writes a segment, from its exclusive creation to its renaming. Every append lands whole or is cut off
again. Not here: what is in a record (`records`), what happens to segments whose writer died (`recover`).
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gossamer.adapters.warc import cdxj, files, members, parse, records
from gossamer.model.errors import ArchiveError, StoreError
from gossamer.model.limits import KIB, SEGMENT_CAPTURES_MAX
from gossamer.model.page import Job, Pointer

_SERIAL_MAX = 99_999
_QUICK_MIN_BYTES = 16 * KIB  # beside so much that is stored as it came, half a KiB more is little: 3 % at most


class _Segment(NamedTuple):
    name: str  # without `.open`
    fd: int
    info_end: int  # bytes of the warcinfo record


class SegmentWriter:
    """Writes pages into segments named `<prefix>-<serial>.warc.gz`, `.open` until they are finished.

    Args:
        directory: where the segments go; created when missing.
        prefix: distinguishes this writer from every other, in this run and earlier ones.
        segment_bytes: a segment is finished once it is this long; it exceeds that by less than one page.
        software: name and version for warcinfo.
        user_agent: the User-Agent sent, for warcinfo.
        operator: whom to ask about the crawl, for warcinfo.
        description: what is special about these segments, for warcinfo.
        clock: unix seconds, for the date of warcinfo records.
    """

    def __init__(
        self,
        directory: Path,
        prefix: str,
        *,
        segment_bytes: int,
        software: str,
        user_agent: str,
        clock: Callable[[], float],
        operator: str = "",
        description: str = "",
    ) -> None:
        self._directory = directory
        self._prefix = prefix
        self._segment_bytes = segment_bytes
        self._clock = clock
        self._info = {
            "software": software,
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "http-header-user-agent": user_agent,
            "robots": "obey",
            "operator": operator,
            "description": description,
        }
        self._serial = 0
        self._segment: _Segment | None = None
        self._end = 0
        self._synced_end = 0
        self._tail = False  # bytes beyond `_end` may be in the file: a write failed and could not be cut off
        self._lines: list[tuple[int, bytes]] = []  # (end of the page, index line)
        self._closed: list[str] = []

    @property
    def end(self) -> int:
        """Length in bytes of the current segment after the last record; 0 when none is open."""
        return self._end

    @property
    def closed(self) -> list[str]:
        """Names of the segments finished since this was last asked."""
        names, self._closed = self._closed, []
        return names

    def write(self, job: Job, *, metadata: Mapping[str, str], noarchive: bool = False) -> Pointer:
        """Append the records of one visit; where its response, revisit or (with `noarchive`) metadata record is.

        Not durable before `sync`. Raises ArchiveError for a page that cannot be recorded, DiskFullError or StoreError
        when the archive cannot be written; then nothing of the page is in the segment.
        """
        built = records.page(job, metadata, noarchive=noarchive)
        is_quick = len(built[0].coded) >= _QUICK_MIN_BYTES
        packed = [members.pack(record.start, record.coded, record.end, is_quick=is_quick) for record in built]
        return self.add(packed, lambda pointer: _index_line(job, pointer, built[0].kind))

    def add(self, packed: Sequence[bytes], line_of: Callable[[Pointer], bytes | None]) -> Pointer:
        """Append records that are compressed already, those of one visit; where the first is. As `write` else.

        `line_of` makes the index line of the first, or None.
        """
        if self._segment is not None and (self._end >= self._segment_bytes or len(self._lines) >= SEGMENT_CAPTURES_MAX):
            self._finish()
        segment = self._segment or self._create()
        pointer = Pointer(segment.name, self._end, len(packed[0]))
        line = line_of(pointer)
        self._append(segment, b"".join(packed))
        if line is not None:
            self._lines.append((self._end, line))
        return pointer

    def sync(self) -> None:
        """Make everything written durable, the segment's name included.

        Raises DiskFullError or StoreError; then everything since the last sync is gone from the segment.
        """
        segment = self._segment
        if segment is None or self._synced_end == self._end:
            return
        try:
            os.fdatasync(segment.fd)
            if not self._synced_end:
                files.sync_directory(self._directory)
            self._find(segment)
        except OSError as error:
            # After a failed fsync the kernel may call lost pages clean: only what was synced before is certain.
            self._end = self._synced_end
            self._lines = [(end, line) for end, line in self._lines if end <= self._end]
            self._cut(segment)
            if not self._end:
                self._abandon(segment)
            raise files.failure(error, str(self._open(segment))) from error
        self._synced_end = self._end

    def close(self) -> None:
        """Finish the current segment: durable, indexed, renamed. A segment without a page is removed."""
        if self._segment is not None:
            self._finish()

    def _create(self) -> _Segment:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise files.failure(error, str(self._directory)) from error
        while self._serial <= _SERIAL_MAX:
            name = f"{self._prefix}-{self._serial:05d}{files.SUFFIX}"
            self._serial += 1
            fd = self._claim(name)
            if fd is not None:
                return self._begin(name, fd)
        raise StoreError(f"no segment name is left for {self._prefix}: {_SERIAL_MAX + 1} were taken")

    def _claim(self, name: str) -> int | None:
        """The new file, created by nobody else and locked; None when the name is taken, open or finished."""
        path = self._directory / (name + files.OPEN)
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        except FileExistsError:
            return None
        except OSError as error:
            raise files.failure(error, str(path)) from error
        try:
            # Looked up only now: a finished segment of this name was `.open` before, which would have stopped us.
            taken = (self._directory / name).exists()
            if taken:
                path.unlink()
            else:
                files.lock(fd, path.name)
        except OSError as error:
            files.close(fd)
            raise files.failure(error, str(path)) from error
        except ArchiveError as error:
            files.close(fd)
            raise StoreError(str(error)) from error
        if taken:
            files.close(fd)
        return None if taken else fd

    def _begin(self, name: str, fd: int) -> _Segment:
        info = members.pack(records.warcinfo(name, self._clock(), self._info))
        segment = _Segment(name, fd, len(info))
        self._segment, self._end, self._synced_end, self._tail, self._lines = segment, 0, 0, False, []
        try:
            self._append(segment, info)
        except Exception:
            self._abandon(segment)
            raise
        return segment

    def _append(self, segment: _Segment, data: bytes) -> None:
        if self._tail:
            self._cut(segment)
        view = memoryview(data)
        position = self._end
        try:
            while view:
                written = os.pwrite(segment.fd, view, position)
                position += written
                view = view[written:]
        except OSError as error:
            self._cut(segment)
            raise files.failure(error, str(self._open(segment))) from error
        self._end = position

    def _cut(self, segment: _Segment) -> None:
        try:
            os.ftruncate(segment.fd, self._end)
        except OSError:
            self._tail = True  # tried again before the next append and before the segment is finished
        else:
            self._tail = False

    def _abandon(self, segment: _Segment) -> None:
        with contextlib.suppress(OSError):  # no commit knows it: the next start removes what cannot be removed now
            self._open(segment).unlink(missing_ok=True)
        files.close(segment.fd)
        self._segment, self._end, self._synced_end = None, 0, 0

    def _open(self, segment: _Segment) -> Path:
        return self._directory / (segment.name + files.OPEN)

    def _find(self, segment: _Segment) -> None:
        """Raise OSError when the file we write is not the one under its name: what we write nobody will find."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self._open(segment).stat(), os.fstat(segment.fd)):
                return
        raise FileNotFoundError(errno.ENOENT, "somebody took it away while it was being written")

    def _finish(self) -> None:
        segment = self._segment
        if segment is None:
            return
        if self._end <= segment.info_end:
            self._abandon(segment)
            return
        if self._tail:
            self._cut(segment)
        if self._tail:
            raise StoreError(f"cannot cut the remains of a failed write off {self._open(segment)}")
        self.sync()
        path = self._directory / segment.name
        try:
            if self._open(segment).exists() or not path.exists():  # else a try before this one came so far
                cdxj.save(path, (line for _, line in self._lines))
                self._open(segment).rename(path)
            files.sync_directory(self._directory)
        except OSError as error:
            raise files.failure(error, str(path)) from error
        files.close(segment.fd)
        self._segment, self._end, self._synced_end, self._lines = None, 0, 0, []
        self._closed.append(segment.name)


def _index_line(job: Job, pointer: Pointer, kind: str) -> bytes | None:
    if kind not in {"response", "revisit"} or job.status == 304:
        return None
    mime = next((value for name, value in job.headers if name == "content-type"), "")
    original = job.original if kind == "revisit" else None
    return cdxj.line(
        pointer,
        uri=records.uri(job.url),
        warc_date=records.warc_date(job.date),
        mime="warc/revisit" if kind == "revisit" else cdxj.media_type(mime),
        status=job.status,
        digest=original.digest if original is not None else job.payload_digest or parse.sha1(job.payload),
    )
