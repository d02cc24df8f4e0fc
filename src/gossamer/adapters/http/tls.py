"""TLS for one connection, and what is remembered of hosts that need a gentler handshake.

The standard library's SSLObject between two memory buffers: no transport of its own, so the connection's protocol keeps
one shape. Two strengths: strict (TLS 1.2 and later, the library's ciphers) and lenient (TLS 1.0 to 1.2, every cipher,
legacy renegotiation), each with and without verification against the system's store. Which one is tried next is decided
here (`next_mode`); connecting again is the client's job, because a failed handshake ends its connection.
"""

from __future__ import annotations

import ssl
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.model.limits import TLS_HOST_MEMORY_S, TLS_HOSTS_MAX, TLS_SESSIONS_MAX

if TYPE_CHECKING:
    from gossamer.ports.clock import Clock

_READ_BYTES: Final = 256 * 1024
_OP_LEGACY_SERVER_CONNECT: Final = 0x4  # ssl.OP_LEGACY_SERVER_CONNECT, named from Python 3.12 on


class Mode(msgspec.Struct, frozen=True):
    """How a handshake is done."""

    lenient: bool = False
    verify: bool = True


class Trust(msgspec.Struct, frozen=True):
    """The mode that works with a host, and why its certificate does not verify ("" when it does or is not known)."""

    mode: Mode = Mode()
    error: str = ""


_STRICT: Final = Trust()


class Tls:
    """TLS state of one connection: bytes from the wire go in, bytes for the wire come out.

    `server_hostname` is the name for SNI and verification, or an IP address, for which no SNI is sent. Raises
    ValueError (UnicodeError included) for a name that cannot be one.
    """

    def __init__(self, context: ssl.SSLContext, server_hostname: str, session: ssl.SSLSession | None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_hostname, session=session
        )
        self.closed = False  # the peer said that it will send no more

    def handshake(self, received: bytes) -> bool:
        """Go on with the handshake. Returns whether it is over; raises ssl.SSLError when it failed."""
        if received:
            self._incoming.write(received)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def decrypt(self, received: bytes) -> bytes:
        """Plain bytes of what was received. Raises ssl.SSLError."""
        self._incoming.write(received)
        plain = self._read()
        if not self._incoming.pending and not self._object.pending():
            return plain
        parts = [plain]
        while piece := self._read():
            parts.append(piece)
        return b"".join(parts)

    def _read(self) -> bytes:
        """Plain bytes that are there; none when more must come first, or nothing will."""
        try:
            plain = self._object.read(_READ_BYTES)
        except ssl.SSLWantReadError:
            return b""
        except ssl.SSLZeroReturnError:
            plain = b""
        if not plain:  # a close alert; the library tells it in either way
            self.closed = True
        return plain

    def encrypt(self, plain: bytes) -> bytes:
        """Bytes for the wire."""
        self._object.write(plain)
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """What the handshake or the protocol wants sent."""
        return self._outgoing.read() if self._outgoing.pending else b""

    @property
    def version(self) -> str:
        """Protocol version, as "TLSv1.3"."""
        return self._object.version() or ""

    @property
    def cipher(self) -> str:
        """Cipher suite by its IANA name."""
        cipher = self._object.cipher()
        return iana_name(cipher[0]) if cipher else ""

    def new_session(self) -> ssl.SSLSession | None:
        """The session to resume later; None when it is an old one that stays good. A copy is made: 0.2 ms.

        With TLS 1.3 there is one only after the first response, and each is for one use.
        """
        if self._object.session_reused and self.version != "TLSv1.3":
            return None
        return self._object.session


class TlsStore:
    """Contexts, resumable sessions and what is remembered of hosts; all of it bounded."""

    def __init__(self, clock: Clock, *, must_verify: bool) -> None:
        self._clock = clock
        self.must_verify = must_verify
        self._contexts: dict[Mode, ssl.SSLContext] = {}
        self._trust: OrderedDict[tuple[str, int], tuple[Trust, float]] = OrderedDict()
        self._sessions: OrderedDict[tuple[str, int, Mode], ssl.SSLSession] = OrderedDict()

    def trust(self, name: str, port: int) -> Trust:
        """What to begin with for a host."""
        known = self._trust.get((name, port))
        if known is None:
            return _STRICT
        if known[1] < self._clock.now():
            del self._trust[name, port]
            return _STRICT
        return known[0]

    def learn(self, name: str, port: int, trust: Trust) -> None:
        """Remember what worked, for a day: certificates get renewed and servers replaced."""
        if trust == _STRICT:
            self._trust.pop((name, port), None)
            return
        self._trust[name, port] = (trust, self._clock.now() + TLS_HOST_MEMORY_S)
        self._trust.move_to_end((name, port))
        if len(self._trust) > TLS_HOSTS_MAX:
            self._trust.popitem(last=False)

    def next_trust(self, trust: Trust, error: Exception) -> Trust | None:
        """What to try after a handshake that failed, or None when nothing is left."""
        mode = trust.mode
        if isinstance(error, ssl.SSLCertVerificationError):
            if self.must_verify or not mode.verify:
                return None
            return Trust(Mode(lenient=mode.lenient, verify=False), error.verify_message or str(error))
        if mode.lenient or not isinstance(error, (ssl.SSLError, ConnectionError)):
            return None
        return Trust(Mode(lenient=True, verify=mode.verify), trust.error)

    def prepare(self) -> None:
        """Make every context now: reading the trusted certificates takes 20 ms, which no fetch should wait for."""
        for lenient in (False, True):
            for verify in (True, False):
                self._context(Mode(lenient=lenient, verify=verify))

    def open(self, name: str, port: int, mode: Mode) -> Tls:
        """TLS for a new connection. Raises ValueError for a name that cannot be one."""
        session = self._sessions.get((name, port, mode))
        return Tls(self._context(mode), name.strip("[]").removesuffix("."), session)

    def keep_session(self, name: str, port: int, mode: Mode, tls: Tls) -> None:
        """Keep a connection's session for the next one to the same host."""
        session = tls.new_session()
        if session is None:
            return
        self._sessions[name, port, mode] = session
        self._sessions.move_to_end((name, port, mode))
        if len(self._sessions) > TLS_SESSIONS_MAX:
            self._sessions.popitem(last=False)

    def forget(self, name: str, port: int, mode: Mode) -> None:
        """Drop a session that did not work."""
        self._sessions.pop((name, port, mode), None)

    def _context(self, mode: Mode) -> ssl.SSLContext:
        context = self._contexts.get(mode)
        if context is None:
            context = self._contexts[mode] = _make_context(mode)
        return context


def _make_context(mode: Mode) -> ssl.SSLContext:
    context = ssl.create_default_context() if mode.verify else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not mode.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_2
    if mode.lenient:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # old versions are the purpose here
            context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("ALL:!aNULL:!PSK:!SRP:@SECLEVEL=0")  # without a certificate there is nothing to verify
        context.options |= _OP_LEGACY_SERVER_CONNECT
    context.set_alpn_protocols(["http/1.1"])
    return context


_KEY_EXCHANGES: Final = (
    ("ECDHE-RSA-", "ECDHE_RSA"),
    ("ECDHE-ECDSA-", "ECDHE_ECDSA"),
    ("DHE-RSA-", "DHE_RSA"),
    ("DHE-DSS-", "DHE_DSS"),
    ("AECDH-", "ECDH_anon"),
    ("ADH-", "DH_anon"),
    ("ECDHE-", "ECDHE_RSA"),  # ECDHE-ARIA128-...
)
_BULK: Final = {
    "CHACHA20-POLY1305": "CHACHA20_POLY1305_SHA256",
    "DES-CBC3": "3DES_EDE_CBC",
    "RC4": "RC4_128",
    "SEED": "SEED_CBC",
    "NULL": "NULL",
}


def iana_name(openssl_name: str) -> str:
    """The IANA name of a cipher suite that OpenSSL names its own way. TLS 1.3 suites are named alike."""
    if openssl_name.startswith("TLS_"):
        return openssl_name
    exchange, rest = "RSA", openssl_name
    for prefix, name in _KEY_EXCHANGES:
        if openssl_name.startswith(prefix):
            exchange, rest = name, openssl_name[len(prefix) :]
            break
    if rest in _BULK:
        return f"TLS_{exchange}_WITH_{_BULK[rest]}"
    bulk, _, digest = rest.rpartition("-")
    if bulk in _BULK:
        return f"TLS_{exchange}_WITH_{_BULK[bulk]}_{digest}"
    return f"TLS_{exchange}_WITH_{_block_cipher(rest)}"


def _block_cipher(rest: str) -> str:
    """AES128-GCM-SHA256 as AES_128_GCM_SHA256, AES128-SHA as AES_128_CBC_SHA, AES256-CCM8 as AES_256_CCM_8."""
    parts = rest.split("-")
    for family in ("AES", "CAMELLIA", "ARIA"):
        if parts[0].startswith(family) and parts[0] != family:
            parts[0] = f"{family}_{parts[0][len(family) :]}"
    if parts[-1] == "CCM8":
        parts[-1:] = ["CCM", "8"]
    elif len(parts) == 2 and parts[1] != "CCM":
        parts.insert(1, "CBC")
    return "_".join(parts)
