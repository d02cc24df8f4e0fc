"""`verify` on crawls with a real store and real segments: whole ones pass, each kind of damage is named."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.adapters.warc import files, members
from gossamer.adapters.warc.check import iterate_segment
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.core import ending
from gossamer.core.changes import decode_host, decode_url, encode
from gossamer.core.counters import Totals, load_totals
from gossamer.core.keys import due_key, queue_key, robots_key, waiting_key
from gossamer.model.config import Refresh
from gossamer.model.page import Job, Kind, Pointer
from gossamer.model.record import Cf, Copy, Entry, HostRow, UrlRow
from gossamer.model.view import Problem, VerifyProgress
from gossamer.surface import verifying
from tests.reader.making import NOARCHIVE, Made, html, plain_config, site

from sim.web import Answer, SimHost, SimWeb

SEED = "https://a.example/"
PAGES = 30


def web() -> SimWeb:
    targets = [f"{SEED}p/{n}" for n in range(PAGES)]
    pages = {"/": html("home " * 50, *targets, SEED + "same", SEED + "hidden", SEED + "gone", SEED + "away")}
    pages |= {f"/p/{n}": html(f"page {n} " * 20) for n in range(PAGES)}
    pages |= {
        "/same": html("page 3 " * 20),
        "/hidden": html("not kept", title=NOARCHIVE),
        "/away": Answer(status=301, headers=(("location", SEED + "p/1"),), body=b"moved"),
    }
    rules = Answer(body=b"User-agent: *\nDisallow: /none\n", headers=(("content-type", "text/plain"),))
    second = SimHost(address="1.1.1.2", page=site({"/": html("second", SEED)}))
    return SimWeb({"a.example": SimHost(address="1.1.1.1", robots=rules, page=site(pages)), "b.example": second})


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Made:
    config = plain_config((SEED, "https://b.example/"))
    made = Made(tmp_path_factory.mktemp("verify") / "crawl", config, web(), segment_bytes=6_000)
    made.run(50.0)
    return made


@pytest.fixture
def crawl(template: Made, tmp_path: Path) -> Made:
    """Interrupted on its way: some pages are fetched, some queued. Several small segments."""
    return template.copy(tmp_path / "crawl")


def check(made: Made) -> tuple[list[Problem], VerifyProgress]:
    reader = made.reader()
    items = list(reader.verify())
    reader.close()
    last = items[-1]
    assert isinstance(last, VerifyProgress)
    return [item for item in items if isinstance(item, Problem)], last


def kinds(made: Made) -> list[tuple[str, str]]:
    return sorted((problem.kind, problem.what) for problem in check(made)[0])


def url_row(store: RocksStore, key: str) -> UrlRow:
    raw = store.get(Cf.URL, key.encode())
    assert raw is not None
    return decode_url(raw)


def put_url(store: RocksStore, key: str, row: UrlRow) -> None:
    store.write([(Cf.URL, key.encode(), encode(row))])


def host_row(store: RocksStore) -> HostRow:
    raw = store.get(Cf.HOST, b"a.example")
    assert raw is not None
    return decode_host(raw)


def put_totals(store: RocksStore, totals: Totals) -> None:
    store.write([(Cf.META, b"counters", msgspec.msgpack.encode(totals))])


def pointer_of(made: Made, key: str) -> Pointer:
    store = RocksStore(made.directory / "state", read_only=True)
    row = url_row(store, key)
    store.close()
    assert row.pointer is not None
    return row.pointer


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
    assert {p.text for p in problems if p.kind == "record-missing"} >= {f"{pointer.segment} at byte {pointer.offset}: no such segment"}


def test_a_record_no_row_knows(crawl: Made) -> None:
    writer = SegmentWriter(
        crawl.directory / "archive", "extra", segment_bytes=1 << 20, software="t", user_agent="t", clock=lambda: 0.0
    )
    job = Job(
        id=1, kind=Kind.PAGE, url=SEED + "extra", key="example,a)/extra", depth=0, date=1e9, status=200, headers=(),
        request_bytes=b"GET /extra HTTP/1.1\r\n\r\n", head_bytes=b"HTTP/1.1 200 OK\r\n\r\n", payload=b"extra", framed=None,
        content_encoding=(), truncated="", address="1.1.1.1", http_version="HTTP/1.1", tls_version="", tls_cipher="",
        payload_digest="",
    )  # fmt: skip
    writer.write(job, metadata={})
    writer.close()
    assert kinds(crawl) == [("counter-differs", "records"), ("row-missing", SEED + "extra")]


# -- damage to the state --------------------------------------------------------------------------------------------


def test_a_row_that_is_gone(crawl: Made) -> None:
    crawl.change(lambda store: store.write([(Cf.URL, b"example,a)/p/0", None)]))
    found = kinds(crawl)
    assert ("row-missing", SEED + "p/0") in found
    assert ("counter-differs", "urls") in found


def test_a_row_that_points_elsewhere(crawl: Made) -> None:
    other = pointer_of(crawl, "example,a)/p/1")

    def swap(store: RocksStore) -> None:
        put_url(store, "example,a)/p/0", msgspec.structs.replace(url_row(store, "example,a)/p/0"), pointer=other))

    crawl.change(swap)
    problems, _ = check(crawl)
    found = {(p.kind, p.what): p.text for p in problems}
    assert found["url-differs", SEED + "p/0"] == f"{other.segment} at byte {other.offset:,} holds {SEED}p/1"
    assert ("row-missing", SEED + "p/0") in found
    assert ("url-differs", SEED + "p/1") not in found


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"payload_digest": "sha1:AAAA"}, "digest-differs"),
        ({"pointer": None}, "record-missing"),
        ({"pointer": Pointer("t-000-00000.warc.gz", -4, 10)}, "record-missing"),
    ],
)
def test_a_row_that_says_something_else_than_its_record(crawl: Made, change: dict[str, object], kind: str) -> None:
    def alter(store: RocksStore) -> None:
        row = url_row(store, "example,a)/p/0")
        put_url(store, "example,a)/p/0", msgspec.structs.replace(row, **change))

    crawl.change(alter)
    assert (kind, SEED + "p/0") in kinds(crawl)


def test_a_wrong_length_is_told(crawl: Made) -> None:
    pointer = pointer_of(crawl, "example,a)/p/0")

    def alter(store: RocksStore) -> None:
        row = url_row(store, "example,a)/p/0")
        wrong = msgspec.structs.replace(pointer, length=pointer.length + 1)
        put_url(store, "example,a)/p/0", msgspec.structs.replace(row, pointer=wrong))

    crawl.change(alter)
    assert ("record-differs", SEED + "p/0") in kinds(crawl)


def _queued(store: RocksStore) -> tuple[bytes, bytes]:
    return store.scan(Cf.QUEUE, b"", None, 1)[0]


def test_a_lost_queue_entry(crawl: Made) -> None:
    def lose(store: RocksStore) -> None:
        store.write([(Cf.QUEUE, _queued(store)[0], None)])

    crawl.change(lose)
    assert {kind for kind, _ in kinds(crawl)} == {"queue-entry-missing", "pending-differs", "counter-differs"}
    assert ("pending-differs", "a.example") in kinds(crawl)


def test_an_entry_without_a_row_and_one_of_an_unknown_host(crawl: Made) -> None:
    def add(store: RocksStore) -> None:
        store.write([
            (Cf.QUEUE, queue_key("a.example", 3, 10**6), encode(Entry("example,a)/unknown"))),
            (Cf.QUEUE, queue_key("zz.example", 0, 10**6 + 1), encode(Entry("example,a)/"))),
        ])  # fmt: skip

    crawl.change(add)
    found = kinds(crawl)
    assert ("row-missing", "example,a)/unknown") in found
    assert ("host-missing", "zz.example") in found
    assert ("queue-differs", SEED) in found


def test_a_cursor_that_has_run_past_an_entry(crawl: Made) -> None:
    def run_past(store: RocksStore) -> None:
        row = host_row(store)
        row.cursor[1] = 10**6
        store.write([(Cf.HOST, b"a.example", encode(row))])

    crawl.change(run_past)
    assert kinds(crawl) == [("cursor-beyond", "a.example")]


def test_front_queues_and_ledgers(crawl: Made) -> None:
    def lose(store: RocksStore) -> None:
        row = host_row(store)
        store.write([(Cf.WAITING, waiting_key(row.waiting_level, row.waiting_sequence), None)])
        store.write([(Cf.WAITING, waiting_key(9, 77), b"b.example"), (Cf.WAITING, waiting_key(9, 78), b"zz.example")])

    crawl.change(lose)
    assert kinds(crawl) == [
        ("host-missing", "zz.example"), ("waiting-differs", "b.example"), ("waiting-missing", "a.example"),
    ]  # fmt: skip


def test_a_missing_ledger(crawl: Made) -> None:
    crawl.change(lambda store: store.write([(Cf.HOST, b"a.example", None)]))
    found = kinds(crawl)
    assert ("host-missing", "a.example") in found
    assert ("counter-differs", "hosts") in found


def test_the_calendar(crawl: Made) -> None:
    def alter(store: RocksStore) -> None:
        row = url_row(store, "example,a)/p/0")
        assert row.due > 0
        store.write([
            (Cf.DUE, due_key(row.due, "example,a)/p/0"), None), (Cf.DUE, due_key(12.0, "example,a)/p/1"), b"a.example"),
        ])  # fmt: skip

    crawl.change(alter)
    assert kinds(crawl) == [("calendar-differs", "example,a)/p/1"), ("calendar-differs", SEED + "p/0")]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (lambda t: setattr(t, "urls", t.urls + 1), ["urls"]),
        (lambda t: setattr(t, "hosts", t.hosts - 1), ["hosts"]),
        (lambda t: setattr(t, "queued", t.queued + 5), ["queued"]),
        (lambda t: setattr(t, "parked", 1), ["parked"]),
        (lambda t: setattr(t, "hosts_with_work", 9), ["hosts_with_work"]),
        (lambda t: setattr(t, "records", t.records - 1), ["records"]),
        (lambda t: setattr(t, "pages", 9_999), ["pages", "pages by depth"]),
        (lambda t: t.queued_by_level.__setitem__(12, 4), ["queued at level 2 (refresh)"]),
    ],
)
def test_each_counter(crawl: Made, change: Callable[[Totals], None], names: list[str]) -> None:
    def alter(store: RocksStore) -> None:
        totals = load_totals(store)
        change(totals)
        put_totals(store, totals)

    crawl.change(alter)
    assert kinds(crawl) == [("counter-differs", name) for name in names]


def test_an_original_that_is_not_there(crawl: Made) -> None:
    pointer = pointer_of(crawl, "example,a)/p/0")

    def alter(store: RocksStore) -> None:
        for digest, where in (("sha1:X", Pointer("none.warc.gz", 0, 9)), ("sha1:Y", pointer)):
            wrong = msgspec.structs.replace(where, offset=where.offset)
            copy = Copy("example,a)/p/0", SEED + "p/0", 0.0, wrong)
            store.write([(Cf.PAYLOAD, digest.encode(), encode(copy))])

    crawl.change(alter)
    assert kinds(crawl) == [("original-missing", SEED + "p/0")]


def test_progress_is_told_on_the_way(crawl: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifying, "PROGRESS_EVERY", 10)
    reader = crawl.reader()
    steps = [item for item in reader.verify() if isinstance(item, VerifyProgress)]
    assert len(steps) > 5
    assert [step.rows for step in steps] == sorted(step.rows for step in steps)
    assert [step.records for step in steps] == sorted(step.records for step in steps)


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
