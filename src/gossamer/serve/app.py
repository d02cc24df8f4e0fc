"""The application: every endpoint and page on its path, and what answers where there is none."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from gossamer.model.jsonbytes import encode
from gossamer.serve import changes, metrics, openapi, public, reads
from gossamer.serve.api import Api, error_response
from gossamer.serve.endpoint import Call, Endpoint, NoQuery, Reply
from gossamer.serve.faults import ApiError
from gossamer.serve.herald import Herald
from gossamer.serve.witness import LOOK_S

TEND_S: Final = 10.0
_log: Final = logging.getLogger("gossamer.serve")


def endpoints() -> tuple[Endpoint, ...]:
    """Every endpoint, the document among them."""
    text = b""

    async def show(call: Call) -> Reply:  # noqa: ARG001 - has the form of all handlers
        return Reply(raw=text)

    page = Endpoint(
        method="GET",
        path="/openapi.json",
        summary="This document.",
        role=None,
        query=NoQuery,
        answers={200: dict},
        handler=show,
        group="server",
    )
    table = (*reads.ENDPOINTS, *changes.ENDPOINTS, *metrics.ENDPOINTS, *public.ENDPOINTS, page)
    text = encode(openapi.document(table))
    return table


Loop = Callable[[], Coroutine[None, None, None]]


def make_app(api: Api, pages: Sequence[BaseRoute] = (), loops: Sequence[Loop] = ()) -> Starlette:
    """The ASGI application; `pages` are the routes of the dashboard, `loops` run for as long as it lives."""
    routes: list[BaseRoute] = [Route(path, PathApp(api, group)) for path, group in _by_path(endpoints()).items()]

    @contextlib.asynccontextmanager
    async def alive(_app: Starlette) -> AsyncIterator[None]:
        herald = Herald(api.crawls)
        works = (_tend(api), _watch(api), herald.run(), *(loop() for loop in loops))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await herald.close()
            await api.crawls.close()

    app = Starlette(
        routes=[*routes, *pages], lifespan=alive, exception_handlers={HTTPException: _no_route, ApiError: _refusal}
    )
    app.router.redirect_slashes = False
    return app


async def _tend(api: Api) -> None:
    while True:
        await asyncio.sleep(TEND_S)
        await api.crawls.tend()


async def _watch(api: Api) -> None:
    while True:
        try:
            await api.crawls.watch(time.time())
        except Exception:  # noqa: BLE001 - whatever it is, the server goes on
            _log.exception("the witness failed; it looks again")
        await asyncio.sleep(LOOK_S)


def _by_path(table: Sequence[Endpoint]) -> dict[str, dict[str, Endpoint]]:
    found: dict[str, dict[str, Endpoint]] = {}
    for endpoint in table:
        found.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    return found


class PathApp:
    """All methods of one path, as one ASGI application."""

    def __init__(self, api: Api, methods: dict[str, Endpoint]) -> None:
        """`methods` are the endpoints by their method."""
        self._api = api
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        method = scope["method"]
        endpoint = self._methods.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            response = error_response(no_method(method, self._methods))
        else:
            response = await self._api.answer(endpoint, Request(scope, receive, send))
        await response(scope, receive, send)


def no_method(method: str, allowed: Iterable[str]) -> ApiError:
    """A path that has other methods than this one."""
    names = ", ".join(sorted(allowed))
    return ApiError(
        405, "this path has no such method", field="method", value=method, allowed=names, headers=(("Allow", names),)
    )


async def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        return error_response(no_method(request.method, [name.strip() for name in allowed.split(",")]))
    path = request.scope["path"]
    return error_response(ApiError(404, "there is no such path", field="path", value=path, allowed="see /openapi.json"))


async def _refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return error_response(error)
