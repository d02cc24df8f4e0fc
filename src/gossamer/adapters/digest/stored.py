"""What a stored response says, read again: its main text in lines, and the fingerprint it was judged by when it came.

Pure: bytes in, a value out. Hostile bytes are read in a process of their own; that is `textreader`'s affair.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.adapters.decode import Decoded, applied_codings, decode_body
from gossamer.adapters.digest import charset, media
from gossamer.adapters.digest.blocks import lines_of
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.html import scan
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.parse import document, parse
from gossamer.adapters.digest.text import main_part
from gossamer.model.limits import TEXT_MAX_CHARS
from gossamer.model.page import Digest, Job, Kind
from gossamer.model.view import StoredText

OK: Final = 200
_TEXTS: Final = frozenset(
    "application/json application/javascript application/ecmascript application/xml application/yaml application/toml "
    "application/x-ndjson".split()
)
_TEXT_ENDS: Final = ("+xml", "+json", "+yaml")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A stored response to be read again."""

    url: str
    headers: tuple[tuple[str, str], ...]
    payload: bytes  # de-chunked, content-encoding intact
    lines: bool = True  # its text is wanted, not only its fingerprint


def read_stored(asked: Asked, rules: LinkRules) -> StoredText:
    """Parse a stored response as it was parsed when it was fetched; hooks and links aside."""
    values = [value for name, value in asked.headers if name.lower() == "content-encoding"]
    codings, _ = applied_codings(values, asked.payload)
    job = _job(asked, codings)
    digest = parse(job, rules, Hooks())
    told = StoredText(
        media_type=digest.media_type,
        bytes=len(asked.payload),
        title=digest.title,
        content_hash=digest.content_hash,
        simhash=digest.simhash,
        error=digest.error,
    )
    if not asked.lines or not asked.payload:
        return told
    decoded = decode_body(asked.payload, codings, rules.body_max_bytes)
    found = _html_lines(decoded, job, digest) if media.is_html(digest.media_type, decoded.body) else None
    if found is None:
        found = _plain_lines(decoded, job, digest)
    if found is None:
        return told
    lines, cut = _bounded(found)
    return msgspec.structs.replace(told, is_text=True, lines=tuple(lines), cut=cut or decoded.truncated)


def _job(asked: Asked, codings: tuple[str, ...]) -> Job:
    """The job of a page whose links nobody asks for."""
    return Job(
        id=0,
        kind=Kind.PROBE,
        url=asked.url,
        key="",
        depth=0,
        date=0.0,
        status=OK,
        headers=tuple((name.lower(), value) for name, value in asked.headers),
        request_bytes=b"",
        head_bytes=b"",
        payload=asked.payload,
        framed=None,
        content_encoding=codings,
        truncated="",
        address="",
        http_version="",
        tls_version="",
        tls_cipher="",
        payload_digest="",
    )


def _html_lines(decoded: Decoded, job: Job, digest: Digest) -> list[str] | None:
    """Lines of the main text; None for a sitemap or feed that calls itself HTML."""
    if not digest.charset:
        return None
    encoding = charset.sniff(decoded.body, _content_type(job))
    tree, markup = document(decoded.body, encoding, {})
    part = main_part(tree, scan(tree, markup))
    return [] if part is None else lines_of(part[1])


def _plain_lines(decoded: Decoded, job: Job, digest: Digest) -> list[str] | None:
    """Lines of a text that is not HTML; None when it is no text."""
    kind = digest.media_type
    if kind and not (kind.startswith("text/") or kind in _TEXTS or kind.endswith(_TEXT_ENDS)):
        return None
    encoding = charset.sniff(decoded.body, _content_type(job))
    text = charset.decode(decoded.body, encoding.name)
    if "\0" in text:
        return None
    return [line.rstrip() for line in text.splitlines()]


def _content_type(job: Job) -> str:
    return next((value for name, value in job.headers if name == "content-type"), "")


def _bounded(lines: list[str]) -> tuple[list[str], bool]:
    """The first lines that have TEXT_MAX_CHARS together, the last of them cut to that; and whether more was there."""
    left = TEXT_MAX_CHARS
    for place, line in enumerate(lines):
        left -= len(line) + 1
        if left < 0:
            rest = line[: left + len(line) + 1]
            return [*lines[:place], rest] if rest else lines[:place], True
    return lines, False
