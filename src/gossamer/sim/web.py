"""A simulated web: hosts with addresses, speeds, robots files and pages. Answers depend on question and time alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Links, Outcome, Resolution, SitemapEntry
from gossamer.model.url import name_of

DNS_TTL_S: Final = 86_400.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulated server sends, and what a digest worker would make of it."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html"),)
    body: bytes | None = None  # None: the URL, so that no two pages are the same
    content_encoding: tuple[str, ...] = ()  # codings that the body really has; its header is among `headers`
    links: tuple[str, ...] = ()  # wire forms, read and judged as a digest worker does
    groups: tuple[Links, ...] = ()  # more links, as a worker would have found them: large webs are cheaper so
    entries: tuple[SitemapEntry, ...] = ()  # what a sitemap lists, read already
    feed: bool = False  # it is a feed, and these are its items
    feeds: tuple[str, ...] = ()  # wire forms of the feeds that a page names
    failure: Failure | None = None
    breaks_off: bool = False  # the connection is lost after the body that is given
    seconds: float = 0.2  # from the request until all is there
    first_byte_s: float | None = None  # until the head is there; None: it comes with the rest
    title: str = ""
    content_hash: int = 0
    simhash: int | None = None
    sketch: bytes = b""
    text_chars: int = 0
    nofollow: bool = False
    canonical: str = ""  # rel=canonical
    digest_s: float | None = None  # time until its digest is there, instead of the run's
    lost: bool = False  # no worker can archive it


def redirect(location: str, status: int = 302) -> Answer:
    """A redirect."""
    return Answer(status=status, headers=(("location", location),), body=b"")


def refused(failure: Failure, seconds: float = 0.2) -> Answer:
    """No answer."""
    return Answer(failure=failure, seconds=seconds)


def robots(text: str) -> Answer:
    """A robots.txt."""
    return Answer(headers=(("content-type", "text/plain"),), body=text.encode())


NO_ROBOTS: Final = Answer(status=404, body=b"")


class SimHost(msgspec.Struct, kw_only=True):
    """One simulated host. What is callable is asked anew for each request."""

    address: str
    more_addresses: tuple[str, ...] = ()
    robots: Answer | Callable[[Turn], Answer] = NO_ROBOTS
    page: Callable[[str], Answer] = lambda _target: Answer()
    resolve: Callable[[str, float], Resolution] | None = None  # instead of its addresses


class SimWeb:
    """Hosts by ledger key. A name that is not among them does not exist."""

    def __init__(self, hosts: dict[str, SimHost]) -> None:
        """The web as given."""
        self.hosts = hosts
        self._indexed = 0
        self._ported: dict[str, SimHost] = {}

    def resolve(self, name: str, now: float) -> Resolution:
        """What DNS says."""
        host = self.hosts.get(name) or self._on_a_port(name)
        if host is None:
            return Resolution(name=name, error="nxdomain")
        if host.resolve is not None:
            return host.resolve(name, now)
        return Resolution(name=name, addresses=(host.address, *host.more_addresses), expires=now + DNS_TTL_S)

    def _on_a_port(self, name: str) -> SimHost | None:
        """The first host of that name with a port. Looked for anew when hosts were added."""
        if len(self.hosts) != self._indexed:
            self._indexed = len(self.hosts)
            self._ported = {name_of(key): host for key, host in reversed(self.hosts.items()) if ":" in key}
        return self._ported.get(name)

    def answer(self, turn: Turn) -> Answer:
        """What the server of a turn sends."""
        host = self.hosts[turn.host]
        if turn.target == "/robots.txt":
            return host.robots(turn) if callable(host.robots) else host.robots
        return host.page(turn.target)

    def outcome(self, turn: Turn, answer: Answer, ended: float) -> Outcome:
        """The answer as an exchange that ended now."""
        if answer.failure is not None:
            return Outcome(
                failure=answer.failure, failure_detail="simulated", started=turn.started, elapsed_s=ended - turn.started
            )
        body = body_of(turn, answer)
        return Outcome(
            status=answer.status,
            reason="X",
            headers=answer.headers,
            http_version="HTTP/1.1",
            payload=body,
            request_bytes=f"GET {turn.target} HTTP/1.1\r\nHost: {turn.host}\r\n\r\n".encode(),
            head_bytes=b"HTTP/1.1 %d X\r\n\r\n" % answer.status,
            content_encoding=answer.content_encoding,
            truncated="disconnect" if answer.breaks_off else "",
            address=turn.address,
            started=turn.started,
            elapsed_s=ended - turn.started,
            wire_bytes=len(body) + 20,
        )


def body_of(turn: Turn, answer: Answer) -> bytes:
    """The payload of an answer to a turn."""
    return f"{turn.scheme}://{turn.host}{turn.target}".encode() if answer.body is None else answer.body
