"""Sites that change while they are crawled: pages that a test replaces, moves and takes away, with honest ETags."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.http.raw_server import Peer

_WORDS = "amber basin cedar delta ember fjord grove heath islet jetty knoll larch marsh north orchard pebble".split()


def prose(name: str, count: int = 60) -> str:
    """Text of a page that no other name has."""
    hashed = hashlib.sha256(name.encode()).digest()
    return " ".join(f"{_WORDS[hashed[n % 32] % 16]}{hashed[(n * 7) % 32]}{n}" for n in range(count))


def article(name: str, extra: str = "", *, head: str = "") -> str:
    """An HTML page with a text of its own."""
    return (
        f"<!DOCTYPE html><html><head><title>{name}</title>{head}</head>"
        f"<body><main><h1>{name}</h1><p>{prose(name)}</p>{extra}</main></body></html>"
    )


def links(*targets: str) -> str:
    """A paragraph of links."""
    return "<p>" + " ".join(f'<a href="{target}">{target}</a>' for target in targets) + "</p>"


@dataclass(frozen=True)
class Page:
    """What a target answers with."""

    body: str = ""
    status: str = "200 OK"
    location: str = ""
    tagged: bool = False  # has an ETag, and answers 304 to whoever has this body
    media_type: str = "text/html; charset=utf-8"

    def response(self, head: bytes) -> tuple[int, bytes]:
        """The status and the bytes for a request with this head."""
        data = self.body.encode()
        tag = f'"{hashlib.sha1(data, usedforsecurity=False).hexdigest()}"'
        lines = [f"Content-Type: {self.media_type}", f"Content-Length: {len(data)}"]
        if self.location:
            lines.append(f"Location: {self.location}")
        status = self.status
        if self.tagged:
            lines.append(f"ETag: {tag}")
            if tag.encode() in head:
                status, data = "304 Not Modified", b""
                lines.remove(f"Content-Length: {len(self.body.encode())}")
        text = f"HTTP/1.1 {status}\r\n" + "".join(f"{line}\r\n" for line in lines) + "\r\n"
        return int(status[:3]), text.encode() + data


GONE = Page("<p>It was here.</p>", "410 Gone")
MISSING = Page("<p>There is no such page.</p>", "404 Not Found")
FAILING = Page("<p>An error of ours.</p>", "500 Internal Server Error")


def moved(target: str, status: str = "301 Moved Permanently") -> Page:
    """A redirect."""
    return Page("", status, target)


class Hit(NamedTuple):
    """One request, by the server's clock."""

    time: float
    target: str
    status: int


@dataclass
class Site:
    """The pages of one host, to be changed at any time, and who asked for what."""

    pages: dict[str, Page] = field(default_factory=dict)
    other: Page = MISSING  # for targets that are not in it; robots.txt is then not found
    hits: list[Hit] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def serve(self, peer: Peer) -> None:
        """A connection of it, as `Web.add` takes it."""
        while head := await peer.request():
            target = head.split(b" ", 2)[1].decode("latin-1")
            page = self.pages.get(target, MISSING if target == "/robots.txt" else self.other)
            status, data = page.response(head)
            with self._lock:
                self.hits.append(Hit(time.time(), target, status))
            await peer.send(data)

    def statuses(self, target: str) -> list[int]:
        """What a target was answered with, in order."""
        with self._lock:
            return [hit.status for hit in self.hits if hit.target == target]


def until(what: Callable[[], bool], limit_s: float, words: Callable[[], str]) -> None:
    """Wait for something; AssertionError with `words` when it does not come."""
    deadline = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < deadline, words()
        time.sleep(0.1)
