"""The hostile part of the soak's web, and the nameserver of all of it, in one process beside the crawl.

Each host is an ordinary one with every second page linking to one that misbehaves (`tests/hostile/zoo.py` has most of
the ways). So it never fails for good: a host that did would soon be left alone, and the last quarter be a quiet one.
"""

from __future__ import annotations

import asyncio
import random
import time
import zlib
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from bench.reference_web import Maker
from tests.dns.name_server import SERVFAIL, SILENT, NameServer, Records
from tests.hostile import zoo
from tests.http.raw_server import Peer, RawServer
from tests.support.web import HTML, NOT_FOUND, Reply, redirect, reply

PARTS: Final = 8
LINKS_MANY: Final = 20_000
STRANGERS: Final = 40  # names outside the web that hostile pages lead to; most do not exist
TTL_S: Final = 60
ROBOTS: Final = reply("User-agent: *\nDisallow: /private/\n", headers=b"Content-Type: text/plain\r\n")
AT_ONCE: Final = "%s\t%.3f\t%s\t%s\t%s\t%s\t0\t0\t0\tGET\t%s\t-\n"  # columns as in `tests.support.nginx.LOG_FORMAT`


def strangers() -> dict[str, Records | int]:
    """What the nameserver says of names that belong to nobody; those missing do not exist."""
    kinds: tuple[Records | int, ...] = (SERVFAIL, SILENT, [("0.0.0.0", 60, "A")], [("169.254.169.254", 60, "A")])
    return {f"stranger{n}.example": kinds[n % len(kinds)] for n in range(0, STRANGERS, 3)}


def trouble() -> dict[str, Reply]:
    """Every way to misbehave, by name. None lasts longer than the crawl lets it."""
    ok, slow, endless = zoo.OK, zoo.slow, zoo.endless
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    links = "".join(f'<a href="/private/{n % 500}">{n}</a>' for n in range(LINKS_MANY))
    away = "".join(f'<a href="http://stranger{n}.example/">{n}</a>' for n in range(STRANGERS))
    found: dict[str, Reply] = {
        "endless-body": endless(ok + HTML + b"\r\n", b"<p>and so on</p>"),
        "endless-chunks": endless(ok + HTML + chunked, b"8\r\nabcdefgh\r\n"),
        "endless-header": endless(ok + b"X-Long: ", b"x"),
        "endless-headers": endless(ok, b"X-More: y\r\n"),
        "endless-100": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        "endless-trailer": endless(ok + chunked + b"2\r\nhi\r\n0\r\n", b"T: t\r\n"),
        "slow-head": slow(b"", b"H"),
        "slow-body": slow(ok + HTML + b"Content-Length: 99999\r\n\r\n<p>", b"a"),
        "slow-chunks": slow(ok + HTML + chunked, b"1\r\na\r\n"),
        "silent": zoo.silent,
        "reset": reset,
        "hang-up": hang_up,
        "odd-bytes": zoo.odd_bytes(zoo.ODD),
        "nul": zoo.odd_bytes(zoo.ODD + b"\0"),
        "many-links": links,
        "long-attribute": f'<a title="{"a" * zoo.ATTRIBUTE_CHARS}" href="/after">x</a>',
        "deep": "<div>" * zoo.DEEP + '<a href="/inner">x</a>' + "</div>" * zoo.DEEP,
        "not-http": b"SSH-2.0-OpenSSH_9.2\r\n",
        "huge-length": ok + HTML + b"Content-Length: 99999999999999999999\r\n\r\nshort",
        "negative-length": ok + HTML + b"Content-Length: -1\r\n\r\nshort",
        "to-a-file": redirect("file:///etc/passwd"),
        "to-nowhere": redirect("http://[::1"),
        "to-a-stranger": redirect("http://stranger1.example/"),
        "to-itself": redirect("?again"),
        "strangers": away,
        "too-many": reply("slow down", status="429 Too Many Requests", headers=b"Retry-After: 3\r\n"),
        "unavailable": reply("later", status="503 Service Unavailable"),
    }
    for coding, body in zoo.bombs().items():
        found["bomb-" + coding.decode().replace(", ", "-in-")] = zoo.coded(coding, body)
    return found


async def reset(peer: Peer) -> None:
    """Ends the connection as a crash would."""
    peer.reset()


async def hang_up(peer: Peer) -> None:
    """Ends in the middle of a body."""
    await peer.send(zoo.OK + HTML + b"Content-Length: 5000\r\n\r\n<p>half a")


class Visitor(Peer):
    """A connection of which nothing is kept."""

    async def request(self) -> bytes:
        """The next request head; empty when the client closed."""
        try:
            return await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return b""


class Hostile:
    """Serves every hostile host on all addresses, and writes when each request began and ended."""

    def __init__(self, log: Path) -> None:
        """`log`: the file to append to, as nginx would write it."""
        self._log = log.open("a", buffering=1, encoding="latin-1")  # the process is ended, not closed
        self._trouble = trouble()
        self._names = sorted(self._trouble)
        self._texts = Maker(1).paragraphs
        self._server = RawServer(self._serve)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        try:
            await self._serve(Visitor(self._server, reader, writer))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _serve(self, peer: Peer) -> None:
        while head := await peer.request():
            began = time.time()
            target = head.split(b" ", 2)[1].decode("latin-1")
            host = next((line[5:].strip() for line in head.split(b"\r\n") if line[:5].lower() == b"host:"), b"")
            try:
                goes_on = await self._answer(peer, host.decode("latin-1"), target)
            finally:
                self._note(peer, began, host.decode("latin-1"), target)
            if not goes_on:
                return

    async def _answer(self, peer: Peer, host: str, target: str) -> bool:
        """Send what a target asks for. Whether the connection goes on."""
        _, _, kind, *_ = (*target.split("/"), "", "")
        what: Reply = NOT_FOUND
        if target == "/robots.txt":
            what = ROBOTS
        elif target == "/" or target.startswith("/p/"):
            what = self._page(host, kind.partition("?")[0])
        elif target.startswith("/x/"):
            what = self._trouble.get(kind, NOT_FOUND)
        if callable(what):
            await what(peer)
            return False
        await peer.send(what if isinstance(what, bytes) else reply(what))
        return isinstance(what, str) or what.startswith((b"HTTP/1.1 2", b"HTTP/1.1 3", b"HTTP/1.1 4"))

    def _page(self, host: str, digits: str) -> str:
        chance = random.Random(zlib.crc32(f"{host}/{digits}".encode()))
        text = "".join(f"<p>{paragraph}</p>" for paragraph in chance.sample(self._texts, PARTS))
        if not digits:
            return f'<title>{host}</title>{text}<a href="/p/1">begin</a>'
        bad = ""
        if chance.random() < 0.5:
            bad = f'<a href="/x/{chance.choice(self._names)}/{digits}">this way</a>'
        links = f'<a href="/p/{digits}0">on</a> <a href="/p/{digits}1">further</a> {bad}'
        return f"<title>{host} {digits}</title>{text}{links}"

    def _note(self, peer: Peer, began: float, host: str, target: str) -> None:
        ended = time.time()
        address, port = peer.writer.get_extra_info("sockname")[:2]
        remote = (peer.writer.get_extra_info("peername") or ("", 0))[1]
        name = host.partition(":")[0]
        self._log.write(AT_ONCE % (f"{ended:.3f}", ended - began, address, port, name, remote, target))


def run(ready: Connection, log: Path, port: int, names: Mapping[str, str]) -> None:
    """Serve until the process is ended; sends the nameserver's "ip:port" through `ready`. For a process of its own.

    Args:
        ready: told once both servers answer.
        log: where requests are written down.
        port: of every hostile host.
        names: the addresses of all hosts of the web.
    """
    asyncio.run(_run(ready, log, port, names))


async def _run(ready: Connection, log: Path, port: int, names: Mapping[str, str]) -> None:
    table: dict[str, Records | int] = {name: [(address, TTL_S, "A")] for name, address in names.items()}
    nameserver = NameServer(table | strangers())
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: nameserver, local_addr=("127.0.0.1", 0)
    )
    hostile = Hostile(log)
    async with await asyncio.start_server(hostile.connected, "0.0.0.0", port, limit=1 << 20, backlog=1024):
        ready.send(f"127.0.0.1:{transport.get_extra_info('sockname')[1]}")
        await asyncio.Event().wait()
