"""Errors of the API: each names the field, the value and what is allowed, in JSON, with its HTTP status."""

from __future__ import annotations

from typing import Final

import msgspec

VALUE_MAX_CHARS: Final = 200


class Fault(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was wrong with a request."""

    error: str  # one sentence
    field: str = ""  # where: "query.n", "body.urls[3]", "header.Authorization"
    value: str = ""  # what stood there, cut
    allowed: str = ""


class FaultBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    status: int
    faults: tuple[Fault, ...]


class ApiError(Exception):
    """A request that is refused."""

    def __init__(
        self,
        status: int,
        error: str,
        *,
        field: str = "",
        value: object = "",
        allowed: str = "",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """`status` is the HTTP status; `headers` go with the answer."""
        super().__init__(error)
        self.status = status
        self.headers = headers
        self.is_noted = False  # stands in the audit log
        self.fault = Fault(error=error, field=field, value=shown(value), allowed=allowed)

    @property
    def body(self) -> FaultBody:
        """What is sent."""
        return FaultBody(status=self.status, faults=(self.fault,))


def shown(value: object) -> str:
    """A value as it stands in a fault: text as it is, the rest as JSON, cut."""
    if isinstance(value, str):
        text = value[: VALUE_MAX_CHARS + 1]
    else:
        try:
            text = msgspec.json.encode(value).decode("utf-8", "replace")
        except (TypeError, ValueError, RecursionError):
            text = type(value).__name__
    return text if len(text) <= VALUE_MAX_CHARS else text[:VALUE_MAX_CHARS] + "…"
