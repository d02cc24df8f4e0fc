"""The wire between the pool and a worker: frames of a 4-byte length and msgpack, and a shared page of progress.

Both ends are this program, but a worker has parsed hostile input, so the pool bounds what it takes from one.
"""

from __future__ import annotations

import mmap
import struct
from typing import Final

import msgspec

from gossamer.adapters.digest.links import LinkRules
from gossamer.model.limits import MIB, SITEMAP_MAX_BYTES
from gossamer.model.page import Digest, Job

HEADER_BYTES: Final = 4
# A job carries a body twice when it was chunked, with framing up to as long again; a head and the like are small.
FRAME_MAX_BYTES: Final = 3 * SITEMAP_MAX_BYTES + 8 * MIB
PROGRESS_BYTES: Final = mmap.PAGESIZE
_PROGRESS: Final = struct.Struct("=qd")  # job id, monotonic start time in seconds
_DISK: Final = struct.Struct("=dd")  # seconds waited for the disk so far, monotonic time since when it waits now or 0
_DISK_AT: Final = 64


class Setup(msgspec.Struct, frozen=True, kw_only=True, tag="setup"):
    """First frame to a worker: all it must know."""

    rules: LinkRules
    directory: str  # of the segments
    prefix: str  # of their names
    segment_bytes: int
    software: str
    user_agent: str
    operator: str
    memory_max_bytes: int
    clock_offset_s: float = 0.0  # program time minus this machine's monotonic clock, which all processes share


class Settled(msgspec.Struct, frozen=True, array_like=True):
    """The core has a row for every link that was told of a job, except for the keys it refused."""

    job: int
    refused: tuple[str, ...] = ()


class Work(msgspec.Struct, frozen=True, tag="work"):
    """A job for the worker, and what has become of the links of earlier ones."""

    job: Job
    settled: tuple[Settled, ...] = ()


class Finish(msgspec.Struct, frozen=True, tag="finish"):
    """Answer what you have, close the segment, end."""


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """First frame from a worker. `error` is set when a hook can't be loaded; then it ends."""

    error: str = ""


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """A job's result; its records are durable."""

    digest: Digest


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """Last frame from a worker: the segments it closed since its last answer."""

    closed: tuple[str, ...]
    error: str = ""


ToWorker = Setup | Work | Finish
FromWorker = Ready | Answer | Finished

_encoder: Final = msgspec.msgpack.Encoder()
to_worker: Final = msgspec.msgpack.Decoder(ToWorker)
from_worker: Final = msgspec.msgpack.Decoder(FromWorker)


def encode(message: ToWorker | FromWorker) -> bytearray:
    """A message as a frame, its length first. Raises ValueError when it is longer than FRAME_MAX_BYTES."""
    frame = bytearray(HEADER_BYTES)
    _encoder.encode_into(message, frame, HEADER_BYTES)
    size = len(frame) - HEADER_BYTES
    if size > FRAME_MAX_BYTES:
        raise ValueError(f"a frame of {size} bytes: at most {FRAME_MAX_BYTES} are allowed")
    frame[:HEADER_BYTES] = size.to_bytes(HEADER_BYTES, "big")
    return frame


class Splitter:
    """Cuts a stream of bytes into the frames it is made of."""

    def __init__(self) -> None:
        self._data: bytes | bytearray = b""
        self._at = 0

    def feed(self, data: bytes) -> None:
        """Add bytes that arrived."""
        if self._at == len(self._data):
            self._data = data  # as a rule frames arrive whole: nothing is copied
        else:
            if self._at or not isinstance(self._data, bytearray):
                self._data = bytearray(memoryview(self._data)[self._at :])
            self._data += data
        self._at = 0

    def next(self) -> memoryview | None:
        """The next whole frame, or None. It stays as it is when more is fed.

        Raises ValueError for one that is longer than FRAME_MAX_BYTES.
        """
        start = self._at + HEADER_BYTES
        if len(self._data) < start:
            return None
        size = int.from_bytes(self._data[self._at : start], "big")
        if size > FRAME_MAX_BYTES:
            raise ValueError(f"a frame of {size} bytes: at most {FRAME_MAX_BYTES} are allowed")
        if len(self._data) < start + size:
            return None
        self._at = start + size
        return memoryview(self._data)[start : start + size]


class Progress:
    """Shared memory in which a worker notes what it is at, so that the pool knows which page it died or hangs on, and
    for how long it has waited for the disk.
    """

    def __init__(self, fd: int) -> None:
        """Map the page of an open memory file, which may then be closed."""
        self._map = mmap.mmap(fd, PROGRESS_BYTES)

    def begin(self, job_id: int, now_s: float) -> None:
        """Worker: from now on at this job. Time is the system's monotonic clock, the same in all processes."""
        _PROGRESS.pack_into(self._map, 0, job_id, now_s)

    def end(self) -> None:
        """Worker: at no job."""
        _PROGRESS.pack_into(self._map, 0, 0, 0.0)

    def read(self) -> tuple[int, float]:
        """Pool: (job id or 0, since when; 0.0 when it is only just beginning)."""
        job_id, since_s = _PROGRESS.unpack_from(self._map, 0)
        return int(job_id), float(since_s)

    def wait_for_disk(self, now_s: float) -> None:
        """Worker: from now on until `waited`."""
        total_s, _ = _DISK.unpack_from(self._map, _DISK_AT)
        _DISK.pack_into(self._map, _DISK_AT, total_s, now_s)

    def waited(self, now_s: float) -> None:
        """Worker: the disk has answered."""
        total_s, since_s = _DISK.unpack_from(self._map, _DISK_AT)
        _DISK.pack_into(self._map, _DISK_AT, total_s + max(0.0, now_s - since_s), 0.0)

    def disk_s(self, now_s: float) -> float:
        """Pool: seconds that it has waited for the disk since it was started, as of now on the same clock."""
        total_s, since_s = _DISK.unpack_from(self._map, _DISK_AT)
        return float(total_s + (max(0.0, now_s - since_s) if since_s else 0.0))

    def close(self) -> None:
        """Unmap."""
        self._map.close()
