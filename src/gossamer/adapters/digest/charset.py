"""Which character encoding a document is in, and its text.

Order: byte-order mark, HTTP header, declaration in the document, statistics, windows-1252. The HTML standard
(section 13.2.3 "The input byte stream") with two additions that real pages need: UTF-32 marks, and declarations too
broken for the standard, which are believed only where the bytes agree. Scanning declarations is `prescan`'s work.
"""

from __future__ import annotations

import codecs
from functools import lru_cache
from typing import Final, NamedTuple

from resiliparse.parse.encoding import detect_encoding, map_encoding_to_html5

from gossamer.adapters.digest import prescan

FALLBACK: Final = "windows-1252"
DETECT_MAX_BYTES: Final = 64 * 1024
LABEL_MAX_CHARS: Final = 64

_BOMS: Final = (  # longest first: the UTF-32-LE mark begins with the UTF-16-LE one
    (b"\x00\x00\xfe\xff", "utf-32be"),
    (b"\xff\xfe\x00\x00", "utf-32le"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xfe\xff", "utf-16be"),
    (b"\xff\xfe", "utf-16le"),
)
# Encodings in which one text can pose as another: the standard decodes them to one U+FFFD.
_REPLACED: Final = frozenset(
    ("csiso2022kr", "hz-gb-2312", "iso-2022-cn", "iso-2022-cn-ext", "iso-2022-kr", "replacement")
)
_EXTRA_LABELS: Final = {
    "utf-32": "utf-32be",
    "utf-32be": "utf-32be",
    "utf-32le": "utf-32le",
    "latin-1": FALLBACK,
    "latin_1": FALLBACK,
}
# Name in the Encoding standard -> Python codec, where the codec that fits is not the one of the same name.
_CODECS: Final = {
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "windows-874": "cp874",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-user-defined": "latin-1",
}
# Name that resiliparse uses -> name in the Encoding standard.
_NAMES: Final = {
    "cp866": "ibm866",
    "iso8859-11": "windows-874",
    "cp874": "windows-874",
    "mac-roman": "macintosh",
    "mac_roman": "macintosh",
    "mac-cyrillic": "x-mac-cyrillic",
    "mac_cyrillic": "x-mac-cyrillic",
    "iso2022_jp": "iso-2022-jp",
    "euc_jp": "euc-jp",
    "euc_kr": "euc-kr",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "koi8_r": "koi8-r",
    "koi8_u": "koi8-u",
}


class Charset(NamedTuple):
    """An encoding by its name in the Encoding standard, and what told us of it."""

    name: str
    source: str  # "bom" | "header" | "meta" | "hint" | "detected" | "fallback"


@lru_cache(maxsize=512)
def resolve_label(label: str) -> str | None:
    """The standard's name of an encoding label ("latin1" -> "windows-1252"), or None for an unknown one."""
    label = label[:LABEL_MAX_CHARS].strip("\t\n\f\r ").lower()
    if label in _REPLACED:
        return "replacement"
    if label == "x-user-defined":
        return label
    if label in _EXTRA_LABELS:
        return _EXTRA_LABELS[label]
    if not label or not label.isascii():
        return None
    found = map_encoding_to_html5(label, fallback_utf8=False)
    return None if found is None else _standard_name(found)


def _standard_name(codec: str) -> str:
    """Resiliparse answers with Python's names; ours are the standard's."""
    name = codec.lower()
    if name in _NAMES:
        return _NAMES[name]
    if name.startswith("cp125"):
        return "windows-" + name[2:]
    if name.startswith("iso8859"):
        return "iso-8859" + name[7:].replace("_", "-")
    return name


def read_bom(body: bytes) -> tuple[str, int] | None:
    """(encoding, length of the mark) when the body starts with a byte-order mark."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return name, len(mark)
    return None


def header_charset(content_type: str) -> str | None:
    """The encoding that a Content-Type value names, or None.

    RFC 9110 section 8.3 read strictly: a parameter that is not well formed is skipped, and so is a label that nobody
    knows; of several the first that is good counts.
    """
    return _header_charset(content_type[: prescan.CONTENT_TYPE_MAX_CHARS])


@lru_cache(maxsize=256)
def _header_charset(content_type: str) -> str | None:
    """Servers repeat the field on every page."""
    for label in prescan.header_labels(content_type):
        name = resolve_label(label)
        if name is not None:
            return name
    return None


def sniff(body: bytes, content_type: str = "") -> Charset:
    """The encoding of an HTML document. Never fails: the last resort is windows-1252."""
    mark = read_bom(body)
    if mark is not None:
        return Charset(mark[0], "bom")
    name = header_charset(content_type)
    if name is not None:
        return Charset(_byte_order(name, body), "header")
    name = prescan.declared(body, resolve_label)
    if name is not None:
        return Charset(name, "meta")
    return _guess(body)


def _guess(body: bytes) -> Charset:
    """Nobody said, or nobody who may be believed."""
    if body.isascii():
        return Charset(FALLBACK, "fallback")
    hint = prescan.hinted(body, resolve_label)
    if hint is not None and _decodes(body[:DETECT_MAX_BYTES], hint):
        return Charset(hint, "hint")
    found = detect_encoding(body, max_len=DETECT_MAX_BYTES)
    name = resolve_label(found) if found else None
    return Charset(name, "detected") if name else Charset(FALLBACK, "fallback")


def _decodes(body: bytes, name: str) -> bool:
    """Whether the bytes are valid in an encoding; a character cut off at the end is forgiven."""
    try:
        codecs.getincrementaldecoder(codec_of(name))("strict").decode(body, final=False)
    except (UnicodeError, LookupError):
        return False
    return True


def _byte_order(name: str, body: bytes) -> str:
    """A header that says UTF-16 or UTF-32 without a mark leaves the order open: markup is mostly ASCII, so look."""
    start = body[:4]
    if name == "utf-16le" and len(start) >= 2 and start[0] == 0 and start[1] != 0:
        return "utf-16be"
    if name == "utf-32be" and len(start) == 4 and start[0] != 0 and not any(start[1:]):
        return "utf-32le"
    return name


def codec_of(name: str) -> str:
    """The Python codec that decodes an encoding."""
    return _CODECS.get(name, name)


def decode(body: bytes, name: str) -> str:
    """The text of a document; what is not valid becomes U+FFFD, a byte-order mark is dropped. Never fails."""
    if name == "replacement":
        return "\ufffd" if body else ""
    mark = read_bom(body)
    if mark is not None and mark[0] == name:
        body = body[mark[1] :]
    try:
        return body.decode(codec_of(name), "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")
