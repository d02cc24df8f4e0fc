"""Traps that show in a URL itself: depth, length, repetition, growth, calendar walks, session ids, facets.

Each guard refuses with its own reason and errs on the side of fetching: what slips through is stopped by the guards of
`shapes`, which judge by what the fetched pages brought. Thresholds stand beside the guard they belong to.
"""

from __future__ import annotations

from typing import Final

from gossamer.model.limits import SEED_URL_MAX_BYTES, URL_MAX_BYTES
from gossamer.model.reason import Reason
from gossamer.model.url import Url, name_of
from gossamer.policy.calendars import EVENT_WORDS, walks_calendar
from gossamer.policy.queries import SESSION_SEGMENTS, carries_session, has_many_facets, query_grows
from gossamer.policy.shapes import judge_duplicates, judge_hosts, judge_shape, shape_of, shapes_of

__all__ = ["judge_duplicates", "judge_hosts", "judge_shape", "shape_of", "shapes_of", "static_trap"]

REPEATS_MAX: Final = 2  # consecutive copies of a run of segments that are still honest: /a/b/a/b
NUMBER_REPEATS_MAX: Final = 4  # the same for numbers, which repeat in dates and tiles: /2011/11/11/11
PERIOD_MAX: Final = 8  # segments in a run that repeats
OCCURRENCES_MAX: Final = 4  # of one segment anywhere in a path
OWN_NAME_MAX: Final = 1  # of the host's own name as a segment: more come of href="www.example.com/..."
EMPTY_SEGMENTS_MAX: Final = 3  # "//" inside a path

_WORDS: Final = EVENT_WORDS | SESSION_SEGMENTS


def static_trap(
    url: Url, depth: int, depth_max: int, seed: bool, via: str | None, *, year_now: int
) -> Reason | None:  # fmt: skip
    """The first guard a URL falls to, judged without having fetched anything, or None.

    Args:
        url: what is about to be admitted.
        depth: links from the nearest seed.
        depth_max: `limits.depth`.
        seed: named by a person: only its length is judged.
        via: wire form of the page it was found on; None when there is none.
        year_now: the present year, in the Gregorian calendar.

    Returns:
        TRAP_DEPTH, URL_TOO_LONG, TRAP_REPEATED_SEGMENTS, TRAP_GROWING_QUERY, TRAP_CALENDAR, TRAP_SESSION, TRAP_FACETS
        or None. Time is linear in the length of the URL and of `via`.
    """
    if depth > depth_max:
        return Reason.TRAP_DEPTH
    if len(url.wire) > (SEED_URL_MAX_BYTES if seed else URL_MAX_BYTES):
        return Reason.URL_TOO_LONG
    if seed:
        return None
    path, _, query = url.canonical.partition("?")
    path = path[path.find("/", 8) :]  # from the slash after the host
    lowered = path.lower()
    segments = lowered[1:].split("/")
    surplus = len(segments) - len(set(segments))  # one copy matters only of the host's own name
    if surplus and (surplus > 1 or name_of(url.host) in segments) and repeats_segments(segments, name_of(url.host)):
        return Reason.TRAP_REPEATED_SEGMENTS
    pairs = query.split("&") if query else []
    # Nearly every link stops here: no query, and none of the words that the other guards look for.
    if not pairs and ";" not in lowered and "alend" not in lowered and _WORDS.isdisjoint(segments):
        return None
    if pairs and query_grows(url, path, query, pairs, via):
        return Reason.TRAP_GROWING_QUERY
    if walks_calendar(lowered, segments, pairs, year_now):
        return Reason.TRAP_CALENDAR
    if carries_session(lowered, segments, pairs):
        return Reason.TRAP_SESSION
    if pairs and has_many_facets(pairs):
        return Reason.TRAP_FACETS
    return None


def repeats_segments(segments: list[str], name: str) -> bool:
    """Whether a path repeats itself as only a relative link read against the wrong base does.

    Args:
        segments: of the path, in lower case; the last one is empty when the path ends with a slash.
        name: the host's.
    """
    if segments[:-1].count("") > EMPTY_SEGMENTS_MAX or ("." in name and segments.count(name) > OWN_NAME_MAX):
        return True
    filled = [segment for segment in segments if segment]
    counts: dict[str, int] = {}
    for segment in filled:
        counts[segment] = counts.get(segment, 0) + 1
    if max(counts.values(), default=0) <= REPEATS_MAX:
        return False
    if any(count > OCCURRENCES_MAX and not segment.isdigit() for segment, count in counts.items()):
        return True
    return any(_repeats_with(filled, period) for period in range(1, min(PERIOD_MAX, len(filled) // 3) + 1))


def _repeats_with(segments: list[str], period: int) -> bool:
    """Whether a run of `period` segments follows itself more often than is honest."""
    run = 0  # segments in a row that equal the one a period before
    for at in range(period, len(segments)):
        run = run + 1 if segments[at] == segments[at - period] else 0
        if run < REPEATS_MAX * period:
            continue
        numbers = all(segment.isdigit() for segment in segments[at - period + 1 : at + 1])
        if not numbers or run >= NUMBER_REPEATS_MAX * period:
            return True
    return False
