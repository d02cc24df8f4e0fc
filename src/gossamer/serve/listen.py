"""The server process: sockets, TLS, deadlines for slow clients, and the end of it. What is answered is `serve.app`."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
import ssl
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar, Final

import h11
import msgspec
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from gossamer.model.errors import UsageError
from gossamer.surface.checks import is_host
from gossamer.surface.terminal import escape

HEAD_MAX_BYTES: Final = 32 * 1024
HEAD_TIMEOUT_S: Final = 10.0  # from the first byte of a request, or from the connection, to the end of its head
WRITE_TIMEOUT_S: Final = 20.0  # that a client may take to read what is waiting for it
KEEP_ALIVE_S: Final = 15
CONNECTIONS_MAX: Final = 512
CONNECTIONS_PER_ADDRESS_MAX: Final = 256  # one client does not keep all others out
SHUTDOWN_S: Final = 2


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str  # an IP address, without brackets
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return ipaddress.ip_address(self.host).is_loopback

    @property
    def place(self) -> str:
        """As it stands in a URL."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """`127.0.0.1:8080`, `[::1]:8080`, `:8080` for every address. Raises UsageError."""
    allowed = 'an address and a port, as in "127.0.0.1:8080", "[::1]:8080", or ":8080" for all addresses'
    host, colon, port = text.rpartition(":")
    host = host.strip("[]").replace("localhost", "127.0.0.1") or "0.0.0.0"  # noqa: S104 - as asked for
    try:
        ipaddress.ip_address(host)
    except ValueError:
        colon = ""
    if not colon or not port.isascii() or not port.isdigit() or not 0 <= int(port[:6]) <= 65535:
        raise UsageError(f"--listen {escape(text)} is not allowed; it must be {allowed}")
    return Address(host, int(port))


def check_names(names: list[str]) -> list[str]:
    """Host names by which the server is reached. Raises UsageError."""
    for name in names:
        if not is_host(name) or ":" in name:
            raise UsageError(f"--name {escape(name)} is not allowed; it must be a host name without a port")
    return [name.lower() for name in names]


def check_tls(certificate: Path | None, key: Path | None) -> None:
    """Whether TLS files go together. Raises UsageError."""
    if (certificate is None) != (key is None):
        raise UsageError("--tls-cert and --tls-key go together: a PEM file with the chain, and one with the key")
    if certificate is None or key is None:
        return
    for option, path in (("--tls-cert", certificate), ("--tls-key", key)):
        if not path.is_file() or not os.access(path, os.R_OK):
            raise UsageError(f"{option} {escape(str(path))}: there is no such file, or it may not be read")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as error:
        raise UsageError(f"--tls-cert {escape(str(certificate))}: is no use with that key: {error}") from error


class Impatient(H11Protocol):
    """A connection whose client must say what it wants, and take what it gets, in time."""

    _deadline: asyncio.TimerHandle | None = None
    _open: ClassVar[Counter[str]] = Counter()  # connections by the address they come from
    _address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The head of the first request is awaited from now on."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self._address = str(peer[0]) if isinstance(peer, tuple) else ""
        self._open[self._address] += 1
        if self._open[self._address] > CONNECTIONS_PER_ADDRESS_MAX:
            transport.abort()
            return
        self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def data_received(self, data: bytes) -> None:
        """A head that is begun must be ended in time; how long a body may take is its reader's affair."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._unset()
        elif self._deadline is None and self.conn.trailing_data[0]:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._unset()
        self._open[self._address] -= 1
        if self._open[self._address] <= 0:
            del self._open[self._address]
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._unset()
        self._deadline = self.loop.call_later(WRITE_TIMEOUT_S, self._give_up)

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        self._unset()

    def _unset(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        self.transport.abort()


def open_socket(address: Address) -> socket.socket:
    """The listening socket. Raises UsageError when the address cannot be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        raise UsageError(f"--listen {address.place}: cannot be had: {error.strerror}") from error


def config_of(app: Starlette, certificate: Path | None = None, key: Path | None = None) -> uvicorn.Config:
    """How requests are taken: bounds, deadlines, TLS."""
    options: dict[str, Any] = {"ssl_certfile": str(certificate), "ssl_keyfile": str(key)} if certificate else {}
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=Impatient,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_MAX_BYTES,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        limit_concurrency=CONNECTIONS_MAX,
        **options,
    )


def server_of(app: Starlette, config: uvicorn.Config) -> uvicorn.Server:
    """The server; the application can see when it is to end."""
    app.state.server = uvicorn.Server(config)
    return app.state.server  # type: ignore[no-any-return]


def serve(app: Starlette, listening: socket.socket, certificate: Path | None = None, key: Path | None = None) -> None:
    """Answer until a signal comes."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)  # the server ends by it and raises it again afterwards
    try:
        with listening:
            server_of(app, config_of(app, certificate, key)).run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)
