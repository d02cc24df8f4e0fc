"""Stored copies of a URL: which there are, and reading one with the payload a revisit refers to."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.exclusions import Gate
from gossamer.adapters.warc import cdxj, files, parse
from gossamer.adapters.warc.reader import Reader as Archive
from gossamer.adapters.warc.surt import surt
from gossamer.core.changes import decode_copy
from gossamer.core.ending import HISTORY_MAX
from gossamer.model.errors import ArchiveError, WithheldError
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, UrlRow
from gossamer.model.takedown import Takedown
from gossamer.model.url import Url
from gossamer.model.url import parse as parse_url
from gossamer.model.view import Visit
from gossamer.ports.archive import Capture
from gossamer.ports.store import Store
from gossamer.surface.explainview import moment
from gossamer.surface.storescan import decoded, url_row
from gossamer.surface.terminal import shorten

MOVED_READ_MAX: Final = 16  # pages whose place another has taken, and whose captures are told with its own
INDEXED_MAX: Final = 10_000  # versions of one URL taken from the indexes
_LINE_MAX_BYTES: Final = 64 * 1024


class _Line(msgspec.Struct):
    """What an index line says of a capture."""

    url: str
    offset: str
    length: str
    filename: str
    status: str = ""


_line: Final = msgspec.json.Decoder(_Line).decode


class Captures:
    """The versions a crawl holds, by way of its rows and, for what rows no longer name, the CDXJ indexes."""

    def __init__(self, store: Store, directory: Path) -> None:
        """`directory` holds the segments."""
        self._store = store
        self._directory = directory
        self._archive = Archive(directory)
        self.gate = Gate(directory)

    def of(self, url: str) -> list[Visit]:
        """Stored copies of a URL in any spelling, newest first; empty when there is none. Raises WithheldError."""
        self._give_out(url)
        parsed = parse_url(url)
        row = url_row(self._store, parsed.key) if isinstance(parsed, Url) else None
        return [] if row is None or not isinstance(parsed, Url) else self.of_row(parsed.key, row)

    def of_row(self, key: str, row: UrlRow) -> list[Visit]:
        """Stored copies of the URL of a row, newest first, those of pages whose place it has taken among them."""
        visits = self._of_url(key, row)
        taken = {key}
        waiting = list(row.moved_from)
        while waiting and len(taken) <= MOVED_READ_MAX:
            name = waiting.pop()
            earlier = url_row(self._store, name) if name not in taken else None
            taken.add(name)
            if earlier is not None:
                own = self._of_url(name, earlier)
                visits += [msgspec.structs.replace(visit, url=visit.url or earlier.url) for visit in own]
                waiting += earlier.moved_from
        return sorted(visits, key=lambda visit: visit.time, reverse=True)

    def _of_url(self, key: str, row: UrlRow) -> list[Visit]:
        known = list(row.history)
        if row.pointer is not None:
            known.append((row.visited, row.status, row.pointer))
        if len(row.history) >= HISTORY_MAX:
            seen = {(pointer.segment, pointer.offset) for _, _, pointer in known}
            older = (found for found in self._indexed(key, row.url) if (found.segment, found.offset) not in seen)
            known = [(0.0, 0, pointer) for pointer in older] + known
        return [self._visit(date, status, pointer, row) for date, status, pointer in known]

    def _visit(self, date: float, status: int, pointer: Pointer, row: UrlRow) -> Visit:
        """What the record says; what the row says where the record cannot be read (`verify` reports that)."""
        visit = Visit(time=date, status=status, segment=pointer.segment, offset=pointer.offset, length=pointer.length)
        try:
            capture = self._archive.read(pointer)
        except ArchiveError:
            return visit
        parsed = parse_url(capture.url)
        url = "" if capture.url == row.url or (isinstance(parsed, Url) and parsed.wire == row.url) else capture.url
        if capture.record_type == "metadata":  # noarchive: that it was visited is all that is kept
            return msgspec.structs.replace(visit, time=capture.date, record="metadata", url=url)
        media_type = cdxj.media_type(parse.field(capture.headers, "content-type"))
        return msgspec.structs.replace(
            visit,
            time=capture.date,
            status=capture.status or status,
            media_type="" if media_type == "unk" else media_type,
            bytes=len(capture.payload),
            digest=capture.payload_digest or (row.payload_digest if pointer == row.pointer else ""),
            revisit=capture.record_type == "revisit",
            record=capture.record_type,
            refers_to=parse.field(capture.warc_headers, "warc-refers-to-target-uri"),
            url=url,
        )

    def read(self, pointer: Pointer) -> Capture:
        """One record; a revisit with the payload of the record it refers to, where that is found.

        A 304 has few headers of its own: those it does not have are the earlier response's (RFC 9111, section 4.3.4).
        Raises ArchiveError, WithheldError when its URL is taken down.
        """
        capture = self._archive.read(pointer)
        self._give_out(capture.url)
        if capture.record_type != "revisit":
            return capture
        first = self._original(capture)
        if first is None:
            return capture
        headers = capture.headers
        if capture.status == 304:
            own = {name for name, _ in headers}
            headers = (*headers, *(pair for pair in first.headers if pair[0] not in own))
        ok = False if False in {capture.digest_ok, first.digest_ok} else capture.digest_ok
        return msgspec.structs.replace(capture, payload=first.payload, headers=headers, digest_ok=ok)

    def _give_out(self, url: str) -> None:
        takedown = self.gate.refusal(url)
        if takedown is not None:
            raise WithheldError(f"{shorten(url, 200)}: {withheld(takedown)}")

    def _original(self, revisit: Capture) -> Capture | None:
        """The response whose payload a revisit refers to."""
        digest = revisit.payload_digest
        if not digest:
            return None
        for pointer in self._candidates(revisit, digest):
            try:
                found = self._archive.read(pointer)
            except ArchiveError:
                continue  # another record of the same payload may still be whole
            if found.record_type == "response" and found.payload_digest == digest:
                return found
        return None

    def _candidates(self, revisit: Capture, digest: str) -> Iterator[Pointer]:
        raw = self._store.get(Cf.PAYLOAD, digest.encode())
        if raw is not None:
            yield decoded(decode_copy, Cf.PAYLOAD, digest.encode(), raw).pointer
        target = parse.field(revisit.warc_headers, "warc-refers-to-target-uri") or revisit.url
        parsed = parse_url(target)
        row = url_row(self._store, parsed.key) if isinstance(parsed, Url) else None
        if row is None or not isinstance(parsed, Url):
            return
        yield from (pointer for _, _, pointer in reversed(row.history))
        if row.pointer is not None:
            yield row.pointer
        yield from self._indexed(parsed.key, target)

    def _indexed(self, key: str, url: str) -> Iterator[Pointer]:
        """Captures of a URL named by the index files, a bounded number. Damaged lines are passed over."""
        prefix = surt(url).encode() + b" "
        left = INDEXED_MAX
        for segment in files.segments(self._directory):
            for raw in index_lines(segment.with_name(files.segment_name(segment) + cdxj.SUFFIX), prefix):
                try:
                    line = _line(raw[raw.index(b"{") :])
                    pointer = Pointer(line.filename, int(line.offset), int(line.length))
                except (msgspec.MsgspecError, ValueError):
                    continue
                parsed = parse_url(line.url)
                if isinstance(parsed, Url) and parsed.key == key:
                    yield pointer
                    left -= 1
                    if not left:
                        return


def withheld(takedown: Takedown) -> str:
    """Why no copy of a URL is given out."""
    target = takedown.target
    since = moment(takedown.asked)
    return f"taken down since {since} ({target.kind} {target.value}, {takedown.id}): no copy of it is given out"


def index_lines(path: Path, prefix: bytes) -> Iterator[bytes]:
    """Lines of a sorted index file that begin with `prefix`, found by bisection. None when there is no such file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            position = _first_line(data, prefix)
            while position < len(data):
                end = data.find(b"\n", position, position + _LINE_MAX_BYTES)
                line = data[position : end if end >= 0 else position]
                if end < 0 or not line.startswith(prefix):
                    return
                yield line
                position = end + 1
    except (OSError, ValueError):  # no index (the segment is open), or an empty one
        return


def _first_line(data: mmap.mmap, prefix: bytes) -> int:
    """Where the first line starts that is not less than `prefix`."""
    low, high = 0, len(data)
    while low < high:
        middle = (low + high) // 2
        start = max(low, data.rfind(b"\n", 0, middle) + 1)
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        if data[start:end] < prefix:
            low = end + 1
        else:
            high = start
    return low
