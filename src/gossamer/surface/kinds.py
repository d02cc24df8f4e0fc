"""Kinds of configuration values: how each is read from TOML, what is allowed, how it is written back.

A kind never coerces: text is not a number, a boolean is not a whole number, and an unknown word is not a default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from gossamer.surface import checks, units

_NONE: Final = '"none"'  # TOML has no null


class BadValueError(Exception):
    """A value that a kind refuses. Its text, if any, says what is wrong with this value in particular."""


class Kind(Protocol):
    """One kind of value."""

    @property
    def allowed(self) -> str:
        """What is allowed, as the end of the sentence "it must be ..."."""
        ...

    def read(self, value: object) -> object:
        """The value for the configuration. Raises BadValueError."""
        ...

    def write(self, value: object) -> str:
        """TOML text that reads back equal."""
        ...


def quote(text: str) -> str:
    """A TOML basic string of any text without lone surrogates."""
    out = ['"']
    for char in text:
        code = ord(char)
        if char in '"\\':
            out.append("\\" + char)
        elif code < 0x20 or 0x7F <= code < 0xA0 or code in {0x2028, 0x2029, 0xFEFF}:
            out.append(f"\\u{code:04X}")
        else:
            out.append(char)
    return "".join([*out, '"'])


class Whole(msgspec.Struct, frozen=True):
    """A whole number in a range; with `none`, the word "none" lifts the limit."""

    low: int
    high: int
    none: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"a whole number from {self.low} to {self.high}" + (', or "none"' if self.none else "")

    def read(self, value: object) -> object:
        """The number."""
        if self.none and value == "none":
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise BadValueError
        return value

    def write(self, value: object) -> str:
        """The number."""
        return _NONE if value is None else str(value)


class Number(msgspec.Struct, frozen=True):
    """A number in a range."""

    low: float
    high: float

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"a number from {self.low:g} to {self.high:g}"

    def read(self, value: object) -> object:
        """The number as a float."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise BadValueError
        return float(value)

    def write(self, value: object) -> str:
        """The shortest text that reads back as the same float."""
        return repr(value)


class Duration(msgspec.Struct, frozen=True):
    """Seconds in a range."""

    low_s: float
    high_s: float
    none: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed."""
        span = f"from {units.write_duration(self.low_s)} to {units.write_duration(self.high_s)}"
        return f"a duration {span}: {units.DURATION_ALLOWED}" + (', or "none"' if self.none else "")

    def read(self, value: object) -> object:
        """Seconds."""
        if self.none and value == "none":
            return None
        if isinstance(value, str):
            try:
                value = units.parse_duration(value)
            except ValueError as error:
                raise BadValueError from error
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise BadValueError
        if not self.low_s <= value <= self.high_s:
            raise BadValueError
        return float(value)

    def write(self, value: object) -> str:
        """Text with a unit."""
        return _NONE if value is None else quote(units.write_duration(float(str(value))))


class Size(msgspec.Struct, frozen=True):
    """Bytes in a range."""

    low: int
    high: int
    none: bool = False

    @property
    def allowed(self) -> str:
        """What is allowed."""
        span = f"from {units.write_size(self.low)} to {units.write_size(self.high)}"
        return f"a size {span}: {units.SIZE_ALLOWED}" + (', or "none"' if self.none else "")

    def read(self, value: object) -> object:
        """Bytes."""
        if self.none and value == "none":
            return None
        if isinstance(value, str):
            try:
                value = units.parse_size(value)
            except ValueError as error:
                raise BadValueError from error
        if isinstance(value, bool) or not isinstance(value, int) or not self.low <= value <= self.high:
            raise BadValueError
        return value

    def write(self, value: object) -> str:
        """Text with a unit."""
        return _NONE if value is None else quote(units.write_size(int(str(value))))


class Flag(msgspec.Struct, frozen=True):
    """True or false."""

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return "true or false"

    def read(self, value: object) -> object:
        """The boolean."""
        if not isinstance(value, bool):
            raise BadValueError
        return value

    def write(self, value: object) -> str:
        """`true` or `false`."""
        return "true" if value else "false"


class Choice(msgspec.Struct, frozen=True):
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """What is allowed."""
        quoted = [f'"{word}"' for word in self.words]
        return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def read(self, value: object) -> object:
        """The word."""
        if not isinstance(value, str) or value not in self.words:
            raise BadValueError
        return value

    def write(self, value: object) -> str:
        """The word, quoted."""
        return quote(str(value))


class Text(msgspec.Struct, frozen=True):
    """Text of a form that a check knows; empty text means unset where `empty` is true."""

    check: Callable[[str], None]
    what: str
    empty: bool = True

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return self.what + (' (or "" for none)' if self.empty else "")

    def read(self, value: object) -> object:
        """The text as it stands."""
        if not isinstance(value, str) or not (value or self.empty):
            raise BadValueError
        if value:
            _apply(self.check, value)
        return value

    def write(self, value: object) -> str:
        """The text, quoted."""
        return quote(str(value))


class TextList(msgspec.Struct, frozen=True):
    """A list of texts of one form."""

    check: Callable[[str], None]
    what: str
    most: int = 10_000

    @property
    def allowed(self) -> str:
        """What is allowed."""
        return f"a list of at most {self.most} texts, each {self.what}"

    def read(self, value: object) -> object:
        """The texts as a tuple."""
        if not isinstance(value, list | tuple) or len(value) > self.most:
            raise BadValueError
        for item in value:
            if not isinstance(item, str) or not item:
                raise BadValueError(f"{item!r} is not a text")
            try:
                _apply(self.check, item)
            except BadValueError as error:
                raise BadValueError(f"{quote(item)}: {error}") from error
        return tuple(value)

    def write(self, value: object) -> str:
        """An array, one item a line when it has several."""
        items = [quote(item) for item in value] if isinstance(value, tuple) else []
        if len(items) < 2:
            return f"[{', '.join(items)}]"
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"


def _apply(check: Callable[[str], None], text: str) -> None:
    try:
        checks.plain(text)
        check(text)
    except ValueError as error:
        raise BadValueError(str(error)) from error
