"""The cages: hosts that each misbehave in one way. What a crawl must make of them is in `test_zoo.py`."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable, Coroutine
from typing import Any

import brotli
import zstandard

from tests.http.raw_server import Handler, Peer
from tests.support.web import HTML, NOT_FOUND, Reply, pages, redirect, reply

Act = Callable[[Peer], Coroutine[Any, Any, None]]
OK = b"HTTP/1.1 200 OK\r\n"
ZEROS = b"\0" * (64 << 20)
ODD = bytes(range(1, 9)) + b"\x1b[2J\x1b]0;owned\x07\xff\xfe\xc3"
DEEP = 100_000
ATTRIBUTE_CHARS = 900_000


def home(act: Reply) -> Handler:
    """A host with an honest robots.txt whose front page is the trouble."""
    return pages({"/": act})


def endless(head: bytes, piece: bytes) -> Act:
    """A response that goes on until the client has had enough."""

    async def act(peer: Peer) -> None:
        await peer.send(head)
        block = piece * max(1, 32768 // len(piece))
        while not peer.writer.is_closing() and not peer.reader.at_eof():
            await peer.send(block)
            await asyncio.sleep(0)

    return act


def slow(head: bytes, piece: bytes, every_s: float = 0.2) -> Act:
    """A piece now and then: no single read ever times out."""

    async def act(peer: Peer) -> None:
        await peer.send(head)
        while not peer.writer.is_closing() and not peer.reader.at_eof():
            await peer.send(piece)
            await asyncio.sleep(every_s)

    return act


def ended(data: bytes) -> Act:
    """These bytes, and the connection is closed."""

    async def act(peer: Peer) -> None:
        await peer.send(data)

    return act


async def silent(peer: Peer) -> None:
    """Takes the request and says nothing."""
    await peer.reader.read()


def coded(coding: bytes, body: bytes) -> bytes:
    return reply(body, headers=HTML + b"Content-Encoding: " + coding + b"\r\n")


def deflated(data: bytes) -> bytes:
    squeezer = zlib.compressobj(9)
    return squeezer.compress(data) + squeezer.flush()


def bombs() -> dict[bytes, bytes]:
    """64 MiB of zeros in every coding, and one coding in another."""
    zipped = gzip.compress(ZEROS, 9)
    return {
        b"gzip": zipped,
        b"deflate": deflated(ZEROS),
        b"br": brotli.compress(ZEROS, quality=5),
        b"zstd": zstandard.ZstdCompressor(level=3).compress(ZEROS),
        b"gzip, gzip": gzip.compress(zipped, 9),
    }


async def redirect_on(peer: Peer) -> None:
    """Every target redirects to one that was never seen."""
    while request := await peer.request():
        last = request.split(b" ", 2)[1].rpartition(b"/")[2]
        await peer.send(NOT_FOUND if last == b"robots.txt" else redirect(f"/hop/{int(last or 0) + 1}"))


async def same_text_for_ever(peer: Peer) -> None:
    """Pages without end that differ in a number only, each with links to three new ones."""
    while request := await peer.request():
        target = request.split(b" ", 2)[1].decode()
        if target == "/robots.txt":
            await peer.send(NOT_FOUND)
            continue
        number = int(target.rpartition("-")[2]) if "-" in target else 1
        links = "".join(f'<a href="/item-{3 * number + k}">more</a>' for k in range(3))
        words = " ".join(f"word{k}" for k in range(600))
        await peer.send(reply(f"<title>Item {number}</title><p>{words} {number}</p>{links}"))


async def calendar(peer: Peer) -> None:
    """A calendar that knows every month of every year."""
    while request := await peer.request():
        target = request.split(b" ", 2)[1].decode()
        if target == "/robots.txt":
            await peer.send(NOT_FOUND)
            continue
        parts = [int(part) for part in target.split("/") if part.isdigit()]
        year, month = parts if len(parts) == 2 else (2024, 1)
        following = (year, month + 1) if month < 12 else (year + 1, 1)
        before = (year, month - 1) if month > 1 else (year - 1, 12)
        words = " ".join(f"day{year}x{month}x{k}" for k in range(60))
        links = "".join(f'<a href="/calendar/{y}/{m:02d}">to</a>' for y, m in (following, before, (year + 1, month)))
        await peer.send(reply(f"<title>{year} {month}</title><p>{words}</p>{links}"))


def odd_bytes(odd: bytes) -> bytes:
    """Control characters, escape sequences and bytes that are no text, everywhere in a response; `odd` in its head."""
    bad = ODD + b"\0"
    body = (
        b"<html><head><title>" + bad + b"</title><meta charset='" + bad + b"'><base href='" + bad + b"'></head><body "
        b"onload='" + bad + b"'><a href='/next?" + bad + b"'>" + bad + b"</a><a href='http://" + bad + b"/'>x</a>"
        b"<a href='/good'>good</a>" + bad * 1000 + b"</body></html>"
    )
    return (
        b"HTTP/1.1 200 " + odd + b"\r\nContent-Type: text/html; charset=" + odd + b"\r\nX" + odd + b": " + odd
        + b"\r\nSet-Cookie: " + odd + b"\r\nETag: " + odd + b"\r\nLast-Modified: " + odd
        + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )  # fmt: skip


def many_links() -> str:
    return "".join(f'<a href="/private/{number}">{number}</a>' for number in range(100_000))


def cages() -> dict[str, Handler]:
    """Every host, by the first label of its name."""
    no_private = reply("User-agent: *\nDisallow: /private/\n", headers=b"Content-Type: text/plain\r\n")
    found: dict[str, Handler] = {
        "endless-body": home(endless(OK + HTML + b"\r\n", b"<p>and so on</p>")),
        "endless-chunks": home(endless(OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n", b"8\r\nabcdefgh\r\n")),
        "endless-chunk-extension": home(endless(OK + b"Transfer-Encoding: chunked\r\n\r\n5;", b"x")),
        "endless-header": home(endless(OK + b"X-Long: ", b"x")),
        "endless-headers": home(endless(OK, b"X-More: y\r\n")),
        "endless-status": home(endless(b"HTTP/1.1 200 ", b"o")),
        "endless-100": home(endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
        "endless-trailer": home(endless(OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", b"T: t\r\n")),
        "endless-redirects": redirect_on,
        "slow-head": home(slow(b"", b"H")),
        "slow-headers": home(slow(OK, b"X: y\r\n")),
        "slow-body": home(slow(OK + HTML + b"Content-Length: 99999\r\n\r\n<p>", b"a")),
        "slow-chunk-size": home(slow(OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1;", b"x")),
        "slow-trailer": home(slow(OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n", b"T")),
        "slow-100": home(slow(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.7)),
        "slow-gzip": home(slow(OK + HTML + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"<p>hi")[:10], b"a")),
        "slow-redirect": home(slow(b"HTTP/1.1 302 Found\r\nLocation: /on\r\nContent-Length: 9999\r\n\r\n", b"a")),
        "slow-chunks": home(slow(OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n")),
        "silent": home(silent),
        "same-text-for-ever": same_text_for_ever,
        "calendar": calendar,
        "odd-bytes": pages({"/": odd_bytes(ODD), "/good": "<title>good</title><p>all is well here</p>"}),
        "nul": home(odd_bytes(ODD + b"\0")),
        "many-links": pages({"/": many_links(), "/robots.txt": no_private}),
        "long-attribute": home(f'<a title="{"a" * ATTRIBUTE_CHARS}" href="/after">x</a>'),
        "deep": home("<div>" * DEEP + '<a href="/inner">x</a>' + "</div>" * DEEP),
        "robots-everywhere": pages({}, reply("User-agent: *\nDisallow:\n", headers=b"Content-Type: text/plain\r\n")),
        "not-http": home(b"SSH-2.0-OpenSSH_9.2\r\n"),
        "huge-length": home(OK + HTML + b"Content-Length: 99999999999999999999\r\n\r\nshort"),
        "negative-length": home(OK + HTML + b"Content-Length: -1\r\n\r\nshort"),
        "to-a-file": home(redirect("file:///etc/passwd")),
        "to-a-script": home(redirect("javascript:alert(1)")),
        "to-nowhere": home(redirect("http://[::1")),
        "to-elsewhere": home(redirect("http://elsewhere.example/")),
    }
    for coding, body in bombs().items():
        found["bomb-" + coding.decode().replace(", ", "-in-")] = home(coded(coding, body))
    return found
