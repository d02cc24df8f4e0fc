"""Requests read and checked: query, body. Every refusal names the field, the value and what is allowed.

Bodies are read under a cap of bytes and a deadline, so a slow or endless client costs nobody anything.
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import ClientDisconnect, Request

from gossamer.serve.allowed import allowed_words
from gossamer.serve.endpoint import BODY_MAX_BYTES, JSON
from gossamer.serve.faults import ApiError

BODY_TIMEOUT_S: Final = 10.0
LARGE_BODY_TIMEOUT_S: Final = 60.0
QUERY_FIELDS_MAX: Final = 32
_CLOSE: Final = (("Connection", "close"),)


def read_query(request: Request, shape: type) -> object:
    """The query as a value of `shape`. Raises ApiError."""
    text = request.scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX, errors="strict")
    except ValueError as error:
        allowed = f"at most {QUERY_FIELDS_MAX} fields of the form name=value, percent-encoded UTF-8"
        raise ApiError(400, "the query cannot be read", field="query", value=text, allowed=allowed) from error
    known = [field.encode_name for field in msgspec.structs.fields(shape)]
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in known:
            allowed = f"one of {', '.join(known)}" if known else "no query at all"
            raise ApiError(422, f"the query has no field {name[:60]}", field="query", value=name, allowed=allowed)
        if name in found:
            raise ApiError(422, "it is given twice", field=f"query.{name}", value=value, allowed="it once")
        found[name] = value
    try:
        return msgspec.convert(found, shape, strict=False)
    except msgspec.ValidationError as error:
        raise refusal(error, "query", found, shape) from error


async def read_body(request: Request, shape: type, max_bytes: int = BODY_MAX_BYTES) -> object:
    """The JSON body as a value of `shape`. Raises ApiError."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise ApiError(
            415, "the body must be JSON", field="header.Content-Type", value=media_type, allowed=JSON, headers=_CLOSE
        )
    data = await read_bytes(request, max_bytes)
    try:
        return msgspec.json.decode(data, type=shape)
    except msgspec.ValidationError as error:
        raise refusal(error, "body", _plain(data), shape) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError(
            400, f"the body is not JSON: {error}", field="body", allowed="one JSON value in UTF-8"
        ) from error


async def read_bytes(request: Request, max_bytes: int) -> bytes:
    """The body, whole. Raises ApiError for one that is longer, or takes too long."""
    data = bytearray()
    limit_s = BODY_TIMEOUT_S if max_bytes <= BODY_MAX_BYTES else LARGE_BODY_TIMEOUT_S
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared[:18]) > max_bytes:
        raise _too_long(int(declared[:18]), max_bytes)
    try:
        async with asyncio.timeout(limit_s):
            async for part in request.stream():
                data += part
                if len(data) > max_bytes:
                    raise _too_long(len(data), max_bytes)
    except TimeoutError as error:
        allowed = f"all of it within {limit_s:g} s"
        raise ApiError(408, "the body did not come in time", field="body", allowed=allowed, headers=_CLOSE) from error
    except ClientDisconnect as error:
        raise ApiError(400, "the client went away", field="body", headers=_CLOSE) from error
    return bytes(data)


def _too_long(length: int, max_bytes: int) -> ApiError:
    allowed = f"at most {max_bytes:,} bytes"
    return ApiError(
        413, "the body is too long", field="body", value=f"{length:,} bytes", allowed=allowed, headers=_CLOSE
    )


def _plain(data: bytes) -> object:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def refusal(error: msgspec.ValidationError, where: str, given: object, shape: type) -> ApiError:
    """The error for what msgspec refuses. Its words are taken apart: "Expected `int`, got `str` - at `$.urls[0].x`"."""
    text, _, place = str(error).partition(" - at `$")
    steps = _steps(place.rstrip("`"))
    name = where + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    subject = text.partition("`")[2].rstrip("`")
    if text.startswith("Object contains unknown field"):
        allowed = allowed_words(shape, steps)
        return ApiError(422, f"{name} has no field {subject[:60]}", field=name, value=subject, allowed=allowed)
    if text.startswith("Object missing required field"):
        allowed = allowed_words(shape, [*steps, subject]) or "it must be given"
        return ApiError(422, f"{name} lacks its field {subject}", field=f"{name}.{subject}", allowed=allowed)
    allowed = allowed_words(shape, steps) or text.replace("`", "")
    return ApiError(422, "the value is not allowed", field=name, value=_at(given, steps), allowed=allowed)


def _steps(place: str) -> list[str | int]:
    """The path that msgspec names: ".urls[0].depth"."""
    steps: list[str | int] = []
    for part in place.replace("[", ".[").split("."):
        if part.startswith("[") and part.endswith("]"):
            inner = part[1:-1]
            steps.append(int(inner) if inner.isdigit() else inner)
        elif part:
            steps.append(part)
    return steps


def _at(given: object, steps: list[str | int]) -> object:
    for step in steps:
        if isinstance(step, str) and isinstance(given, dict):
            given = given.get(step, "")
        elif isinstance(step, int) and isinstance(given, list) and step < len(given):
            given = given[step]
        else:
            return ""
    return given
