"""Dates as the web writes them, to Unix seconds.

Here: HTTP dates (RFC 9110 section 5.6.7), the mail dates of RSS (RFC 822 and 5322), and W3C date-times (ISO 8601, as
in sitemaps and Atom). Pure, bounded, never raises: what is not a date is None.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

TEXT_MAX_CHARS: Final = 64  # no date is longer
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_ZONES: Final = {"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
_UTC_NAMES: Final = frozenset({"", "Z", "UT", "UTC", "GMT"})


def http_date(text: str) -> float | None:
    """Unix seconds of an HTTP or mail date: IMF-fixdate, RFC 850, asctime, RFC 822 with any zone. None: no date."""
    words = text[:TEXT_MAX_CHARS].replace(",", " ").replace("-", " -").split() if len(text) <= TEXT_MAX_CHARS else []
    clock = next((at for at, word in enumerate(words) if ":" in word), -1)
    if clock < 1:
        return None
    before = [word.strip("-") for word in words[:clock]]
    if before and not before[0][:1].isdigit() and before[0][:3].lower() not in _MONTHS:
        before = before[1:]  # the day of the week
    after = [word for word in words[clock + 1 :] if word]
    year = before[2] if len(before) == 3 else ""
    if len(before) == 2 and after and len(after[-1]) == 4 and after[-1].isdecimal():
        year = after.pop()  # asctime: the year comes last, and the zone is UTC
        before = [before[1], before[0]]
        after = after or ["GMT"]
    if len(year) not in {2, 4} or not (
        year.isascii() and year.isdecimal() and before[0].isascii() and before[0].isdecimal()
    ):
        return None
    month = _MONTHS.get(before[1][:3].lower())
    offset = _offset(after[0]) if after else None  # a time without a zone is anywhere within a day
    if month is None or offset is None:
        return None
    return _unix((_full_year(year), month, int(before[0][:2])), words[clock], offset)


def w3c_date(text: str) -> float | None:
    """Unix seconds of a W3C date-time: YYYY, YYYY-MM, YYYY-MM-DD, or with a time and zone (UTC when it has none)."""
    text = text.strip()
    if not text or len(text) > TEXT_MAX_CHARS or not text.isascii():
        return None
    date, _, rest = text.upper().replace(" ", "T", 1).partition("T")
    numbers = date.split("-")
    if len(numbers) > 3 or len(numbers[0]) != 4 or not all(part.isdecimal() and len(part) <= 4 for part in numbers):
        return None
    year, month, day = (*map(int, numbers), 1, 1)[:3]
    clock, zone = _split_zone(rest.strip())
    offset = _offset(zone)
    return None if offset is None else _unix((year, month, day), clock or "00:00", offset)


def _split_zone(text: str) -> tuple[str, str]:
    """Time of day and zone of the part after the `T`."""
    for mark in ("Z", "+", "-"):
        at = text.find(mark)
        if at >= 0:
            return text[:at].strip(), text[at:].strip()
    return text, ""


def _full_year(year: str) -> int:
    """A year, of which RFC 850 and RFC 822 wrote two digits: 70 and later are of the last century."""
    number = int(year)
    return number if len(year) != 2 else number + (1900 if number >= 70 else 2000)


def _offset(zone: str) -> timedelta | None:
    """Offset of a zone from UTC: a name, `+0100`, `+01:00` or `-07`."""
    name = zone.upper().strip("()")
    if name in _UTC_NAMES:
        return timedelta(0)
    if name in _ZONES:
        return timedelta(hours=_ZONES[name])
    digits = name[1:].replace(":", "")
    if name[0] not in "+-" or len(digits) not in {2, 4} or not (digits.isascii() and digits.isdecimal()):
        return None
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or "0"))
    return -size if name[0] == "-" else size


def _unix(day: tuple[int, int, int], clock: str, offset: timedelta) -> float | None:
    """Unix seconds of a date, a time of day (`HH:MM[:SS[.fraction]]`) and an offset."""
    whole, _, fraction = clock.replace(",", ".").partition(".")
    parts = whole.split(":")
    if not 2 <= len(parts) <= 3 or not all(p.isascii() and p.isdecimal() and len(p) <= 2 for p in parts):
        return None
    if fraction and not (fraction.isascii() and fraction.isdecimal()):
        return None
    hour, minute, second = (*map(int, parts), 0)[:3]
    try:
        zone = timezone(offset) if offset else UTC
        moment = datetime(*day, hour, minute, min(second, 59), tzinfo=zone)  # 60: a leap second
        return moment.timestamp() + float(f"0.{fraction or 0}")
    except (ValueError, OverflowError):
        return None
