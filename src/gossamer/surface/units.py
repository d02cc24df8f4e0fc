"""Durations and sizes: read from text exactly, written so that they read back equal, and shorter forms for people."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Final

SECONDS: Final = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "m": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
    "w": Decimal(604800),
}
BYTES: Final = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
DURATION_ALLOWED: Final = 'seconds as a number, or text such as "500ms", "1s", "10m", "2h", "1h30m", "90d", "4w"'
SIZE_ALLOWED: Final = 'bytes as a whole number, or text such as "512KiB", "10MiB", "1GiB", "5MB"'

_TEXT_MAX_CHARS: Final = 40
_FOLDED_BYTES: Final = {name.lower(): factor for name, factor in BYTES.items()}


def _split(text: str) -> list[tuple[str, str]]:
    """Cut "1h30m" into [("1", "h"), ("30", "m")]. Raises ValueError when the text is not of that form."""
    parts: list[tuple[str, str]] = []
    number = unit = ""
    for char in text:
        if char in "0123456789.":
            if unit:
                parts.append((number, unit))
                number = unit = ""
            number += char
        elif char.isascii() and char.isalpha() and number:
            unit += char
        elif char != " " or not number:
            raise ValueError(text)
    if not number:
        raise ValueError(text)
    return [*parts, (number, unit)]


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise ValueError(text) from error


def parse_duration(text: str) -> float:
    """Seconds of a duration such as "500ms" or "1h30m"; a bare number is seconds.

    Raises ValueError when the text is no duration.
    """
    if len(text) > _TEXT_MAX_CHARS:
        raise ValueError(text)
    total = Decimal(0)
    parts = _split(text.strip())
    for number, unit in parts:
        if unit not in SECONDS and (unit or len(parts) > 1):
            raise ValueError(text)
        total += _decimal(number) * (SECONDS[unit] if unit else 1)
    return float(total)


def parse_size(text: str) -> int:
    """Bytes of a size such as "10MiB" (2^20) or "5MB" (10^6); a bare number is bytes. Units may be in any case.

    Raises ValueError when the text is no size or not a whole number of bytes.
    """
    if len(text) > _TEXT_MAX_CHARS:
        raise ValueError(text)
    parts = _split(text.strip())
    if len(parts) != 1:
        raise ValueError(text)
    number, unit = parts[0]
    factor = _FOLDED_BYTES.get(unit.lower()) if unit else 1
    if factor is None:
        raise ValueError(text)
    value = _decimal(number) * factor
    if value != value.to_integral_value():
        raise ValueError(text)
    return int(value)


def write_duration(seconds: float) -> str:
    """The text that `parse_duration` reads back as exactly `seconds`, in the largest unit that divides it."""
    exact = Decimal(repr(seconds))
    for unit in ("w", "d", "h", "m", "s", "ms"):
        value = exact / SECONDS[unit]
        if value == value.to_integral_value() and (value or unit == "s"):
            return f"{int(value)}{unit}"
    return f"{exact:f}s"


def write_size(count: int) -> str:
    """The text that `parse_size` reads back as exactly `count` bytes, in the largest binary unit that divides it."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if count and count % BYTES[unit] == 0:
            return f"{count // BYTES[unit]}{unit}"
    return f"{count}B"


def show_size(count: float) -> str:
    """Bytes for people: three figures and a binary unit ("1.21 GiB")."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1023.5:
            return f"{value:.0f} B" if unit == "B" else f"{_figures(value)} {unit}"
        value /= 1024
    return f"{_figures(value)} TiB"


def show_count(count: float) -> str:
    """A number for people: exact with thin groups below a million, "1.24 M" beyond."""
    if abs(count) < 1_000_000:
        return f"{count:,.0f}"
    for unit, factor in (("M", 1e6), ("G", 1e9), ("T", 1e12)):
        if abs(count) < 999.5 * factor or unit == "T":
            return f"{_figures(count / factor)} {unit}"
    raise AssertionError(count)


def plural(count: int, noun: str) -> str:
    """A count with its noun: "1 error", "2 errors"."""
    return f"{show_count(count)} {noun}" + ("" if count == 1 else "s")


def show_rate(rate: float) -> str:
    """A rate for people: more decimals where it is small."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"


def show_duration(seconds: float) -> str:
    """Seconds for people: the two largest units ("1 h 05 m", "12.3 s", "80 ms")."""
    if seconds < 0:
        return "-" + show_duration(-seconds)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms" if seconds else "0 s"
    if seconds < 59.95:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} m {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02d} m"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours:02d} h"


def _figures(value: float) -> str:
    return f"{value:.2f}" if abs(value) < 9.995 else f"{value:.1f}" if abs(value) < 99.95 else f"{value:.0f}"
