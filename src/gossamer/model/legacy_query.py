"""Queries of documents that are not in UTF-8: browsers percent-encode them in the document's encoding, so do we.

The encodings are those of the WHATWG Encoding Standard, on the codecs of the standard library; where the two differ in
what they encode, the difference stands here.
"""

from __future__ import annotations

import codecs
from typing import Final

# WHATWG names whose encoder is another codec of the standard library.
_CODECS: Final = {
    "big5": "big5hkscs",
    "euc-kr": "cp949",
    "gbk": "gb18030",
    "gb2312": "gb18030",
    "iso-8859-8-i": "iso-8859-8",
    "shift_jis": "cp932",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "x-user-defined": "",
    "replacement": "",
    "iso-8859-1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "latin1": "cp1252",
}
_UNICODE: Final = frozenset({"", "utf-8", "utf8", "utf-16le", "utf-16be", "utf-16", "unicode-1-1-utf-8"})
_JAPANESE_MINUS: Final = {0x2212: 0xFF0D}  # Encoding Standard, Shift_JIS and ISO-2022-JP encoders
_JAPANESE: Final = frozenset({"shift_jis", "iso-2022-jp", "euc-jp"})
_STATE_SIGNS: Final = frozenset("\x0e\x0f\x1b")  # ISO-2022-JP encoder: errors that report U+FFFD
_REFUSED: Final = {"gb18030": frozenset("\ue5e5"), "iso2022_jp": _STATE_SIGNS}  # codec name -> not in the standard's

# The query percent-encode set of a special scheme (URL Standard, "special-query percent-encode set"), as bytes.
_ENCODED_BYTES: Final = frozenset(range(0x21)) | frozenset(b"\"#<>'") | frozenset(range(0x7F, 0x100))
_BYTES: Final = [f"%{byte:02X}" if byte in _ENCODED_BYTES else chr(byte) for byte in range(256)]


def is_unicode(encoding: str) -> bool:
    """Whether queries of a document in this encoding are encoded as UTF-8: the Unicode encodings, and unknown ones."""
    label = encoding.strip().lower()
    return label in _UNICODE or _codec(label) is None


def percent_encode_query(text: str, encoding: str) -> str:
    """A query in the percent-encoding of its document (URL Standard, "percent-encode after encoding").

    Args:
        text: the query as written, without its `?`.
        encoding: WHATWG name of the document's encoding.

    Returns:
        ASCII text. A character the encoding lacks becomes `%26%23` its number `%3B`.
    """
    label = encoding.strip().lower()
    info = None if label in _UNICODE else _codec(label)
    if info is None:
        return "".join([_BYTES[byte] for byte in text.encode("utf-8", "replace")])
    if label in _JAPANESE:
        text = text.translate(_JAPANESE_MINUS)
    refused = _REFUSED.get(info.name, frozenset())
    encoder = codecs.getincrementalencoder(info.name)("strict")
    out: list[str] = []
    for char in text:  # one at a time: an encoding may keep a state, and errors must not cost a second pass
        try:
            encoded = b"" if char in refused else encoder.encode(char)
        except UnicodeEncodeError:
            encoded = b""
        out.extend([_BYTES[byte] for byte in encoded or encoder.encode("", final=True)])
        if not encoded:
            out.append(f"%26%23{0xFFFD if char in _STATE_SIGNS else ord(char)}%3B")
    out.extend([_BYTES[byte] for byte in encoder.encode("", final=True)])
    return "".join(out)


def encode_query_of(text: str, encoding: str) -> str:
    """A link's text with its query encoded as in a document of this encoding, everything else left alone."""
    front, hash_sign, fragment = text.partition("#")
    path, mark, query = front.partition("?")
    if not mark or query.isascii():
        return text
    for sign in "\t\n\r":  # the parser drops them; they must not be encoded
        query = query.replace(sign, "")
    return path + mark + percent_encode_query(query, encoding) + hash_sign + fragment


def _codec(label: str) -> codecs.CodecInfo | None:
    name = _CODECS.get(label, label)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    # Codecs of the standard library that are no character encodings ("hex", "zip") have no business here.
    return info if getattr(info, "_is_text_encoding", False) and info.name not in _NOT_OF_THE_WEB else None


# Text codecs of the standard library that are not in the Encoding Standard.
_NOT_OF_THE_WEB: Final = frozenset({
    "charmap", "idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-32",
    "utf-32-be", "utf-32-le", "utf-7", "utf-8-sig",
})  # fmt: skip
