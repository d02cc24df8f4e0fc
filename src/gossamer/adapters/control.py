"""The way to a running crawl: a Unix socket in its directory, one line of JSON for each command and each answer.

Only the user who runs the crawl, and root, may speak to it: the socket has mode 0600, and who connects is looked at
(SO_PEERCRED). A socket that a killed crawl left behind refuses connections, which is how one that runs is told apart;
the next one replaces it, since whoever owns the store owns it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.control import AnyAnswer, AnyCommand, Refused
from gossamer.model.errors import StoreError
from gossamer.model.limits import CONTROL_CONNECTIONS_MAX, CONTROL_MESSAGE_MAX_BYTES

NAME: Final = "control.sock"
IDLE_S: Final = 60.0  # a connection on which nothing is asked for so long is closed
ANSWER_MAX_S: Final = 120.0  # longest wait for an answer
_PEER: Final = struct.Struct("3i")  # pid, uid, gid

_command: Final = msgspec.json.Decoder(AnyCommand)
_answer: Final[msgspec.json.Decoder[AnyAnswer]] = msgspec.json.Decoder(AnyAnswer)
_encode: Final = msgspec.json.Encoder().encode

Ask = Callable[[AnyCommand], Awaitable[AnyAnswer]]


class ControlSocket:
    """The crawl's end: hands each command to `ask` and sends what it answers."""

    def __init__(self, directory: Path, ask: Ask) -> None:
        """`directory` is the crawl's; nothing is opened before `open`."""
        self._directory = directory
        self._ask = ask
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen. Raises StoreError when the socket cannot be made."""
        try:
            listener = _bound(self._directory)
            self._server = await asyncio.start_unix_server(self._talk, sock=listener, limit=CONTROL_MESSAGE_MAX_BYTES)
        except OSError as error:
            raise StoreError(f"{self._directory / NAME}: no socket can be made there: {error.strerror}") from error

    async def close(self) -> None:
        """Take no more commands; the file goes away. Closing again does nothing."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        (self._directory / NAME).unlink(missing_ok=True)
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # a stream's handler is one
        self._talks.add(task)
        try:
            if _is_ours(writer) and len(self._talks) <= CONTROL_CONNECTIONS_MAX:
                await self._answer_all(reader, writer)
        except (OSError, TimeoutError):
            return  # whoever asked has gone, or has nothing to ask
        except asyncio.CancelledError:
            return  # the crawl ends: a stream's handler that is cancelled would be told as an error
        finally:
            self._talks.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                line = await asyncio.wait_for(reader.readuntil(b"\n"), IDLE_S)
            except asyncio.IncompleteReadError:
                return
            except asyncio.LimitOverrunError:
                too_long = f"a message has at most {CONTROL_MESSAGE_MAX_BYTES:,} bytes"
                writer.write(_encode(Refused(code="bad-value", message=too_long)) + b"\n")
                await writer.drain()
                return
            writer.write(_encode(await self._answered(line)) + b"\n")
            await writer.drain()

    async def _answered(self, line: bytes) -> AnyAnswer:
        try:
            command = _command.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return Refused(code="bad-value", message=f"this is no command: {error}")
        return await self._ask(command)


class ControlClient:
    """Another process's end. Fulfils `ports.control.Control`."""

    def __init__(self, directory: Path, *, timeout_s: float = ANSWER_MAX_S) -> None:
        """`directory` is the crawl's."""
        self._directory = directory
        self._timeout_s = timeout_s

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        """Send a command and wait for its answer."""
        try:
            reader, writer = await _connected(self._directory)
        except OSError as error:
            reason = (
                "no crawl runs there" if isinstance(error, FileNotFoundError | ConnectionRefusedError) else str(error)
            )
            return Refused(code="not-running", message=f"{self._directory}: {reason}")
        try:
            writer.write(_encode(command) + b"\n")
            await writer.drain()
            line = await asyncio.wait_for(reader.readuntil(b"\n"), self._timeout_s)
            return _answer.decode(line)
        except TimeoutError:
            return Refused(code="failed", message=f"the crawl has not answered within {self._timeout_s:g} s")
        except (OSError, asyncio.IncompleteReadError):
            return Refused(code="not-running", message="the crawl ended, or refused the connection, before it answered")
        except (msgspec.MsgspecError, asyncio.LimitOverrunError) as error:
            return Refused(code="failed", message=f"the answer cannot be read: {error}")
        finally:
            writer.close()


async def _connected(directory: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        return await asyncio.open_unix_connection(_short(folder), limit=CONTROL_MESSAGE_MAX_BYTES)
    finally:
        os.close(folder)


def _bound(directory: Path) -> socket.socket:
    """A socket bound to its name, with its mode, before anybody can connect to it."""
    (directory / NAME).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        listener.bind(_short(folder))
        (directory / NAME).chmod(0o600)
    except BaseException:
        listener.close()
        raise
    finally:
        os.close(folder)
    return listener


def _short(folder: int) -> str:
    """The name of the socket by way of an open directory: the name of a socket has at most 107 bytes."""
    return f"/proc/self/fd/{folder}/{NAME}"


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    connection = writer.get_extra_info("socket")
    _, user, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
    return user in {0, os.geteuid()}
