"""Turn → exchange → outcome. Builds the request, hashes the payload; decides nothing about hosts or URLs."""

from __future__ import annotations

import base64
import hashlib
from typing import Final, Protocol

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.limits import ROBOTS_CODED_MAX_BYTES, ROBOTS_MAX_BYTES
from gossamer.model.page import Kind, Outcome, Request
from gossamer.policy.bodies import body_max_bytes
from gossamer.policy.cookies import CookieJar
from gossamer.policy.robots import incomplete
from gossamer.policy.types import unwanted_types
from gossamer.ports.web import Web
from gossamer.version import VERSION

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
READ_HERE: Final = frozenset((Kind.ROBOTS, Kind.KEY))  # decoded in this process, whatever `fetch.max_body` allows
SIGNATURE_S: Final = 300.0  # that a signature holds beyond the time for one exchange: clocks differ
_PORTS: Final = {"http": 80, "https": 443}


class Sign(Protocol):
    """Makes the fields by which a server knows that a request is ours."""

    def __call__(self, authority: str, now: float, lifetime_s: float) -> tuple[tuple[str, str], ...]:
        """Those of a request to `authority` that is made at `now`, in unix seconds."""
        ...


class Decoder(Protocol):
    """Decodes a body from its content-codings under a cap."""

    def __call__(self, payload: bytes, content_encoding: tuple[str, ...], max_bytes: int) -> tuple[bytes, bool, str]:
        """As much as could be decoded; whether a cap cut it; why decoding ended early, "" when it did not."""
        ...


def user_agent(config: Config) -> str:
    """`Mozilla/5.0 (compatible; NAME/VERSION; +CONTACT)`, without the contact when none is configured."""
    contact = f"; +{config.identity.contact}" if config.identity.contact else ""
    return f"Mozilla/5.0 (compatible; {config.identity.product}/{VERSION}{contact})"


class FetchStage:
    """Performs the exchanges of turns."""

    def __init__(self, config: Config, web: Web, decode: Decoder, sign: Sign | None = None) -> None:
        """Fetch through `web`; `decode` is used for robots.txt, which is read in this process; `sign` signs."""
        self._sign = sign
        self._config = config
        self._web = web
        self._decode = decode
        self._unwanted = unwanted_types(config.fetch.types)
        self._cookies = CookieJar() if config.fetch.cookies else None
        identity = config.identity
        headers = [
            ("User-Agent", user_agent(config)),
            ("Accept", identity.accept),
            ("Accept-Language", identity.accept_language),
            ("Accept-Encoding", ACCEPT_ENCODING),
        ]
        if identity.sender:
            headers.append(("From", identity.sender))
        self._headers = tuple(headers)

    async def fetch(self, turn: Turn) -> tuple[Outcome, str, bytes]:
        """The outcome of a turn, the digest of its payload, and the decoded body of a robots.txt or a key."""
        outcome = await self._web.fetch(self.request(turn))
        if self._cookies is not None:
            self._cookies.take(turn.name, outcome.headers)
        decoded = b""
        if turn.kind in READ_HERE and outcome.failure is None:
            decoded, is_cut, error = self._decode(outcome.payload, outcome.content_encoding, ROBOTS_MAX_BYTES)
            why = incomplete(outcome, decoded, error or ("a cap was met" if is_cut else ""))
            outcome = msgspec.structs.replace(outcome, incomplete=why) if why else outcome
        return outcome, payload_digest(outcome.payload), decoded

    def forget(self, name: str) -> None:
        """Close idle connections to a name."""
        self._web.forget(name)

    def request(self, turn: Turn) -> Request:
        """What a turn asks for."""
        fetch = self._config.fetch
        is_read_here = turn.kind in READ_HERE
        most = body_max_bytes(turn.kind, fetch.max_body_bytes)
        headers = self._headers
        if turn.etag:
            headers = (*headers, ("If-None-Match", turn.etag))
        if turn.last_modified:
            headers = (*headers, ("If-Modified-Since", turn.last_modified))
        if self._cookies is not None:
            cookie = self._cookies.header(turn.name, turn.target, secure=turn.scheme == "https")
            if cookie:
                headers = (*headers, ("Cookie", cookie))
        if self._sign is not None:  # each hop of a redirect is a request of its own, signed for where it goes
            lifetime_s = SIGNATURE_S + fetch.total_timeout_s
            headers = (*headers, *self._sign(authority_of(turn), turn.started, lifetime_s))
        return Request(
            url=turn.url,
            scheme="https" if turn.scheme == "https" else "http",
            name=turn.name,
            port=turn.port,
            target=turn.target,
            address=turn.address,
            headers=headers,
            total_timeout_s=fetch.total_timeout_s,
            connect_timeout_s=fetch.connect_timeout_s,
            first_byte_timeout_s=fetch.first_byte_timeout_s,
            body_max_bytes=ROBOTS_MAX_BYTES if is_read_here else most,
            raw_max_bytes=ROBOTS_CODED_MAX_BYTES if is_read_here else most,
            fresh=turn.fresh,
            unwanted_types=() if turn.kind in (Kind.ROBOTS, Kind.SITEMAP) else self._unwanted,
        )


def authority_of(turn: Turn) -> str:
    """What the Host field says, with a port that is not the scheme's own."""
    return turn.name if turn.port == _PORTS[turn.scheme] else f"{turn.name}:{turn.port}"


def payload_digest(payload: bytes) -> str:
    """WARC-Payload-Digest: sha1 in base32 over the entity, de-chunked and not decoded (WARC/1.1 section 5.9)."""
    return "sha1:" + base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
