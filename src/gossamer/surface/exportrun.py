"""`gossamer export`: a selection of an archive as WARC files of its own, without what is taken down.

The archive is read once from beginning to end and its records are copied as they stand, compressed. What revisits refer
to is then looked for among what was written and, where it is not there, in the indexes, and copied too. Memory holds
one visit, one segment's index and nothing that grows with the archive: what is referred to waits as hashes on disk.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import xxhash
from numpy.typing import NDArray

from gossamer.adapters.exclusions import Exclusions, Gate
from gossamer.adapters.segments import PREFIX
from gossamer.adapters.warc import cdxj, files, members, parse, visits
from gossamer.adapters.warc.reader import Reader as Archive
from gossamer.adapters.warc.reader import capture_of
from gossamer.adapters.warc.surt import surt
from gossamer.adapters.warc.visits import Stored
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.errors import ArchiveError, UsageError, WithheldError
from gossamer.model.page import Job, Kind, Pointer
from gossamer.policy.selection import Selection, selects
from gossamer.surface.captures import index_lines
from gossamer.surface.hashfile import Hashes, HashFile, missing, places
from gossamer.surface.terminal import escape
from gossamer.version import VERSION

PART: Final = ".part"  # ends the name of an export that is not finished
NOT_MODIFIED: Final = 304


class Report(msgspec.Struct, kw_only=True):
    """What was exported, and what was not."""

    visits: int = 0  # written
    records: int = 0
    bytes: int = 0  # of the WARC files
    files: int = 0
    not_selected: int = 0  # visits
    withheld: int = 0  # visits: taken down
    purged: int = 0  # records in whose place only that is said
    referred: int = 0  # of the visits written: not selected, but a revisit that is refers to them
    in_full: int = 0  # revisits written with the payload of a record that is withheld
    unresolved: int = 0  # captures that revisits refer to, and that the archive does not have
    open_segments: int = 0  # still being written, so not read


class _Line(msgspec.Struct):
    url: str
    offset: str
    length: str
    mime: str = ""
    digest: str = ""


_line: Final = msgspec.json.Decoder(_Line).decode


class Export:
    """One run."""

    def __init__(self, directory: Path, target: Path, selection: Selection, *, segment_bytes: int, agent: str) -> None:
        """`directory` holds the segments, `target` is to hold the export; `agent` is the crawl's User-Agent."""
        self._directory = directory
        self._target = target
        self._part = target.with_name(target.name + PART)
        self._selection = selection
        self._gate = Gate(directory)
        self._exclusions = Exclusions(directory)
        self._archive = Archive(directory)
        self._segment_bytes = segment_bytes
        self._agent = agent
        self._report = Report()
        self._sources: list[Path] = []

    def run(self, said: str) -> Report:
        """Do it, whole or not at all; `said` is the selection in words. Raises GossamerError."""
        for path in (self._target, self._part):
            if path.exists() or path.is_symlink():
                remains = "what an export left that was cut short; remove it" if path == self._part else "is there"
                raise UsageError(f"{escape(str(path))}: {remains}; an export goes into a folder of its own")
        if not self._target.parent.is_dir():
            raise UsageError(f"{escape(str(self._target))}: there is no folder {escape(str(self._target.parent))}")
        held = self._in_force()
        try:
            self._part.mkdir()
        except OSError as error:
            raise UsageError(f"{escape(str(self._part))}: cannot be made: {error.strerror}") from error
        try:
            self._write(said)
            late = self._in_force() - held
            if late:
                raise WithheldError(
                    f"taken down meanwhile: {', '.join(sorted(late))}; nothing is exported, run it again"
                )
            self._part.rename(self._target)
            files.sync_directory(self._target.parent)
        except OSError as error:
            shutil.rmtree(self._part, ignore_errors=True)
            raise files.failure(error, str(self._target)) from error
        except BaseException:
            shutil.rmtree(self._part, ignore_errors=True)
            raise
        return self._report

    def _in_force(self) -> set[str]:
        return {one.id for one in self._exclusions.read() if one.in_force}

    def _write(self, said: str) -> None:
        found = files.segments(self._directory)
        self._sources = [path for path in found if not path.name.endswith(files.OPEN)]
        self._report.open_segments = len(found) - len(self._sources)
        self._writer = SegmentWriter(
            self._part,
            f"{PREFIX}-EXPORT-{time.strftime('%Y%m%d%H%M%S', time.gmtime())}",
            segment_bytes=self._segment_bytes,
            software=f"Gossamer/{VERSION}",
            user_agent=self._agent,
            description=f"exported from an archive: {said or 'everything'}",
            clock=time.time,
        )
        self._wanted = HashFile(self._part / "wanted")
        self._given = HashFile(self._part / "given")
        for path in self._sources:
            for visit in _read(path, 0):
                self._judge(visit)
        self._refer()
        self._writer.close()
        for name in ("wanted", "given", "missing"):
            (self._part / name).unlink()
        files.sync_directory(self._part)
        written = files.segments(self._part)
        self._report.files = len(written)
        self._report.bytes = sum(path.stat().st_size for path in written)

    # -- what is selected ----------------------------------------------------------------------------------------------

    def _judge(self, visit: Stored) -> None:
        report = self._report
        if visit.is_purged:
            report.purged += 1
        elif not self._selects(visit):
            report.not_selected += 1
        elif self._gate.refusal(visit.url) is not None:
            report.withheld += 1
        elif visit.kind != "revisit":
            self._copy(visit)
        else:
            self._copy_revisit(visit)

    def _selects(self, visit: Stored) -> bool:
        chosen = self._selection
        status = visit.status if chosen.statuses else 0
        media_type = visit.media_type if chosen.types else ""
        return selects(chosen, visit.url, parse.date(visit.main.get("warc-date")), status, media_type)

    def _copy(self, visit: Stored) -> None:
        self._writer.add(visit.parts, lambda pointer: cdxj.record_line(visit.main, pointer))
        self._count(len(visit.parts))
        if visit.kind == "response":
            self._given.add(_hash(surt(visit.url), visit.digest))

    def _count(self, records: int) -> None:
        self._report.visits += 1
        self._report.records += records

    def _copy_revisit(self, visit: Stored) -> None:
        """With what it needs of a record that is withheld, if it refers to one. That other one stays where it is."""
        uri = visit.main.get("warc-refers-to-target-uri") or visit.url
        if self._gate.refusal(uri) is None:
            self._wanted.add(_hash(surt(uri), visit.digest))
            self._copy(visit)
            return
        job = self._in_full(visit, uri)
        if job is None:
            self._report.unresolved += 1
            self._copy(visit)
            return
        self._writer.write(job, metadata={"export": "written in full: the record it referred to is withheld"})
        self._count(3)
        self._report.in_full += 1

    def _in_full(self, visit: Stored, uri: str) -> Job | None:
        """A revisit as the response that it stands for; a 304 as what it is, which has no payload."""
        capture = capture_of(visit.main)
        payload: bytes | None = b""
        if capture.status != NOT_MODIFIED:
            payload = self._payload(uri, visit.digest)
        if payload is None:
            return None
        chunked = parse.is_chunked(capture.headers)
        beside = [parse.record(members.unpack(raw)) for raw in visit.parts[1:]]
        asked = next((record.block for record in beside if record.get("warc-type") == "request"), b"")
        return Job(
            id=0,
            kind=Kind.PAGE,
            url=visit.url,
            key="",
            depth=0,
            date=capture.date,
            status=capture.status,
            headers=capture.headers,
            request_bytes=asked,
            head_bytes=capture.head_bytes,
            payload=payload,
            framed=b"%x\r\n%s\r\n0\r\n\r\n" % (len(payload), payload) if chunked and payload else None,
            content_encoding=(),
            truncated="",
            address=visit.main.get("warc-ip-address"),
            http_version="HTTP/1.1",
            tls_version="",
            tls_cipher="",
            payload_digest="" if capture.status == NOT_MODIFIED else f"sha1:{visit.digest}",
        )

    def _payload(self, uri: str, digest: str) -> bytes | None:
        prefix = surt(uri).encode() + b" "
        for path in self._sources:
            for raw in index_lines(path.with_name(path.name + cdxj.SUFFIX), prefix):
                line = _line(raw[raw.index(b"{") :])
                if line.digest == digest and line.mime != "warc/revisit":
                    return self._archive.read(Pointer(path.name, int(line.offset), int(line.length))).payload
        return None

    # -- what revisits refer to ----------------------------------------------------------------------------------------

    def _refer(self) -> None:
        """Copy what selected revisits refer to and what is not selected itself."""
        lacking = HashFile(self._part / "missing")
        missing(self._wanted.sorted(), self._given.sorted(), lacking)
        wanted = lacking.sorted()
        found = np.zeros(len(wanted), np.bool_)
        for path in self._sources if len(wanted) else ():
            self._refer_into(path, wanted, found)
        self._report.unresolved += int(len(wanted) - found.sum())

    def _refer_into(self, path: Path, wanted: Hashes, found: NDArray[np.bool_]) -> None:
        hashes: list[int] = []
        offsets: list[int] = []
        for raw in _index(path):
            try:
                line = _line(raw[raw.index(b"{") :])
                offset = int(line.offset)
            except (ValueError, msgspec.MsgspecError) as error:
                raise ArchiveError(f"{path.name}{cdxj.SUFFIX}: damaged line; gossamer verify tells more") from error
            if line.mime != "warc/revisit":
                hashes.append(_hash(raw[: raw.index(b" ")].decode(), line.digest))
                offsets.append(offset)
        where = places(np.array(hashes, np.uint64), wanted)
        for index in np.flatnonzero(where >= 0):
            place = where[index]
            if found[place]:
                continue
            visit = next(_read(path, offsets[index]))
            if self._gate.refusal(visit.url) is None:
                found[place] = True
                self._report.referred += 1
                self._report.not_selected -= 1
                self._copy(visit)


def _hash(key: str, digest: str) -> int:
    return xxhash.xxh3_64_intdigest(f"{key} {digest}".encode())


def _index(path: Path) -> Iterator[bytes]:
    """The index lines of a segment; made from the segment where there is no index."""
    try:
        with path.with_name(path.name + cdxj.SUFFIX).open("rb") as file:
            yield from file
    except FileNotFoundError:
        yield from cdxj.scan(path).lines


def _read(path: Path, start: int) -> Iterator[Stored]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise ArchiveError(f"{path.name}: cannot be opened: {error.strerror}") from error
    try:
        yield from visits.walk(fd, start)
    except ArchiveError as error:
        raise ArchiveError(f"{path.name}: {error}; gossamer verify tells more") from error
    except OSError as error:
        raise ArchiveError(f"{path.name}: cannot be read: {error.strerror}") from error
    finally:
        os.close(fd)
