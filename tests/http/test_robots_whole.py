"""Whether a robots.txt came whole, from raw bytes on a socket to what the rules are taken from."""

from __future__ import annotations

import asyncio
import gzip
import random
import socket
import struct

import brotli
import pytest
import zstandard

from gossamer.adapters.decode import decode_body
from gossamer.core.turn import Turn
from gossamer.model.config import Config, Fetch
from gossamer.model.limits import ROBOTS_CODED_MAX_BYTES, ROBOTS_MAX_BYTES
from gossamer.model.page import Kind, Outcome
from gossamer.policy.robots import judge_response, parse
from gossamer.stage.fetch import FetchStage
from tests.http.raw_server import Handler, Peer, answer, make_client, serve

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
RULES = b"User-agent: *\nDisallow: /private\n"
GZIP = gzip.compress(RULES, mtime=0)
BROTLI = brotli.compress(b"".join(b"Disallow: /%d/%d\n" % (n, n * n) for n in range(99)))
FRAME = zstandard.compress(RULES)
NOISE = random.Random(1).randbytes(ROBOTS_MAX_BYTES)
SMALL = Fetch(max_body_bytes=1)  # what it says of bodies is not about robots.txt


def sized(length: int, body: bytes, head: bytes = OK) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % length + body


def coded(coding: bytes, body: bytes) -> bytes:
    """A body that ends with its connection."""
    return OK + b"Content-Encoding: " + coding + b"\r\n\r\n" + body


def whole(coding: bytes, body: bytes) -> bytes:
    """A body that has the length it declares, which says nothing of its coding."""
    return sized(len(body), body, OK + b"Content-Encoding: " + coding + b"\r\n")


def ask(handler: Handler, kind: Kind = Kind.ROBOTS, fetch: Fetch = SMALL) -> tuple[Outcome, bytes]:
    async def run() -> tuple[Outcome, bytes]:
        async with serve(handler) as server:
            turn = Turn(
                id=1, host=f"a.example:{server.port}", lane="l", kind=kind, url="http://a.example/robots.txt", key="k",
                scheme="http", name="a.example", port=server.port, target="/robots.txt", address="127.0.0.1",
                started=1_700_000_000.0,
            )  # fmt: skip
            client = make_client()
            outcome, _, decoded = await FetchStage(Config(fetch=fetch), client, decode_body).fetch(turn)
            await client.close()
            return outcome, decoded

    return asyncio.run(run())


def verdict(outcome: Outcome, body: bytes) -> tuple[str, str]:
    return judge_response(
        outcome.status, outcome.header("content-type") or "", body, "disallow", missing=outcome.incomplete
    )


CUT = "cut off by its server"
CODING = "its coding is damaged"
MISNAMED = "it is not in the coding that it names"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (sized(500, b""), CUT),
        (sized(500, b"User-agent: *\n"), CUT),
        (sized(500, b"<html>"), CUT),
        (sized(500, b"\0\0"), CUT),
        (CHUNKED, CUT),
        (CHUNKED + b"e\r\nUser-agent: *\n\r\n", CUT),
        (CHUNKED + b"e\r\nUser-agent: *\n\r\nDisallow: /\r\n", "its chunks are damaged"),
        (CHUNKED + b"3\r\nUser-agent: *\nDisallow: /\r\n0\r\n\r\n", "its chunks are damaged"),
        *((coded(b"gzip", GZIP[:end]), CODING) for end in (3, 10, 20)),
        *((whole(b"gzip", GZIP[:end]), CODING) for end in (3, 10, 20)),
        *((whole(b"gzip", GZIP[:end]), MISNAMED) for end in (1, 2)),
        *((whole(b"zstd", FRAME[:end]), CODING) for end in (6, len(FRAME) - 6)),
        *((whole(b"br", BROTLI[:end]), (CODING, MISNAMED)) for end in (1, 2, 5, 20, 100)),
        (whole(b"gzip, gzip", gzip.compress(GZIP[:15], mtime=0)), CODING),
        (
            whole(b"gzip, gzip", gzip.compress(gzip.compress(NOISE, 0, mtime=0), mtime=0)),
            CODING,
        ),  # the inner is cut at the cap
        (coded(b"gzip", gzip.compress(b"", mtime=0) * 60_000), "too long, and too little of it can be read"),
    ],
)
def test_what_came_in_part_opens_nothing(data: bytes, why: str | tuple[str, ...]) -> None:
    outcome, body = ask(answer(data))
    assert outcome.status == 200
    assert outcome.incomplete.startswith(why)
    assert verdict(outcome, body) == ("disallow", f"unreachable: {outcome.incomplete}")


@pytest.mark.parametrize("body", [b"", RULES])
def test_what_is_not_all_there_in_time_opens_nothing(body: bytes) -> None:
    async def stall(peer: Peer) -> None:
        await peer.request()
        await peer.send(sized(500, body))
        await peer.reader.read()

    outcome, decoded = ask(stall, fetch=Fetch(total_timeout_s=1.5))
    assert (outcome.truncated, decoded) == ("time", body)
    assert verdict(outcome, decoded) == ("disallow", "unreachable: not all there within the time for it")


def test_a_reset_opens_nothing() -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(OK + b"\r\nUser-agent: *\n")  # its end would be that of the connection
        await asyncio.sleep(0.05)  # until the client has read that far: a reset drops what lies unread
        linger = struct.pack("ii", 1, 0)  # closing drops the connection instead of ending it
        peer.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        peer.reset()

    outcome, body = ask(handle)
    assert verdict(outcome, body) == ("disallow", f"unreachable: {CUT}")


@pytest.mark.parametrize(
    "data",
    [
        sized(0, b""),
        sized(len(RULES), RULES),
        sized(len(RULES), RULES + b"\n"),
        OK + b"\r\n",
        OK + b"\r\n" + RULES,
        b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + RULES,
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        OK + b"no colon\r\nContent-Length: %d\r\n\r\n" % len(RULES) + RULES,
        OK + b"Content-Length: thousand\r\n\r\n" + RULES,
        CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(RULES), RULES),
        CHUNKED + b"%x\r\n%b\r\n0\r\n" % (len(RULES), RULES),
        CHUNKED + b"0\r\n\r\n",
        whole(b"gzip", GZIP),
        whole(b"gzip", GZIP[:-8]),  # without its checksum
        whole(b"br", brotli.compress(RULES)),
        whole(b"zstd", FRAME),
        whole(b"gzip, gzip", gzip.compress(GZIP, mtime=0)),
        whole(b"gzip", RULES),
        whole(b"UTF-8", RULES),
        whole(b"gzip", b"Sitemap: /map.xml\n"),
        whole(b"gzip", b""),
        whole(b"identity", b"# nothing here\n"),
    ],
)
def test_what_came_whole_counts(data: bytes) -> None:
    outcome, body = ask(answer(data))
    assert outcome.incomplete == ""
    assert verdict(outcome, body) == ("rules", str(outcome.status))
    assert parse(body, "Gossamer").decide("/private").allowed == (RULES not in body)


LONG = RULES + b"#" * ROBOTS_MAX_BYTES + b"\nDisallow: /late\n"
TIGHT = b"User-agent: *\nDisallow: /private\n#" + NOISE.replace(b"\n", b"x").replace(b"\r", b"y")


@pytest.mark.parametrize(
    "data",
    [
        sized(len(LONG), LONG),
        sized(2 * len(LONG), LONG),
        OK + b"\r\n" + LONG,
        CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(LONG), LONG),
        CHUNKED + b"%x\r\n%b" % (len(LONG), LONG),
        whole(b"gzip", gzip.compress(LONG, mtime=0)),
        coded(b"gzip", gzip.compress(LONG * 20, mtime=0)),
        coded(b"gzip", gzip.compress(LONG * 2, mtime=0)[:-20]),
        coded(b"gzip", gzip.compress(TIGHT * 9, 0, mtime=0)),
        sized(len(LONG), LONG[:ROBOTS_MAX_BYTES]),
    ],
)
def test_the_first_500_kib_are_all_that_is_wanted(data: bytes) -> None:
    outcome, body = ask(answer(data))
    assert len(outcome.payload) <= ROBOTS_CODED_MAX_BYTES
    assert len(body) == ROBOTS_MAX_BYTES
    assert verdict(outcome, body) == ("rules", "200")
    assert not parse(body, "Gossamer").decide("/private").allowed


def test_what_does_not_compress_is_read_whole() -> None:
    data = whole(b"gzip", gzip.compress(TIGHT[: ROBOTS_MAX_BYTES - 1], 0, mtime=0))
    outcome, body = ask(answer(data))
    assert len(outcome.payload) > ROBOTS_MAX_BYTES
    assert (outcome.truncated, outcome.incomplete) == ("", "")
    assert body == TIGHT[: ROBOTS_MAX_BYTES - 1]


@pytest.mark.parametrize("status", [b"404 Not Found", b"503 Busy", b"301 Moved"])
def test_of_what_says_no_rules_nothing_is_missing(status: bytes) -> None:
    outcome, body = ask(answer(b"HTTP/1.1 " + status + b"\r\nContent-Length: 500\r\n\r\n"))
    assert (outcome.truncated, outcome.incomplete) == ("disconnect", "")
    assert "cut off" not in verdict(outcome, body)[1]


def test_a_key_is_read_whatever_a_page_may_have() -> None:
    outcome, body = ask(answer(sized(32, b"3f8a91c2d7e64b053f8a91c2d7e64b05")), Kind.KEY)
    assert (body, outcome.truncated) == (b"3f8a91c2d7e64b053f8a91c2d7e64b05", "")


@pytest.mark.parametrize(("kind", "kept", "truncated"), [(Kind.PAGE, 1, "length"), (Kind.SITEMAP, len(RULES), "")])
def test_pages_are_cut_as_configured_and_sitemaps_are_not(kind: Kind, kept: int, truncated: str) -> None:
    outcome, _ = ask(answer(sized(len(RULES), RULES)), kind)
    assert (outcome.payload, outcome.truncated, outcome.incomplete) == (RULES[:kept], truncated, "")
