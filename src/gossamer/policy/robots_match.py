"""Matching a request target against robots.txt patterns in linear time, without regular expressions on patterns.

Here: normalising patterns and targets (RFC 9309 section 2.2.2), and the index that finds the longest match.
Not here: reading the file and choosing the group; see `robots`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from gossamer.model.limits import ROBOTS_WILDCARD_BYTES_MAX

# Single characters and fixed-length escapes only, so both expressions are linear on any input.
_ODD: Final = re.compile(r"[^!&'()+,\-./0-9:;=?@A-Z\[\]_a-z~]")
_RESPELL: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^!#%&'()+,\-./0-9:;=?@A-Z\[\]_a-z~*]")
_RESPELL_TARGET: Final = re.compile(r"%[0-9A-Fa-f]{2}|[^!#%&'()+,\-./0-9:;=?@A-Z\[\]_a-z~]")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_HEX: Final = "0123456789abcdefABCDEF"
_ESCAPES: Final = {
    f"%{a}{b}": char if (char := chr(int(a + b, 16))) in _UNRESERVED else f"%{a}{b}".upper() for a in _HEX for b in _HEX
}


class RobotsVerdict(msgspec.Struct, frozen=True):
    """Whether a target may be fetched, and which line of robots.txt says so."""

    allowed: bool
    line: int = 0  # 1-based; 0: no line applies
    rule: str = ""  # "Disallow: /private", as written
    agent: str = ""  # the group that applies: our product token, "*", or "" when none does


class Rule(NamedTuple):
    """One Allow or Disallow line of the group that applies."""

    pattern: str  # normalised: see `normal_pattern`
    anchored: bool  # the pattern ended in `$`
    verdict: RobotsVerdict


class _Wild(NamedTuple):
    """A pattern with `*` inside: prefix, then each middle part in order, then the tail at the very end."""

    rank: int
    prefix: str
    middles: tuple[str, ...]
    tail: str | None  # None: not anchored
    verdict: RobotsVerdict


def _respell(match: re.Match[str]) -> str:
    """The one form of an escape, or the escape of a character that a URI may not contain."""
    found = match[0]
    known = _ESCAPES.get(found)
    if known is not None:
        return known
    return "".join(f"%{byte:02X}" for byte in found.encode("utf-8", "surrogatepass"))


def normal_target(target: str) -> str:
    """The one spelling of a request target (path and query) for comparison.

    Escapes of unreserved characters are undone, other escapes upper-cased, everything a URI may not contain is
    escaped, and so are `*` and `$`, which are operators only in patterns (RFC 9309 section 2.2.3).
    """
    return _RESPELL_TARGET.sub(_respell, target) if _ODD.search(target) else target


def normal_pattern(pattern: str) -> tuple[str, bool]:
    """The one spelling of a pattern, without its closing `$`, and whether it had one. `*` stays an operator."""
    anchored = pattern.endswith("$")
    if anchored:
        pattern = pattern[:-1]
    return (_RESPELL.sub(_respell, pattern) if _ODD.search(pattern) else pattern), anchored


class Matcher:
    """The rules of one group, indexed. The longest pattern wins; between equally long ones, Allow.

    Patterns without `*` are found by bisection, so a group of thousands of them costs what ten cost. Patterns with
    `*` are tried from the longest down; their parts after the first `*` are limited to
    ROBOTS_WILDCARD_BYTES_MAX in all, which bounds one decision. Past that bound a Disallow is cut before its first
    `*` (stricter) and an Allow is dropped (stricter too).
    """

    __slots__ = ("_best", "_exact", "_keys", "_parent", "_wild")

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Index `rules`, in file order."""
        prefixes: dict[str, tuple[int, RobotsVerdict]] = {}
        self._exact: dict[str, tuple[int, RobotsVerdict]] = {}
        self._wild: list[_Wild] = []
        budget = ROBOTS_WILDCARD_BYTES_MAX
        for rule in rules:
            rank = _rank(rule)
            prefix, star, rest = rule.pattern.partition("*")
            if star and not rule.anchored and not rest.strip("*"):
                star = ""  # `/a*` matches what `/a` matches
            if not star:
                _keep(self._exact if rule.anchored else prefixes, prefix, rank, rule.verdict)
                continue
            parts = tuple(part for part in rest.split("*") if part)
            budget -= sum(map(len, parts)) + len(parts) + 1
            if budget >= 0:
                self._wild.append(_wild(rank, prefix, parts, rule))
            elif not rule.verdict.allowed:
                _keep(prefixes, prefix, rank, rule.verdict)
        self._wild.sort(key=lambda wild: -wild.rank)
        self._keys = sorted(prefixes)
        self._parent, self._best = _chain(self._keys, prefixes)

    def find(self, target: str) -> RobotsVerdict | None:
        """The verdict of the rule that wins for a normalised target, or None when no rule matches."""
        rank, verdict = -1, None
        at = bisect_right(self._keys, target) - 1
        while at >= 0:
            if target.startswith(self._keys[at]):
                rank, verdict = self._best[at]
                break
            at = self._parent[at]
        exact = self._exact.get(target)
        if exact is not None and exact[0] > rank:
            rank, verdict = exact
        for wild in self._wild:
            if wild[0] <= rank:
                break
            if target.startswith(wild[1]) and _matches(wild, target):
                return wild[4]
        return verdict


def _rank(rule: Rule) -> int:
    """Octets of the pattern, `$` included, doubled; Allow is one higher, so that it wins a tie."""
    return 2 * (len(rule.pattern) + rule.anchored) + rule.verdict.allowed


def _keep(table: dict[str, tuple[int, RobotsVerdict]], key: str, rank: int, verdict: RobotsVerdict) -> None:
    """Enter a rule unless one of at least its rank has the same key."""
    held = table.get(key)
    if held is None or held[0] < rank:
        table[key] = (rank, verdict)


def _wild(rank: int, prefix: str, parts: tuple[str, ...], rule: Rule) -> _Wild:
    """Split off the tail that an anchored pattern must end with."""
    if not rule.anchored:
        return _Wild(rank, prefix, parts, None, rule.verdict)
    if not parts or rule.pattern.endswith("*"):
        return _Wild(rank, prefix, parts, "", rule.verdict)
    return _Wild(rank, prefix, parts[:-1], parts[-1], rule.verdict)


def _matches(wild: _Wild, target: str) -> bool:
    """Whether the parts follow the prefix in order. Taking each at its leftmost place never misses a match."""
    _, prefix, middles, tail, _ = wild
    at = len(prefix)
    for part in middles:
        at = target.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return tail is None or (target.endswith(tail) and len(target) - len(tail) >= at)


def _chain(
    keys: list[str], prefixes: dict[str, tuple[int, RobotsVerdict]]
) -> tuple[list[int], list[tuple[int, RobotsVerdict]]]:
    """Link each sorted key to the longest other key that is its prefix (-1: none), and to the best rule of both.

    "Best" is of the highest rank among the key's own rule and those of all its prefixes.
    """
    parents: list[int] = []
    best: list[tuple[int, RobotsVerdict]] = []
    stack: list[int] = []
    for index, key in enumerate(keys):
        while stack and not key.startswith(keys[stack[-1]]):
            stack.pop()
        parent = stack[-1] if stack else -1
        own = prefixes[key]
        parents.append(parent)
        best.append(own if parent < 0 or own[0] > best[parent][0] else best[parent])
        stack.append(index)
    return parents, best
