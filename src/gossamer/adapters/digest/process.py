"""One worker process as the pool sees it: started, spoken to, watched, ended."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import IO, Final, cast

from gossamer.adapters.digest import frames
from gossamer.model.page import Job

SOCKET_BUFFER_BYTES: Final = 1 << 20
STDERR_TAIL_BYTES: Final = 2_000
END_LOOKED_FOR_S: Final = 0.005  # it is killed or ends by itself; waiting on a thread would need one to start
TOO_LONG: Final = "digest-too-long"  # with its framing a body is longer than can be handed to a worker
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_ALLOCATOR: Final = {
    "MALLOC_ARENA_MAX": "2",
    # Keep what pages need for the next page: given back and asked for again, its page faults cost 0.6 ms a page.
    "MALLOC_MMAP_THRESHOLD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
}


class Process(asyncio.Protocol):
    """A worker. `on_message` gets what it says, `on_end` is called once when its socket closes."""

    def __init__(
        self,
        setup: frames.Setup,
        on_message: Callable[[Process, frames.FromWorker], None],
        on_end: Callable[[Process], None],
    ) -> None:
        self.setup = setup
        self.jobs: dict[int, Job] = {}  # sent and not answered, in order
        self.settled: list[frames.Settled] = []  # goes out with the next job
        self.closed: set[str] = set()  # segments it finished and told of
        self.ready = False
        self.lacking = False  # whether its last page could not be written for want of descriptors or memory
        self.doomed = ""  # why the pool killed it: "timeout", or empty
        self._on_message = on_message
        self._on_end = on_end
        self._splitter = frames.Splitter()
        self._transport: asyncio.Transport | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._progress: frames.Progress | None = None
        self._stderr: IO[bytes] | None = None

    async def start(self) -> None:
        """Start the process and send it its setup. Raises OSError when the system has no room for it."""
        ours, theirs = socket.socketpair()
        memory = os.memfd_create("gossamer-digest", os.MFD_CLOEXEC)
        try:
            os.ftruncate(memory, frames.PROGRESS_BYTES)
            self._progress = frames.Progress(memory)
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
            command = [sys.executable, "-P", "-m", "gossamer.adapters.digest.worker"]
            command += [str(theirs.fileno()), str(memory), str(os.getpid())]
            self._process = subprocess.Popen(  # noqa: ASYNC220, S603 - our own interpreter; forking takes 2 ms
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._stderr,
                stderr=self._stderr,
                pass_fds=(theirs.fileno(), memory),
                env=environment(),
            )
            ours.setblocking(False)
            await asyncio.get_running_loop().create_connection(lambda: self, sock=ours)
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(memory)
        self._write(self.setup)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio.Protocol."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance

    def data_received(self, data: bytes) -> None:
        """asyncio.Protocol: hand on whole messages; a worker that talks nonsense is ended."""
        self._splitter.feed(data)
        try:
            while (frame := self._splitter.next()) is not None:
                self._on_message(self, frames.from_worker.decode(frame))
        except ValueError:  # msgspec's errors are ValueErrors
            self.kill()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """asyncio.Protocol."""
        self._on_end(self)

    def send(self, job: Job) -> bool:
        """Hand over a job. False: it is longer than a frame can be; `fetch.max_body` may let such bodies in."""
        try:
            frame = frames.encode(frames.Work(job, tuple(self.settled)))
        except ValueError:
            return False
        self.jobs[job.id] = job
        self.settled = []
        self._send(frame)
        return True

    def finish(self) -> None:
        """Ask it to answer what it has, close its segment and end."""
        self._write(frames.Finish())

    def _write(self, message: frames.ToWorker) -> None:
        self._send(frames.encode(message))

    def _send(self, frame: bytearray) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    def at(self) -> tuple[int, float]:
        """(id of the job it is at or 0, monotonic time since when or 0.0)."""
        return (0, 0.0) if self._progress is None else self._progress.read()

    def spent(self, now_s: float) -> tuple[int, float] | None:
        """(process id, seconds it has waited for the disk so far); None when it is not there. `now_s`: monotonic."""
        if self._process is None or self._progress is None:
            return None
        return self._process.pid, self._progress.disk_s(now_s)

    def kill(self, why: str = "") -> None:
        """End it at once; `on_end` follows."""
        self.doomed = self.doomed or why
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
        if self._transport is not None:
            self._transport.abort()

    async def wait(self) -> tuple[int, str]:
        """After its end: (exit code, negative for a signal; the last it wrote to stderr). Frees what it held."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.kill()  # it closed its socket: nothing it does matters any more
        while (code := self._process.poll()) is None:  # noqa: ASYNC110 - no event tells of a process's end
            await asyncio.sleep(END_LOOKED_FOR_S)
        words = b""
        if self._stderr is not None:
            size = self._stderr.seek(0, os.SEEK_END)
            self._stderr.seek(max(0, size - STDERR_TAIL_BYTES))
            words = self._stderr.read(STDERR_TAIL_BYTES)
            self._stderr.close()
        if self._progress is not None:
            self._progress.close()
            self._progress = None
        return code, words.decode("utf-8", "replace").strip()


def environment() -> dict[str, str]:
    """Ours, with our import path, and without threads that numpy would keep for sums of this size."""
    variables = dict(os.environ)
    variables["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return variables | dict.fromkeys(_THREADS, "1") | _ALLOCATOR
