"""`verify` on the state: each kind of damage to rows, queues, calendar and counters is named."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.core.counters import Totals, load_totals
from gossamer.core.keys import due_key, queue_key, waiting_key
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, Copy, Entry
from gossamer.model.view import VerifyProgress
from gossamer.surface import verifying
from tests.reader.damage import SEED, check, host_row, kinds, pointer_of, put_totals, put_url, url_row
from tests.reader.making import Made


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


def test_rows_that_cannot_be_read_are_named_and_the_rest_is_checked(crawl: Made) -> None:
    def garble(store: RocksStore) -> None:
        queued, _ = _queued(store)
        store.write([
            (Cf.URL, b"example,a)/p/0", b"\xc1 no row"), (Cf.HOST, b"b.example", b"\x00"), (Cf.QUEUE, queued, b"\xff"),
            (Cf.QUEUE, b"short", b""), (Cf.PAYLOAD, b"sha1:Z", b"\x93"),
        ])  # fmt: skip

    crawl.change(garble)
    problems, last = check(crawl)
    damaged = [problem for problem in problems if problem.kind == "row-damaged"]
    assert sorted(problem.what for problem in damaged) == ["host", "payload", "queue", "queue", "url"]
    assert any("url row example,a)/p/0 cannot be read" in problem.text for problem in damaged)
    assert {p.kind for p in problems} == {"row-damaged", "counter-differs", "pending-differs", "queue-entry-missing",
                                         "calendar-differs"}  # fmt: skip
    assert last.records > 50


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
