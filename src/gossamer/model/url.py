"""URLs as the crawl sees them: the wire form, the canonical form, the key, the host and the site of each.

Parsing is WHATWG's (https://url.spec.whatwg.org), by `upa_url`. What is the same page under two spellings is decided in
`canonical`, registered domains in `psl`. Nothing here raises, whatever the text: it all comes from strangers.
Why the key looks as it does: docs/decisions/url-key.md.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec
import upa_url  # type: ignore[import-untyped]  # a compiled module without stubs

from gossamer.model.canonical import canonical_path, canonical_query
from gossamer.model.legacy_query import encode_query_of, is_unicode
from gossamer.model.limits import HOST_CACHE_MAX, URL_INPUT_MAX_CHARS
from gossamer.model.psl import registered_domain, site_of
from gossamer.model.reason import Reason

__all__ = [
    "Base",
    "Url",
    "key_host_prefix",
    "name_of",
    "parse",
    "registered_domain",
    "serialize",
    "site_of",
    "url_of_key",
    "wire_parts",
]

Scheme = Literal["http", "https"]

HTTP_SUFFIX: Final = " http"  # ends the key of an http URL; a canonical URL has no space


class Url(msgspec.Struct, frozen=True, gc=False):
    """One http or https URL."""

    wire: str  # as found, in WHATWG serialisation, without fragment and user
    canonical: str  # the one spelling of this page's address
    key: str  # `surt`, and " http" after it when the scheme is http
    surt: str  # "com,example)/path?q" of the canonical form
    scheme: Scheme
    host: str  # ledger key: the name, and ":port" unless that is the scheme's own
    site: str  # registered domain, or the name itself where there is none


# What all URLs of one scheme and authority share: the front of the wire form and of the canonical form ("" where it is
# as serialised), the front of the SURT form, the end of the key, scheme, host, site. A tuple: it is unpacked per link.
_Origin = tuple[str, str, str, str, Scheme, str, str]

_origins: dict[str, _Origin] = {}  # "scheme://authority" as serialised -> what is derived from it; bounded


class Base:
    """A document's base URL, against which many links are read."""

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        """Take a base.

        Args:
            base: an absolute URL. When it is none, only absolute links can be read.
            encoding: the document's encoding by its WHATWG name. Queries are encoded in it, as browsers do.
        """
        self._base = _engine(base, None)
        self._encoding = "" if is_unicode(encoding) else encoding
        self._front = self._folder = ""  # of a http base: what a plain path is joined to
        href = "" if self._base is None else self._base.href
        if href.startswith(("http://", "https://")):
            front = href[: href.find("/", 8)]
            self._front = front
            self._folder = href[: href.partition("?")[0].partition("#")[0].rfind("/") + 1]
        # Public only where equal names promise equal meanings: not where queries may be spelled differently.
        self.front = "" if self._encoding else self._front  # of links that begin with a slash: scheme and authority
        self.folder = "" if self._encoding else self._folder  # of other relative links, except a bare query

    def parse(self, text: str) -> Url | Reason:
        """The URL a link's text means, or URL_SCHEME, URL_INVALID or URL_TOO_LONG. Never raises."""
        if len(text) > URL_INPUT_MAX_CHARS:
            return Reason.URL_TOO_LONG
        if self._front and _is_plain(text):
            return _build((self._front if text[0] == "/" else self._folder) + text)
        if self._encoding and not text.isascii():
            text = encode_query_of(text, self._encoding)
        base = self._base
        try:
            url = _parse(text) if base is None else _parse(text, base)
        except TypeError:
            url = _engine(text, base)
        return Reason.URL_INVALID if url is None else _build(url.href)


def parse(text: str, base: str | None = None) -> Url | Reason:
    """The URL that a text means, read against a base if there is one. Never raises.

    Args:
        text: any text, as found in a page, a header or a file.
        base: an absolute URL; when it does not parse, neither does the text.

    Returns:
        The Url, or URL_SCHEME (not http or https), URL_TOO_LONG (more than URL_INPUT_MAX_CHARS) or URL_INVALID.
    """
    if len(text) > URL_INPUT_MAX_CHARS:
        return Reason.URL_TOO_LONG
    href = serialize(text, base)
    return Reason.URL_INVALID if href is None else _build(href)


def serialize(text: str, base: str | None = None) -> str | None:
    """The WHATWG serialisation of a URL of any scheme, fragment and user included; None when it does not parse."""
    if base is None:
        url = _engine(text, None)
    else:
        against = _engine(base, None)
        url = None if against is None else _engine(text, against)
    return None if url is None else url.href


def name_of(host: str) -> str:
    """The name of a host without its port; an IPv6 address keeps its brackets."""
    colon = host.rfind(":")
    return host if colon < 0 or host.endswith("]") else host[:colon]


def key_host_prefix(host: str) -> str:
    """The text with which the keys of a host begin: "com,example)" for "example.com"."""
    name = name_of(host)
    return _surt_name(name) + host[len(name) :] + ")"


def url_of_key(key: str) -> str:
    """The canonical form of the URL whose key this is; "" for a text that is no key."""
    surt, _, scheme = key.partition(" ")
    front, bracket, tail = surt.partition(")")
    if not bracket:
        return ""
    labels = name_of(front)
    name = ".".join(reversed(labels.split(","))).replace("%2C", ",").replace("%29", ")")
    return f"{scheme or 'https'}://{name}{front[len(labels) :]}{tail}"


def wire_parts(wire: str) -> tuple[Scheme, str, int, str]:
    """Scheme, name, port and target of a wire form: what an HTTP request needs.

    The name is without a trailing dot (RFC 6066 section 3 forbids it in SNI); the target is path and query, at least
    "/". Raises ValueError when the text is no wire form.
    """
    scheme, separator, rest = wire.partition("://")
    if not separator or scheme not in {"http", "https"}:
        msg = f"not the wire form of a URL: {wire[:200]!r}"
        raise ValueError(msg)
    slash = rest.find("/")
    authority, target = (rest, "/") if slash < 0 else (rest[:slash], rest[slash:])
    name = name_of(authority)
    port = authority[len(name) + 1 :]
    if scheme == "https":
        return "https", _undotted(name), int(port or 443), target
    return "http", _undotted(name), int(port or 80), target


_parse: Final = upa_url.URL.parse

# A path of which every segment is plain: no dots in front, no empty segment but the last, nothing to escape or to split
# off. Joining it is concatenation. Each segment begins with a sign that no separator can be: matching is linear.
_PLAIN: Final = re.compile(r"(?!$)/?(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*/)*(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)?", re.ASCII)
_is_plain: Final = _PLAIN.fullmatch


def _engine(text: str, base: upa_url.URL | None) -> upa_url.URL | None:
    try:
        return _parse(text) if base is None else _parse(text, base)
    except TypeError:
        # The engine takes valid Unicode only; the standard reads a lone surrogate as U+FFFD (Infra, "scalar value").
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return _parse(text) if base is None else _parse(text, base)


def _build(href: str) -> Url | Reason:
    """A Url from a serialisation. The hot path: where the origin is known and nothing to strip, one new string."""
    if "#" in href:
        href = href[: href.index("#")]
    slash = href.find("/", 8)  # after "https://" or "http://" and at least one character
    front = href[:slash]
    origin = _origins.get(front)
    if origin is None:
        made = _origin(front)
        if isinstance(made, Reason):
            return made
        origin = made
    wire_front, canonical_front, surt_front, suffix, scheme, host, site = origin
    tail = href[slash:]
    wire = wire_front + tail if wire_front else href
    if "?" in tail or "%" in tail or ";" in tail or "(" in tail:
        tail = _canonical_tail(tail)
        canonical = (canonical_front or front) + tail
    else:
        canonical = canonical_front + tail if canonical_front else href
    surt = surt_front + tail
    return Url(wire, canonical, surt + suffix, surt, scheme, host, site)


def _canonical_tail(tail: str) -> str:
    path, _, query = tail.partition("?")
    path = canonical_path(path)
    if query:
        query = canonical_query(query)
        if query:
            return f"{path}?{query}"
    return path


def _origin(front: str) -> _Origin | Reason:
    """What follows from "scheme://user@name:port", remembered."""
    scheme: Scheme
    if front.startswith("https://"):
        scheme, authority, suffix = "https", front[8:], ""
    elif front.startswith("http://"):
        scheme, authority, suffix = "http", front[7:], HTTP_SUFFIX
    else:
        return Reason.URL_SCHEME
    authority = authority.rpartition("@")[2]
    wire_name = name_of(authority)
    name = _undotted(wire_name)
    host = name + authority[len(wire_name) :]  # the serialisation has already dropped the scheme's own port
    wire_front, canonical_front = f"{scheme}://{authority}", f"{scheme}://{host}"
    origin = (
        "" if wire_front == front else wire_front,
        "" if canonical_front == front else canonical_front,
        key_host_prefix(host),
        suffix,
        scheme,
        host,
        site_of(name),
    )
    if len(_origins) >= HOST_CACHE_MAX:
        _origins.clear()
    _origins[front] = origin
    return origin


def _undotted(name: str) -> str:
    """A name without the dot of the DNS root. Where nothing or another dot would be left, it is no such dot."""
    return name[:-1] if name.endswith(".") and len(name) > 1 and name[-2] != "." else name


def _surt_name(name: str) -> str:
    """Labels from the right, joined by commas; IP addresses as they are.

    The two signs that have a meaning in a key are escaped: WHATWG allows them in names, and a stranger's name must
    not sort below another host.
    """
    if name.startswith("["):
        return name
    if "," in name or ")" in name:
        name = name.replace(",", "%2C").replace(")", "%29")
    labels = name.split(".")
    if labels[-1].isdigit():  # WHATWG: a name whose last label is a number is an IPv4 address, or no name at all
        return name
    labels.reverse()
    return ",".join(labels)
