"""Connections between exchanges: when one is used again, when it must not be, and how many are kept."""

from __future__ import annotations

import asyncio
import resource
import time

import pytest
import uvloop

from gossamer.model.page import Failure, Outcome
from tests.http.raw_server import RUNNERS, Peer, RawServer, answers, make_client, make_request, serve, until

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.mark.parametrize("runner", RUNNERS)
def test_connection_is_reused_after_a_cleanly_framed_response(runner: str) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
    not_modified = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 500\r\n\r\n"
    old = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx"

    async def run() -> tuple[list[Outcome], int]:
        async with serve(answers(HELLO, chunked, not_modified, old, HELLO)) as server:
            client = make_client()
            outcomes = [await client.fetch(make_request(server.port)) for _ in range(5)]
            await client.close()
            return outcomes, server.connections

    outcomes, connections = RUNNERS[runner](run())
    assert connections == 1
    assert [outcome.reused for outcome in outcomes] == [False, True, True, True, True]
    assert [outcome.payload for outcome in outcomes] == [b"hello", b"abc", b"", b"x", b"hello"]
    assert outcomes[1].wire_bytes == len(chunked)
    assert outcomes[1].connect_s == 0.0


@pytest.mark.parametrize(
    "first",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nxy",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_connection_is_not_reused_when_it_may_not_stand_behind_the_response(first: bytes) -> None:
    async def run() -> tuple[Outcome, Outcome, int]:
        async with serve(answers(first, HELLO)) as server:
            client = make_client()
            one = await client.fetch(make_request(server.port, total_timeout_s=1.0))
            two = await client.fetch(make_request(server.port, total_timeout_s=1.0))
            await client.close()
            return one, two, server.connections

    one, two, connections = uvloop.run(run())
    assert connections == 2
    assert one.payload[:1] == two.payload[:1] == b"x"
    assert not two.reused


@pytest.mark.parametrize("how", ["closed-before", "closed-at-request", "reset-at-request"])
def test_a_stale_connection_is_told_of_and_nothing_is_sent_again(how: str) -> None:
    """The server may have read the request: one more without a gap would be rude."""

    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        if peer.server.connections > 1:
            return
        if how != "closed-before":
            await peer.request()
        if how == "reset-at-request":
            peer.reset()

    async def run() -> tuple[list[Outcome], RawServer]:
        async with serve(handle) as server:
            client = make_client()
            outcomes = [await client.fetch(make_request(server.port))]
            if how == "closed-before":
                await until(lambda: not len(client._pool))
            outcomes.append(await client.fetch(make_request(server.port)))
            if how != "closed-before":
                assert (server.connections, len(server.requests)) == (1, 2)
                outcomes[1:] = [await client.fetch(make_request(server.port))]
                assert outcomes[1].failure is None
            await client.close()
            return outcomes, server

    outcomes, server = uvloop.run(run())
    assert [outcome.payload for outcome in outcomes] == [b"hello", b"hello"]
    assert [outcome.reused for outcome in outcomes] == [False, False]
    assert server.connections == 2


def test_a_connection_that_is_over_says_nothing_of_the_host() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        await peer.request()
        peer.reset()

    async def run() -> tuple[Outcome, int]:
        async with serve(handle) as server:
            client = make_client()
            await client.fetch(make_request(server.port))
            return await client.fetch(make_request(server.port)), len(server.requests)

    outcome, requests = uvloop.run(run())
    assert (outcome.failure, requests) == (Failure.STALE, 2)
    assert outcome.failure is not None
    assert outcome.failure.means_nothing


def test_a_request_that_asks_for_a_connection_of_its_own_gets_one() -> None:
    async def run() -> tuple[list[bool], int, int]:
        async with serve(answers(HELLO, HELLO)) as server:
            client = make_client()
            requests = [make_request(server.port, fresh=fresh) for fresh in (False, True, False)]
            reused = [(await client.fetch(request)).reused for request in requests]
            idle = len(client._pool)
            await client.close()
            return reused, server.connections, idle

    assert uvloop.run(run()) == ([False, False, True], 2, 1)


def test_new_connection_that_fails_is_not_retried() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()

    async def run() -> tuple[Outcome, int]:
        async with serve(handle) as server:
            return await make_client().fetch(make_request(server.port)), server.connections

    outcome, connections = uvloop.run(run())
    assert (outcome.failure, connections) == (Failure.DISCONNECTED, 1)


def test_reused_connection_that_fails_after_a_byte_is_not_retried() -> None:
    async def run() -> tuple[Outcome, int]:
        async with serve(answers(HELLO, b"HTTP/1.1")) as server:
            client = make_client()
            await client.fetch(make_request(server.port))
            outcome = await client.fetch(make_request(server.port, first_byte_timeout_s=0.2))
            return outcome, server.connections

    outcome, connections = uvloop.run(run())
    assert (outcome.failure, outcome.reused, connections) == (Failure.FIRST_BYTE_TIMEOUT, True, 1)


def test_unasked_bytes_on_an_idle_connection_end_it() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(HELLO)
        if peer.server.connections == 1:
            await asyncio.sleep(0.02)
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            await peer.reader.read()

    async def run() -> Outcome:
        async with serve(handle) as server:
            client = make_client()
            await client.fetch(make_request(server.port))
            await until(lambda: not len(client._pool))
            return await client.fetch(make_request(server.port))

    assert uvloop.run(run()).payload == b"hello"


def test_forget_closes_the_connections_of_a_name_only() -> None:
    async def run() -> list[bool]:
        async with serve(answers(HELLO, HELLO)) as server:
            client = make_client()
            for name in ("a.example", "b.example"):
                await client.fetch(make_request(server.port, name=name))
            client.forget("a.example")
            client.forget("unknown.example")
            reused = [(await client.fetch(make_request(server.port, name=f"{n}.example"))).reused for n in "ab"]
            await client.close()
            assert len(client._pool) == 0
            return reused

    assert uvloop.run(run()) == [False, True]


def test_idle_connections_are_bounded_in_number_and_age() -> None:
    async def run() -> list[int]:
        async with serve(answers(HELLO, HELLO)) as server:
            client = make_client(idle_max=3)
            for place in range(6):
                await client.fetch(make_request(server.port, name=f"h{place}.example"))
            few = len(client._pool)
            impatient = make_client(idle_s=-1.0)
            await impatient.fetch(make_request(server.port))
            old = len(impatient._pool)
            await client.close()
            return [few, old]

    assert uvloop.run(run()) == [3, 0]


@pytest.mark.serial
def test_six_hundred_connections_at_once() -> None:
    async def run() -> tuple[int, int, float]:
        async def handle(peer: Peer) -> None:
            await peer.request()
            await asyncio.sleep(0.2)
            await peer.send(HELLO)
            await peer.reader.read()

        async with serve(handle) as server:
            client = make_client()
            begun = time.perf_counter()
            names = [f"h{place}.example" for place in range(600)]
            outcomes = await asyncio.gather(
                *[
                    client.fetch(make_request(server.port, name=name, total_timeout_s=20.0, first_byte_timeout_s=20.0))
                    for name in names
                ]
            )
            took_s = time.perf_counter() - begun
            good = sum(outcome.payload == b"hello" for outcome in outcomes)
            kept = len(client._pool)
            await client.close()
            return good, kept, took_s

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        good, kept, took_s = uvloop.run(run())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (good, kept) == (600, 600)
    assert took_s < 10
