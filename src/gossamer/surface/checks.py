"""Checks of single configuration texts: patterns, networks, addresses, names. Each raises ValueError with a reason."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final

from gossamer.model import url as urls
from gossamer.model.url import Url
from gossamer.policy.scope import check_pattern, check_surt

TEXT_MAX_CHARS: Final = 2_000
PRODUCT_MAX_CHARS: Final = 64
_TOKEN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")
_PRODUCT: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_")
_LOCAL: Final = _TOKEN | {"/", "="}
PROXY_SCHEMES: Final = ("http", "socks5")


def plain(text: str) -> None:
    """No control characters, no lone surrogates, not absurdly long."""
    if len(text) > TEXT_MAX_CHARS:
        raise ValueError(f"it is longer than {TEXT_MAX_CHARS} characters")
    for char in text:
        if ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or 0xD800 <= ord(char) < 0xE000:
            raise ValueError(f"it holds the character U+{ord(char):04X}")


def header(text: str) -> None:
    """A value that may stand in an HTTP header (RFC 9110 section 5.5)."""
    if not text.isascii() or text != text.strip():
        raise ValueError("it must be ASCII without spaces at its ends")


def product(text: str) -> None:
    """A product token that robots.txt can name (RFC 9309 section 2.2.1)."""
    if not _PRODUCT.issuperset(text) or len(text) > PRODUCT_MAX_CHARS:
        raise ValueError("RFC 9309 allows letters, - and _ only")


def mail(text: str) -> None:
    """A mail address."""
    local, at, domain = text.rpartition("@")
    if not at or not local or not _LOCAL.issuperset(local) or "." not in domain.strip("."):
        raise ValueError("it is not a mail address")
    if not is_host(domain) or any(char in domain for char in ":[]"):
        raise ValueError(f"{domain!r} is not a domain")


def domain(text: str) -> None:
    """A domain name in lower case, without a dot at its ends."""
    if not is_host(text) or text != text.lower().strip(".") or ":" in text or "." not in text:
        raise ValueError("it is no domain in lower case")


def contact(text: str) -> None:
    """A URL or a mail address, fit for the User-Agent header."""
    header(text)
    if any(char in text for char in " ();,"):
        raise ValueError(
            "it stands in the User-Agent header, where spaces, commas, semicolons and brackets have a meaning"
        )
    if text.startswith(("http://", "https://")):
        if not isinstance(urls.parse(text), Url):
            raise ValueError("it is not a valid URL")
        return
    mail(text.removeprefix("mailto:"))


def webhook(text: str) -> None:
    """A URL to which messages are posted, or nothing."""
    if text and (not text.startswith(("http://", "https://")) or not isinstance(urls.parse(text), Url)):
        raise ValueError("it is not a valid http(s) URL")


def agent(text: str) -> None:
    """An https URL that may stand between quotes in an HTTP header."""
    header(text)
    if not text.startswith("https://") or not isinstance(urls.parse(text), Url) or any(char in text for char in '"\\#'):
        raise ValueError("it is not a valid https URL")


def pattern(text: str) -> None:
    """A glob on the canonical URL, in which only * is special."""
    _refuse(check_pattern(text))


def surt(text: str) -> None:
    """A SURT prefix."""
    _refuse(check_surt(text))


def network(text: str) -> None:
    """An IPv4 or IPv6 network or address."""
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise ValueError(str(error)) from error


def nameserver(text: str) -> None:
    """An IP address with an optional port; IPv6 with a port in brackets."""
    address, port = text, "53"
    if text.startswith("["):
        address, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") if rest else "53"
        if rest and not rest.startswith(":"):
            raise ValueError(f"{rest!r} follows the address")
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    try:
        ipaddress.ip_address(address)
    except ValueError as error:
        raise ValueError(f"{address!r} is not an IP address") from error
    _port(port)


def proxy(text: str) -> None:
    """The URL of a proxy."""
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in PROXY_SCHEMES:
        raise ValueError(f"its scheme must be one of {', '.join(PROXY_SCHEMES)}")
    place = rest.removesuffix("/").rpartition("@")[2]
    host, colon, port = place.rpartition(":")
    if not host or not colon or any(char in place for char in "/?#"):
        raise ValueError("it must name a host and a port and no path")
    if not is_host(host):
        raise ValueError(f"{host!r} is not a host")
    _port(port)


def media_type(text: str) -> None:
    """`type/subtype`, `type/` for all of a type, or `*` for all."""
    if text == "*":
        return
    kind, slash, sub = text.partition("/")
    if not kind or not slash or not _TOKEN.issuperset(kind + sub) or text != text.lower():
        raise ValueError("it is not a lower-case media type")


def existing_file(text: str) -> None:
    """The path of a file that can be read."""
    path = Path(text)
    if not path.is_file():
        raise ValueError(f"there is no file {text}")
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror}") from error


def _refuse(fault: str | None) -> None:
    if fault is not None:
        raise ValueError(fault)


def is_host(text: str) -> bool:
    """Whether a text is a host name or an address as URLs write it."""
    return not any(char in text for char in "/@?#\\") and isinstance(urls.parse(f"http://{text}/"), Url)


def _port(text: str) -> None:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65535:
        raise ValueError(f"{text!r} is not a port from 1 to 65535")
