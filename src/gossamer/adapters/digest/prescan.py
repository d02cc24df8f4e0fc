"""Finding encoding declarations in bytes: Content-Type parameters, meta elements, XML declarations.

The HTML standard's prescan (section 13.2.3.2) in one pass without regular expressions, and a lenient one for broken
declarations. What a label means and which finding is believed is `charset`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

PRESCAN_MAX_BYTES: Final = 16 * 1024  # the standard says 1,024, but browsers still obey a meta found later
ATTRIBUTES_MAX: Final = 64
CONTENT_TYPE_MAX_CHARS: Final = 1_000

_SPACE: Final = b"\t\n\f\r "
_SPACE_OR_SLASH: Final = b"\t\n\f\r /"
_ALPHA: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

Resolve = Callable[[str], str | None]


def header_labels(content_type: str) -> Iterator[str]:
    """The values of well-formed `charset` parameters of a Content-Type value, in order."""
    text = content_type[:CONTENT_TYPE_MAX_CHARS]
    for part in _parameters(text):
        name, equals, value = part.partition("=")
        if not equals or name.strip("\t\r\n ").lower() != "charset" or name.endswith((" ", "\t")):
            continue
        value = value.rstrip("\t\r\n ")
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        if value and not any(c in value for c in "\"' \t"):
            yield value


def _parameters(text: str) -> Iterator[str]:
    """The parts between semicolons and commas that are outside quotes."""
    start, quoted = 0, False
    for at, char in enumerate(text):
        if char == '"':
            quoted = not quoted
        elif char in ";," and not quoted:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def declared(body: bytes, resolve: Resolve) -> str | None:
    """The encoding that the document declares as the standard reads it, or None."""
    head = body[:PRESCAN_MAX_BYTES]
    if head.startswith(b"<?xml"):
        name = _xml_encoding(head, resolve)
        if name is not None:
            return name
    lower = head.lower()
    if b"charset" not in lower:
        return None
    return _Prescan(lower, resolve).run()


def _xml_encoding(head: bytes, resolve: Resolve) -> str | None:
    """The encoding of an XML declaration."""
    end = head.find(b">")
    declaration = head[: max(end, 0)]
    at = declaration.find(b"encoding")
    if at < 0:
        return None
    rest = declaration[at + 8 :].lstrip(_SPACE)
    if not rest.startswith(b"="):
        return None
    rest = rest[1:].lstrip(_SPACE)
    if rest[:1] not in (b'"', b"'"):
        return None
    close = rest.find(rest[:1], 1)
    return None if close < 0 else _usable(rest[1:close], resolve)


def _usable(label: bytes, resolve: Resolve) -> str | None:
    """A label found inside the document: it was readable as ASCII, so it can't be UTF-16 (standard, step 15)."""
    name = resolve(label.decode("latin-1"))
    if name is None:
        return None
    if name.startswith(("utf-16", "utf-32")):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


class _Prescan:
    """One run of the standard's algorithm over lower-cased bytes; `at` only ever grows."""

    def __init__(self, data: bytes, resolve: Resolve) -> None:
        self.data = data
        self.resolve = resolve
        self.at = 0

    def run(self) -> str | None:
        """The first good declaration."""
        data = self.data
        while (at := data.find(b"<", self.at)) >= 0:
            self.at = at
            if data.startswith(b"<!--", at):
                end = data.find(b"-->", at + 2)
                if end < 0:
                    return None
                self.at = end + 3
            elif data.startswith(b"<meta", at) and data[at + 5 : at + 6] in _SPACE_PARTS:
                self.at = at + 6
                name = self._meta()
                if name is not None:
                    return name
            elif data[at + 1 : at + 2] in (b"!", b"?") or (
                data[at + 1 : at + 2] == b"/" and data[at + 2 : at + 3] not in _LETTERS
            ):
                end = data.find(b">", at)
                if end < 0:
                    return None
                self.at = end + 1
            elif data[at + 1 : at + 2] in _LETTERS or data[at + 1 : at + 2] == b"/":
                self._skip_tag()
            else:
                self.at = at + 1
        return None

    def _skip_tag(self) -> None:
        """Past the name and the attributes of any other tag."""
        data, at = self.data, self.at + 1
        while at < len(data) and data[at] not in b"\t\n\f\r >":
            at += 1
        self.at = at
        for _ in range(ATTRIBUTES_MAX):
            if self._attribute() is None:
                break

    def _meta(self) -> str | None:
        """The encoding of a meta element whose attributes start here."""
        pragma, need_pragma = False, None
        charset: str | None = None
        seen: set[bytes] = set()
        for _ in range(ATTRIBUTES_MAX):
            attribute = self._attribute()
            if attribute is None:
                break
            name, value = attribute
            if name in seen:
                continue
            seen.add(name)
            if name == b"http-equiv":
                pragma = pragma or value == b"content-type"
            elif name == b"content" and charset is None:
                label = content_label(value)
                charset = _usable(label, self.resolve) if label else None
                need_pragma = True if charset is not None else need_pragma
            elif name == b"charset":
                charset, need_pragma = _usable(value, self.resolve), False
        if need_pragma is None or (need_pragma and not pragma):
            return None
        # A tag that the data ends in is not a tag: the standard's tokenizer would still be waiting.
        return charset if self.data[self.at : self.at + 1] == b">" else None

    def _attribute(self) -> tuple[bytes, bytes] | None:
        """The standard's "get an attribute": (name, value), or None at the end of the tag or of the data."""
        data, size = self.data, len(self.data)
        at = self._skip(self.at, _SPACE_OR_SLASH)
        start = at
        while at < size and (data[at] not in b"\t\n\f\r />" and (data[at] != ord("=") or at == start)):
            at += 1
        name = data[start:at]
        if not name:
            self.at = at
            return None
        at = self._skip(at, _SPACE)
        if data[at : at + 1] != b"=":
            self.at = at
            return name, b""
        at = self._skip(at + 1, _SPACE)
        quote = data[at : at + 1]
        if quote in (b'"', b"'"):
            end = data.find(quote, at + 1)
            if end < 0:
                self.at = size
                return None
            self.at = end + 1
            return name, data[at + 1 : end]
        start = at
        while at < size and data[at] not in b"\t\n\f\r >":
            at += 1
        self.at = at
        return name, data[start:at]

    def _skip(self, at: int, what: bytes) -> int:
        """First position from `at` on that holds none of these bytes."""
        data, size = self.data, len(self.data)
        while at < size and data[at] in what:
            at += 1
        return at


_SPACE_PARTS: Final = frozenset(_SPACE_OR_SLASH[i : i + 1] for i in range(len(_SPACE_OR_SLASH)))
_LETTERS: Final = frozenset(bytes((letter,)) for letter in _ALPHA)


def content_label(value: bytes) -> bytes | None:
    """The label in a meta element's content ("extracting a character encoding from a meta element")."""
    lower, at = value.lower(), 0
    while (at := lower.find(b"charset", at)) >= 0:
        at += 7
        rest = value[at:].lstrip(_SPACE)
        if not rest.startswith(b"="):
            continue
        rest = rest[1:].lstrip(_SPACE)
        quote = rest[:1]
        if quote in (b'"', b"'"):
            end = rest.find(quote, 1)
            return rest[1:end] if end > 0 else None
        end = 0
        while end < len(rest) and rest[end] not in b"\t\n\f\r ;":
            end += 1
        return rest[:end] or None
    return None


def hinted(body: bytes, resolve: Resolve) -> str | None:
    """The encoding of a declaration that the standard does not accept: `< meta`, a wrong http-equiv, none at all.

    Only before the body element starts and outside comments, and only in something that looks like a meta tag: a
    charset in script text says nothing about the page.
    """
    lower = body[:PRESCAN_MAX_BYTES].lower()
    at = 0
    while (at := lower.find(b"<", at)) >= 0:
        if lower.startswith(b"<!--", at):
            end = lower.find(b"-->", at + 2)
            if end < 0:
                return None
            at = end + 3
            continue
        tag = lower[at + 1 : at + 40].lstrip(_SPACE)
        if tag.startswith(b"body"):
            return None
        end = lower.find(b">", at)
        end = len(lower) if end < 0 else end
        if tag.startswith(b"?xml"):
            name = _xml_encoding(lower[at:].replace(b"< ", b"<", 1), resolve)
        elif tag.startswith(b"meta"):
            label = content_label(lower[at:end])
            name = _usable(label.rstrip(b"/\"'"), resolve) if label else None
        else:
            name = None
        if name is not None:
            return name
        at = end if tag.startswith((b"?xml", b"meta")) else at + 1
    return None
