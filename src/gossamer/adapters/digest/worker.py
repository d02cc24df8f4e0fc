"""The digest process: reads jobs, parses and archives each, answers when the records are durable.

    python -m gossamer.adapters.digest.worker SOCKET_FD PROGRESS_FD PARENT_PID

It ends when its socket closes or its parent dies, leaving its segment `.open` for recovery; after a Finish frame it
closes the segment in order. It never touches the network.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import os
import resource
import select
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.hooks import Hooks, load_worker_hooks
from gossamer.adapters.digest.linkreader import LinkReader
from gossamer.adapters.digest.neighbours import Neighbours
from gossamer.adapters.digest.parse import parse
from gossamer.adapters.digest.unwritten import why
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.errors import ConfigError, GossamerError, StoreError
from gossamer.model.limits import DIGEST_SYNC_JOBS, DIGEST_SYNC_S
from gossamer.model.page import Digest, Job

RECEIVE_BYTES: Final = 1 << 18
ERROR_MAX_CHARS: Final = 300
STORAGE_EXIT: Final = 3  # a sync failed: what the segment holds beyond the last answer is unknown
_PR_SET_PDEATHSIG: Final = 1


class Worker:
    """One worker's state: its writer, its hooks, and the pages that are written but not yet durable."""

    def __init__(self, setup: frames.Setup, hooks: Hooks, progress: frames.Progress) -> None:
        self.rules = setup.rules
        self.hooks = hooks
        self.reader = LinkReader(setup.rules, hooks)
        self.neighbours = Neighbours(Path(setup.directory), tell_refused=bool(hooks.scope))
        self.progress = progress
        self.unsynced: list[Digest] = []
        self.closed: list[str] = []
        offset_s = setup.clock_offset_s
        self.writer = SegmentWriter(
            Path(setup.directory),
            setup.prefix,
            segment_bytes=setup.segment_bytes,
            software=setup.software,
            user_agent=setup.user_agent,
            operator=setup.operator,
            clock=lambda: time.monotonic() + offset_s,
        )

    def take(self, job: Job) -> list[Digest]:
        """Parse and write one page. Returns digests that can be answered at once because they failed."""
        started_s = time.process_time()
        self.progress.begin(job.id, time.monotonic())
        digest = Digest(id=job.id, pointer=None)
        end = self.writer.end
        try:
            digest = self._parse(job)
            pointer = self.writer.write(job, metadata=_metadata(digest), noarchive=digest.noarchive)
        except GossamerError as error:
            self.closed += self.writer.closed
            self.progress.end()
            failed = _unwritten(digest, error)
            return [failed] if self.writer.end >= end else [failed, *self._lost(error)]
        digest = msgspec.structs.replace(digest, pointer=pointer, committed_end=self.writer.end)
        digest = self.neighbours.note(job, digest, self.reader.targets)
        self.progress.end()  # not in a finally: what goes wrong otherwise ends the process, and this page is why
        self.unsynced.append(msgspec.structs.replace(digest, cpu_s=time.process_time() - started_s))
        return []

    def _parse(self, job: Job) -> Digest:
        """A parser that fails costs the page its parse, not its record. Raises StoreError for want of descriptors."""
        self.reader.targets = {}
        try:
            return parse(job, self.rules, self.hooks, self.reader)
        except MemoryError:
            gc.collect()
            error = "digest-memory"
        except Exception as fault:  # whatever a parser does to hostile input, the page is archived
            if isinstance(fault, OSError) and fault.errno in (errno.EMFILE, errno.ENFILE):  # a codec's module, say
                self.hooks.take_errors()
                raise StoreError(f"cannot read what parsing needs: {fault.strerror}") from fault
            error = f"parser: {type(fault).__name__}: {fault}"[:ERROR_MAX_CHARS]
        self.hooks.take_errors()
        self.reader.targets = {}
        plain = parse(msgspec.structs.replace(job, parse=False), self.rules, self.hooks)
        return msgspec.structs.replace(plain, error=error)

    def _lost(self, error: GossamerError) -> list[Digest]:
        """Pages whose records a failed rotation took along: their segment is shorter now, and not among the closed."""
        kept: list[Digest] = []
        lost: list[Digest] = []
        for digest in self.unsynced:
            pointer = digest.pointer
            is_safe = pointer is not None and pointer.segment in self.closed
            (kept if is_safe or digest.committed_end <= self.writer.end else lost).append(digest)
        self.unsynced = kept
        return [_unwritten(digest, error) for digest in lost]

    def sync(self) -> tuple[list[Digest], bool]:
        """Make everything written durable. Returns the digests to answer, and whether this worker may go on."""
        digests, self.unsynced = self.unsynced, []
        self.progress.wait_for_disk(time.monotonic())
        try:
            self.writer.sync()
        except GossamerError as error:
            self.closed += self.writer.closed
            safe = set(self.closed)
            return [
                digest if digest.pointer is not None and digest.pointer.segment in safe else _unwritten(digest, error)
                for digest in digests
            ], False
        finally:
            self.progress.waited(time.monotonic())
        self.closed += self.writer.closed
        if digests and self.closed:
            digests[-1] = msgspec.structs.replace(digests[-1], closed=tuple(self.closed))
            self.closed = []
        return digests, True

    def finish(self) -> frames.Finished:
        """Close the segment."""
        self.neighbours.flush()
        error = ""
        try:
            self.writer.close()
        except GossamerError as fault:
            error = str(fault)[:ERROR_MAX_CHARS]
        return frames.Finished((*self.closed, *self.writer.closed), error)


def _metadata(digest: Digest) -> dict[str, str]:
    """What the WARC metadata record says beside what the writer adds: ours first, which wins, then what hooks said.

    Of a page that asks not to be kept nothing of theirs is: it may be the page itself.
    """
    own = {"charset": digest.charset, "language": digest.language, "digest-error": digest.error}
    extra = {} if digest.noarchive else digest.extra
    return own | {name: value for name, value in extra.items() if name not in own}


def _unwritten(digest: Digest, error: GossamerError) -> Digest:
    """The digest of a page that could not be archived: what was parsed of it must not outlive its record."""
    return Digest(
        id=digest.id,
        pointer=None,
        media_type=digest.media_type,
        error=f"archive: {error}"[:ERROR_MAX_CHARS],
        unwritten=why(error),
    )


class Channel:
    """The worker's end of the socket pair: blocking frames in and out."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._splitter = frames.Splitter()
        self._waiting: deque[memoryview] = deque()

    def has_more(self, wait_s: float = 0.0) -> bool:
        """Whether a frame, or part of one, or the end, can be read within this time."""
        return bool(self._waiting) or bool(select.select([self._sock], [], [], wait_s)[0])

    def receive(self) -> frames.ToWorker | None:
        """The next message; None when the other end is gone."""
        while not self._waiting:
            try:
                data = self._sock.recv(RECEIVE_BYTES)
            except ConnectionError:
                return None
            if not data:
                return None
            self._splitter.feed(data)
            while (frame := self._splitter.next()) is not None:
                self._waiting.append(frame)
        return frames.to_worker.decode(self._waiting.popleft())

    def send(self, messages: list[frames.FromWorker]) -> bool:
        """Send; False when the other end is gone."""
        try:
            self._sock.sendall(b"".join(frames.encode(message) for message in messages))
        except OSError:
            return False
        return True


def serve(channel: Channel, worker: Worker) -> int:
    """Take jobs until told to finish or left alone; the process's exit code."""
    first_s = 0.0
    while True:
        due = len(worker.unsynced) >= DIGEST_SYNC_JOBS or (
            bool(worker.unsynced) and (time.monotonic() - first_s >= DIGEST_SYNC_S or not channel.has_more())
        )
        if due:
            digests, may_go_on = worker.sync()
            if not channel.send([frames.Answer(digest) for digest in digests]):
                return 0
            if not may_go_on:
                return STORAGE_EXIT
            continue
        message = channel.receive()
        if message is None:
            return 0
        if isinstance(message, frames.Work):
            if not worker.unsynced:
                first_s = time.monotonic()
            for settled in message.settled:
                worker.reader.settle(settled.job, settled.refused, message.job.date)
            failed = worker.take(message.job)
            if failed and not channel.send([frames.Answer(digest) for digest in failed]):
                return 0
        elif isinstance(message, frames.Finish):
            digests, may_go_on = worker.sync()
            answers: list[frames.FromWorker] = [frames.Answer(digest) for digest in digests]
            channel.send([*answers, worker.finish()])
            return 0 if may_go_on else STORAGE_EXIT


def limit_process(memory_max_bytes: int) -> None:
    """Bound this process: memory on top of what it holds now, no core files, death with its parent, deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        limit = pages * resource.getpagesize() + memory_max_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Run a worker on the descriptors it was started with; the exit code."""
    socket_fd, progress_fd, parent = (int(argument) for argument in arguments)
    channel = Channel(socket.socket(fileno=socket_fd))
    progress = frames.Progress(progress_fd)
    os.close(progress_fd)
    progress.end()
    setup = channel.receive()
    if not isinstance(setup, frames.Setup):
        return 0
    limit_process(setup.memory_max_bytes)
    if os.getppid() != parent:
        return 0  # it died before it could be watched
    try:
        hooks = load_worker_hooks()
    except ConfigError as error:
        channel.send([frames.Ready(str(error))])
        return error.exit_code
    worker = Worker(setup, hooks, progress)
    if not channel.send([frames.Ready()]):
        return 0
    return serve(channel, worker)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
