"""What an endpoint is: a row of the table from which routing, rights, checks, audit and the OpenAPI document follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec

from gossamer.serve.crawls import Crawls, Served
from gossamer.serve.tokens import Role

JSON: Final = "application/json"
BODY_MAX_BYTES: Final = 1024 * 1024
LARGE_BODY_MAX_BYTES: Final = 64 * 1024 * 1024  # what external fetchers hand in: page bodies, base64


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks."""

    name: str  # of the token; "" for somebody on this machine where no token is asked for
    role: Role
    address: str = ""  # of the client


class CrawlQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of everything that concerns one crawl."""

    crawl: str = ""


class NoQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of what concerns none."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, checked."""

    principal: Principal
    crawls: Crawls
    path: dict[str, str]
    query: object
    body: object = None
    authority: str = ""  # that the request was made to: Host in lower case, without the scheme's own port

    def crawl(self) -> Served:
        """The crawl that is meant. Raises ApiError."""
        return self.crawls.pick(getattr(self.query, "crawl", ""))


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What is answered."""

    value: object = None  # made JSON; None: no body
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    raw: bytes | None = None  # a body that is not JSON
    media_type: str = JSON
    result: str = ""  # for the audit log


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path."""

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str  # with {name} for what varies
    summary: str
    role: Role | None  # least role; None: anybody
    answers: dict[int, object]  # status -> type of the JSON body, or None; errors need not be named
    handler: Callable[[Call], Awaitable[Reply]]
    query: type = CrawlQuery
    body: type | None = None
    path_notes: dict[str, str] = {}  # what stands in {name}
    media_type: str = JSON
    group: str = "crawl"
    is_traffic: bool = False  # what external fetchers do all the time: only what is refused is written down
    body_max_bytes: int = BODY_MAX_BYTES

    @property
    def is_audited(self) -> bool:
        """Whether that it was asked for, and what came of it, is written down."""
        return self.method != "GET" and not self.is_traffic
