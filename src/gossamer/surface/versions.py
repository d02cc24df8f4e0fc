"""The history of a URL: for each stored capture, what it brought compared with the page before it.

Rows keep counts and the last captures, not verdicts, so verdicts are made again from the records by the rule the crawl
goes by (`core.ending`): the same payload, the same text, or a simhash at most a bit away is no change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final

import msgspec

from gossamer.core.ending import CONTENT, GONE, NOT_FOUND, NOT_MODIFIED
from gossamer.core.harvest import REDIRECT_STATUSES
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Pointer
from gossamer.model.record import UrlRow
from gossamer.model.url import Url
from gossamer.model.url import parse as parse_url
from gossamer.model.view import History, StoredText, Version, Visit
from gossamer.policy.duplicates import is_unchanged

Fingerprint = Callable[[Pointer], StoredText]  # raises ArchiveError
_NEAR: Final = "near"


class Verdict(StrEnum):
    """What a visit brought."""

    NEW = "new"  # the first page under this URL
    CHANGED = "changed"  # a page with another text than the one before
    UNCHANGED = "unchanged"  # the same payload, or another with the same text
    NOT_MODIFIED = "304"
    DUPLICATE = "duplicate"  # new or changed, and what another URL had first
    REDIRECT = "redirect"
    MISSING = "missing"  # 404, 410
    ERROR = "error"  # any other status
    NOARCHIVE = "noarchive"  # the page asks not to be kept: nothing to compare
    DAMAGED = "damaged"  # the record cannot be read


def pointer_of(visit: Visit) -> Pointer:
    """Where the record of a capture is."""
    return Pointer(visit.segment, visit.offset, visit.length)


def is_page(visit: Visit) -> bool:
    """Whether a capture is of a page: an answer of status 200 or 203 that was kept."""
    return visit.status in CONTENT and visit.record in {"response", "revisit"}


def history(
    key: str, row: UrlRow, visits: Sequence[Visit], fingerprint: Fingerprint, size: Callable[[Pointer], int], last: int
) -> History:
    """What became of a URL.

    Args:
        key: its key.
        row: its row.
        visits: its stored captures, newest first.
        fingerprint: reads the text of a record.
        size: bytes of the payload a record stands for.
        last: so many captures are judged and told; 0 is all.
    """
    shown = list(visits[:last] if last else visits)
    teller = _Teller(key, row, fingerprint, size)
    before = next((visit for visit in visits[len(shown) :] if is_page(visit)), None)
    if before is not None:
        teller.tell(before)
    versions = [teller.tell(visit) for visit in reversed(shown)]
    return History(
        url=row.url,
        key=key,
        state=row.state.name.lower(),
        redirect_to=row.redirect_to,
        visits=max(row.visits, len(visits)),
        unlisted=max(row.visits - len(visits), 0),
        versions=tuple(reversed(versions)),
    )


class _Teller:
    """Goes over captures, oldest first, and keeps what the next one is compared with."""

    def __init__(self, key: str, row: UrlRow, fingerprint: Fingerprint, size: Callable[[Pointer], int]) -> None:
        self._key = key
        self._row = row
        self._read = fingerprint
        self._size = size
        self._sizes: dict[str, int] = {}  # payload digest -> bytes
        self._page: Visit | None = None  # the last page
        self._text: StoredText | None = None  # of it, once it was needed

    def tell(self, visit: Visit) -> Version:
        """The capture with its verdict."""
        verdict, error = self._verdict(visit)
        source = self._source(visit)
        if source and verdict in {Verdict.NEW, Verdict.CHANGED}:
            verdict = Verdict.DUPLICATE
        fields = msgspec.structs.asdict(visit) | {"bytes": self._bytes(visit)}
        return Version(**fields, verdict=verdict, duplicate_of=source, error=error)

    def _verdict(self, visit: Visit) -> tuple[Verdict, str]:
        """The verdict, and why texts could not be compared. A page becomes what the next one is compared with."""
        if not is_page(visit):
            return _without_page(visit), ""
        before, text = self._page, self._text
        self._page = visit
        if before is None:
            return Verdict.NEW, ""
        if visit.digest and visit.digest == before.digest:
            return Verdict.UNCHANGED, ""
        self._text = None
        try:
            old = text or self._read(pointer_of(before))
            new = self._text = self._read(pointer_of(visit))
        except ArchiveError as error:
            return Verdict.CHANGED, str(error)
        same_text = bool(new.content_hash) and new.content_hash == old.content_hash
        same = same_text or is_unchanged(old.simhash, new.simhash)
        return (Verdict.UNCHANGED if same else Verdict.CHANGED), new.error or old.error

    def _source(self, visit: Visit) -> str:
        """The URL that had the content of a page first, when that is another."""
        if not is_page(visit):
            return ""
        if visit.refers_to:
            parsed = parse_url(visit.refers_to)
            if not isinstance(parsed, Url) or parsed.key != self._key:
                return visit.refers_to
        row = self._row
        newest = row.pointer is not None and row.pointer == pointer_of(visit)
        return row.duplicate_of if newest and row.duplicate_kind == _NEAR else ""

    def _bytes(self, visit: Visit) -> int:
        """Of the payload a capture stands for: a revisit's is in the record it refers to."""
        if not visit.revisit:
            self._sizes[visit.digest] = visit.bytes
            return visit.bytes
        if visit.digest not in self._sizes:
            try:
                self._sizes[visit.digest] = self._size(pointer_of(visit))
            except ArchiveError:
                return 0
        return self._sizes[visit.digest]


def _without_page(visit: Visit) -> Verdict:
    if not visit.record:
        return Verdict.DAMAGED
    if visit.record == "metadata":
        return Verdict.NOARCHIVE
    if visit.status == NOT_MODIFIED:
        return Verdict.NOT_MODIFIED
    if visit.status in REDIRECT_STATUSES:
        return Verdict.REDIRECT
    return Verdict.MISSING if visit.status in {NOT_FOUND, GONE} else Verdict.ERROR
