"""Shapes: URLs that differ only in numbers and identifiers, judged by what their pages brought.

The growth of one shape is no trap while its pages are new; it is one when they stop being new. The counts are the
caller's; here is what belongs to one shape, and the verdicts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from gossamer.model.limits import SHAPE_MAX_CHARS
from gossamer.model.reason import Reason

# From so many pages on, at least this share must have brought new content. The longer a shape has run, the more is
# asked of it: a calendar or a sorting brings something at first, and less and less later.
SHAPE_THRESHOLDS: Final = ((50, 0.05), (200, 0.10), (1_000, 0.20))

# From so many pages on, at most this share of a host's pages may be copies of others.
DUPLICATE_THRESHOLDS: Final = ((100, 0.90), (1_000, 0.75))

# From so many hosts of a site on, at most this share of their first pages may be copies of others.
HOST_THRESHOLDS: Final = ((100, 0.50), (500, 0.33))

RUN_MIN: Final = 4  # variable segments in a row: a date and a number are four, map tiles three
_VARIABLE: Final = ("{n}", "{h}")

# Fixed classes, one greedy run each: time is linear, whatever the text.
_IDENTIFIER: Final = re.compile(
    r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"  # UUID, RFC 9562
    r"|(?<![0-9A-Za-z])[0-9A-Za-z]{8,}"  # a hash or a key, if it turns out to mix letters and digits
)
_NUMBER: Final = re.compile(r"[0-9]+")
_HEX: Final = frozenset("0123456789ABCDEFabcdef")
_KEY_MIN_CHARS: Final = 16  # letters beyond F with digits among them are an identifier from this length on,
_TURNS_MIN: Final = 4  # or when they are mixed like this


def shape_of(url: str) -> str:
    """The shape of a URL within its host: numbers become {n}, identifiers {h}; of a query only the names stay, sorted.

    Args:
        url: wire or canonical form.

    Returns:
        At most SHAPE_MAX_CHARS characters: "/archive/{n}/{n}/p?lang&page".
    """
    path, mark, query = url.partition("?")
    path = path[path.find("/", 8) :]  # from the slash after the host
    shape = _generalize(path)
    if mark:
        shape += "?" + "&".join(sorted({_generalize(pair.partition("=")[0]) for pair in query.split("&")}))
    return shape[:SHAPE_MAX_CHARS]


def shapes_of(url: str) -> tuple[str, ...]:
    """All shapes a URL is counted under: its own, with a query that of its path under any query, and that of its path
    at any depth when it has many variable segments in a row.

    Filters that combine make a shape for each combination, and folders without end one for each depth; under these,
    all of them are seen together.
    """
    shape = shape_of(url)
    path, mark, _ = shape.partition("?")
    shapes = (shape, f"{path}?*") if mark else (shape,)
    if path.count("/{") < RUN_MIN:
        return shapes
    deep = _any_depth(path)
    return shapes if deep == path else (*shapes, deep)


def judge_shape(fetched: int, new_content: int) -> Reason | None:
    """TRAP_SHAPE when the pages of one shape have stopped bringing new content, else None.

    Args:
        fetched: pages of the shape.
        new_content: those among them that were no copies, near-copies or not-found pages.
    """
    if any(fetched >= pages and new_content < share * fetched for pages, share in SHAPE_THRESHOLDS):
        return Reason.TRAP_SHAPE
    return None


def judge_duplicates(fetched: int, duplicates: int) -> Reason | None:
    """TRAP_DUPLICATES when nearly all pages of a host are copies of others, else None.

    Args:
        fetched: pages of the host.
        duplicates: exact and near copies among them.
    """
    if any(fetched >= pages and duplicates > share * fetched for pages, share in DUPLICATE_THRESHOLDS):
        return Reason.TRAP_DUPLICATES
    return None


def judge_hosts(fronts: int, copied: int) -> Reason | None:
    """TRAP_HOSTS when the hosts of a site show one another's pages, as under a wildcard name, else None.

    Args:
        fronts: hosts of the site of which a page was fetched.
        copied: those whose first page was an exact or near copy.
    """
    if any(fronts >= hosts and copied > share * fronts for hosts, share in HOST_THRESHOLDS):
        return Reason.TRAP_HOSTS
    return None


def _any_depth(path: str) -> str:
    """A path of a shape with every long run of variable segments as one: "/a/{n}/{n}/{h}/{n}/z" is "/a/{*}/z"."""
    kept: list[str] = []
    run: list[str] = []
    for segment in (*path.split("/"), ""):
        if segment in _VARIABLE:
            run.append(segment)
            continue
        kept += ["{*}"] if len(run) >= RUN_MIN else run
        run = []
        kept.append(segment)
    return "/".join(kept[:-1])


def _generalize(text: str) -> str:
    if not _NUMBER.search(text):
        return text
    return _NUMBER.sub("{n}", _IDENTIFIER.sub(_identifier, text))


def _identifier(found: re.Match[str]) -> str:
    token = found[0]
    if token.isdigit() or token.isalpha():
        return token
    if len(token) >= _KEY_MIN_CHARS or _HEX.issuperset(token) or _turns(token) >= _TURNS_MIN:
        return "{h}"
    return token


def _turns(token: str) -> int:
    """How often letters and digits follow each other: random keys mix them, names with a number hardly."""
    return sum(1 for left, right in pairwise(token) if left.isdigit() != right.isdigit())
