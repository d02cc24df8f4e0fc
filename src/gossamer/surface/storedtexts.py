"""Texts of stored captures, by their records: read from the archive, parsed in a process of their own."""

from __future__ import annotations

from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.stored import Asked
from gossamer.adapters.digest.textreader import TextReader
from gossamer.model.config import Config
from gossamer.model.page import Pointer
from gossamer.model.view import StoredText
from gossamer.policy.scope import ScopeRules
from gossamer.surface.captures import Captures


class StoredTexts:
    """Parses what a crawl has stored as the crawl parsed it, under the same bounds."""

    def __init__(self, captures: Captures, config: Config, scope: ScopeRules) -> None:
        self._captures = captures
        rules = LinkRules(scope=scope, product=config.identity.product, body_max_bytes=config.fetch.max_body_bytes)
        self._reader = TextReader(
            rules, memory_max_bytes=config.workers.memory_max_bytes, timeout_s=config.workers.timeout_s
        )

    def text(self, pointer: Pointer) -> StoredText:
        """What a record says, in lines. Raises ArchiveError."""
        return self._read(pointer, lines=True)

    def fingerprint(self, pointer: Pointer) -> StoredText:
        """The same without the lines. Raises ArchiveError."""
        return self._read(pointer, lines=False)

    def size(self, pointer: Pointer) -> int:
        """Bytes of the payload a record stands for. Raises ArchiveError."""
        return len(self._captures.read(pointer).payload)

    def close(self) -> None:
        """End the process."""
        self._reader.close()

    def _read(self, pointer: Pointer, *, lines: bool) -> StoredText:
        capture = self._captures.read(pointer)
        if capture.record_type == "revisit" and not capture.payload:
            return StoredText(error="the record that has its payload is not there")
        return self._reader.read(Asked(url=capture.url, headers=capture.headers, payload=capture.payload, lines=lines))
