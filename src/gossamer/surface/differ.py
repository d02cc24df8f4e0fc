"""What two sequences of lines or words have in common, in bounded time whatever they are.

Patience diff (Bram Cohen, 2003: what occurs once in both anchors the rest) and, between anchors and for short texts,
Myers' shortest edit script ("An O(ND) Difference Algorithm and Its Variations", 1986). Both have worst cases that a
page can be made to hit, so the work is counted: once it is used up, what is left counts as replaced.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

SHORT_MAX: Final = 256  # tokens of both sides together that are compared by Myers at once
EDITS_MAX: Final = 256  # edits that Myers looks for in a region; its time and memory grow with the square
WORK_PER_TOKEN: Final = 12
WORK_BASE: Final = 500_000

_Region = tuple[int, int, int, int]  # a from, a to, b from, b to
_Run = tuple[int, int, int]  # a at, b at, length: equal tokens


class Change(NamedTuple):
    """One step from `a` to `b`: a[a_start:a_end] stands where b[b_start:b_end] will stand."""

    tag: Literal["equal", "delete", "insert", "replace"]
    a_start: int
    a_end: int
    b_start: int
    b_end: int


def changes(a: Sequence[str], b: Sequence[str]) -> list[Change]:
    """The steps that make `b` of `a`, in order and without gaps; empty when both are."""
    out: list[Change] = []
    at_a = at_b = 0
    for start_a, start_b, length in [*_Differ(a, b).runs(), (len(a), len(b), 0)]:
        if at_a < start_a or at_b < start_b:
            tag: Literal["delete", "insert", "replace"] = (
                "insert" if at_a == start_a else "delete" if at_b == start_b else "replace"
            )
            out.append(Change(tag, at_a, start_a, at_b, start_b))
        at_a, at_b = start_a + length, start_b + length
        if length:
            out.append(Change("equal", start_a, at_a, start_b, at_b))
    return out


class _Differ:
    """One comparison: tokens as numbers, and the work that is left."""

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        numbers: dict[str, int] = {}
        self._a = [numbers.setdefault(token, len(numbers)) for token in a]
        self._b = [numbers.setdefault(token, len(numbers)) for token in b]
        self._work = WORK_PER_TOKEN * (len(a) + len(b)) + WORK_BASE

    def runs(self) -> list[_Run]:
        """Runs of equal tokens, ascending on both sides, adjoining ones made one."""
        found: list[_Run] = []
        regions: list[_Region] = [(0, len(self._a), 0, len(self._b))]
        while regions:
            region = self._stripped(regions.pop(), found)
            a_from, a_to, b_from, b_to = region
            size = a_to - a_from + b_to - b_from
            if a_from == a_to or b_from == b_to or self._work <= 0:
                continue
            self._work -= size
            if size <= SHORT_MAX:
                found += self._shortest(region)
                continue
            anchors = self._anchors(region)
            if not anchors:
                found += self._shortest(region)
                continue
            for place, (at_a, at_b) in enumerate([*anchors, (a_to, b_to)]):
                before_a, before_b = anchors[place - 1] if place else (a_from, b_from)
                regions.append((before_a, at_a, before_b, at_b))
        return _joined(found)

    def _stripped(self, region: _Region, found: list[_Run]) -> _Region:
        """The region without the equal tokens at its ends, which go to `found`."""
        a, b = self._a, self._b
        a_from, a_to, b_from, b_to = region
        start = a_from
        while a_from < a_to and b_from < b_to and a[a_from] == b[b_from]:
            a_from, b_from = a_from + 1, b_from + 1
        if a_from > start:
            found.append((start, b_from - (a_from - start), a_from - start))
        end = a_to
        while a_from < a_to and b_from < b_to and a[a_to - 1] == b[b_to - 1]:
            a_to, b_to = a_to - 1, b_to - 1
        if a_to < end:
            found.append((a_to, b_to, end - a_to))
        return a_from, a_to, b_from, b_to

    def _anchors(self, region: _Region) -> list[tuple[int, int]]:
        """Places of tokens that occur once on each side: the longest choice that ascends on both."""
        a_from, a_to, b_from, b_to = region
        once_a, once_b = _once(self._a, a_from, a_to), _once(self._b, b_from, b_to)
        tops: list[int] = []  # b of the last pair of the best choice of each length
        last: list[int] = []  # and the index of that pair
        pairs: list[tuple[int, int, int]] = []  # a, b, index of the pair before it
        for token, at_a in once_a.items():
            at_b = once_b.get(token, -1)
            if at_a < 0 or at_b < 0:
                continue
            length = bisect_left(tops, at_b)
            pairs.append((at_a, at_b, last[length - 1] if length else -1))
            tops[length : length + 1] = [at_b]
            last[length : length + 1] = [len(pairs) - 1]
        chosen: list[tuple[int, int]] = []
        at = last[-1] if last else -1
        while at >= 0:
            at_a, at_b, at = pairs[at]
            chosen.append((at_a, at_b))
        return chosen[::-1]

    def _shortest(self, region: _Region) -> list[_Run]:
        """Equal tokens of the shortest way from one side to the other; none when it is longer than EDITS_MAX."""
        a, b = self._a, self._b
        a_from, a_to, b_from, b_to = region
        width, height = a_to - a_from, b_to - b_from
        reach = {1: 0}  # diagonal -> furthest place in a
        trail: list[dict[int, int]] = []
        for edits in range(min(EDITS_MAX, width + height) + 1):
            if self._work <= 0:
                return []
            trail.append(dict(reach))
            self._work -= edits + 1
            for diagonal in range(-edits, edits + 1, 2):
                down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
                x = start = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
                y = x - diagonal
                while x < width and y < height and a[a_from + x] == b[b_from + y]:
                    x, y = x + 1, y + 1
                self._work -= x - start
                reach[diagonal] = x
                if x == width and y == height:
                    return _way_back(trail, width, height, a_from, b_from)
        return []


def _way_back(trail: list[dict[int, int]], x: int, y: int, a_from: int, b_from: int) -> list[_Run]:
    runs: list[_Run] = []
    for edits in range(len(trail) - 1, -1, -1):
        reach, diagonal = trail[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
        before = diagonal + 1 if down else diagonal - 1
        before_x = reach[before] if edits else 0
        before_y = before_x - before if edits else 0
        start = (before_x if down else before_x + 1) if edits else 0
        if x > start:
            runs.append((a_from + start, b_from + y - (x - start), x - start))
        x, y = before_x, before_y
    return runs


def _once(tokens: list[int], start: int, end: int) -> dict[int, int]:
    """Token -> its place, or -1 when it occurs more than once; in order of first occurrence."""
    places: dict[int, int] = {}
    for at in range(start, end):
        token = tokens[at]
        places[token] = -1 if token in places else at
    return places


def _joined(runs: list[_Run]) -> list[_Run]:
    out: list[_Run] = []
    for run in sorted(runs):
        if out and out[-1][0] + out[-1][2] == run[0] and out[-1][1] + out[-1][2] == run[1]:
            out[-1] = (out[-1][0], out[-1][1], out[-1][2] + run[2])
        else:
            out.append(run)
    return out
