"""A segment visit by visit: the record that stands for it, and those of request and metadata that follow it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from gossamer.adapters.warc import cdxj, members, parse
from gossamer.adapters.warc.purge import PURGED_FIELD
from gossamer.adapters.warc.records import ENTITY_DIGEST

_MAIN: Final = frozenset({"response", "revisit"})


class Stored(msgspec.Struct):
    """One visit as it is stored: `parts` are its records as they stand in the file, compressed, the main one first."""

    main: parse.Record
    parts: list[bytes]
    is_purged: bool = False  # what stands here says only that something was removed

    @property
    def kind(self) -> str:
        """WARC-Type of the main record: response, revisit, or metadata where nothing else was kept."""
        return self.main.get("warc-type")

    @property
    def url(self) -> str:
        """What was asked for."""
        return self.main.get("warc-target-uri")

    @property
    def digest(self) -> str:
        """The digest of the entity, as an index has it; "" when there is none."""
        return (self.main.get("warc-payload-digest") or self.main.get(ENTITY_DIGEST.lower())).removeprefix("sha1:")

    @property
    def status(self) -> int:
        """HTTP status; 0 when there is none."""
        if self.kind == "metadata":
            text = _said(self.main.block, b"status")
            return int(text) if text.isdigit() and len(text) == 3 else 0
        return parse.http_head(self.main.block[: parse.body_offset(self.main.block)])[0]

    @property
    def media_type(self) -> str:
        """Bare media type in lower case; "" when none is said."""
        if self.kind == "metadata":
            return ""
        head = self.main.block[: parse.body_offset(self.main.block)]
        found = cdxj.media_type(parse.field(parse.http_head(head)[2], "content-type"))
        return "" if found == "unk" else found


def _said(block: bytes, name: bytes) -> str:
    """A field of an application/warc-fields block."""
    for line in block.split(b"\r\n"):
        key, colon, value = line.partition(b":")
        if colon and key.lower() == name:
            return value.strip().decode("ascii", "replace")
    return ""


def walk(fd: int, start: int = 0) -> Iterator[Stored]:
    """The visits of an open segment from byte `start` on, one in memory at a time; warcinfo records are passed over.

    Raises ArchiveError at the first record that is not whole, OSError.
    """
    visit: Stored | None = None
    for member in members.walk(fd, start):
        record = parse.record(member.data)
        kind = record.get("warc-type")
        is_purged = bool(record.get(PURGED_FIELD.lower()))
        raw = os.pread(fd, member.length, member.offset)
        if visit is not None and not is_purged and _goes_with(visit, record, kind):
            visit.parts.append(raw)
            continue
        if visit is not None:
            yield visit
        visit = None if kind == "warcinfo" else Stored(record, [raw], is_purged)
    if visit is not None:
        yield visit


def _goes_with(visit: Stored, record: parse.Record, kind: str) -> bool:
    if kind in _MAIN or kind == "warcinfo" or visit.is_purged or visit.kind not in _MAIN:
        return False
    return record.get("warc-target-uri") == visit.url and len(visit.parts) < 3
