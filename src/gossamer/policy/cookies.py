"""Cookies for a crawl that was told to keep them (`fetch.cookies`): per host name, for this run, bounded.

A host's cookies go back to that host only; Domain and lifetime are not honoured, because a crawler needs a session,
not an identity.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

HOSTS_MAX: Final = 10_000
COOKIES_PER_HOST_MAX: Final = 30
COOKIE_MAX_CHARS: Final = 2_048
_TOKEN_FORBIDDEN: Final = frozenset(' \t"(),/:;<=>?@[\\]{}')


class CookieJar:
    """Cookies by host name; the hosts not seen for longest are forgotten."""

    def __init__(self) -> None:
        """An empty jar."""
        self._hosts: OrderedDict[str, dict[str, tuple[str, str, bool]]] = OrderedDict()

    def take(self, name: str, headers: tuple[tuple[str, str], ...]) -> None:
        """Keep what a response sets. A cookie set with Max-Age of 0 or less is removed."""
        for key, value in headers:
            if key == "set-cookie" and len(value) <= COOKIE_MAX_CHARS:
                self._set(name, value)

    def header(self, name: str, target: str, *, secure: bool) -> str:
        """The Cookie header for a request, "" when there is nothing to send."""
        cookies = self._hosts.get(name)
        if not cookies:
            return ""
        self._hosts.move_to_end(name)
        return "; ".join(
            f"{cookie}={value}"
            for cookie, (value, path, only_secure) in cookies.items()
            if (secure or not only_secure) and _path_matches(target, path)
        )

    def _set(self, name: str, text: str) -> None:
        pair, *attributes = text.split(";")
        cookie, sep, value = pair.partition("=")
        cookie, value = cookie.strip(), value.strip()
        if not sep or not _is_token(cookie) or not _is_value(value):
            return
        fields = {key.strip().lower(): setting.strip() for key, _, setting in (a.partition("=") for a in attributes)}
        if _is_over(fields.get("max-age", "")):
            self._hosts.get(name, {}).pop(cookie, None)
            return
        cookies = self._hosts.setdefault(name, {})
        self._hosts.move_to_end(name)
        path = fields.get("path", "/")
        if cookie in cookies or len(cookies) < COOKIES_PER_HOST_MAX:
            cookies[cookie] = (value, path if path.startswith("/") else "/", "secure" in fields)
        while len(self._hosts) > HOSTS_MAX:
            self._hosts.popitem(last=False)


def _path_matches(target: str, path: str) -> bool:
    """RFC 6265 section 5.1.4."""
    place = target.partition("?")[0]
    return place == path or (place.startswith(path) and (path.endswith("/") or place[len(path) : len(path) + 1] == "/"))


def _is_over(max_age: str) -> bool:
    """RFC 6265 section 5.2.2: zero or a negative number; what is no number is ignored."""
    digits = max_age.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return False
    return max_age.startswith("-") or not digits.strip("0")


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and not _TOKEN_FORBIDDEN & set(text)


def _is_value(text: str) -> bool:
    return text.isascii() and text.isprintable() and not {";", ","} & set(text)
