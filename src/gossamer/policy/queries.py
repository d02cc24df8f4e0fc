"""Queries that grow from page to page, carry a session, or combine filters without end."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from gossamer.model.url import Url, name_of

SURPLUS_PAIRS_MAX: Final = 1  # copies of a parameter with its value beyond the first
SAME_NAME_MAX: Final = 8  # values of one parameter
NESTED_SELF_MAX: Final = 1  # times a query may hold the address of its own page: once is a "share" or "log in" link
ESCAPED_ESCAPES_MAX: Final = 1  # "%2525": an address in an address in an address
GROWN_VALUE_MIN_CHARS: Final = 24  # a value this long that only got longer is growing
TOKEN_MIN_CHARS: Final = 16  # a session's name is at least 64 bits of something
FACETS_MAX: Final = 8  # parameters with a value, beyond those of paging and language
BRACKET_FACETS_MAX: Final = 4  # filter[colour]=red, f[]=1

_UNQUOTES_MAX: Final = 3
_SESSION_NAMES: Final = frozenset({
    "_token", "_wpnonce", "authenticity_token", "nonce", "s", "ticket", "token",
})  # fmt: skip
SESSION_SEGMENTS: Final = frozenset({"s", "sess", "session", "sessionid", "sid"})
_NOT_FACETS: Final = frozenset({
    "action", "do", "hl", "id", "lang", "language", "limit", "limitstart", "locale", "module", "offset", "option", "p",
    "page", "paged", "per_page", "q", "query", "search", "start", "task", "view",
})  # fmt: skip


def query_grows(url: Url, path: str, query: str, pairs: list[str], via: str | None) -> bool:
    """Whether a query is one step of an endless growth.

    Args:
        url: the whole.
        path: of the canonical form.
        query: of the canonical form.
        pairs: its parts.
        via: wire form of the page it was found on.
    """
    if len(pairs) > 2:
        if len(pairs) - len(set(pairs)) > SURPLUS_PAIRS_MAX:
            return True
        if len(pairs) > SAME_NAME_MAX and _most_of_one_name(pairs) > SAME_NAME_MAX:
            return True
    if query.count("%2525") > ESCAPED_ESCAPES_MAX:
        return True
    if ("/" in query or "%2F" in query) and _nested(name_of(url.host), path, query) > NESTED_SELF_MAX:
        return True
    return via is not None and len(query) > GROWN_VALUE_MIN_CHARS and _value_grew(url, pairs, via)


def _most_of_one_name(pairs: list[str]) -> int:
    counts: dict[str, int] = {}
    for pair in pairs:
        name = pair.partition("=")[0]
        counts[name] = counts.get(name, 0) + 1
    return max(counts.values())


def _nested(name: str, path: str, query: str) -> int:
    """How often a query, unquoted, holds the address of the page it belongs to, as a path or as a URL."""
    for _ in range(_UNQUOTES_MAX):
        if "%" not in query:
            break
        query = unquote(query)
    for sign in "?=#":
        query = query.replace(sign, "&")
    whole = f"//{name}{path}"
    return sum(1 for text in query.split("&") if text.endswith(whole) or (text == path and len(path) > 1))


def _value_grew(url: Url, pairs: list[str], via: str) -> bool:
    """Whether, on the same page, a long value holds the whole value it had on the page before, and more."""
    address, mark, query = via.partition("?")
    if not mark or not url.wire.startswith(address + "?"):
        return False
    before = dict(pair.partition("=")[::2] for pair in query.split("&"))
    for pair in pairs:
        name, _, value = pair.partition("=")
        old = before.get(name, "")
        if GROWN_VALUE_MIN_CHARS <= len(old) < len(value) and old in value:
            return True
    return False


def carries_session(path: str, segments: list[str], pairs: list[str]) -> bool:
    """Whether a URL carries a session or a one-time token that the canonical form could not strip.

    Args:
        path: in lower case.
        segments: of it.
        pairs: of the canonical query.
    """
    for pair in pairs:
        name, _, value = pair.partition("=")
        if len(value) >= TOKEN_MIN_CHARS and _names_session(name.lower()) and _is_token(value):
            return True
    if ";" not in path and SESSION_SEGMENTS.isdisjoint(segments):
        return False
    before = ""
    for segment in segments:
        if len(segment) >= TOKEN_MIN_CHARS:
            if before in SESSION_SEGMENTS and _is_token(segment):
                return True
            for parameter in segment.split(";")[1:]:
                name, _, value = parameter.partition("=")
                if _names_session(name) and _is_token(value):
                    return True
        before = segment
    return False


def _names_session(name: str) -> bool:
    return name in _SESSION_NAMES or "session" in name or "csrf" in name or name.endswith(("sid", "sess"))


def _is_token(text: str) -> bool:
    """Letters and digits mixed, long, and no words between hyphens."""
    return (
        len(text) >= TOKEN_MIN_CHARS
        and text.isalnum()
        and not text.isdigit()
        and not text.isalpha()
    )  # fmt: skip


def has_many_facets(pairs: list[str]) -> bool:
    """Whether a query combines so many filters that its combinations cannot all be pages worth having."""
    if len(pairs) <= BRACKET_FACETS_MAX:
        return False
    facets = brackets = 0
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not value or name.lower() in _NOT_FACETS:
            continue
        facets += 1
        brackets += "[" in name or "%5B" in name
    return facets > FACETS_MAX or brackets > BRACKET_FACETS_MAX
