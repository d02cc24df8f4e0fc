"""What a page says of itself to robots: X-Robots-Tag headers and meta robots.

Here: reading them. Not here: finding the meta elements (digest), rel=nofollow of single links, and what each directive
means for the corpus. Sources: Google's and Bing's documentation of robots meta directives; no standard exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.model.limits import DIRECTIVES_MAX_CHARS

_META_NAME: Final = "robots"
_VALUED: Final = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})
_AGENT_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_./*")


class Directives(msgspec.Struct, frozen=True):
    """What a page asks for. Several sources add up: the most restrictive counts."""

    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False

    def __or__(self, other: Directives) -> Directives:
        return Directives(
            self.noindex or other.noindex, self.nofollow or other.nofollow, self.noarchive or other.noarchive
        )


NOTHING: Final = Directives()


def from_headers(values: Iterable[str], product: str) -> Directives:
    """Directives of all X-Robots-Tag headers of a response that concern `product` (our robots.txt token).

    `otherbot: noindex, nofollow` binds one agent up to the end of its header or to the next agent.
    `unavailable_after` and other directives with a value are skipped.
    """
    ours = product.lower()
    words: set[str] = set()
    for value in values:
        concerns = True
        for part in value[:DIRECTIVES_MAX_CHARS].lower().split(","):
            name, colon, rest = part.partition(":")
            name = name.strip()
            if colon and name in _VALUED:
                continue
            if colon and name and _AGENT_CHARS.issuperset(name):
                concerns = name.partition("/")[0] in {ours, "*", _META_NAME}
                part = rest  # noqa: PLW2901 - the directive after the agent's name
            if concerns:
                words.update(part.split())
    return _of(words)


def from_meta(name: str, content: str, product: str) -> Directives:
    """Directives of one `<meta name content>`; names other than "robots" and `product` say nothing to us."""
    if name.strip().lower() not in {_META_NAME, product.lower()}:
        return NOTHING
    return _of(set(content[:DIRECTIVES_MAX_CHARS].lower().replace(",", " ").replace(";", " ").split()))


def _of(words: set[str]) -> Directives:
    """`none` is noindex and nofollow; `nocache` is Bing's word for noarchive. What contradicts is restrictive."""
    if not words:
        return NOTHING
    none = "none" in words
    return Directives(
        none or "noindex" in words, none or "nofollow" in words, not words.isdisjoint({"noarchive", "nocache"})
    )
