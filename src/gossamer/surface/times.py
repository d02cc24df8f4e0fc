"""Moments as people write them, and the stored copy that was current then."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from gossamer.model.errors import UsageError
from gossamer.model.view import Visit
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import shorten
from gossamer.surface.units import parse_duration

_ALLOWED: Final = '"2026-01-31", "2026-01-31T12:00:00Z", "20260131120000" or "3 days ago"'
_DAY_S: Final = 86_400
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC).timestamp()
_UNITS_S: Final = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": _DAY_S,
    "week": 7 * _DAY_S,
    "month": 30 * _DAY_S,
    "year": 365 * _DAY_S,
}


def parse_time(text: str, now: float, option: str = "--at", *, first: bool = False) -> float:
    """Unix seconds of a time in UTC: ISO 8601, 14 digits, or so long ago; a date means its last second.

    Args: the text; the present in unix seconds; the option to name in the UsageError for what is no time; `first`: a
    date means its first second.
    A month ago is 30 days ago, a year 365.
    """
    plain = text.strip().lower()
    try:
        if not plain.isascii():
            raise ValueError(text)
        if plain == "now":
            return now
        if plain.endswith("ago"):
            return max(now - _age(plain.removesuffix("ago").strip()), _EARLIEST)
        if plain.isdigit() and len(plain) == 14:
            return datetime.strptime(plain, "%Y%m%d%H%M%S").replace(tzinfo=UTC).timestamp()
        parsed = datetime.fromisoformat(plain.upper())
    except ValueError as error:
        raise UsageError(f'{option} "{shorten(text, 60)}" is not a time; it must be like {_ALLOWED}') from error
    if parsed.tzinfo is None:
        parsed = parsed.replace(tzinfo=UTC)
    is_date = len(plain) in {8, 10} and ":" not in plain
    return parsed.timestamp() + (_DAY_S - 1 if is_date and not first else 0)


def _age(text: str) -> float:
    """Seconds of "3 days", "an hour", "1 week 2 days" or a duration as in the configuration. Raises ValueError."""
    words = text.split()
    units = [_UNITS_S.get(word.removesuffix("s")) for word in words[1::2]]
    if not words or len(words) % 2 or None in units:
        return parse_duration(text)
    numbers = [1.0 if word in {"a", "an"} else parse_duration(word) for word in words[::2]]
    return sum(number * unit for number, unit in zip(numbers, units, strict=True) if unit is not None)


def choose(visits: Sequence[Visit], time: float | None) -> Visit:
    """Of copies, newest first, the newest, or the newest that is not after `time`. Raises UsageError when all are."""
    if time is None:
        return visits[0]
    for visit in visits:
        if int(visit.time) <= time:
            return visit
    raise UsageError(f"no copy was stored by {moment(time)}; the first is of {moment(visits[-1].time)}")
