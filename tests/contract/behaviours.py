"""Behaviours of servers, each described twice: what a real one does with its socket, and what a simulated one answers.

Both must bring the same Outcome.
"""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import dataclass, field
from typing import Any

from gossamer.model.page import Failure
from gossamer.sim.web import Answer
from tests.http.raw_server import Handler, Peer

HTML = (("content-type", "text/html"),)
HELLO = b"<p>hello</p>"
CODED = gzip.compress(HELLO * 50, mtime=0)


@dataclass(frozen=True)
class Behaviour:
    """What a server does, for real and simulated, and what comes of a request to it."""

    name: str
    serve: Handler | None  # None: nobody listens
    answer: Answer
    expect: dict[str, Any]  # fields of the Outcome
    request: dict[str, Any] = field(default_factory=dict)  # fields of the Request that differ
    lasts_s: tuple[float, float] = (0.0, 1.0)  # elapsed_s
    is_slow: bool = False  # long under way: there is time to cancel it


def sends(*pieces: bytes | float) -> Handler:
    """Answers each request of a connection with these bytes, and waits where a number stands."""

    async def handle(peer: Peer) -> None:
        while await peer.request():
            for piece in pieces:
                if isinstance(piece, bytes):
                    await peer.send(piece)
                else:
                    await asyncio.sleep(piece)

    return handle


def once(*pieces: bytes | float) -> Handler:
    """Answers one request so, and closes."""

    async def handle(peer: Peer) -> None:
        if await peer.request():
            for piece in pieces:
                if isinstance(piece, bytes):
                    await peer.send(piece)
                else:
                    await asyncio.sleep(piece)

    return handle


async def silent(peer: Peer) -> None:
    await peer.request()
    await peer.reader.read()


async def speaks_http(peer: Peer) -> None:
    await peer.reader.read(100)
    await peer.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


async def resets(peer: Peer) -> None:
    await peer.request()
    peer.reset()


async def drips(peer: Peer) -> None:
    await peer.request()
    await peer.send(head(200, 1_000))
    await peer.drip(b"d" * 1_000, 0.02)


async def endless_body(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\n\r\n")
    while not peer.writer.is_closing():
        await peer.send(b"z" * 65_536)


async def endless_headers(peer: Peer) -> None:
    await peer.request()
    await peer.send(b"HTTP/1.1 200 X\r\n")
    while not peer.writer.is_closing():
        await peer.send(b"X: " + b"y" * 1_000 + b"\r\n")


def head(status: int, length: int | None, fields: tuple[tuple[str, str], ...] = HTML) -> bytes:
    """A response head."""
    sized = fields if length is None else (*fields, ("content-length", str(length)))
    lines = "".join(f"{name.title()}: {value}\r\n" for name, value in sized)
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode()


def plain(
    name: str,
    status: int,
    body: bytes = b"",
    fields: tuple[tuple[str, str], ...] = HTML,
    request: dict[str, Any] | None = None,
    **expect: Any,
) -> Behaviour:
    """A server that answers at once."""
    length = None if status in {204, 304} else len(body)
    return Behaviour(
        name=name,
        serve=sends(head(status, length, fields) + body),
        answer=Answer(
            status=status, headers=fields, body=body, seconds=0.01, content_encoding=expect.get("content_encoding", ())
        ),
        expect={"status": status, "payload": body, "reason": "X"} | expect,
        request=request or {},
    )


def refuses(name: str, serve: Handler | None, failure: Failure, **more: Any) -> Behaviour:
    """A server from which no response comes."""
    seconds = more.pop("seconds", 0.01)
    return Behaviour(
        name=name, serve=serve, answer=Answer(failure=failure, seconds=seconds), expect={"failure": failure}, **more
    )


BEHAVIOURS = (
    plain("page", 200, HELLO),
    plain("empty page", 200),
    plain("no content", 204),
    plain("redirect", 302, b"moved", (("location", "http://other.example/"),)),
    plain("permanent redirect", 301, b"", (("location", "/there"),)),
    plain("not modified", 304, b"", (("etag", '"1"'),), request={"headers": (("If-None-Match", '"1"'),)}),
    plain("forbidden", 403, b"no"),
    plain("not found", 404, b"nothing"),
    plain("gone", 410),
    plain("too many requests", 429, b"", (("retry-after", "3120"),)),
    plain("broken", 500, b"oops"),
    plain("unavailable", 503, b"", (("retry-after", "60"),)),
    plain("compressed", 200, CODED, (*HTML, ("content-encoding", "gzip")), content_encoding=("gzip",)),
    plain("falsely compressed", 200, HELLO, (*HTML, ("content-encoding", "gzip")), content_encoding=()),
    plain("exactly the cap", 200, b"x" * 1_000, request={"body_max_bytes": 1_000, "raw_max_bytes": 1_000}),
    plain(
        "beyond the cap", 200, b"x" * 1_001,
        request={"body_max_bytes": 1_000, "raw_max_bytes": 1_000}, payload=b"x" * 1_000, truncated="length",
    ),
    plain(
        "beyond the decoded cap", 200, b"x" * 1_001,
        request={"body_max_bytes": 1_000}, payload=b"x" * 1_000, truncated="length",
    ),
    plain(
        "compressed within the raw cap", 200, CODED, (*HTML, ("content-encoding", "gzip")),
        request={"body_max_bytes": 10}, content_encoding=("gzip",),
    ),
    plain(
        "unwanted type", 200, b"v" * 1_000, (("content-type", "Video/mp4"),),
        request={"unwanted_types": ("image/", "video/")}, payload=b"", truncated="unspecified", cut_by_type=True,
    ),
    plain("wanted type", 200, HELLO, request={"unwanted_types": ("image/", "video/")}),
    Behaviour(
        name="endless body",
        serve=endless_body,
        answer=Answer(headers=HTML, body=b"z" * 5_000_000, seconds=0.05),
        expect={"status": 200, "payload": b"z" * 1_000_000, "truncated": "length"},
        request={"raw_max_bytes": 1_000_000},
    ),
    Behaviour(
        name="late first byte",
        serve=sends(0.15, head(200, len(HELLO)) + HELLO),
        answer=Answer(headers=HTML, body=HELLO, seconds=0.15),
        expect={"status": 200, "payload": HELLO},
        lasts_s=(0.14, 1.0),
    ),
    Behaviour(
        name="body that comes in two parts",
        serve=sends(head(200, len(HELLO)) + HELLO[:4], 0.15, HELLO[4:]),
        answer=Answer(headers=HTML, body=HELLO, seconds=0.15, first_byte_s=0.01),
        expect={"status": 200, "payload": HELLO},
        request={"first_byte_timeout_s": 0.1},
        lasts_s=(0.14, 1.0),
    ),
    Behaviour(
        name="body that drips beyond the total time",
        serve=drips,
        answer=Answer(headers=HTML, body=b"d" * 1_000, seconds=20.0, first_byte_s=0.0),
        expect={"status": 200, "truncated": "time"},
        request={"total_timeout_s": 0.3},
        lasts_s=(0.29, 1.0),
        is_slow=True,
    ),
    Behaviour(
        name="connection lost in the body",
        serve=once(head(200, 100) + b"0123456789"),
        answer=Answer(headers=HTML, body=b"0123456789", breaks_off=True, seconds=0.01),
        expect={"status": 200, "payload": b"0123456789", "truncated": "disconnect"},
    ),
    refuses("connection closed before an answer", once(), Failure.DISCONNECTED),
    refuses("connection closed in the head", once(b"HTTP/1.1 200 OK\r\nX: y"), Failure.DISCONNECTED),
    refuses("connection reset", resets, Failure.DISCONNECTED),
    refuses("not HTTP", once(b"220 mail.example ESMTP\r\n"), Failure.PROTOCOL),
    refuses("endless headers", endless_headers, Failure.HEAD_TOO_LARGE),
    refuses("connection refused", None, Failure.CONNECT),
    refuses("no TLS", speaks_http, Failure.TLS, request={"scheme": "https"}),
    refuses(
        "nobody answers the connection", None, Failure.CONNECT_TIMEOUT,
        seconds=100.0, request={"connect_timeout_s": 0.3}, lasts_s=(0.29, 1.2), is_slow=True,
    ),
    Behaviour(
        name="silent: first byte",
        serve=silent,
        answer=Answer(seconds=100.0),
        expect={"failure": Failure.FIRST_BYTE_TIMEOUT},
        request={"first_byte_timeout_s": 0.3},
        lasts_s=(0.29, 1.0),
        is_slow=True,
    ),
    Behaviour(
        name="silent: total",
        serve=silent,
        answer=Answer(seconds=100.0),
        expect={"failure": Failure.TIMEOUT},
        request={"total_timeout_s": 0.3},
        lasts_s=(0.29, 1.0),
        is_slow=True,
    ),
)  # fmt: skip
