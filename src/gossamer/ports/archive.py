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
    payload: bytes  # de-chunked, content-encoding intact; of the original when this is a revisit and it was found
    payload_digest: str
    digest_ok: bool | None  # None: the record carries no digest


class ArchiveReader(Protocol):
    """Random access to records."""

    def read(self, pointer: Pointer) -> Capture:
        """The record at a pointer. Raises ArchiveError when it is not there or not whole."""
        ...
