"""Proxies: how a request travels through an HTTP or a SOCKS5 proxy (RFC 9110 section 9.3.6, RFC 1928, RFC 1929).

The target's address was resolved and vetted by us, so that is what the proxy is told wherever the protocol allows it:
CONNECT (https) and SOCKS5 name the address, and no second resolution can lead elsewhere. A plain http request through
an HTTP proxy must carry the name (absolute form): there the proxy resolves it again and must itself be one that keeps
to public addresses. The proxy's own address is the operator's word and is not vetted.
"""

from __future__ import annotations

import base64
import ipaddress
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import msgspec

from gossamer.adapters.http.head import HeadError, head_end, parse_head
from gossamer.model.errors import ConfigError
from gossamer.model.limits import HEAD_MAX_BYTES

if TYPE_CHECKING:
    from gossamer.adapters.http.exchange import Exchange
    from gossamer.model.page import Request

_SCHEMES: Final = {"http": 8080, "socks5": 1080, "socks5h": 1080}
_CREDENTIAL_MAX_BYTES: Final = 255  # RFC 1929
_SOCKS_ERRORS: Final = {
    1: "general failure",
    2: "not allowed by the ruleset",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    7: "command not supported",
    8: "address type not supported",
}


AUTH_REQUIRED: Final = 407


class ProxyError(Exception):
    """The proxy refused, or what it said is not its protocol."""

    def __init__(self, words: str, *, ours: bool = False) -> None:
        """`ours`: whatever host is asked for, the proxy will not serve us as we are configured."""
        super().__init__(words)
        self.ours = ours


class Proxy(msgspec.Struct, frozen=True):
    """A configured proxy."""

    kind: str  # "http" | "socks5"
    host: str
    port: int
    user: str = ""
    password: str = ""

    @property
    def authorization(self) -> str:
        """Value of Proxy-Authorization, or ""."""
        if not self.user:
            return ""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")


def parse_proxy(text: str) -> Proxy | None:
    """`fetch.proxy` as configured; None for "". Raises ConfigError."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"fetch.proxy: {text!r}: {error}") from None
    if parts.scheme not in _SCHEMES or not parts.hostname or parts.path not in ("", "/"):
        raise ConfigError(f"fetch.proxy: {text!r}: allowed are http://[user:password@]host:port and socks5://…")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if max(len(user.encode()), len(password.encode())) > _CREDENTIAL_MAX_BYTES:
        raise ConfigError("fetch.proxy: user and password have at most 255 bytes")
    kind = "http" if parts.scheme == "http" else "socks5"
    return Proxy(kind, parts.hostname, port or _SCHEMES[parts.scheme], user, password)


async def open_tunnel(connection: Exchange, proxy: Proxy, request: Request) -> None:
    """Have the proxy connect to the request's vetted address. Raises ProxyError; deadlines are the caller's."""
    if proxy.kind == "socks5":
        await _socks5(connection, proxy, request)
    else:
        await _connect(connection, proxy, request)


async def _connect(connection: Exchange, proxy: Proxy, request: Request) -> None:
    literal = f"[{request.address}]" if ":" in request.address else request.address
    authority = f"{literal}:{request.port}"
    lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    connection.send(("\r\n".join(lines) + "\r\n\r\n").encode("ascii"))
    buffer = bytearray()
    while (end := head_end(buffer, 0)) < 0:
        data = await connection.receive()
        buffer += data
        if not data or len(buffer) > HEAD_MAX_BYTES:
            raise ProxyError("no answer to CONNECT")
    try:
        head = parse_head(bytes(buffer[:end]))
    except HeadError as error:
        raise ProxyError(f"answer to CONNECT: {error}") from None
    if not 200 <= head.status < 300:
        refused = head.status == AUTH_REQUIRED
        raise ProxyError(f"CONNECT {authority}: {head.status} {head.reason[:100]}", ours=refused)
    if len(buffer) > end:
        raise ProxyError("bytes after the answer to CONNECT")


async def _socks5(connection: Exchange, proxy: Proxy, request: Request) -> None:
    reader = _Reader(connection)
    connection.send(b"\x05\x02\x00\x02" if proxy.user else b"\x05\x01\x00")
    version, method = await reader.exactly(2)
    if version != 5 or method not in (0, 2) or (method == 2 and not proxy.user):
        raise ProxyError(f"SOCKS5 greeting: version {version}, method {method}", ours=True)
    if method == 2:
        user, password = proxy.user.encode(), proxy.password.encode()
        connection.send(bytes([1, len(user)]) + user + bytes([len(password)]) + password)
        if (await reader.exactly(2))[1] != 0:
            raise ProxyError("SOCKS5: user and password refused", ours=True)
    address = ipaddress.ip_address(request.address)
    kind = b"\x01" if address.version == 4 else b"\x04"
    connection.send(b"\x05\x01\x00" + kind + address.packed + request.port.to_bytes(2, "big"))
    _, reply, _, bound = await reader.exactly(4)
    if reply != 0:
        raise ProxyError(f"SOCKS5: {_SOCKS_ERRORS.get(reply, reply)}")
    sizes = {1: 4, 4: 16}
    await reader.exactly(2 + (sizes[bound] if bound in sizes else (await reader.exactly(1))[0]))
    if reader.left:
        raise ProxyError("bytes after the SOCKS5 reply")


class _Reader:
    """Exact amounts from a connection."""

    def __init__(self, connection: Exchange) -> None:
        self._connection = connection
        self.left = bytearray()

    async def exactly(self, count: int) -> bytes:
        while len(self.left) < count:
            data = await self._connection.receive()
            if not data:
                raise ProxyError("SOCKS5: closed during set-up")
            self.left += data
        data = bytes(self.left[:count])
        del self.left[:count]
        return data
