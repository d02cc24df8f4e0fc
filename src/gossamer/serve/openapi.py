"""The OpenAPI 3.1 document, made from the table of endpoints: what is checked and what is promised are one thing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from gossamer.serve.endpoint import JSON, Endpoint
from gossamer.serve.faults import FaultBody
from gossamer.version import VERSION

_REF: Final = "#/components/schemas/{name}"
_FAULTS: Final = {
    400: "It cannot be read.",
    401: "There is no token, or none that is known.",
    403: "The token's role does not allow it.",
    404: "There is no such thing.",
    405: "This path has other methods.",
    408: "The body did not come in time.",
    409: "Its present state does not allow it.",
    410: "It is over.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    421: "The server has no such name.",
    422: "A value is not allowed.",
    503: "It cannot be done now.",
}
_NEED_BODY: Final = frozenset({408, 413, 415})
_TEXTS: Final = {200: "It is so.", 202: "It was taken in.", 204: "There is nothing now."}


def document(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The whole document, ready to be made JSON."""
    wanted: list[Any] = [FaultBody]
    for endpoint in endpoints:
        wanted += [shape for shape in endpoint.answers.values() if shape is not None]
        wanted += [endpoint.body] if endpoint.body is not None else []
        wanted.append(endpoint.query)
    schemas, components = msgspec.json.schema_components(wanted, ref_template=_REF)
    refs = {id(shape): schema for shape, schema in zip(wanted, schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, refs, components)
    queries = {endpoint.query.__name__ for endpoint in endpoints}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Gossamer",
            "version": VERSION,
            "summary": "Crawls, looked at and operated.",
            "description": "Times are unix seconds. Where several crawls are served, `crawl` names the one meant.",
        },
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in components.items() if name not in queries},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, refs: dict[int, Any], components: dict[str, Any]) -> dict[str, Any]:
    query = components[refs[id(endpoint.query)]["$ref"].rpartition("/")[2]]
    required = query.get("required", [])
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
            "description": note,
        }
        for name, note in endpoint.path_notes.items()
    ]
    for name, schema in query.get("properties", {}).items():
        more = {"description": schema["description"]} if "description" in schema else {}
        parameters.append({"name": name, "in": "query", "required": name in required, "schema": schema, **more})
    operation: dict[str, Any] = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "tags": [endpoint.group],
        "responses": _responses(endpoint, refs),
    }
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": refs[id(endpoint.body)]}}}
    if endpoint.role is not None:
        operation["security"] = [{"token": []}]
        operation["description"] = f"Needs a token of role `{endpoint.role.value}` or above."
    return operation


def _operation_id(endpoint: Endpoint) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", endpoint.path) if word and word != "v1"]
    return "-".join([endpoint.method.lower(), *words])


def _responses(endpoint: Endpoint, refs: dict[int, Any]) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, shape in endpoint.answers.items():
        responses[str(status)] = {"description": _TEXTS[status]}
        if shape is not None:
            schema = refs[id(shape)] if endpoint.media_type.endswith("json") else {"type": "string"}
            responses[str(status)]["content"] = {endpoint.media_type: {"schema": schema}}
        if status == 204:
            wait = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
            responses[str(status)]["headers"] = {"Retry-After": wait}
    for status, text in _FAULTS.items():
        if status in _NEED_BODY and endpoint.body is None:
            continue
        if status in (401, 403) and endpoint.role is None:
            continue
        content = {JSON: {"schema": refs[id(FaultBody)]}}
        responses[str(status)] = {"description": text, "content": content}
    return responses
