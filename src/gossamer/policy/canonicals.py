"""When rel=canonical is believed: only when the page that it names agrees, and only from hosts that mostly tell true.

RFC 6596 calls the link a hint of the page's author, and says that its target should have the same content or more. It
is believed as far as that can be seen. Whether two pages are the same is the core's to find out; here is what follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

ABUSED_MIN: Final = 10  # pages of a host whose rel=canonical was found false before the host is believed no more


class Said(StrEnum):
    """What became of the rel=canonical of a page that names another page."""

    HONOURED = "honoured"
    UNSEEN = "target-not-seen"  # the page it names was not fetched, or shows no page now
    DIFFERS = "target-differs"  # it shows something else
    CHAIN = "target-names-another"  # its own rel=canonical leads on, or back
    DISTRUSTED = "host-distrusted"  # it would be believed, but most of what this host says is false


_FALSE: Final = (Said.DIFFERS, Said.CHAIN)


def is_distrusted(counts: Mapping[str, int]) -> bool:
    """Whether a host's rel=canonical is not believed: many are false, and more than are true.

    Args:
        counts: Said -> pages of the host of which it holds now. It is believed again once the false ones are gone.
    """
    false = sum(counts.get(said, 0) for said in _FALSE)
    true = counts.get(Said.HONOURED, 0) + counts.get(Said.DISTRUSTED, 0)
    return false >= ABUSED_MIN and false > true
