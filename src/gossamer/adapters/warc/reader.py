"""Reading our own records back: from a pointer to the bytes, digests checked, revisits followed.

Not here: archives of others (`foreign`), going over whole directories (`check`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.warc import files, members, parse
from gossamer.adapters.warc.records import ENTITY_DIGEST
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import WARC_RECORD_MAX_BYTES
from gossamer.model.page import Pointer
from gossamer.ports.archive import Capture

_MESSAGES: Final = frozenset({"request", "response", "revisit"})
_OFFSET_MAX: Final = (1 << 63) - 1 - WARC_RECORD_MAX_BYTES  # what the system takes for a place in a file


class Reader:
    """Random access to the records of a directory; the `ArchiveReader` port on local files."""

    def __init__(self, directory: Path, *, record_max_bytes: int = WARC_RECORD_MAX_BYTES) -> None:
        self._directory = directory
        self._record_max_bytes = record_max_bytes

    def read(self, pointer: Pointer, original: Pointer | None = None) -> Capture:
        """The record at `pointer`; for a revisit with the payload of the record at `original`, when that is given.

        A revisit whose original does not have the digest it names has `digest_ok` False. Raises ArchiveError when a
        record is not there or not whole.
        """
        capture = self._read(pointer)
        if capture.record_type != "revisit" or original is None:
            return capture
        first = self._read(original)
        same = first.payload_digest == capture.payload_digest
        return msgspec.structs.replace(
            capture,
            payload=first.payload,
            digest_ok=False if not same or False in {capture.digest_ok, first.digest_ok} else capture.digest_ok,
        )

    def _read(self, pointer: Pointer) -> Capture:
        where = f"{pointer.segment} at byte {pointer.offset}"
        try:
            data = members.unpack(self._bytes(pointer), self._record_max_bytes)
            return capture_of(parse.record(data))
        except ArchiveError as error:
            raise ArchiveError(f"{where}: {error}") from error

    def _bytes(self, pointer: Pointer) -> bytes:
        if not pointer.segment or "/" in pointer.segment or "\0" in pointer.segment:
            raise ArchiveError("not a segment name")
        if not 0 < pointer.length <= self._record_max_bytes:
            raise ArchiveError(f"{pointer.length} bytes: 1 to {self._record_max_bytes} are allowed")
        if not 0 <= pointer.offset <= _OFFSET_MAX:
            raise ArchiveError("not an offset in a file")
        fd = self._open(pointer.segment)
        try:
            data = os.pread(fd, pointer.length, pointer.offset)
        except OSError as error:  # a bad disk, or a directory by this name
            raise ArchiveError(f"cannot be read: {error.strerror}") from error
        finally:
            os.close(fd)
        if len(data) != pointer.length:
            raise ArchiveError(f"cut off: {len(data)} of {pointer.length} bytes are there")
        return data

    def _open(self, segment: str) -> int:
        # The final name twice: a segment may be renamed between the first look and the second.
        for name in (segment, segment + files.OPEN, segment):
            try:
                return os.open(self._directory / name, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise ArchiveError(f"cannot be opened: {error.strerror}") from error
            except UnicodeEncodeError as error:
                raise ArchiveError("not a segment name") from error
        raise ArchiveError("no such segment")


def capture_of(record: parse.Record) -> Capture:
    """A parsed record as a capture, digests checked. Raises ArchiveError for a bad date."""
    kind = record.get("warc-type")
    is_http = kind in _MESSAGES and record.get("content-type").startswith("application/http")
    start = parse.body_offset(record.block) if is_http else 0
    head = record.block[:start]
    status, reason, headers = parse.http_head(head) if is_http else (0, "", ())
    body = record.block[start:]
    digest = record.get("warc-payload-digest")
    # Some writers take the framing away and leave the head as it was: then the body does not begin with a chunk.
    chunked = is_http and parse.is_chunked(headers)
    whole = chunked and not parse.is_framed(body) and parse.digest_matches(digest, body)
    payload = parse.dechunk(body) if chunked and not whole else body
    if not digest and (entity := record.get(ENTITY_DIGEST.lower())):
        # Under this name stands the digest of what the fetch took for the entity: whichever reading has it is right.
        digest = entity
        readings = (payload, body, parse.dechunk(body))
        payload = next((reading for reading in readings if parse.digest_matches(entity, reading)), payload)
    return Capture(
        record_type=kind,
        warc_headers=record.fields,
        url=record.get("warc-target-uri"),
        date=parse.date(record.get("warc-date")),
        status=status,
        reason=reason,
        headers=headers,
        head_bytes=head,
        payload=payload,
        payload_digest=digest,
        digest_ok=_digest_ok(record, "" if kind == "revisit" else digest, payload),
    )


def _digest_ok(record: parse.Record, payload_digest: str, payload: bytes) -> bool | None:
    verdicts = {
        parse.digest_matches(record.get("warc-block-digest"), record.block),
        parse.digest_matches(payload_digest, payload),
    }
    return False if False in verdicts else True if True in verdicts else None
