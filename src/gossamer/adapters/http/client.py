"""The web as the fetch stage sees it: one GET to one vetted address, and an Outcome whatever the server does.

Decides which connection is used, tries again where a connection was stale or a handshake too strict, and puts together
what came. Bytes on the wire are in `exchange`, what they mean in `response`. Bodies are not decoded here: the caps on
decoded size and ratio are enforced where the one decode takes place, in `adapters.decode.decode_body`.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import TYPE_CHECKING, Final

from gossamer.adapters.decode import applied_codings
from gossamer.adapters.http.exchange import Exchange
from gossamer.adapters.http.pool import Key, Pool
from gossamer.adapters.http.proxy import AUTH_REQUIRED, ProxyError, open_tunnel, parse_proxy
from gossamer.adapters.http.response import Response
from gossamer.adapters.http.tls import TlsStore
from gossamer.adapters.http.trouble import (
    Trouble,
    broken_off,
    is_ours,
    of_connect,
    of_error,
    same_address,
    with_route,
)
from gossamer.model.limits import IDLE_CONNECTION_S, IDLE_CONNECTIONS_MAX
from gossamer.model.page import Failure, Outcome, Request
from gossamer.policy.guard import Networks, forbidden

if TYPE_CHECKING:
    from gossamer.ports.clock import Clock

CLOSED: Final = "the client is closed"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class HttpClient:
    """Performs HTTP/1.1 exchanges; implements `ports.web.Web`.

    Args: `net_allow` special-purpose ranges that may be fetched; `proxy` as in `fetch.proxy`; `verify_tls` makes a
    certificate that does not verify a failure (otherwise it is recorded); `clock` gives unix seconds; `idle_max`
    connections kept between turns, each for at most `idle_s` seconds. Raises ConfigError for a bad proxy.
    Use it within one running event loop.
    """

    def __init__(
        self,
        net_allow: Networks,
        *,
        clock: Clock,
        proxy: str = "",
        verify_tls: bool = False,
        idle_max: int = IDLE_CONNECTIONS_MAX,
        idle_s: float = IDLE_CONNECTION_S,
    ) -> None:
        self._allow = net_allow
        self._clock = clock
        self._proxy = parse_proxy(proxy)
        self._pool = Pool(idle_max, idle_s, self._keep_session)
        self._tls = TlsStore(clock, must_verify=verify_tls)
        self._busy: set[Exchange] = set()  # with an exchange under way
        self._connecting: set[asyncio.Timeout] = set()
        self._closed = False

    def prepare(self) -> None:
        """Read what handshakes need, before anything is fetched: it holds the event loop up for some 50 ms."""
        self._tls.prepare()

    async def fetch(self, request: Request) -> Outcome:
        """Send one GET and return what came back within the request's deadlines. Only CancelledError gets out."""
        visit = _Visit(request, self._clock.now())
        address = "" if self._proxy else request.address
        try:
            return with_route(await self._fetch(visit), address)
        except Trouble as trouble:
            return with_route(visit.failed(trouble.failure, trouble.detail), address)
        except MemoryError:
            return visit.failed(Failure.OURS, "out of memory")
        except Exception as error:  # noqa: BLE001 - what a page brings out in our code costs this page, never the crawl
            return visit.failed(Failure.PROTOCOL, f"internal error: {type(error).__name__}: {error}")

    def forget(self, name: str) -> None:
        """Close idle connections of a host name."""
        self._pool.forget(name)

    async def close(self) -> None:
        """Close every connection. Fetches under way, and those that come later, end with `Failure.OURS`."""
        self._closed = True
        self._pool.clear()
        for connection in tuple(self._busy):
            connection.stop(Failure.OURS, CLOSED)
        for deadline in tuple(self._connecting):
            deadline.reschedule(asyncio.get_running_loop().time())
        await asyncio.sleep(0)  # closing takes a turn of the loop

    async def _fetch(self, visit: _Visit) -> Outcome:
        if self._closed:
            raise Trouble(Failure.OURS, CLOSED)
        request = visit.request
        why = forbidden(request.address, self._allow)
        if why:
            raise Trouble(Failure.ADDRESS, f"{request.address}: {why}")
        visit.prepare(self._proxy.authorization if self._proxy and self._absolute(request) else None)
        key = Key(request.scheme, request.name, request.port, request.address)
        connection = self._pool.take(key, time.monotonic())
        if connection is not None and request.fresh:
            connection.close()
        elif connection is not None:
            visit.reused = True
            connection.rest()
            response = await self._run(visit, connection)
            if response.failure is Failure.DISCONNECTED and response.untouched and not is_ours(connection.error):
                # RFC 9112 section 9.3.1 lets a GET be sent again. But the server may have read this one: sent again at
                # once, it would be a second request without a gap. It takes another turn.
                connection.close()
                raise Trouble(Failure.STALE, "the connection kept from the visit before was over")
            return self._conclude(visit, connection, response, key)
        connection = await self._connected(visit)
        response = await self._run(visit, connection)
        return self._conclude(visit, connection, response, key)

    def _absolute(self, request: Request) -> bool:
        """Whether the request line carries the whole URL: plain http through an HTTP proxy."""
        return self._proxy is not None and self._proxy.kind == "http" and request.scheme == "http"

    async def _run(self, visit: _Visit, connection: Exchange) -> Response:
        response = Response(visit.request)
        visit.sent_at = time.monotonic()
        first_byte = visit.loop.time() + visit.request.first_byte_timeout_s
        self._busy.add(connection)
        try:
            await connection.run(visit.wire, response, first_byte, visit.deadline)
        except BaseException:
            connection.close()
            raise
        finally:
            self._busy.discard(connection)
        return response

    def _conclude(self, visit: _Visit, connection: Exchange, response: Response, key: Key) -> Outcome:
        """Keep or close the connection, and say what came."""
        if response.reusable and connection.usable and not self._closed:
            self._pool.put(key, connection, time.monotonic())
        else:
            if response.head is not None:
                self._keep_session(key, connection)
            connection.close()
        if response.head is not None and response.head.status == AUTH_REQUIRED and self._absolute(visit.request):
            raise Trouble(Failure.OURS, "the proxy does not take our credentials (407)")
        return visit.outcome(connection, response)

    def _keep_session(self, key: Key, connection: Exchange) -> None:
        """Keep the TLS session of a connection that is over; taking it costs too much for one that may live on."""
        if connection.tls is not None and connection.tls_trust is not None:
            self._tls.keep_session(key.name, key.port, connection.tls_trust.mode, connection.tls)

    async def _connected(self, visit: _Visit) -> Exchange:
        """A new connection, ready for a request. Raises Trouble."""
        begun = time.monotonic()
        deadline = min(visit.loop.time() + visit.request.connect_timeout_s, visit.deadline)
        try:
            async with asyncio.timeout_at(deadline) as timeout:
                self._connecting.add(timeout)
                try:
                    connection = await self._secured(visit.request)
                finally:
                    self._connecting.discard(timeout)
        except TimeoutError:
            if self._closed:
                raise Trouble(Failure.OURS, CLOSED) from None
            raise Trouble(Failure.CONNECT_TIMEOUT, "no connection within the time for it") from None
        visit.connect_s = time.monotonic() - begun
        return connection

    async def _secured(self, request: Request) -> Exchange:
        """Connect, with TLS for https; gentler from try to try where that is what failed. Raises Trouble."""
        if request.scheme == "http":
            return await self._reached(request)
        trust = self._tls.trust(request.name, request.port)
        first: Exception | None = None
        while True:
            connection = await self._reached(request)
            try:
                await connection.start_tls(self._tls.open(request.name, request.port, trust.mode))
            except (ssl.SSLError, ConnectionError, ValueError) as error:
                if is_ours(connection.error):
                    connection.close()
                    raise Trouble(Failure.OURS, f"during the TLS handshake: {connection.error!r}") from None
                connection.close()
                self._tls.forget(request.name, request.port, trust.mode)
                first = first or error
                gentler = self._tls.next_trust(trust, error)
                if gentler is None:
                    last = "" if first is error else f"; at last: {error}"
                    raise Trouble(Failure.TLS, f"{first}{last}") from None
                trust = gentler
            except BaseException:
                connection.close()
                raise
            else:
                connection.tls_trust = trust
                self._tls.learn(request.name, request.port, trust)
                return connection

    async def _reached(self, request: Request) -> Exchange:
        """A TCP connection to the vetted address, or to the proxy and through it. Raises Trouble."""
        loop = asyncio.get_running_loop()
        proxy = self._proxy
        host, port = (proxy.host, proxy.port) if proxy else (request.address, request.port)
        try:
            _, connection = await loop.create_connection(lambda: Exchange(loop), host, port)
        except OSError as error:
            trouble = of_connect(error, host)
            if proxy:  # it is part of our own network: no host can help it
                trouble = Trouble(Failure.OURS, f"proxy {host}:{port}: {trouble.detail}")
            raise trouble from None
        try:
            if proxy is None:
                self._check_peer(connection, request.address)
            elif not self._absolute(request):
                await open_tunnel(connection, proxy, request)
        except ProxyError as error:
            connection.close()
            ours = error.ours or is_ours(connection.error)
            raise Trouble(Failure.OURS if ours else Failure.PROXY, str(error)) from None
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_peer(self, connection: Exchange, address: str) -> None:
        """The connection went exactly where it was meant to go. Raises Trouble."""
        peer = connection.peer()
        if connection.lost and not peer:
            return  # closed at once: the exchange will say so
        if not same_address(peer, address) or forbidden(peer, self._allow):
            raise Trouble(Failure.ADDRESS, f"connected to {peer or 'nobody'} instead of {address}")


class _Visit:
    """One fetch on its way: its times, its bytes, and the Outcome they end in.

    Durations are measured with time.monotonic: the loop's own time is kept in milliseconds, and for a whole turn of it.
    """

    def __init__(self, request: Request, started: float) -> None:
        self.loop = asyncio.get_running_loop()
        self.request = request
        self.started = started
        self.begun = time.monotonic()
        self.deadline = self.loop.time() + request.total_timeout_s
        self.sent_at = 0.0
        self.connect_s = 0.0
        self.reused = False
        self.wire = b""  # what is sent
        self.recorded = b""  # the same without proxy credentials, for the archive

    def prepare(self, proxy_authorization: str | None) -> None:
        """Build the request; `proxy_authorization` None: origin form. Raises Trouble when it cannot be sent."""
        request = self.request
        standard = request.port == _DEFAULT_PORTS[request.scheme]
        host = request.name if standard else f"{request.name}:{request.port}"
        target = request.target if proxy_authorization is None else f"http://{host}{request.target}"
        fields = "".join([f"{name}: {value}\r\n" for name, value in request.headers])
        text = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{fields}"
        ends = len(request.headers) + 2
        if text.count("\n") != ends or text.count("\r") != ends or "\0" in text or " " in target:
            raise Trouble(Failure.PROTOCOL, "the request holds a line break, a NUL or a space where none may be")
        try:
            head = text.encode("latin-1")
        except UnicodeEncodeError as error:
            raise Trouble(Failure.PROTOCOL, f"the request cannot be sent: {error}") from None
        self.recorded = head + b"\r\n"
        self.wire = self.recorded
        if proxy_authorization:
            self.wire = head + f"Proxy-Authorization: {proxy_authorization}\r\n\r\n".encode("latin-1")

    def failed(self, failure: Failure, detail: str) -> Outcome:
        """The outcome of a fetch that never came to a request."""
        return Outcome(
            failure=failure,
            failure_detail=detail,
            address=self.request.address,
            started=self.started,
            connect_s=self.connect_s,
            elapsed_s=time.monotonic() - self.begun,
        )

    def outcome(self, connection: Exchange, response: Response) -> Outcome:
        """The outcome of a request that was sent."""
        head, body, tls, trust = response.head, response.body, connection.tls, connection.tls_trust
        elapsed_s = time.monotonic() - self.begun
        first_byte_s = connection.first_byte - self.sent_at if connection.first_byte else 0.0
        tls_version, tls_cipher = (tls.version, tls.cipher) if tls else ("", "")
        tls_error = trust.error if trust else ""
        ours = broken_off(response, connection.error)
        if head is None or body is None or ours:
            failure, detail = (Failure.OURS, ours) if ours else of_error(response, connection.error)
            return Outcome(
                failure=failure,
                failure_detail=detail,
                request_bytes=self.recorded,
                address=self.request.address,
                reused=self.reused,
                tls_version=tls_version,
                tls_cipher=tls_cipher,
                tls_error=tls_error,
                started=self.started,
                connect_s=self.connect_s,
                first_byte_s=first_byte_s,
                elapsed_s=elapsed_s,
                wire_bytes=connection.received,
            )
        payload = b"" if response.cut_by_type else body.payload()
        named = head.values("content-encoding")
        codings, lies = applied_codings(named, payload) if named else ((), ())
        return Outcome(
            status=head.status,
            reason=head.reason,
            http_version=head.version,
            headers=head.headers,
            request_bytes=self.recorded,
            head_bytes=response.head_bytes,
            payload=payload,
            framed=None if response.cut_by_type else body.framed,
            content_encoding=codings,
            truncated="unspecified" if response.cut_by_type else response.truncated or body.truncated,
            damaged=body.damaged,
            cut_by_type=response.cut_by_type,
            address=self.request.address,
            reused=self.reused,
            tls_version=tls_version,
            tls_cipher=tls_cipher,
            tls_error=tls_error,
            started=self.started,
            connect_s=self.connect_s,
            first_byte_s=first_byte_s,
            elapsed_s=elapsed_s,
            wire_bytes=connection.received,
            faults=(*head.faults, *body.faults, *lies),
        )
