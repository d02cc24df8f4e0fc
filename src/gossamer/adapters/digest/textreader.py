"""Stored responses read in a process of their own, which hostile bytes may hang, blow up or bring down: that costs a
person who looks at a crawl the text of one page, not the command.

    python -m gossamer.adapters.digest.textreader SOCKET_FD PARENT_PID

is that process: it takes one `Opening`, then an `Asked` at a time, and answers each with a `StoredText`.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import time
from typing import Final

import msgspec

from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.process import environment
from gossamer.adapters.digest.stored import Asked, read_stored
from gossamer.adapters.digest.worker import limit_process
from gossamer.model.limits import GIB
from gossamer.model.view import StoredText

HEADER_BYTES: Final = 4
FRAME_MAX_BYTES: Final = 1 * GIB  # a record may be half of that
START_TIMEOUT_S: Final = 60.0
RECEIVE_BYTES: Final = 1 << 18
ERROR_MAX_CHARS: Final = 300


class Opening(msgspec.Struct, frozen=True):
    """First frame to the process."""

    rules: LinkRules
    memory_max_bytes: int  # on top of what it holds when it starts


_encode: Final = msgspec.msgpack.encode
_opening: Final = msgspec.msgpack.Decoder(Opening)
_asked: Final = msgspec.msgpack.Decoder(Asked)
_told: Final = msgspec.msgpack.Decoder(StoredText)


class TextReader:
    """The process as its user sees it: started when first asked, and again after it came to grief."""

    def __init__(self, rules: LinkRules, *, memory_max_bytes: int, timeout_s: float) -> None:
        """Args: how pages are parsed; what the process may take for one, in bytes and in seconds."""
        self._opening = Opening(rules, memory_max_bytes)
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def read(self, asked: Asked) -> StoredText:
        """What a stored response says. What cannot be read has the reason in `error`; nothing is raised for it."""
        try:
            return self._ask(self._socket or self._start(), _encode(asked), self._timeout_s, _told)
        except TimeoutError:
            error = "digest-timeout"
        except (OSError, ValueError):  # msgspec's errors are ValueErrors
            error = "digest-crash"
        self.close()
        return StoredText(error=error)

    def close(self) -> None:
        """End the process."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._socket = ours
            command = [sys.executable, "-P", "-m", "gossamer.adapters.digest.textreader"]
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                [*command, str(theirs.fileno()), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=environment(),
            )
        self._ask(ours, _encode(self._opening), START_TIMEOUT_S, _told)
        return ours

    @staticmethod
    def _ask(
        sock: socket.socket, message: bytes, timeout_s: float, decoder: msgspec.msgpack.Decoder[StoredText]
    ) -> StoredText:
        deadline_s = time.monotonic() + timeout_s
        sock.settimeout(timeout_s)
        send(sock, message)
        frame = receive(sock, deadline_s)
        if frame is None:
            raise ConnectionError
        return decoder.decode(frame)


def send(sock: socket.socket, message: bytes) -> None:
    """Send a frame. Raises OSError, and ValueError when it is longer than FRAME_MAX_BYTES."""
    if len(message) > FRAME_MAX_BYTES:
        raise ValueError(f"a frame of {len(message)} bytes: at most {FRAME_MAX_BYTES} are allowed")
    sock.sendall(len(message).to_bytes(HEADER_BYTES, "big"))
    sock.sendall(message)


def receive(sock: socket.socket, deadline_s: float | None = None) -> bytearray | None:
    """The next frame; None when the other end is gone. `deadline_s` in monotonic time.

    Raises TimeoutError past the deadline, ValueError for a frame that is longer than FRAME_MAX_BYTES.
    """
    data = bytearray()
    wanted = HEADER_BYTES
    while len(data) < wanted:
        if deadline_s is not None:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            sock.settimeout(left_s)
        part = sock.recv(min(RECEIVE_BYTES, wanted - len(data)))
        if not part:
            return None
        data += part
        if wanted == HEADER_BYTES == len(data):
            wanted += int.from_bytes(data, "big")
            if wanted > FRAME_MAX_BYTES + HEADER_BYTES:
                raise ValueError(f"a frame of {wanted} bytes")
    return data[HEADER_BYTES:]


def _answer(asked: Asked, rules: LinkRules) -> StoredText:
    try:
        return read_stored(asked, rules)
    except MemoryError:
        gc.collect()
        return StoredText(error="digest-memory")
    except Exception as fault:  # noqa: BLE001 - whatever a parser does to hostile input, the next page is answered
        return StoredText(error=f"parser: {type(fault).__name__}: {fault}"[:ERROR_MAX_CHARS])


def main(arguments: list[str]) -> int:
    """Answer on the socket this process was started with, until its other end closes; the exit code."""
    fd, parent = (int(argument) for argument in arguments)
    sock = socket.socket(fileno=fd)
    frame = receive(sock)
    if frame is None:
        return 0
    opening = _opening.decode(frame)
    limit_process(opening.memory_max_bytes)
    if os.getppid() != parent:
        return 0  # it died before it could be watched
    send(sock, _encode(StoredText()))
    while (frame := receive(sock)) is not None:
        send(sock, _encode(_answer(_asked.decode(frame), opening.rules)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
