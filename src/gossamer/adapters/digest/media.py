"""What kind of document a response is: by its Content-Type, and by its first bytes where that says nothing.

Names (of the URL, of a Content-Disposition) are never asked: they promise, the header and the body tell.
"""

from __future__ import annotations

from typing import Final

SNIFF_BYTES: Final = 1_024
MEDIA_TYPE_MAX_CHARS: Final = 100

HTML: Final = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_XML: Final = frozenset(("text/xml", "application/xml"))
_UNSAID: Final = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))  # MIME Sniffing standard, section 7
_STARTS: Final = (  # MIME Sniffing standard, section 7.1
    b"<!doctype html", b"<html", b"<head", b"<script", b"<iframe", b"<h1", b"<div", b"<font", b"<table", b"<a",
    b"<style", b"<title", b"<b", b"<body", b"<br", b"<p", b"<!--",
)  # fmt: skip
_SPACE: Final = b"\t\n\f\r "


def media_type(content_type: str) -> str:
    """The media type of a Content-Type value, lower-cased and without parameters; "" when it is not one."""
    text = content_type[: 4 * MEDIA_TYPE_MAX_CHARS].partition(";")[0].partition(",")[0].strip("\t\r\n ").lower()
    kind, slash, subtype = text.partition("/")
    if not slash or not kind or not subtype or " " in text or not text.isascii() or not text.isprintable():
        return ""
    return text[:MEDIA_TYPE_MAX_CHARS]


def is_html(kind: str, body: bytes) -> bool:
    """Whether to parse a document as HTML.

    Args: its media type as `media_type` gives it; its decoded body, of which the first bytes are looked at when the
    type is missing, says nothing, or says only XML.
    """
    if kind in HTML:
        return True
    if kind in _XML:
        return _xml_root_is_html(body[:SNIFF_BYTES].lower())
    return kind in _UNSAID and _starts_html(body[:SNIFF_BYTES])


def _starts_html(start: bytes) -> bool:
    start = start.removeprefix(b"\xef\xbb\xbf").lstrip(_SPACE).lower()
    for tag in _STARTS:
        if start.startswith(tag):
            return tag == b"<!--" or start[len(tag) : len(tag) + 1] in (b" ", b">", b"\n", b"\r", b"\t")
    return False


def _xml_root_is_html(start: bytes) -> bool:
    at = start.find(b"<html")
    return at >= 0 and start[at + 5 : at + 6] in (b" ", b">", b"\n", b"\r", b"\t")
