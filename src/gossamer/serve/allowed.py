"""What a field of a request may hold, in words, told from the same types that check it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import msgspec

_TYPES: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def allowed_words(shape: type, steps: Sequence[str | int]) -> str:
    """What may stand at a place of a value of `shape`; "" when that cannot be told."""
    found, components = _schemas(shape)
    node = _resolved(found, components)
    for step in steps:
        inside = node.get("items") if isinstance(step, int) else node.get("properties", {}).get(step)
        if not isinstance(inside, dict):
            return ""
        node = _resolved(inside, components)
    return _words(node, components)


@cache
def _schemas(shape: type) -> tuple[dict[str, Any], dict[str, Any]]:
    (found,), components = msgspec.json.schema_components([shape], ref_template="{name}")
    return found, components


def _resolved(node: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    return components[node["$ref"]] if "$ref" in node else node


def _words(node: dict[str, Any], components: dict[str, Any]) -> str:
    if "anyOf" in node:
        return " or ".join(_words(_resolved(one, components), components) for one in node["anyOf"])
    if "enum" in node:
        return "one of " + ", ".join(str(one) for one in node["enum"] if one != "")
    kind = _TYPES.get(node.get("type", ""), "")
    if node.get("properties"):
        return f"an object with {', '.join(node['properties'])}"
    low, high = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum")
    if low is not None and high is not None:
        return f"{kind} from {low:,} to {high:,}"
    if node.get("type") == "array":
        least, most = node.get("minItems", 0), node.get("maxItems")
        return f"a list of {least:,} to {most:,}" if most else kind
    if node.get("type") == "string":
        least, most = node.get("minLength", 0), node.get("maxLength")
        more = f": {node['description']}" if "description" in node else ""
        return (f"text of {least:,} to {most:,} characters" if most else kind) + more
    return kind
