"""JSON bytes of a value: one form for the crawl log, for what stands in for it in the store, and for people."""

from __future__ import annotations

import msgspec


def encode(value: object) -> bytes:
    """UTF-8 JSON of a value. Lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(value)))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value
