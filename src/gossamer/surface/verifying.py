"""`verify`: every row has its records, every record has its row, and the queues and counters are what rows say.

One pass over the rows, one over the segments in order, and a second one over the rows only where something is wrong.
What is wrong is a value; nothing is mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from gossamer.adapters.warc import files
from gossamer.adapters.warc.check import Checked, iterate_segment
from gossamer.adapters.warc.reader import Reader as Archive
from gossamer.core.changes import decode_copy
from gossamer.core.counters import Totals
from gossamer.core.ending import HISTORY_MAX
from gossamer.model.errors import ArchiveError, StoreError
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, UrlRow
from gossamer.model.url import Url, parse
from gossamer.model.view import Problem, VerifyProgress
from gossamer.ports.store import Store
from gossamer.surface.rowindex import RowIndex, contains, hash_of, row_due, row_place, row_pointers
from gossamer.surface.storescan import decoded, pairs, url_row, url_rows
from gossamer.surface.verifystate import StateCheck, counter

PROGRESS_EVERY: Final = 5_000  # rows or records
_VISITS: Final = frozenset({"response", "revisit"})


def verify(store: Store, totals: Totals, archive: Path, segments: Sequence[str]) -> Iterator[Problem | VerifyProgress]:
    """Check a crawl.

    Args:
        store: opened after `segments` were listed, so that all of a finished segment is committed in it.
        totals: its counters.
        archive: the directory of the segments.
        segments: their names, sorted.
    """
    return _Verification(store, totals, archive, segments).run()


class _Verification:
    def __init__(self, store: Store, totals: Totals, archive: Path, segments: Sequence[str]) -> None:
        self._store = store
        self._totals = totals
        self._directory = archive
        self._archive = Archive(archive)
        self._names = segments
        self._index = RowIndex(segments)
        self._visits = 0  # visit records come across
        self._damaged = False
        self._records = 0
        self._bytes = 0
        self._segments = 0

    def run(self) -> Iterator[Problem | VerifyProgress]:
        yield from self._rows()
        state = StateCheck(self._store, self._totals, self._index)
        yield from state.run()
        for name in self._names:
            yield from self._segment(name)
            self._segments += 1
        if not self._damaged and self._visits != self._totals.records:
            yield counter("records", self._totals.records, self._visits)
        yield from self._named(state)
        yield from self._copies()
        yield self._progress()

    def _progress(self) -> VerifyProgress:
        return VerifyProgress(
            rows=self._index.rows,
            rows_total=max(self._totals.urls, self._index.rows),
            records=self._records,
            segments=self._segments,
            segments_total=len(self._names),
            bytes=self._bytes,
        )

    def _rows(self) -> Iterator[Problem | VerifyProgress]:
        damaged: list[str] = []
        for key, row in url_rows(self._store, damaged.append):
            while damaged:
                yield Problem(kind="row-damaged", what=str(Cf.URL), text=damaged.pop())
            wrong = self._index.add(key, row)
            if wrong:
                yield Problem(kind="record-missing", what=row.url, text=wrong)
            if not self._index.rows % PROGRESS_EVERY:
                yield self._progress()
        yield from (Problem(kind="row-damaged", what=str(Cf.URL), text=text) for text in damaged)
        self._index.freeze()

    # -- records → rows ----------------------------------------------------------------------------------------------

    def _segment(self, name: str) -> Iterator[Problem | VerifyProgress]:
        """Every record of one segment as far as it is committed: what follows is cut off at the next start."""
        path = self._directory / name
        if not path.exists():
            path = self._directory / (name + files.OPEN)
        committed = self._totals.committed.get(name, 0 if path.name.endswith(files.OPEN) else None)
        if committed == 0:
            return
        known = self._index.of_segment(name)
        before = ""
        for checked in iterate_segment(path):
            if committed is not None and checked.pointer.offset >= committed:
                return
            if checked.error and not checked.pointer.length:
                self._damaged = True
                text = f"at byte {checked.pointer.offset:,}: {checked.error}; records after it are looked up one by one"
                yield Problem(kind="segment-damaged", what=name, text=text)
                return
            self._records += 1
            self._bytes += checked.pointer.length
            if checked.error:
                self._damaged = self._damaged or not checked.record_type
                yield _damaged(checked)
            # A metadata record follows the request of its visit, unless it is all that is kept of one (noarchive), or
            # stands where others were purged: then it has no URL.
            alone = checked.record_type == "metadata" and before != "request" and bool(checked.url)
            if checked.record_type in _VISITS or alone:
                self._visits += 1
                yield from self._visit(checked, known)
            before = checked.record_type
            if not self._records % PROGRESS_EVERY:
                yield self._progress()

    def _visit(self, checked: Checked, known: dict[int, int]) -> Iterator[Problem]:
        index, pointer = self._index, checked.pointer
        at = known.get(pointer.offset)
        url = parse(checked.url)
        key = url.key if isinstance(url, Url) else ""
        if at is None:
            yield from self._orphan(checked, key)
            return
        index.matched[at] = True
        if index.keys[at] != hash_of(key):
            index.matched[at] = False  # the row it belongs to is named by the second pass
        elif index.lengths[at] != pointer.length:
            text = f"{_place(pointer)}: {pointer.length} bytes, its row says {index.lengths[at]}"
            yield Problem(kind="record-differs", what=checked.url, text=text)
        elif not checked.error and self._is_other_payload(at, checked):
            text = f"{_place(pointer)}: its payload digest {checked.payload_digest} is not that of its row"
            yield Problem(kind="digest-differs", what=checked.url, text=text)

    def _is_other_payload(self, at: int, checked: Checked) -> bool:
        """Whether the last record of a row has another payload than the row says. Earlier ones are not in the row."""
        wanted = int(self._index.digests[at])
        if not wanted or checked.record_type not in _VISITS or not checked.payload_digest:
            return False
        return wanted != hash_of(checked.payload_digest)

    def _orphan(self, checked: Checked, key: str) -> Iterator[Problem]:
        """A record that no row names: right only for versions so old that the row has let go of them."""
        try:
            row = url_row(self._store, key) if key else None
        except StoreError:
            return  # its row is damaged, and was named as such
        if row is not None and len(row.history) >= HISTORY_MAX and checked.date <= row.history[0][0] + 1:
            return
        why = "no row names it" if row is None else "the row of its URL does not name it"
        text = f"{checked.record_type} record at {_place(checked.pointer)}: {why}"
        yield Problem(kind="row-missing", what=checked.url, text=text)

    # -- rows → records ----------------------------------------------------------------------------------------------

    def _named(self, state: StateCheck) -> Iterator[Problem]:
        """Name what the walk did not find: a second pass over the rows, only when there is something to name."""
        unmatched = self._index.unmatched()
        if not (len(unmatched) or len(state.lost) or len(state.undated)):
            return
        for key, row in url_rows(self._store, lambda _: None):  # the first pass has told of damage
            for pointer in row_pointers(row):
                if contains(unmatched, self._index.position(pointer)):
                    yield from self._direct(key, row, pointer)
            place, due = row_place(key, row), row_due(key, row)
            if place is not None and contains(state.lost, place):
                text = f"its row says that it is queued at {row.host}, and it is not"
                yield Problem(kind="queue-entry-missing", what=row.url, text=text)
            if due is not None and contains(state.undated, due):
                yield Problem(kind="calendar-differs", what=row.url, text="its next visit is not in the calendar")

    def _direct(self, key: str, row: UrlRow, pointer: Pointer) -> Iterator[Problem]:
        """Read a record that the walk did not come across (its segment is damaged before it, or it is not there)."""
        try:
            capture = self._archive.read(pointer)
        except ArchiveError as error:
            yield Problem(kind="record-missing", what=row.url, text=str(error))
            return
        url = parse(capture.url)
        if not isinstance(url, Url) or url.key != key:
            yield Problem(kind="url-differs", what=row.url, text=f"{_place(pointer)} holds {capture.url or 'no URL'}")
        elif capture.digest_ok is False:
            yield Problem(kind="digest-differs", what=row.url, text=f"{_place(pointer)}: digest does not match")

    def _copies(self) -> Iterator[Problem]:
        """The first captures of payloads, to which revisits refer."""
        for slot, value in pairs(self._store, Cf.PAYLOAD):
            try:
                copy = decoded(decode_copy, Cf.PAYLOAD, slot, value)
            except StoreError as error:
                yield Problem(kind="row-damaged", what=str(Cf.PAYLOAD), text=str(error))
                continue
            if self._index.names(copy.pointer):
                continue
            try:
                same = self._archive.read(copy.pointer).payload_digest == slot.decode()
            except ArchiveError as error:
                yield Problem(kind="original-missing", what=copy.url, text=str(error))
                continue
            if not same:
                text = f"{_place(copy.pointer)} does not hold the payload {slot.decode()}"
                yield Problem(kind="original-differs", what=copy.url, text=text)


def _place(pointer: Pointer) -> str:
    return f"{pointer.segment} at byte {pointer.offset:,}"


def _damaged(checked: Checked) -> Problem:
    kind = "digest-differs" if checked.digest_ok is False else "record-damaged"
    what = checked.url or checked.pointer.segment
    return Problem(kind=kind, what=what, text=f"{_place(checked.pointer)}: {checked.error}")
