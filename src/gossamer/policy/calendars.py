"""Calendar walks: links to the next month, and the next, for ever. Recognised by years no page is about.

A number alone is no year: it counts as one under a calendar's word, beside a month, in a written date, or as the value
of a parameter that is called one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

CALENDAR_AHEAD_YEARS: Final = 2  # a calendar of events is kept that far
CALENDAR_FIRST_YEAR: Final = 1500  # newspapers of long ago are leafed through by calendar
DATE_AHEAD_YEARS: Final = 5  # a full date where nothing else says calendar
YEAR_AHEAD_YEARS: Final = 100  # a year alone: projections reach that far

EVENT_WORDS: Final = frozenset({
    "agenda", "day", "event", "events", "evenements", "eventos", "month", "schedule", "tribe-events", "veranstaltungen",
    "week", "year",
})  # fmt: skip
_MONTH_NAMES: Final = frozenset({
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec", "january", "february", "march",
    "april", "june", "july", "august", "september", "october", "november", "december",
})  # fmt: skip
_YEAR_PARAMETERS: Final = frozenset({"ano", "anno", "annee", "jahr", "yr", "yy", "yyyy"})
_DATE_PARAMETERS: Final = frozenset({
    "cal", "d", "datum", "day", "dt", "fecha", "ical", "mes", "mois", "monat", "month", "week",
})  # fmt: skip
_YEAR_MAX_CHARS: Final = 9  # longer digits are an identifier
_OPEN_ENDS: Final = ("end", "exp", "to", "until", "max")  # 9999-12-31 means "no end" there


def walks_calendar(path: str, segments: list[str], pairs: list[str], year_now: int) -> bool:
    """Whether a URL names a year that only a walk through a calendar reaches.

    Args:
        path: in lower case.
        segments: of it.
        pairs: of the canonical query.
        year_now: the present year.
    """
    calendar = _says_calendar(path)
    eventful = calendar or not EVENT_WORDS.isdisjoint(segments)
    first = CALENDAR_FIRST_YEAR if calendar else 0
    if eventful and any(not first <= year <= year_now + CALENDAR_AHEAD_YEARS for year in _path_years(segments)):
        return True
    if not pairs:
        return False
    return any(
        not first <= year <= year_now + (CALENDAR_AHEAD_YEARS if eventful else ahead)
        for year, ahead in _query_years(pairs)
    )


def _path_years(segments: list[str]) -> Iterator[int]:
    """Written dates, years with a month after them, and years right under a calendar's own word."""
    before = ""
    for at, segment in enumerate(segments):
        year = _written_year(segment)
        if year is not None:
            yield year
        elif len(segment) == 4 and segment.isdigit():
            after = segments[at + 1] if at + 1 < len(segments) else ""
            if _is_month(after) or _says_calendar(before):
                yield int(segment)
        before = segment


def _query_years(pairs: list[str]) -> Iterator[tuple[int, int]]:
    """Years and dates among the parameters, each with how many years ahead of us it may lie."""
    for pair in pairs:
        name, _, value = pair.partition("=")
        if len(value) < 4 or not value[:4].isdigit():
            continue
        name = name.lower()
        if name in _YEAR_PARAMETERS or name.startswith("year") or name.endswith("year"):
            if value.isdigit() and len(value) <= _YEAR_MAX_CHARS:
                beside_month = any(other.partition("=")[0].lower() in _DATE_PARAMETERS for other in pairs)
                yield int(value), CALENDAR_AHEAD_YEARS if beside_month else YEAR_AHEAD_YEARS
        elif name in _DATE_PARAMETERS or ("date" in name and not any(word in name for word in _OPEN_ENDS)):
            year = _written_year(value)
            if year is not None:
                yield year, DATE_AHEAD_YEARS


def _written_year(text: str) -> int | None:
    """The year of 2099-05, 2099-05-01 (or with dots), 209905 and 20990501, or None."""
    if len(text) < 6 or not text[:4].isdigit():
        return None
    rest = text[4:]
    if rest[0] in "-.":
        rest = rest[1:]
    elif len(text) not in {6, 8}:
        return None
    month, day = rest[:2], rest[2:].lstrip("-.")[:2]
    if not (month.isdigit() and len(month) == 2 and 1 <= int(month) <= 12):
        return None
    if day and not (day.isdigit() and 1 <= int(day) <= 31):
        return None
    return int(text[:4])


def _is_month(segment: str) -> bool:
    return segment in _MONTH_NAMES or (len(segment) == 2 and segment.isdigit() and 1 <= int(segment) <= 12)


def _says_calendar(text: str) -> bool:
    """Calendar, calendario, calendrier, kalender."""
    return "calend" in text or "kalend" in text
