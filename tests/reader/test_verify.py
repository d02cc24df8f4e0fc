"""`verify` on crawls with a real store and real segments: whole ones pass, each kind of damage is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.warc import files, members
from gossamer.adapters.warc.check import iterate_segment
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.core import ending
from gossamer.core.changes import decode_url
from gossamer.core.counters import load_totals
from gossamer.core.keys import robots_key
from gossamer.model.config import Refresh
from gossamer.model.page import Job, Kind
from gossamer.model.record import Cf
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface import verifying
from tests.reader.damage import PAGES, SEED, check, kinds, pointer_of, web
from tests.reader.making import Made, html, plain_config

# -- whole crawls ---------------------------------------------------------------------------------------------------


def test_an_interrupted_crawl_is_whole(crawl: Made) -> None:
    problems, last = check(crawl)
    assert problems == []
    assert len(crawl.segments()) >= 3
    assert last.rows == last.rows_total > PAGES
    assert last.segments == last.segments_total == len(crawl.segments())
    assert last.bytes == sum(path.stat().st_size for path in crawl.segments())
    totals = load_totals(RocksStore(crawl.directory / "state", read_only=True))
    assert totals.queued > 5
    assert totals.records > 15
    # response, request and metadata of each visit, and a warcinfo in each segment
    assert last.records == 3 * totals.records + last.segments


def test_a_finished_crawl_with_copies_noarchive_and_refreshes_is_whole(tmp_path: Path) -> None:
    config = plain_config((SEED, "https://b.example/"), refresh=Refresh(interval_s=86_400.0))
    made = Made(tmp_path / "crawl", config, web(), segment_bytes=20_000)
    made.run()
    made.wait(20 * 86_400.0)
    made.run(60.0, due=True)
    store = RocksStore(made.directory / "state", read_only=True)
    totals = load_totals(store)
    assert totals.exact > 0
    assert sum(totals.queued_by_level[10:]) > 0
    assert any(decode_url(value).history for _, value in store.scan(Cf.URL, b"", None, 10_000))
    assert any(decode_url(value).noarchive for _, value in store.scan(Cf.URL, b"", None, 10_000))
    assert check(made)[0] == []


def test_an_open_segment_is_checked_as_far_as_it_is_committed(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config((SEED,)), web())
    made.run(20.0, finish=False)
    (segment,) = made.segments()
    assert segment.name.endswith(files.OPEN)
    assert check(made)[0] == []
    with segment.open("ab") as file:
        file.write(b"\x1f\x8b half a record")
    problems, last = check(made)
    assert problems == []
    assert last.records > 10
    stray = made.directory / "archive" / "t-999-00000.warc.gz.open"
    stray.write_bytes(segment.read_bytes())  # of a worker that died before its first commit
    assert check(made)[0] == []


def test_an_empty_crawl_is_whole(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config((SEED,)), web())
    made.run(0.0)
    problems, last = check(made)
    assert problems == []
    assert (last.rows, last.records) == (1, 0)


def test_versions_that_a_row_has_let_go_of_are_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "HISTORY_MAX", 2)
    monkeypatch.setattr(verifying, "HISTORY_MAX", 2)
    config = plain_config((SEED,), refresh=Refresh(interval_s=86_400.0))
    made = Made(tmp_path / "crawl", config, SimWeb({"a.example": SimHost(address="1.1.1.1", page=changing())}))
    for _ in range(5):
        made.run(due=True)
        made.wait(2 * 86_400.0)
    assert check(made)[0] == []
    # The same records are strays as soon as the row could still name them.
    monkeypatch.setattr(verifying, "HISTORY_MAX", 3)
    assert kinds(made)[:2] == [("row-missing", SEED), ("row-missing", SEED)]


def changing() -> Callable[[str], Answer]:
    """A page that is different each time."""
    numbers = itertools.count()
    return lambda _target: html(f"version {next(numbers)}")


# -- damage to the archive ---------------------------------------------------------------------------------------------


def test_a_flipped_byte_is_found_and_the_rest_of_the_segment_is_still_read(crawl: Made) -> None:
    pointer = pointer_of(crawl, "example,a)/p/0")
    path = crawl.directory / "archive" / pointer.segment
    data = bytearray(path.read_bytes())
    data[pointer.offset + pointer.length // 2] ^= 0xFF
    path.write_bytes(data)
    problems, _ = check(crawl)
    assert ("record-missing", SEED + "p/0") in {(p.kind, p.what) for p in problems}
    assert {p.kind for p in problems} <= {"record-missing", "segment-damaged", "record-damaged", "digest-differs"}
    assert [p.what for p in problems if p.kind == "record-missing"] == [SEED + "p/0"]


def test_a_body_replaced_by_another_does_not_match_its_digest(crawl: Made) -> None:
    pointer = pointer_of(crawl, "example,a)/p/2")
    path = crawl.directory / "archive" / pointer.segment
    record = bytearray(path.read_bytes())
    start, end = pointer.offset, pointer.offset + pointer.length
    other = members.pack(members.unpack(bytes(record[start:end])).replace(b"page 2", b"PAGE 2"))
    path.write_bytes(bytes(record[:start]) + other + bytes(record[end:]))
    problems, _ = check(crawl)
    assert ("digest-differs", SEED + "p/2") in {(p.kind, p.what) for p in problems}


@pytest.mark.parametrize("keep", [0, 1, 100])
def test_a_record_cut_off(crawl: Made, keep: int) -> None:
    pointer = pointer_of(crawl, "example,a)/p/0")
    path = crawl.directory / "archive" / pointer.segment
    with path.open("r+b") as file:
        file.truncate(pointer.offset + keep)
    problems, _ = check(crawl)
    found = {(p.kind, p.what): p.text for p in problems}
    assert ("record-missing", SEED + "p/0") in found
    assert "cut off" in found["record-missing", SEED + "p/0"]
    assert (("segment-damaged", pointer.segment) in found) == (keep > 0)


def test_a_segment_that_is_gone(crawl: Made) -> None:
    pointer = pointer_of(crawl, "example,a)/p/0")
    store = RocksStore(crawl.directory / "state", read_only=True)
    rows = [decode_url(value) for _, value in store.scan(Cf.URL, b"", None, 10_000)]
    expected = {row.url for row in rows if row.pointer is not None and row.pointer.segment == pointer.segment}
    store.close()
    (crawl.directory / "archive" / pointer.segment).unlink()
    problems, _ = check(crawl)
    assert {p.what for p in problems if p.kind == "record-missing"} == expected
    text = f"{pointer.segment} at byte {pointer.offset}: no such segment"
    assert text in {p.text for p in problems if p.kind == "record-missing"}


def test_a_record_no_row_knows(crawl: Made) -> None:
    writer = SegmentWriter(
        crawl.directory / "archive", "extra", segment_bytes=1 << 20, software="t", user_agent="t", clock=lambda: 0.0
    )
    job = Job(
        id=1, kind=Kind.PAGE, url=SEED + "extra", key="example,a)/extra", depth=0, date=1e9, status=200, headers=(),
        request_bytes=b"GET /x HTTP/1.1\r\n\r\n", head_bytes=b"HTTP/1.1 200 OK\r\n\r\n", payload=b"extra", framed=None,
        content_encoding=(), truncated="", address="1.1.1.1", http_version="HTTP/1.1", tls_version="", tls_cipher="",
        payload_digest="",
    )  # fmt: skip
    writer.write(job, metadata={})
    writer.close()
    assert kinds(crawl) == [("counter-differs", "records"), ("row-missing", SEED + "extra")]


def test_what_is_checked_is_what_the_archive_holds(crawl: Made) -> None:
    """The walk and the rows agree on every visit record, robots.txt included."""
    visits = {
        (checked.pointer.segment, checked.pointer.offset)
        for path in crawl.segments()
        for checked in iterate_segment(path)
        if checked.record_type in {"response", "revisit"}
    }
    store = RocksStore(crawl.directory / "state", read_only=True)
    rows = [decode_url(value) for _, value in store.scan(Cf.URL, b"", None, 10_000)]
    assert {(row.pointer.segment, row.pointer.offset) for row in rows if row.pointer is not None} == visits
    assert any(row.kind is Kind.ROBOTS and row.pointer is not None for row in rows)
    assert store.get(Cf.HOST, robots_key("a.example", "https")) is not None
