"""Symptoms from public bug reports of crawlers: what servers send, and what must come of it."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest
import uvloop

from gossamer.adapters.decode import decode_body
from gossamer.model.limits import HEAD_MAX_BYTES
from gossamer.model.page import Failure, Outcome
from gossamer.policy.guard import parse_networks
from tests.http.raw_server import Peer, answer, fetch_once, get, make_client, make_request, serve

PAGE = b"<html><p>a page</p></html>"
LENGTH = f"Content-Length: {len(PAGE)}\r\n".encode()


def ok(head: bytes, body: bytes = PAGE) -> Outcome:
    outcome = get(head + body)
    assert outcome.failure is None, outcome.failure_detail
    return outcome


def test_no_status_line() -> None:
    outcome = get(b"<html>hello</html>")
    assert outcome.failure is Failure.PROTOCOL
    assert "<html>" in outcome.failure_detail


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        (b"HTTP/1.1 200: OK", 200, "OK"),
        (b"HTTP/1.1 301", 301, ""),
        (b"HTTP/1.0 200 ", 200, ""),
        (b"http/1.1 200 ok", 200, "ok"),
        (b"HTTP/1.1   404   Not  Found", 404, "Not  Found"),
        (b"\r\n\nHTTP/1.1 200 OK", 200, "OK"),
    ],
)
def test_odd_status_line_is_understood(line: bytes, status: int, reason: str) -> None:
    outcome = ok(line + b"\r\n" + LENGTH + b"\r\n")
    assert (outcome.status, outcome.reason, outcome.payload, outcome.truncated) == (status, reason, PAGE, "")


def test_folded_header() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nX-Long: one\r\n  two\r\n\tthree\r\n" + LENGTH + b"\r\n")
    assert outcome.header("x-long") == "one two three"


def test_header_that_never_ends() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nX: ")
        for _ in range(2 * HEAD_MAX_BYTES // 65536 + 2):
            await peer.send(b"a" * 65536)

    outcome = uvloop.run(fetch_once(handle))
    assert outcome.failure is Failure.HEAD_TOO_LARGE


def test_endless_empty_lines_before_the_status_line() -> None:
    outcome = get(b"\r\n" * HEAD_MAX_BYTES)
    assert outcome.failure is Failure.HEAD_TOO_LARGE


def test_content_length_that_is_no_number_keeps_the_page_and_marks_it() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nContent-Length: thousand\r\n\r\n")
    assert (outcome.payload, outcome.truncated) == (PAGE, "unspecified")
    assert outcome.faults == ("content-length 'thousand'",)


def test_header_line_without_a_colon_keeps_the_page_and_marks_it() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nServer test\r\n" + LENGTH + b"X: y\r\n\r\n")
    assert (outcome.payload, outcome.truncated) == (PAGE, "unspecified")
    assert outcome.header("x") == "y"
    assert outcome.faults == ("header line without a colon",)


def test_utf8_quotes_in_a_header_name() -> None:
    outcome = ok("HTTP/1.1 200 OK\r\n“X-Odd”: v\r\n".encode() + LENGTH + b"\r\n")
    assert (outcome.payload, outcome.truncated, outcome.faults) == (PAGE, "", ())
    assert ("“x-odd”".encode().decode("latin-1"), "v") in outcome.headers


@pytest.mark.parametrize(
    "coding",
    [b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"Transfer-Encoding: chunked, chunked\r\n"],
)
def test_chunked_twice(coding: bytes) -> None:
    wire = b"5\r\nhello\r\n0\r\n\r\n"
    outcome = ok(b"HTTP/1.1 200 OK\r\n" + coding + b"\r\n", wire)
    assert (outcome.payload, outcome.framed, outcome.truncated) == (b"hello", wire, "")


def test_chunked_body_without_its_last_chunk_is_kept_and_marked() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n4\r\nwo")
    assert (outcome.payload, outcome.framed, outcome.truncated) == (b"hellowo", b"5\r\nhello\r\n4\r\nwo", "disconnect")


def test_body_shorter_than_declared_is_kept_and_marked() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
    assert (outcome.payload, outcome.truncated) == (PAGE, "disconnect")


def test_body_two_bytes_longer_than_declared_is_kept_and_marked() -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\n" + LENGTH + b"\r\n", PAGE + b"xy")
    assert (outcome.payload, outcome.truncated) == (PAGE, "unspecified")
    assert outcome.faults == ("body longer than declared",)


def test_reset_in_the_middle_of_a_body_keeps_what_came() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        await asyncio.sleep(0.05)  # until the client has read that far: a reset drops what lies unread
        peer.reset()

    outcome = uvloop.run(fetch_once(handle))
    assert (outcome.failure, outcome.payload, outcome.truncated) == (None, b"half", "disconnect")


@pytest.mark.parametrize(
    ("coding", "body", "applied", "fault"),
    [
        (b"gzip", PAGE, (), "content-encoding: gzip does not apply"),
        (b"UTF-8", PAGE, (), "content-encoding: unknown coding 'utf-8'"),
        (b"deflate", PAGE, (), "content-encoding: deflate does not apply"),
        (b"br", PAGE, (), "content-encoding: br does not apply"),
        (b"zstd", PAGE, (), "content-encoding: zstd does not apply"),
        (b"x-gzip", gzip.compress(PAGE, mtime=0), ("gzip",), ""),
        (b"identity", PAGE, (), ""),
        (b"none", PAGE, (), ""),
        (b"deflate", zlib.compress(PAGE) + b"trailing bytes", ("deflate",), ""),
        (b"deflate", zlib.compress(PAGE)[2:-4] + b"trailing bytes", ("deflate",), ""),
        (b"gzip", gzip.compress(PAGE, mtime=0) + b"\0\0trailing", ("gzip",), ""),
        (b"gzip, gzip", gzip.compress(gzip.compress(PAGE, mtime=0), mtime=0), ("gzip", "gzip"), ""),
    ],
)
def test_content_encoding_that_lies_or_is_odd(coding: bytes, body: bytes, applied: tuple[str, ...], fault: str) -> None:
    outcome = ok(b"HTTP/1.1 200 OK\r\nContent-Encoding: " + coding + b"\r\n\r\n", body)
    assert (outcome.payload, outcome.content_encoding) == (body, applied)
    assert outcome.faults == ((fault,) if fault else ())
    assert decode_body(outcome.payload, outcome.content_encoding, 1 << 20) == (PAGE, False, "")


def test_drip_of_a_byte_now_and_then_ends_with_the_total_time() -> None:
    async def head(peer: Peer) -> None:
        await peer.request()
        await peer.drip(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, 0.02)

    async def body(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        await peer.drip(b"a" * 1000, 0.02)

    async def chunks(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        await peer.drip(b"1\r\na\r\n" * 200, 0.02)

    times = {"total_timeout_s": 0.4, "first_byte_timeout_s": 10.0}
    outcome = uvloop.run(fetch_once(head, **times))
    assert outcome.failure is Failure.TIMEOUT
    assert 0.3 < outcome.elapsed_s < 1.5
    outcome = uvloop.run(fetch_once(head, total_timeout_s=10.0, first_byte_timeout_s=0.3))
    assert outcome.failure is Failure.FIRST_BYTE_TIMEOUT
    for handler in (body, chunks):
        outcome = uvloop.run(fetch_once(handler, **times))
        assert (outcome.failure, outcome.status, outcome.truncated) == (None, 200, "time")
        assert 0 < len(outcome.payload) < 100
        assert 0.3 < outcome.elapsed_s < 1.5


@pytest.mark.parametrize(("length", "truncated"), [(999, ""), (1000, ""), (1001, "length")])
@pytest.mark.parametrize("framing", ["length", "close", "chunked"])
def test_truncated_flag_is_right_at_the_limit(framing: str, length: int, truncated: str) -> None:
    body = b"z" * length
    head = {
        "length": b"Content-Length: %d\r\n" % length,
        "close": b"",
        "chunked": b"Transfer-Encoding: chunked\r\n",
    }[framing]
    wire = b"%x\r\n%b\r\n0\r\n\r\n" % (length, body) if framing == "chunked" else body
    outcome = get(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n" + wire, raw_max_bytes=1000)
    assert (outcome.payload, outcome.truncated) == (body[:1000], truncated)


def test_small_body_that_opens_into_gigabytes() -> None:
    bomb = gzip.compress(b"\0" * (64 << 20), 9)
    outcome = ok(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", bomb)
    assert (outcome.payload, outcome.truncated) == (bomb, "")  # what is archived is whole
    decoded = decode_body(outcome.payload, outcome.content_encoding, 10 << 20)
    assert (len(decoded.body), decoded.truncated) == (min(10 << 20, 100 * len(bomb)), True)


@pytest.mark.parametrize(
    "name", ["host_with_underscore.example", "hg--69.example", "-a.example", "x" * 64 + ".example"]
)
def test_host_name_with_underscore_and_other_odd_names(name: str) -> None:
    async def run() -> tuple[Outcome, bytes]:
        async with serve(answer(b"HTTP/1.1 200 OK\r\n\r\nhi")) as server:
            outcome = await make_client().fetch(make_request(server.port, name=name))
            return outcome, server.requests[0]

    outcome, request = uvloop.run(run())
    assert outcome.payload == b"hi"
    assert f"\r\nHost: {name}:".encode() in request


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", "10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"],
)
def test_special_addresses_are_refused_right_before_connecting(address: str) -> None:
    async def run() -> Outcome:
        async with serve(answer(b"HTTP/1.1 200 OK\r\n\r\nsecret")) as server:
            outcome = await make_client(net_allow=parse_networks(())).fetch(make_request(server.port, address=address))
            assert server.connections == 0
            return outcome

    outcome = uvloop.run(run())
    assert outcome.failure is Failure.ADDRESS
    assert address in outcome.failure_detail
