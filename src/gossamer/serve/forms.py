"""Forms of the dashboard, turned into the same requests that the API takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from starlette.requests import Request

from gossamer.serve import changes
from gossamer.serve.api import Api
from gossamer.serve.crawls import Served
from gossamer.serve.door import require
from gossamer.serve.endpoint import Call, CrawlQuery, Endpoint, Principal
from gossamer.serve.faults import ApiError
from gossamer.serve.inputs import refusal
from gossamer.surface.units import parse_duration

FORM_MAX_BYTES: Final = 64 * 1024
Fields = Mapping[str, str]
_ENDPOINTS: Final[dict[tuple[str, str], Endpoint]] = {(one.method, one.path): one for one in changes.ENDPOINTS}


class Done(msgspec.Struct, frozen=True):
    """What came of a form, and where the browser goes from there."""

    text: str
    path: str
    query: dict[str, str] = {}


class _Form(msgspec.Struct, frozen=True):
    method: str
    path: str
    body: Callable[[Fields], dict[str, Any]]
    back: str
    keep: tuple[str, ...] = ()  # fields that the page it leads to needs


def _reason(fields: Fields) -> dict[str, Any]:
    return {"reason": fields.get("reason", "")}


def _target(fields: Fields) -> dict[str, Any]:
    return {name: fields.get(name, "").strip() for name in ("scope", "value", "reason", "ticket")}


def _host(fields: Fields) -> dict[str, Any]:
    """Empty fields are not given; what is no number or time is refused by the endpoint's own check."""
    undo = fields.get("undo", "")
    if undo:
        return {undo: None}
    found: dict[str, Any] = {"reset": fields.get("reset", "") == "on"}
    for name, kind in (("delay_s", parse_duration), ("park_s", parse_duration), ("budget", int)):
        text = fields.get(name, "").strip()
        if text:
            try:
                found[name] = kind(text)
            except ValueError:
                found[name] = text
    if "park_s" in found:
        found["park_reason"] = fields.get("reason", "").strip() or "set aside from the dashboard"
    return found


_FORMS: Final = {
    "pause": _Form("POST", "/v1/pause", _reason, "/"),
    "resume": _Form("POST", "/v1/resume", lambda _: {}, "/"),
    "stop": _Form("POST", "/v1/stop", _reason, "/"),
    "takedown": _Form("POST", "/v1/takedown", _target, "/takedowns"),
    "lift": _Form("DELETE", "/v1/takedown/{id}", _reason, "/takedowns"),
    "host": _Form("PATCH", "/v1/hosts/{host}", _host, "/host", ("host",)),
}


async def perform(api: Api, request: Request, visitor: Principal, name: str, fields: Fields, served: Served) -> Done:
    """Do what a form asks for. Raises ApiError."""
    form = _FORMS.get(name)
    if form is None:
        raise ApiError(404, "there is no such form", field="path", value=name, allowed=", ".join(_FORMS))
    endpoint = _ENDPOINTS[form.method, form.path]
    try:
        call = _checked(endpoint, form, visitor, fields, served, api)
        where = form.path.format_map(call.path)
        reply = await api.perform(endpoint, call, where)
    except ApiError as error:
        await api.note_refusal(form.method, request, visitor, error)
        raise
    return Done(reply.result or "done", form.back, {name: fields.get(name, "") for name in form.keep})


def _checked(endpoint: Endpoint, form: _Form, visitor: Principal, fields: Fields, served: Served, api: Api) -> Call:
    assert endpoint.role is not None
    assert endpoint.body is not None
    require(visitor, endpoint.role)
    given = form.body(fields)
    try:
        body: object = msgspec.convert(given, endpoint.body)
    except msgspec.ValidationError as error:
        raise refusal(error, "body", given, endpoint.body) from error
    path = {name: fields.get(name, "") for name in endpoint.path_notes}
    return Call(principal=visitor, crawls=api.crawls, path=path, query=CrawlQuery(crawl=served.name), body=body)
