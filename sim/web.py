"""A simulated web: hosts with addresses, speeds, robots files and pages. Pure: answers depend on the question alone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Outcome


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a simulated server sends."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html"),)
    body: bytes = b"page"
    links: tuple[str, ...] = ()  # wire forms
    failure: Failure | None = None
    seconds: float = 0.2
    title: str = ""
    content_hash: int = 0


class SimHost(msgspec.Struct, kw_only=True):
    """One simulated host."""

    address: str
    robots: Answer = Answer(status=404, body=b"")
    page: Callable[[str], Answer] = lambda _target: Answer()


class SimWeb:
    """Hosts by ledger key."""

    def __init__(self, hosts: dict[str, SimHost]) -> None:
        """The web as given."""
        self.hosts = hosts

    def answer(self, turn: Turn) -> Answer:
        """What the server of a turn sends."""
        host = self.hosts[turn.host]
        return host.robots if turn.target == "/robots.txt" else host.page(turn.target)

    def outcome(self, turn: Turn, answer: Answer, ended: float) -> Outcome:
        """The answer as an exchange that ended now."""
        if answer.failure is not None:
            return Outcome(
                failure=answer.failure, failure_detail="simulated", started=turn.started, elapsed_s=ended - turn.started
            )
        return Outcome(
            status=answer.status,
            headers=answer.headers,
            http_version="HTTP/1.1",
            payload=answer.body,
            head_bytes=b"HTTP/1.1 %d X\r\n\r\n" % answer.status,
            address=turn.address,
            started=turn.started,
            elapsed_s=ended - turn.started,
            wire_bytes=len(answer.body) + 20,
        )
