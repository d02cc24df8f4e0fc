"""A bound on how deep markup nests, before the parser sees it.

The HTML standard's tree construction looks down the stack of open elements at most tags, so time grows with the square
of the depth: 100,000 nested elements take the engine 20 s. Browsers stop nesting at about 500.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice
from typing import Final

import numpy as np

from gossamer.model.limits import NESTING_MAX

_TAG: Final = re.compile(r"</?[a-zA-Z][a-zA-Z0-9]{0,20}")  # linear: no part of it can match in two ways
_CHUNK_CHARS: Final = 1 << 20  # of markup whose tags are listed at once
_LESS_THAN: Final = 0x3C
_SLASH: Final = 0x2F
# No content, or closed by the next one of their kind: they don't nest.
_FLAT: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd option optgroup tr td th thead "
    "tbody tfoot html head body frame basefont bgsound".split()
)


# Elements that a closing tag of another name outside them does not reach through (HTML standard, "has an element in
# scope"), and foreign content, in which such elements are: what they hold is counted apart.
_WALLS: Final = frozenset("applet caption marquee math object select svg table template".split())


def bounded(markup: str, body: bytes) -> tuple[str, bool]:
    """The markup up to where it nests deeper than NESTING_MAX elements, and whether anything was cut off.

    Args: the text of a document, and the bytes it was decoded from. In no encoding of the web is "<" made of anything
    but a byte 0x3C, so these bound the number of tags. Numpy counts them six times as fast as `str.count` does.
    Costs that count for a page with fewer tags, two passes more for one with fewer that open something; only others
    are looked at tag by tag.
    """
    if np.count_nonzero(np.frombuffer(body, np.uint8) == _LESS_THAN) <= NESTING_MAX:
        return markup, False
    data = np.frombuffer(markup.encode("utf-8", "replace"), np.uint8)
    if np.count_nonzero((data[:-1] == _LESS_THAN) & (data[1:] != _SLASH)) <= NESTING_MAX:
        return markup, False
    at = _too_deep(markup)
    return (markup, False) if at is None else (markup[:at], True)


def _too_deep(markup: str) -> int | None:
    """Where the tag stands that opens one element too many; None when there is none.

    Never less deep than the parser: a closing tag counts only where its element may be open, and takes no other along.
    """
    depth = start = 0
    held: defaultdict[int, int] = defaultdict(int)  # elements open since the last wall, by code
    walls: list[tuple[int, defaultdict[int, int]]] = []  # open ones, and what was open before each
    codes = _Codes()
    while start < len(markup):
        end = markup.find("<", start + _CHUNK_CHARS)
        end = len(markup) if end < 0 else end
        for number, code in enumerate(map(codes.__getitem__, _TAG.findall(markup, start, end))):
            if code > 0:
                depth += 1
                if depth > NESTING_MAX:
                    return next(islice(_TAG.finditer(markup, start, end), number, None)).start()
                if code > len(_WALLS):
                    held[code] += 1
                else:
                    walls.append((code, held))
                    held = defaultdict(int)
            elif code < 0:
                if held[-code]:
                    held[-code] -= 1
                    depth -= 1
                elif walls and walls[-1][0] == -code:
                    depth -= 1 + sum(held.values())
                    held = walls.pop()[1]
        start = end
    return None


class _Codes(dict[str, int]):
    """A number for what a tag, as it is written, opens; less than nought when it closes it; 0 when that does not nest.

    The walls have the first numbers.
    """

    def __init__(self) -> None:
        self._numbers = {name: number for number, name in enumerate(_WALLS, 1)}

    def __missing__(self, tag: str) -> int:
        name = tag.lstrip("</").lower()
        number = 0 if name in _FLAT else self._numbers.setdefault(name, len(self._numbers) + 1)
        self[tag] = code = -number if tag[1] == "/" else number
        return code
