"""Reads the XML of sitemaps, sitemap indexes and feeds (RSS 0.9-2.0, Atom) as a stream of expat events.

Here: elements to raw entries, under caps, and repair of bare ampersands. Not here: compression, plain-text sitemaps
and resolving locations, which are `sitemap`'s. Sources: sitemaps.org protocol 0.9; RSS 2.0; RFC 4287.

Names are compared with the prefix of the root element, whatever namespace it is bound to, so that old and wrong
namespaces are read, and `image:loc` is not `loc`. No entity is ever defined by a document: one that tries is refused,
external ones are never fetched and stand for nothing.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple
from xml.parsers import expat

from gossamer.model.limits import SITEMAP_URLS_MAX, URL_INPUT_MAX_CHARS
from gossamer.policy.dates import http_date, w3c_date

XmlKind = Literal["urlset", "index", "feed", "none"]

_ROOTS: Final[dict[str, tuple[XmlKind, str]]] = {
    "urlset": ("urlset", "url"),
    "sitemapindex": ("index", "sitemap"),
    "rss": ("feed", "item"),
    "RDF": ("feed", "item"),
    "feed": ("feed", "entry"),
}
_SITEMAP_FIELDS: Final = frozenset({"loc", "lastmod", "changefreq", "priority"})
_FEED_FIELDS: Final = frozenset({"link", "guid", "pubDate", "dc:date", "updated", "published"})
_FREQUENCIES: Final = frozenset({"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"})
# Encodings of several bytes a character that expat leaves to us; of one byte it reads those that Python knows.
_WIDE: Final = frozenset({"gbk", "gb2312", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"})
_NARROW: Final = ("utf", "us-ascii", "ascii", "iso-8859-", "iso8859-", "latin", "windows-", "cp125", "koi8-", "tis-620")
_DECLARED: Final = re.compile(rb"encoding\s{0,8}=\s{0,8}[\"']([A-Za-z0-9._-]{1,40})[\"']")
_BARE_AMPERSAND: Final = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_REPAIRABLE: Final = frozenset({expat.errors.XML_ERROR_UNDEFINED_ENTITY, expat.errors.XML_ERROR_INVALID_TOKEN})
_CDATA, _CDATA_END = b"<![CDATA[", b"]]>"
_CHUNK_BYTES: Final = 1024 * 1024  # expat 2.5 scans an open token again with each chunk, so not too small
_VALUE_MAX_CHARS: Final = 100  # of a field that is not a location


class XmlResult(NamedTuple):
    """What one pass over a document brought."""

    kind: XmlKind
    root: str  # name of the root element as written, "" when none was seen
    entries: list[tuple[str, float | None, str, float | None]]  # location as written, lastmod, changefreq, priority
    error: str
    truncated: bool  # more entries than we take


class _Full(Exception):  # noqa: N818 - a way out of the parser, not an error
    """The cap on entries was met."""


class _Refused(Exception):  # noqa: N818 - as above
    """The document does what no sitemap does."""


class _Reader:
    """Handlers of expat events. The current item collects fields; a field collects text, whatever nests in it."""

    def __init__(self) -> None:
        self.kind: XmlKind = "none"
        self.root = ""
        self.entries: list[tuple[str, float | None, str, float | None]] = []
        self.field = ""
        self._prefix = ""
        self._item = ""
        self._fields: frozenset[str] = frozenset()
        self._depth = 0
        self._item_depth = 0
        self._field_depth = 0
        self._text: list[str] = []
        self._chars = 0
        self._values: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element opens."""
        self._depth += 1
        if self._depth == 1:
            self._open_root(name)
        elif self.field:
            return
        elif not self._item_depth:
            if name == self._item:
                self._item_depth = self._depth
                self._values = {}
                self._clear()
        elif self._depth == self._item_depth + 1:
            self._open_field(name, attributes)

    def end(self, _: str) -> None:
        """An element closes."""
        self._depth -= 1
        if self.field:
            if self._depth < self._field_depth:
                self.close_field()
        elif self._item_depth and self._depth < self._item_depth:
            self.close_item()

    def characters(self, data: str) -> None:
        """Text, of which only that inside an item counts."""
        if self._item_depth and self._chars <= URL_INPUT_MAX_CHARS:
            self._text.append(data)
            self._chars += len(data)

    def entity(self, name: str, _: bool, value: str | None, *__: object) -> None:
        """A document declares an entity: only external ones, which we ignore, are let pass."""
        if value is not None:
            raise _Refused(f"declares the entity {name[:40]!r}")

    def close_field(self) -> None:
        """Keep a field's text. A second location in one item begins another one."""
        value = "".join(self._text).strip()
        name, self.field = self.field, ""
        self._clear()
        if name in {"loc", "link"}:
            if len(value) > URL_INPUT_MAX_CHARS or (name == "link" and self._values.get("link")):
                return
            if self._values.get("loc") and value:
                self._emit()
                self._values = {}
            self._values[name] = value
        else:
            self._values.setdefault(name, value[: _VALUE_MAX_CHARS if name != "guid" else URL_INPUT_MAX_CHARS])

    def close_item(self) -> None:
        """Emit the item. One without `loc` whose own text is a location counts too."""
        if self._fields is _SITEMAP_FIELDS and "loc" not in self._values and self._chars <= URL_INPUT_MAX_CHARS:
            self._values["loc"] = "".join(self._text).strip()
        self._emit()
        self._item_depth = 0
        self._values = {}

    def _open_root(self, name: str) -> None:
        self.root = name[:_VALUE_MAX_CHARS]
        prefix, colon, local = name.rpartition(":")
        self.kind, item = _ROOTS.get(local, ("none", ""))
        if self.kind == "none":
            raise _Refused(f"no sitemap or feed: the root element is {self.root!r}")
        self._prefix = "" if local == "RDF" else prefix + colon
        self._item = self._prefix + item
        self._fields = _FEED_FIELDS if self.kind == "feed" else _SITEMAP_FIELDS

    def _open_field(self, name: str, attributes: dict[str, str]) -> None:
        local = name.removeprefix(self._prefix)
        if local not in self._fields:
            return
        if local == "link" and "href" in attributes:
            relation = attributes.get("rel", "alternate")
            if (
                relation == "alternate"
                and not self._values.get("link")
                and len(attributes["href"]) < URL_INPUT_MAX_CHARS
            ):
                self._values["link"] = attributes["href"].strip()
            return
        self.field = local
        self._field_depth = self._depth
        self._clear()

    def _emit(self) -> None:
        values = self._values
        location = values.get("loc") or values.get("link") or ""
        if not location and values.get("guid", "")[:4].lower() == "http":
            location = values["guid"]
        if not location:
            return
        if len(self.entries) >= SITEMAP_URLS_MAX:
            raise _Full
        if self._fields is _SITEMAP_FIELDS:
            frequency = values.get("changefreq", "").lower()
            frequency = frequency if frequency in _FREQUENCIES else ""
            self.entries.append((location, _date(values, "lastmod"), frequency, _priority(values.get("priority", ""))))
        else:
            self.entries.append((location, _date(values, "updated", "pubDate", "dc:date", "published"), "", None))

    def _clear(self) -> None:
        self._text.clear()
        self._chars = 0


def read_xml(body: bytes) -> XmlResult:
    """Read a document that begins with `<`. What precedes a fault is kept, and the fault named. Never raises.

    A document that fails at a bare `&` or a made-up entity, which are common in locations, is read again with its
    ampersands escaped; the reading that brought more counts.
    """
    declared = _DECLARED.search(body[:200])
    name = declared[1].decode("ascii").lower() if declared and body.startswith(b"<?xml") else "utf-8"
    if name in _WIDE:
        body, name = body.decode(name, "replace").encode("utf-8", "replace"), "utf8"
    if not name.startswith(_NARROW):
        return XmlResult("none", "", [], f"unknown encoding {name!r}", truncated=False)
    encoding = "utf-8" if name in {"utf8", "utf_8"} else None
    result, code = _pass(body, encoding)
    if code and expat.errors.messages[code] in _REPAIRABLE:
        again, _ = _pass(_repair(body), encoding)
        if len(again.entries) > len(result.entries):
            return again._replace(error=again.error or f"{result.error} (read all the same)")
    return result


def root_of(prefix: bytes) -> tuple[XmlKind, str]:
    """Kind and name of the root element of a document of which only the beginning is at hand."""
    found = read_xml(prefix)
    return found.kind, found.root


def _pass(body: bytes, encoding: str | None) -> tuple[XmlResult, int]:
    """One pass; also the code of the expat error that ended it, 0 when none did."""
    reader = _Reader()
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.EntityDeclHandler = reader.entity
    error, truncated, code = "", False, 0
    try:
        for at in range(0, len(body), _CHUNK_BYTES):
            parser.Parse(body[at : at + _CHUNK_BYTES], False)
        parser.Parse(b"", True)
    except _Full:
        truncated = True
    except _Refused as refused:
        error = str(refused)
    except expat.ExpatError as fault:
        error, code = f"line {fault.lineno}, column {fault.offset}: {expat.ErrorString(fault.code)}", fault.code
        truncated = _finish(reader, body, parser.ErrorByteIndex)
    except (ValueError, LookupError) as fault:  # an encoding that Python does not have, or of several bytes
        error = str(fault)[:200]
    return XmlResult(reader.kind, reader.root, reader.entries, error, truncated), code


def _finish(reader: _Reader, body: bytes, fault_at: int) -> bool:
    """Keep the item that a fault cut off, unless its location itself is cut. True when there was no room for it."""
    if reader.field == "loc":
        if body[fault_at : fault_at + 1] != b"<":
            return False
        reader.close_field()
    elif reader.field:
        reader.field = ""
    try:
        reader.close_item()
    except _Full:
        return True
    return False


def _repair(body: bytes) -> bytes:
    """Escape ampersands that begin no reference, outside CDATA. One pass."""
    out: list[bytes] = []
    at = 0
    while at < len(body):
        start = body.find(_CDATA, at)
        start = len(body) if start < 0 else start
        out.append(_BARE_AMPERSAND.sub(b"&amp;", body[at:start]))
        end = body.find(_CDATA_END, start)
        at = len(body) if end < 0 else end
        out.append(body[start:at])
    return b"".join(out)


def _date(values: dict[str, str], *names: str) -> float | None:
    """The first of these fields that is a date, in either notation."""
    for name in names:
        text = values.get(name)
        if text:
            found = w3c_date(text)
            found = http_date(text) if found is None else found
            if found is not None:
                return found
    return None


def _priority(text: str) -> float | None:
    """A number from 0 to 1, else None."""
    if not text or len(text) > 20 or not (text.isascii() and text.replace(".", "", 1).isdigit()):
        return None
    value = float(text)
    return value if value <= 1.0 else None
