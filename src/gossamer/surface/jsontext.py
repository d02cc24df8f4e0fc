"""JSON for people and programs: what a terminal would obey is written as an escape, so it may be shown anywhere."""

from __future__ import annotations

import msgspec


def encode(value: object) -> bytes:
    """UTF-8 JSON of a value. Lone surrogates, which UTF-8 cannot hold, become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(value)))


def json_line(value: object) -> str:
    """One value on one line."""
    return _safe(encode(value).decode())


def json_text(value: object) -> str:
    """One value, indented."""
    indented = msgspec.json.format(encode(value), indent=2).decode()
    return "\n".join(_safe(line) for line in indented.split("\n"))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


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
