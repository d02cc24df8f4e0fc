"""When a whole host is a mirror of another: nearly all it shows stands at the same path there.

Which page of a pair was fetched first, and counts as the original, is chance: of two mirrors crawled side by side each
has copies of the other's pages. So pairs count whichever way round they are, and which host is the mirror is decided by
which has more copies.
"""

from __future__ import annotations

from typing import Final

from gossamer.model.url import HTTP_SUFFIX

PAIRS_MIN: Final = 20  # pages of one path and one content before two hosts are called mirrors
SHARE_MIN: Final = 0.8  # of the pages that a host shows
SHARE_KEPT: Final = 0.6  # below which it is a mirror no more
MIRRORS_TRACKED_MAX: Final = 8  # other hosts of which a ledger counts pairs


def same_path(key: str, other: str) -> bool:
    """Whether two URL keys differ in the host, and perhaps the scheme, alone."""
    return key.partition(")")[2].removesuffix(HTTP_SUFFIX) == other.partition(")")[2].removesuffix(HTTP_SUFFIX)


def is_mirror(copies: int, mirrored: int, shown: int, *, now: bool = False) -> bool:
    """Whether a host is a mirror of another.

    Args:
        copies: its pages that are copies of pages of the other, at the same path.
        mirrored: pages of the other that are copies of its pages.
        shown: URLs of it that have shown a page.
        now: whether it counts as one now: that ends later than it begins.
    """
    pairs = copies + mirrored
    return pairs >= PAIRS_MIN and pairs >= (SHARE_KEPT if now else SHARE_MIN) * shown
