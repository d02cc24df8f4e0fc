"""The client against real sockets: what is sent, reuse, deadlines, caps, and whose fault a failure is."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import socket
from pathlib import Path

import pytest
import uvloop

from gossamer.adapters.http import trouble
from gossamer.adapters.http.body import LengthBody
from gossamer.adapters.http.client import HttpClient
from gossamer.adapters.http.exchange import Exchange
from gossamer.adapters.http.response import Response
from gossamer.model.page import Failure, Outcome
from gossamer.policy.guard import parse_networks
from tests.http.raw_server import (
    RUNNERS,
    FixedClock,
    Handler,
    Peer,
    RawServer,
    answer,
    fetch_once,
    get,
    make_client,
    make_request,
    serve,
    until,
)

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize("runner", RUNNERS)
def test_request_and_outcome_are_exact(runner: str) -> None:
    async def run() -> tuple[Outcome, RawServer]:
        async with serve(answer(b'HTTP/1.1 200 Fine\r\nETag: "x"\r\nContent-Length: 5\r\n\r\nhello')) as server:
            request = make_request(server.port, "/a?b=c", headers=(("User-Agent", "T"), ("If-None-Match", '"\xe9"')))
            return await make_client(clock=FixedClock(1234.5)).fetch(request), server

    outcome, server = RUNNERS[runner](run())
    sent = f'GET /a?b=c HTTP/1.1\r\nHost: host.example:{server.port}\r\nUser-Agent: T\r\nIf-None-Match: "\xe9"\r\n\r\n'
    assert server.requests == [sent.encode("latin-1")]
    assert outcome.request_bytes == sent.encode("latin-1")
    assert outcome.head_bytes == b'HTTP/1.1 200 Fine\r\nETag: "x"\r\nContent-Length: 5\r\n\r\n'
    assert (outcome.status, outcome.reason, outcome.http_version) == (200, "Fine", "HTTP/1.1")
    assert outcome.headers == (("etag", '"x"'), ("content-length", "5"))
    assert (outcome.payload, outcome.framed, outcome.truncated, outcome.faults) == (b"hello", None, "", ())
    assert (outcome.address, outcome.reused, outcome.started) == ("127.0.0.1", False, 1234.5)
    assert outcome.wire_bytes == len(outcome.head_bytes) + 5
    assert 0 < outcome.first_byte_s < outcome.elapsed_s
    assert 0 < outcome.connect_s < outcome.elapsed_s < 2


@pytest.mark.parametrize(("scheme", "port", "host"), [("http", 80, "a.example"), ("https", 443, "a.example")])
def test_host_without_its_default_port(scheme: str, port: int, host: str) -> None:
    async def build() -> bytes:
        from gossamer.adapters.http.client import _Visit

        visit = _Visit(make_request(port, name=host, scheme=scheme), 0.0)
        visit.prepare(None)
        return visit.wire

    assert b"\r\nHost: a.example\r\n" in asyncio.run(build())


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": (("If-None-Match", "a\r\nX: y"),)},
        {"headers": (("X", "a\nb"),)},
        {"headers": (("X", "a\0"),)},
        {"headers": (("X", "\u2192"),)},
        {"target": "/a b"},
        {"name": "a\r\nEvil: yes"},
    ],
)
def test_request_with_a_line_break_is_never_sent(changes: dict[str, object]) -> None:
    async def run() -> Outcome:
        async with serve(answer(HELLO)) as server:
            outcome = await make_client().fetch(make_request(server.port, **changes))
            assert server.requests == []
            return outcome

    outcome = uvloop.run(run())
    assert outcome.failure is Failure.PROTOCOL
    assert "request" in outcome.failure_detail


def test_body_of_an_unwanted_type_is_not_read() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: Video/mp4\r\nContent-Length: 1000000\r\n\r\n" + b"v" * 100)
        await peer.reader.read()

    outcome = uvloop.run(fetch_once(handle, unwanted_types=("image/", "video/")))
    assert outcome.failure is None
    assert (outcome.status, outcome.cut_by_type, outcome.payload, outcome.truncated) == (200, True, b"", "unspecified")
    assert outcome.elapsed_s < 1
    outcome = get(HELLO, unwanted_types=("image/", "video/"))
    assert (outcome.cut_by_type, outcome.payload) == (False, b"hello")


def test_not_modified_is_never_cut_by_its_type() -> None:
    outcome = get(b"HTTP/1.1 304 Not Modified\r\nContent-Type: image/png\r\n\r\n", unwanted_types=("image/",))
    assert (outcome.status, outcome.cut_by_type) == (304, False)


@pytest.mark.skipif(not Path("/proc/net/if_inet6").exists(), reason="no IPv6 on this machine")
def test_ipv6_address() -> None:
    async def run() -> tuple[Outcome, bytes]:
        async with serve(answer(HELLO), host="::1") as server:
            client = make_client(net_allow=parse_networks(("::1",)))
            return await client.fetch(make_request(server.port, address="::1", name="[::1]")), server.requests[0]

    outcome, request = uvloop.run(run())
    assert (outcome.payload, outcome.address) == (b"hello", "::1")
    assert b"\r\nHost: [::1]:" in request


def test_plain_body_counts_against_the_decoded_cap_and_a_coded_one_against_the_raw_cap() -> None:
    head = b"HTTP/1.1 200 OK\r\n"
    assert len(get(head + b"\r\n" + b"p" * 300, body_max_bytes=100, raw_max_bytes=200).payload) == 100
    coded = get(head + b"Content-Encoding: gzip\r\n\r\n" + b"p" * 300, body_max_bytes=100, raw_max_bytes=200)
    assert (len(coded.payload), coded.truncated) == (200, "length")


def test_endless_body_ends_at_the_cap() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n")
        while not peer.writer.is_closing():
            await peer.send(b"z" * 65536)

    outcome = uvloop.run(fetch_once(handle, raw_max_bytes=1_000_000))
    assert (len(outcome.payload), outcome.truncated) == (1_000_000, "length")


def test_interim_responses_are_skipped_up_to_a_bound() -> None:
    assert get(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 3 + HELLO).payload == b"hello"
    assert get(b"HTTP/1.1 100 Continue\r\n\r\n" * 100 + HELLO).failure is Failure.PROTOCOL


def test_server_that_speaks_before_it_is_asked() -> None:
    async def handle(peer: Peer) -> None:
        await peer.send(b"SSH-2.0-OpenSSH_9.2\r\n")
        await peer.reader.read()

    assert uvloop.run(fetch_once(handle)).failure is Failure.PROTOCOL


def test_silent_server_meets_the_first_byte_deadline_and_the_total() -> None:
    async def handle(peer: Peer) -> None:
        await peer.reader.read(-1)

    outcome = uvloop.run(fetch_once(handle, first_byte_timeout_s=0.2))
    assert outcome.failure is Failure.FIRST_BYTE_TIMEOUT
    outcome = uvloop.run(fetch_once(handle, total_timeout_s=0.2))
    assert (outcome.failure, outcome.first_byte_s) == (Failure.TIMEOUT, 0.0)
    assert outcome.request_bytes


def test_connection_refused_is_the_servers_affair() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        outcome = uvloop.run(make_client().fetch(make_request(port)))
    assert outcome.failure is Failure.CONNECT
    assert "ECONNREFUSED" in outcome.failure_detail


def test_connect_timeout() -> None:
    with socket.socket() as full:  # a full backlog drops what comes
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        outcome = uvloop.run(make_client().fetch(make_request(port, connect_timeout_s=0.3)))
        total = uvloop.run(make_client().fetch(make_request(port, total_timeout_s=0.3)))
        for each in waiting:
            each.close()
    assert outcome.failure is total.failure is Failure.CONNECT_TIMEOUT  # whichever time was over first
    assert 0.25 < outcome.elapsed_s < 1.5


@pytest.mark.parametrize("runner", RUNNERS)
def test_no_descriptors_left_is_our_own_fault(runner: str) -> None:
    async def run() -> Outcome:
        async with serve(answer(HELLO)) as server:
            client = make_client()
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            taken = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(taken[-1] + 1, soft), hard))
            try:
                return await client.fetch(make_request(server.port))
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
                for descriptor in taken:
                    os.close(descriptor)

    outcome = RUNNERS[runner](run())
    assert outcome.failure is Failure.OURS
    assert "EMFILE" in outcome.failure_detail


@pytest.mark.parametrize(
    ("code", "address", "failure"),
    [
        (errno.ENETDOWN, "192.0.2.1", Failure.OURS),
        (errno.ENOBUFS, "192.0.2.1", Failure.OURS),
        (errno.EADDRNOTAVAIL, "192.0.2.1", Failure.OURS),  # no ephemeral port left
        (errno.EADDRNOTAVAIL, "2001:db8::1", Failure.CONNECT),  # no IPv6 here: lasts, so it is told of the host
        (errno.ENETUNREACH, "2001:db8::1", Failure.CONNECT),
        (errno.EHOSTUNREACH, "127.0.0.1", Failure.CONNECT),  # we have a route: the answer came from over there
        (errno.ECONNRESET, "192.0.2.1", Failure.CONNECT),
        (errno.ETIMEDOUT, "192.0.2.1", Failure.CONNECT_TIMEOUT),
    ],
)
def test_whose_fault_a_failed_connect_is(code: int, address: str, failure: Failure) -> None:
    assert trouble.of_connect(OSError(code, os.strerror(code)), address).failure is failure


def test_no_route_at_all_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trouble, "no_route", lambda address: True)
    assert trouble.of_connect(OSError(errno.ENETUNREACH, "x"), "192.0.2.1").failure is Failure.OURS


def test_cancelled_fetch_closes_its_connection() -> None:
    async def run() -> bytes:
        seen: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def handle(peer: Peer) -> None:
            await peer.request()
            seen.set_result(await peer.reader.read())

        async with serve(handle) as server:
            task = asyncio.create_task(make_client().fetch(make_request(server.port)))
            await until(lambda: bool(server.requests))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return await asyncio.wait_for(seen, 2)

    assert uvloop.run(run()) == b""


def test_fault_of_our_own_code_does_not_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpClient, "_connected", lambda *_: 1 / 0)
    outcome = get(HELLO)
    assert outcome.failure is Failure.PROTOCOL
    assert "internal error: ZeroDivisionError" in outcome.failure_detail


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    ("where", "name"),
    [(Response, "_feed_head"), (LengthBody, "feed"), (LengthBody, "payload"), (HttpClient, "_connected")],
)
def test_no_memory_left_is_our_own_fault(runner: str, where: type, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it runs out: in a callback of the socket, in the middle of a body, when the body is put together."""

    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(where, name, refuse)
    outcome = RUNNERS[runner](fetch_once(answer(HELLO)))
    assert (outcome.failure, outcome.failure_detail) == (Failure.OURS, "out of memory")
    assert (outcome.status, outcome.truncated) == (0, "")


def test_no_memory_left_for_a_handshake_is_our_own_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Exchange, "_unexpected", refuse)
    outcome = uvloop.run(fetch_once(answer_at_once(b"\x15\x03\x03\x00\x02\x02\x28"), scheme="https"))
    assert outcome.failure is Failure.OURS
    assert "MemoryError" in outcome.failure_detail


def answer_at_once(data: bytes) -> Handler:
    """A server that speaks first."""

    async def handle(peer: Peer) -> None:
        await peer.send(data)
        await peer.reader.read()

    return handle


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOBUFS, "No buffer space available"), True),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), False),
        (None, False),
    ],
)
def test_whose_fault_half_a_body_is(error: Exception | None, *, ours: bool) -> None:
    """Half a body that our machine cut off says nothing of the page; one that the server cut off is kept."""
    response = Response(make_request(1))
    response.feed(HELLO[:-2])
    response.eof("" if error is None else str(error) or type(error).__name__)
    assert bool(trouble.broken_off(response, error)) is ours
