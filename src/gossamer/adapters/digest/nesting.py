"""A bound on how deep markup nests, before the parser sees it.

The HTML standard's tree construction looks down the stack of open elements at most tags, so time grows with the square
of the depth: 100,000 nested elements take the engine 20 s. Browsers stop nesting at about 500.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from gossamer.model.limits import NESTING_MAX

_TAG: Final = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})")  # linear: no part of it can match in two ways
_LESS_THAN: Final = 0x3C
_SLASH: Final = 0x2F
# No content, or closed by the next one of their kind: they don't nest.
_FLAT: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup tr td th thead "
    "tbody tfoot html head body frame basefont bgsound".split()
)


def bounded(markup: str, body: bytes) -> tuple[str, bool]:
    """The markup up to where it nests deeper than NESTING_MAX elements, and whether anything was cut off.

    Args: the text of a document, and the bytes it was decoded from. In no encoding of the web is "<" made of anything
    but a byte 0x3C, so these bound the number of tags. Numpy counts them six times as fast as `str.count` does.
    Costs that count for a page with fewer tags, three passes more for one whose tags are mostly closed; only others are
    looked at tag by tag.
    """
    if np.count_nonzero(np.frombuffer(body, np.uint8) == _LESS_THAN) <= NESTING_MAX:
        return markup, False
    data = np.frombuffer(markup.encode("utf-8", "replace"), np.uint8)
    tags = data == _LESS_THAN
    closing = np.count_nonzero(tags[:-1] & (data[1:] == _SLASH))
    if np.count_nonzero(tags) - 2 * closing <= NESTING_MAX:
        return markup, False
    depth = 0
    for tag in _TAG.finditer(markup):
        slash, name = tag.groups()
        if name.lower() in _FLAT:
            continue
        depth += -1 if slash and depth else 0 if slash else 1
        if depth > NESTING_MAX:
            return markup[: tag.start()], True
    return markup, False
