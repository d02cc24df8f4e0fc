"""One page under two addresses of its site: http and https, www and apex. Merged only by evidence, and reversibly.

A site counts as serving the same under both forms once enough pairs of pages were seen to be equal and none to differ
(docs/decisions/twins.md). From then on a link is not admitted while its twin is known; what was admitted
before stays, and the first pair that differs ends the merge.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from gossamer.model.url import HTTP_SUFFIX, key_host_prefix

EQUAL_PAIRS_MIN: Final = 5
_WWW: Final = ",www)"


class Pair(StrEnum):
    """What two addresses of one page differ in."""

    SCHEME = "scheme"
    WWW = "www"


def twin_keys(key: str, site: str) -> tuple[tuple[Pair, str], ...]:
    """The keys that differ from a URL key of a site in the scheme alone, or in "www." alone. None with a port."""
    end = key.find(")") + 1
    front = key[:end]
    if ":" in front:
        return ()
    plain = key.removesuffix(HTTP_SUFFIX)
    found = [(Pair.SCHEME, plain if plain != key else key + HTTP_SUFFIX)]
    apex = key_host_prefix(site)
    if front == apex and "," in apex:
        found.append((Pair.WWW, apex[:-1] + _WWW + key[end:]))
    elif front == apex[:-1] + _WWW:
        found.append((Pair.WWW, apex + key[end:]))
    return tuple(found)


def are_merged(equal: int, unequal: int) -> bool:
    """Whether the pairs seen so far make one page of two addresses."""
    return equal >= EQUAL_PAIRS_MIN and unequal == 0
