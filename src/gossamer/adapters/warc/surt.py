"""The key under which replay tools look a URL up: the Internet Archive's canonical SURT form.

Not the crawler's own URL key (`model.url`): that one decides what is one page, this one has to equal, byte for byte,
what pywb computes from the URL a reader asks for. Linear in the URL; URLs are bounded before they come here.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from urllib.parse import quote_from_bytes, unquote_to_bytes

_SAFE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_ALPHA = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS = frozenset(b"0123456789")
_ALNUM = _ALPHA | _DIGITS
_HEX_SESSION = 32
_ASPX_SESSION = 24
# What most URLs are: nothing in them to take out, to escape or to sort. Possessive, so linear.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9.:-]{1,260}+)(/(?:[A-Za-z0-9_~,-][A-Za-z0-9_.~,-]*+/)*+(?:[A-Za-z0-9_~,-][A-Za-z0-9_.~,-]*+)?+)"
)
_UNESCAPE_PASSES_MAX = 64  # "%2525…": each pass takes one level off


def surt(url: str) -> str:
    """The SURT key of an absolute http(s) URL: `http://www.Example.com/a?b` becomes `com,example)/a?b`."""
    plain = _PLAIN.fullmatch(url)
    if plain:
        scheme, authority, path = plain.groups()
        return f"{_plain_host(scheme, authority)}){(path.rstrip('/') or '/').lower()}"
    return general(url)


@functools.lru_cache(maxsize=1024)
def _plain_host(scheme: str, authority: str) -> str:
    return _host(authority.encode("ascii"), _DEFAULT_PORTS[scheme.encode("ascii")]).decode("ascii")


def general(url: str) -> str:
    """What `surt` does with URLs that are not plain. With those that are, it would come to the same, only slowly."""
    raw = url.encode("utf-8", "surrogatepass").partition(b"#")[0]
    scheme, _, rest = raw.partition(b"://")
    authority, path, query = _split(rest)
    host = _host(authority, _DEFAULT_PORTS.get(scheme.lower(), b""))
    path = _strip_path_session(_escape(_normal_path(_unescape(path))).lower())
    if len(path) > 1 and path.endswith(b"/"):
        path = path[:-1]
    query = _sorted_query(_strip_query_sessions(_escape(_unescape(query))).lower())
    return (host + b")" + path + (b"?" + query if query else b"")).decode("ascii")


def _split(rest: bytes) -> tuple[bytes, bytes, bytes]:
    cut = min((at for at in (rest.find(b"/"), rest.find(b"?")) if at >= 0), default=len(rest))
    path, _, query = rest[cut:].partition(b"?")
    return rest[:cut], path, query


def _host(authority: bytes, default_port: bytes) -> bytes:
    name = authority.rpartition(b"@")[2]
    port = b""
    if not name.endswith(b"]"):
        head, colon, tail = name.rpartition(b":")
        if colon and _DIGITS.issuperset(tail):
            name, port = head, tail
    name = _unescape(name.strip(b"[]")).replace(b"..", b".").strip(b".").lower()
    after = name[3:].lstrip(b"0123456789") if name.startswith(b"www") else b""
    if after.startswith(b"."):
        name = after[1:]
    key = b",".join(reversed(_escape(name).split(b".")))
    return key + b":" + port if port not in {b"", b"0", default_port} else key


def _unescape(text: bytes) -> bytes:
    for _ in range(_UNESCAPE_PASSES_MAX):
        if b"%" not in text:
            break
        plain = unquote_to_bytes(text)
        if plain == text:
            break
        text = plain
    return text


def _escape(text: bytes) -> bytes:
    return quote_from_bytes(text, safe=_SAFE).encode("ascii")


def _normal_path(path: bytes) -> bytes:
    kept: list[bytes] = []
    for part in path.split(b"/")[1:]:
        if part == b".":
            continue
        if part == b".." and kept:
            kept.pop()
        else:
            kept.append(part)
    return b"/" + b"/".join([part for part in kept[:-1] if part] + kept[-1:])


def _sorted_query(query: bytes) -> bytes:
    return b"&".join(b"=".join(pair) for pair in sorted(tuple(part.split(b"=", 1)) for part in query.split(b"&")))


def _strip_path_session(path: bytes) -> bytes:
    """`path`, in lower case, without ASP.NET's "/(S(24 characters))/" or "/(24 characters)/" before an .aspx page."""
    if b".aspx" not in path:
        return path
    parts = path.split(b"/")
    for at in range(len(parts) - 2, 0, -1):
        if _is_aspx_session(parts[at]) and b".aspx" in b"/".join(parts[at + 1 :])[1:]:
            return b"/".join(parts[:at] + parts[at + 1 :])
    return path


def _is_aspx_session(part: bytes) -> bool:
    if not (part.startswith(b"(") and part.endswith(b")")):
        return False
    inner = part[1:-1]
    if len(inner) == _ASPX_SESSION and _ALNUM.issuperset(inner):
        return True
    size = _ASPX_SESSION + 3  # "s(" and 24 characters and ")"
    return (
        bool(inner)
        and not len(inner) % size
        and all(
            inner[at] in _ALPHA
            and inner[at + 1 : at + 2] == b"("
            and _ALNUM.issuperset(inner[at + 2 : at + size - 1])
            and inner[at + size - 1 : at + size] == b")"
            for at in range(0, len(inner), size)
        )
    )


def _strip_query_sessions(query: bytes) -> bytes:
    for name in (b"jsessionid=", b"phpsessid=", b"sid="):
        query = _cut_last(query, name, lambda value: len(value) == _HEX_SESSION and _ALNUM.issuperset(value))
    query = _cut_last(query, b"aspsessionid", _is_asp_value)
    return _cut_cold_fusion(query)


def _is_asp_value(value: bytes) -> bool:
    name, equals, session = value[:8], value[8:9], value[9:]
    return equals == b"=" and len(session) == _ASPX_SESSION and len(name) == 8 and _ALPHA.issuperset(name + session)


def _cut_last(query: bytes, name: bytes, is_session: Callable[[bytes], bool]) -> bytes:
    """`query` without the last `name` whose value, up to the next ampersand, is a session's."""
    lower = query.lower()
    at = lower.rfind(name)
    while at >= 0:
        value, _, rest = query[at + len(name) :].partition(b"&")
        if is_session(value):
            return query[:at] + rest
        at = lower.rfind(name, 0, at)
    return query


def _cut_cold_fusion(query: bytes) -> bytes:
    lower = query.lower()
    at = lower.rfind(b"cfid=")
    while at >= 0:
        first, _, rest = query[at + 5 :].partition(b"&")
        second, _, after = rest.partition(b"&")
        if first and second[:8].lower() == b"cftoken=" and len(second) > 8:
            return query[:at] + after
        at = lower.rfind(b"cfid=", 0, at)
    return query
