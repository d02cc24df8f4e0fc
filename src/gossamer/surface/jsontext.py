"""JSON for people and programs: what a terminal would obey is written as an escape, so it may be shown anywhere."""

from __future__ import annotations

import msgspec

from gossamer.model.jsonbytes import encode


def json_line(value: object) -> str:
    """One value on one line."""
    return _safe(encode(value).decode())


def json_text(value: object) -> str:
    """One value, indented."""
    indented = msgspec.json.format(encode(value), indent=2).decode()
    return "\n".join(_safe(line) for line in indented.split("\n"))


def _safe(text: str) -> str:
    """Replace characters that are not printable; inside JSON they occur in strings only."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(ord(char)) for char in text)


def _escaped(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
