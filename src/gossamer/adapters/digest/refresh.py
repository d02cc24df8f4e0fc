"""The URL in a meta refresh (HTML standard, "shared declarative refresh steps")."""

from __future__ import annotations

from typing import Final

REFRESH_MAX_CHARS: Final = 20_000

_SPACE: Final = "\t\n\f\r "
_DIGITS: Final = "0123456789"


def refresh_target(content: str) -> str | None:
    """The target of a meta refresh's content ("5; url=/next" -> "/next"); None for none, or for a mere reload."""
    text = content[:REFRESH_MAX_CHARS].lstrip(_SPACE)
    rest = text.lstrip(_DIGITS)
    if len(rest) == len(text) and not text.startswith("."):
        return None
    rest = rest.lstrip(_DIGITS + ".")
    if not rest or rest[0] not in ";," + _SPACE:
        return None
    rest = rest.lstrip(_SPACE)
    if rest[:1] in {";", ","}:
        rest = rest[1:].lstrip(_SPACE)
    if rest[:3].lower() == "url":
        after = rest[3:].lstrip(_SPACE)
        if after.startswith("="):
            rest = after[1:].lstrip(_SPACE)
    quote = rest[:1]
    if quote and quote in "\"'":
        rest = rest[1:]
        end = rest.find(quote)
        rest = rest if end < 0 else rest[:end]
    return rest.strip(_SPACE) or None
