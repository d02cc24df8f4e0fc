"""`gossamer purge`: remove the records of what is taken down from the archive, and what the state says of them.

Needs the store for itself, so no crawl may run. Each step may be cut short at any moment and is done by the next run:
the takedown closes the target all the while. In this order: the takedown reaches queues and calendar; copies that
other URLs have by reference alone get a record of their own; segments are rewritten; rows forget. Crawl log and
exclusion list stay: they are the evidence.
"""

from __future__ import annotations

import random
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.exclusions import Exclusions
from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.segments import ORPHAN, PREFIX
from gossamer.adapters.warc import files
from gossamer.adapters.warc.purge import purge_segment
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.core.changes import Changes, decode_copy, decode_url, encode
from gossamer.core.context import Context
from gossamer.core.ending import NOT_MODIFIED
from gossamer.core.keys import robots_key, segment_key
from gossamer.core.orders import Orders
from gossamer.core.rulesfetch import RulesFetch
from gossamer.model.config import Config
from gossamer.model.errors import ArchiveError, StoreError
from gossamer.model.page import Job, Kind, Pointer
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, Copy, State, UrlRow
from gossamer.model.takedown import Step, StepName, Takedown
from gossamer.model.url import Url, parse
from gossamer.model.via import referrer
from gossamer.policy.networks import net_id
from gossamer.policy.takedown import TakedownRules, compile_takedowns, covering, key_range
from gossamer.ports.archive import Capture
from gossamer.surface import settings
from gossamer.surface.captures import Captures
from gossamer.surface.changing import scope_of
from gossamer.surface.notices import Notices, recovered
from gossamer.version import VERSION

ROWS_AT_ONCE: Final = 500
COVERED_KEPT_MAX: Final = 100_000  # answers about URLs that are remembered while segments are read
_FRAMING: Final = frozenset(("content-length", "transfer-encoding"))
_NOTE: Final = b"replaced\x00"


class Report(msgspec.Struct, kw_only=True):
    """What a purge has done."""

    records: int = 0
    visits: int = 0
    segments: int = 0
    rows: int = 0
    rescued: int = 0  # copies of other URLs that had their payload in a record that went
    damaged: tuple[str, ...] = ()  # what WARC files lacked before, in words


class Purge:
    """One run."""

    def __init__(self, directory: Path, exclusions: Exclusions, chosen: list[Takedown]) -> None:
        """`chosen`: takedowns in force."""
        self._directory = directory
        self._archive = directory / "archive"
        self._exclusions = exclusions
        self._chosen = chosen
        self._rules: TakedownRules = compile_takedowns(chosen)
        self._answers: dict[str, bool] = {}
        self._replaced: set[tuple[str, int]] = set()  # revisits that a response takes the place of; see `_note`
        self._report = Report()
        self._now = time.time()

    def run(self) -> Report:
        """Do it all. Raises GossamerError; what is left is done by the next run."""
        config = settings.load(self._directory / settings.FILE_NAME, directory=str(self._directory))
        try:
            store = RocksStore(self._directory / "state")
        except StoreError as error:
            raise StoreError(f"{error}; a purge needs the state for itself: stop the crawl first") from error
        try:
            self._run(config, _context(config, store, self._now))
        finally:
            store.close()
        done = [Step(StepName.PURGED, self._now, self._report.records)]
        self._exclusions.merge([msgspec.structs.replace(one, steps=(*one.steps, *done)) for one in self._chosen])
        return self._report

    def _run(self, config: Config, context: Context) -> None:
        notices = Notices(context.counters.totals, lambda: self._now)
        recovered(self._directory, context, notices)
        self._report.damaged = tuple(notice.text for notice in notices.last)
        self._enforce(context)
        self._replaced.update(_place(slot) for slot in _noted(context))  # by a run that was cut short
        self._rescue(config, context)
        kept_visits = self._segments()
        self._rows(context)
        self._copies(context)
        context.counters.totals.records = kept_visits
        changes = Changes(context.store)
        for slot in _noted(context):
            changes.delete(Cf.META, slot)
        context.apply(changes)
        context.store.sync()

    def _covered(self, url: str) -> bool:
        found = self._answers.get(url)
        if found is None:
            if len(self._answers) >= COVERED_KEPT_MAX:
                self._answers.clear()
            parsed = parse(url)
            found = self._answers[url] = isinstance(parsed, Url) and bool(covering(self._rules, parsed))
        return found

    def _enforce(self, context: Context) -> None:
        """What a crawl does about takedowns, for those that have not met one since they were made."""
        orders = Orders(context, RulesFetch(context), [])
        orders.take_down(self._exclusions.read(), self._now)
        for one in context.takedowns.without_abort():
            orders.take_step(one.id, Step(StepName.ABORTED, self._now))
        while orders.sweep(self._now):
            pass
        self._exclusions.merge(context.takedowns.take_changed())

    # -- copies of others ----------------------------------------------------------------------------------------------

    def _rescue(self, config: Config, context: Context) -> None:
        """Give pages that are not taken down a record of their own, where their payload is in one that goes."""
        captures = Captures(context.store, self._archive)
        writer = SegmentWriter(
            self._archive,
            f"{PREFIX}-PURGE-{time.strftime('%Y%m%d%H%M%S', time.gmtime(self._now))}",
            segment_bytes=config.archive.segment_bytes,
            software=f"Gossamer/{VERSION}",
            user_agent="",
            clock=time.time,
        )
        changes = Changes(context.store)
        for key, row in self._all_rows(context):
            if row.pointer is None or not row.original_url or not self._covered(row.original_url):
                continue
            if self._covered(row.url):
                continue
            capture = captures.read(row.pointer)
            if capture.record_type != "revisit" or not capture.payload:
                continue
            headers, head = capture.headers, capture.head_bytes
            if capture.status == NOT_MODIFIED:
                headers, head = _confirmed(row.status, capture)
            job = _job(key, row, capture.date, headers, head, capture.payload)
            pointer = writer.write(job, metadata={"purge": "written anew: the record it referred to was purged"})
            self._replaced.add((row.pointer.segment, row.pointer.offset))
            changes.put(Cf.META, _note(row.pointer), b"")
            row.pointer, row.original_url, row.response_date = pointer, "", capture.date
            copy = Copy(key, row.url, capture.date, pointer)
            changes.put(Cf.PAYLOAD, row.payload_digest.encode(), encode(copy))
            changes.put(Cf.META, segment_key(pointer.segment), b"")
            changes.put_url(key, row)
            self._report.rescued += 1
        writer.close()
        context.apply(changes)
        context.store.sync()

    # -- segments ------------------------------------------------------------------------------------------------------

    def _segments(self) -> int:
        """Rewrite every segment that holds a covered record; how many visits are left in the archive."""
        kept = 0
        why = " ".join(one.id for one in self._chosen)[:500]
        orphans = sorted(self._archive.glob(f"*{files.SUFFIX}{ORPHAN}"))
        for path in (*files.segments(self._archive), *orphans):
            name = files.segment_name(path)

            def goes(url: str, offset: int, name: str = name) -> bool:
                return self._covered(url) or (name, offset) in self._replaced

            try:
                done = purge_segment(path, goes, why, self._now)
            except OSError as error:
                raise files.failure(error, path.name) from error
            except ArchiveError as error:
                raise ArchiveError(f"{path.name}: {error}; gossamer verify tells more") from error
            kept += 0 if path in orphans else done.kept_visits
            self._report.records += done.records
            self._report.visits += done.visits
            self._report.segments += bool(done.records)
        return kept

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _rows(self, context: Context) -> None:
        """Let the rows of what was purged say only that it was there."""
        for one in self._chosen:
            start, stop = key_range(one.target)
            for key, row in self._all_rows(context, start, stop):
                if self._covered(row.url):
                    changes = Changes(context.store)
                    self._empty(context, changes, key, row)
                    context.apply(changes)
                    self._report.rows += 1

    def _empty(self, context: Context, changes: Changes, key: str, row: UrlRow) -> None:
        host = context.ledger.find(row.host)
        if host is not None and row.kind is Kind.ROBOTS:
            for scheme in list(host.robots):
                changes.delete(Cf.HOST, robots_key(row.host, scheme))
            host.robots.clear()
            context.ledger.put(changes, host)
        if row.kind is not Kind.PAGE and row.kind is not Kind.SITEMAP:
            changes.delete(Cf.URL, key.encode())
            context.counters.totals.urls -= 1
            return
        if row.state in (State.FETCHED, State.GONE):
            row.state, row.reason, row.detail = State.REFUSED, Reason.TAKEDOWN, f"takedown {row.halted}, purged"
        row.pointer, row.history, row.original_url, row.response_date = None, (), "", 0.0
        row.status = row.payload_bytes = row.content_hash = row.text_chars = 0
        row.payload_digest = row.content_digest = row.etag = row.last_modified = ""
        row.simhash, row.sketch, row.title, row.language = None, b"", "", ""
        row.canonical = row.redirect_to = row.digest_error = ""
        changes.put_url(key, row)

    def _copies(self, context: Context) -> None:
        """Nothing refers to a record that is gone."""
        start = b""
        while found := context.store.scan(Cf.PAYLOAD, start, None, ROWS_AT_ONCE):
            changes = Changes(context.store)
            for slot, raw in found:
                if self._covered(decode_copy(raw).url):
                    changes.delete(Cf.PAYLOAD, slot)
            context.apply(changes)
            start = found[-1][0] + b"\x00"

    def _all_rows(self, context: Context, start: str = "", stop: str = "") -> Iterator[tuple[str, UrlRow]]:
        at, end = start.encode(), stop.encode() if stop else None
        while found := context.store.scan(Cf.URL, at, end, ROWS_AT_ONCE):
            yield from ((slot.decode(), decode_url(raw)) for slot, raw in found)
            at = found[-1][0] + b"\x00"


def _context(config: Config, store: RocksStore, now: float) -> Context:
    """What the core needs to change rows, with nothing to fetch by."""
    return Context(
        config,
        scope_of(config),
        store,
        random.Random(secrets.randbits(64)),
        started=now,
        lane_of=lambda _host, address: address,
        net_of=net_id,
        as_of=lambda _address: None,
        exempt=lambda _address: False,
    )


def _job(key: str, row: UrlRow, date: float, headers: tuple[tuple[str, str], ...], head: bytes, payload: bytes) -> Job:
    """The visit of a revisit record again, with the payload it referred to."""
    chunked = any(name.lower() == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(payload), payload) if chunked else None
    return Job(
        id=0,
        kind=row.kind,
        url=row.url,
        key=key,
        depth=row.depth,
        date=date,
        status=row.status,
        headers=headers,
        request_bytes=b"",
        head_bytes=head,
        payload=payload,
        framed=framed,
        content_encoding=(),
        truncated=row.truncated,
        address="",
        http_version="HTTP/1.1",
        tls_version="",
        tls_cipher="",
        payload_digest=row.payload_digest,
        via=referrer(row.via),
    )


def _confirmed(status: int, capture: Capture) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """Fields and head of the response that a 304 confirmed, as they are after it (RFC 9111, section 4.3.4)."""
    kept = tuple((name, value) for name, value in capture.headers if name.lower() not in _FRAMING)
    fields = (*kept, ("content-length", str(len(capture.payload))))
    lines = (f"HTTP/1.1 {status} OK", *(f"{name}: {value}" for name, value in fields), "", "")
    return fields, "\r\n".join(lines).encode("latin-1", "replace")


def _note(pointer: Pointer) -> bytes:
    """Key that says that a record is to go, since the row of its URL names another one now."""
    return _NOTE + f"{pointer.segment}\x00{pointer.offset}".encode()


def _place(slot: bytes) -> tuple[str, int]:
    segment, _, offset = slot[len(_NOTE) :].decode().partition("\x00")
    return segment, int(offset)


def _noted(context: Context) -> list[bytes]:
    """All such keys."""
    start, stop = _NOTE, _NOTE[:-1] + b"\x01"
    slots: list[bytes] = []
    while found := context.store.scan(Cf.META, start, stop, ROWS_AT_ONCE):
        slots += [slot for slot, _ in found]
        start = found[-1][0] + b"\x00"
    return slots
