"""From a request to an answer: who asks, may they, what is asked, write it down, do it. Pages are `serve.pages`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from gossamer.adapters.signing import authority_of
from gossamer.model.jsonbytes import encode
from gossamer.serve.audit import AuditLog, Entry, stamp
from gossamer.serve.crawls import Crawls
from gossamer.serve.door import Door, require
from gossamer.serve.endpoint import JSON, Call, Endpoint, NoQuery, Principal, Reply
from gossamer.serve.faults import ApiError
from gossamer.serve.inputs import read_body, read_query
from gossamer.serve.tokens import Role

HANDLE_MAX_S: Final = 60.0  # for one request, its body aside
_log: Final = logging.getLogger("gossamer.serve")
_NOBODY: Final = Principal(name="", role=Role.READ)

SECURITY_HEADERS: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


class Api:
    """Answers requests to endpoints."""

    def __init__(self, crawls: Crawls, door: Door, audit: AuditLog) -> None:
        """Serve `crawls` to whom `door` lets in."""
        self.crawls = crawls
        self.door = door
        self.audit = audit

    def serve(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """What answers requests to an endpoint."""

        async def answer(request: Request) -> Response:
            return await self.answer(endpoint, request)

        return answer

    async def answer(self, endpoint: Endpoint, request: Request) -> Response:
        """The response to one request; never raises for what a client does."""
        principal = _NOBODY
        try:
            if endpoint.role is not None:
                self.door.check_host(request)
                principal = self.door.bearer(request)
                require(principal, endpoint.role)
            query = read_query(request, endpoint.query)
            body = None
            if endpoint.body is not None:
                body = await read_body(request, endpoint.body, endpoint.body_max_bytes)
            path = {name: str(value) for name, value in request.path_params.items()}
            authority = authority_of(request.scope["scheme"], request.headers.get("host", ""))
            call = Call(principal=principal, crawls=self.crawls, path=path, query=query, body=body, authority=authority)
            reply = await self.perform(endpoint, call, request.scope["path"])
        except ApiError as error:
            await self.note_refusal(endpoint.method, request, principal, error)
            return error_response(error)
        return response_of(reply)

    async def perform(self, endpoint: Endpoint, call: Call, path: str) -> Reply:
        """Do what is asked; a change is written down before and after. Raises ApiError."""
        if not endpoint.is_audited:
            return await self._within_time(endpoint, call)
        crawl = call.crawl().name if endpoint.query is not NoQuery else ""
        entry = Entry(
            time=stamp(time.time()),
            id=secrets.token_hex(8),
            step="asked",
            who=call.principal.name,
            role=call.principal.role.value,
            address=call.principal.address,
            what=f"{endpoint.method} {path}",
            crawl=crawl,
            request=encode(call.body).decode() if call.body is not None else "",
        )
        await self._write(entry)
        # It is done and written down whether or not the client stays.
        return await asyncio.shield(asyncio.create_task(self._do(endpoint, call, entry)))

    async def _do(self, endpoint: Endpoint, call: Call, entry: Entry) -> Reply:
        result = msgspec.structs.replace(entry, request="", step="failed", status=500)
        try:
            reply = await self._within_time(endpoint, call)
            result = msgspec.structs.replace(result, step="done", status=reply.status, result=reply.result)
            return reply
        except ApiError as error:
            error.is_noted = True
            result = msgspec.structs.replace(result, step="refused", status=error.status, result=_told(error))
            raise
        finally:
            with contextlib.suppress(ApiError):  # what was done is done; that it was asked for is written down
                await self._write(msgspec.structs.replace(result, time=stamp(time.time())))

    async def _within_time(self, endpoint: Endpoint, call: Call) -> Reply:
        try:
            async with asyncio.timeout(HANDLE_MAX_S):
                return await endpoint.handler(call)
        except TimeoutError as error:
            raise ApiError(
                503, f"it was not done within {HANDLE_MAX_S:g} s", headers=(("Retry-After", "10"),)
            ) from error
        except ApiError:
            raise
        except Exception as error:
            _log.exception("%s %s", endpoint.method, endpoint.path)
            raise ApiError(500, f"an error in gossamer itself: {type(error).__name__}") from error

    async def _write(self, entry: Entry) -> None:
        try:
            await asyncio.to_thread(self.audit.write, entry)
        except OSError as error:
            text = f"the audit log cannot be written ({error.strerror}): nothing was changed"
            raise ApiError(503, text, headers=(("Retry-After", "60"),)) from error

    async def note_refusal(self, method: str, request: Request, principal: Principal | None, error: ApiError) -> None:
        """Write down an attempt without a right, and a change that was refused before it was begun."""
        if error.is_noted or not (error.status in (401, 403, 421) or method != "GET"):
            return
        now = time.time()
        principal = principal or _NOBODY
        entry = Entry(
            time=stamp(now),
            id=secrets.token_hex(8),
            step="refused",
            who=principal.name,
            role=principal.role.value if principal.name else "",
            address=principal.address or (request.client.host if request.client is not None else ""),
            what=f"{request.method} {request.scope['path']}"[:300],
            status=error.status,
            result=_told(error),
        )
        try:
            await asyncio.to_thread(self.audit.refused, entry, now)
        except OSError:
            _log.warning("the audit log cannot be written")


def _told(error: ApiError) -> str:
    fault = error.fault
    parts = [fault.error, fault.field, fault.value]
    return ": ".join(part for part in parts if part)


def response_of(reply: Reply) -> Response:
    """A reply on the wire."""
    headers = dict((*SECURITY_HEADERS, *reply.headers))
    if reply.raw is not None:
        return Response(reply.raw, reply.status, headers, media_type=reply.media_type)
    if reply.value is None:
        return Response(None, reply.status, headers)
    return Response(encode(reply.value), reply.status, headers, media_type=JSON)


def error_response(error: ApiError) -> Response:
    """A refusal on the wire."""
    return Response(encode(error.body), error.status, dict((*SECURITY_HEADERS, *error.headers)), media_type=JSON)
