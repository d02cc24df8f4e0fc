"""Reading stored records back."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gossamer.model.page import Pointer


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One stored record, read back."""

    record_type: str  # "response" | "revisit" | "metadata"
    warc_headers: tuple[tuple[str, str], ...]
    url: str
    date: float
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    head_bytes: bytes
    payload: bytes  # de-chunked, content-encoding intact; of the original when this is a revisit and that was given
    payload_digest: str
    digest_ok: bool | None  # None: the record carries no digest


class ArchiveReader(Protocol):
    """Random access to records."""

    def read(self, pointer: Pointer, original: Pointer | None = None) -> Capture:
        """The record at `pointer`; when that is a revisit, with the payload of the record at `original`, if given.

        A record of a segment that is still being written is found under the segment's final name. What does not have
        the digest that it, or the revisit of it, declares is returned with `digest_ok` False.
        Raises ArchiveError when a record is not there or not whole, and nothing else whatever the pointer says.
        """
        ...
