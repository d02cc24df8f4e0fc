"""What an archive stores in a simulated crawl: payload bytes in full, and which of them it held already.

Written is what the WARC stage writes (`policy.revisits`): a revisit record has no payload. A payload stored in full
is a duplicate when its very bytes were stored in full before, or its text was, around which only other bytes stand;
what a text is says the web, not the crawler.
"""

from __future__ import annotations

from operator import add, sub
from typing import Final

import msgspec
from xxhash import xxh3_64_intdigest

from gossamer.model.page import Job, Kind
from gossamer.policy.revisits import revisit_of
from gossamer.sim.web import Answer

OK: Final = 200


class Stored(msgspec.Struct):
    """Payload bytes, by what they were to the archive."""

    full: int = 0  # stored in full, all of it
    exact: int = 0  # of that: the same bytes were there
    near: int = 0  # of that: another address's, with the same text
    again: int = 0  # of that: the same address's, whose text has not changed
    spared: int = 0  # not stored: a revisit record took their place; what a 304 did not even send is not counted
    records: int = 0
    revisits: int = 0

    @property
    def duplicates(self) -> int:
        """Bytes stored although their content was there."""
        return self.exact + self.near + self.again

    @property
    def share(self) -> float:
        """Duplicates among the bytes stored in full."""
        return self.duplicates / max(1, self.full)

    def since(self, before: Stored) -> Stored:
        """What was stored after another state of the same account."""
        return Stored(*map(sub, msgspec.structs.astuple(self), msgspec.structs.astuple(before)))

    def and_then(self, other: Stored) -> Stored:
        """Both together."""
        return Stored(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class Account:
    """Every record of a crawl, as it is written."""

    def __init__(self) -> None:
        """An empty archive."""
        self.total = Stored()
        self.kinds: dict[str, Stored] = {}
        self._payloads: set[int] = set()
        self._texts: dict[int, int] = {}  # text -> address that it was first stored for

    def note(self, job: Job, answer: Answer) -> None:
        """The record of a job is written."""
        kind = str(job.kind) if job.kind is not Kind.PAGE or job.status == OK else "error or redirect"
        part = self.kinds.setdefault(kind, Stored())
        size = len(job.payload)
        self._count(part, records=1)
        if revisit_of(job) is not None:
            self._count(part, revisits=1, spared=size)
            return
        self._count(part, full=size)
        payload = xxh3_64_intdigest(job.payload_digest.encode())
        text = (
            xxh3_64_intdigest(answer.title.encode())
            if answer.title and job.kind is Kind.PAGE and job.status == OK
            else 0
        )
        address = xxh3_64_intdigest(job.key.encode())
        if payload in self._payloads:
            self._count(part, exact=size)
        elif text and text in self._texts:
            own = self._texts[text] == address
            self._count(part, again=size if own else 0, near=0 if own else size)
        self._payloads.add(payload)
        if text:
            self._texts.setdefault(text, address)

    def _count(self, part: Stored, **by: int) -> None:
        for name, value in by.items():
            for stored in (self.total, part):
                setattr(stored, name, getattr(stored, name) + value)
