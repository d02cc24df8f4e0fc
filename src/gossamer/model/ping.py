"""A ping: somebody says that pages of a host have changed, and names the key by which the host shows that it is so.

The form is that of IndexNow (https://www.indexnow.org/documentation): a key of 8 to 128 letters, digits and dashes,
which the host serves at /KEY.txt.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.limits import PING_URLS_MAX, URL_INPUT_MAX_CHARS

KEY_MIN_CHARS: Final = 8
KEY_MAX_CHARS: Final = 128
KEY_ALLOWED: Final = "a key is 8 to 128 letters, digits and dashes"
_KEY_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


class Ping(msgspec.Struct, frozen=True, kw_only=True):
    """URLs that have changed, and the key of their hosts."""

    key: str
    urls: tuple[str, ...]
    answer: bool = False  # whoever handed it in waits to hear what is refused

    def fault(self) -> str:
        """What is wrong with its form, in words; "" when nothing is."""
        if not KEY_MIN_CHARS <= len(self.key) <= KEY_MAX_CHARS or not _KEY_CHARS.issuperset(self.key):
            return KEY_ALLOWED
        if not 0 < len(self.urls) <= PING_URLS_MAX:
            return f"a ping names 1 to {PING_URLS_MAX:,} URLs"
        if any(len(url) > URL_INPUT_MAX_CHARS for url in self.urls):
            return f"a URL has at most {URL_INPUT_MAX_CHARS:,} characters"
        return ""
