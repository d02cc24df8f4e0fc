"""The suite of `ports.store.Store`: RocksDB, its fake in memory, and the fake that keeps a journal."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.record import Cf
from gossamer.ports.store import Op, Store
from gossamer.sim.memstore import JournalStore, MemoryStore
from tests.conftest import examples

STORES: dict[str, Callable[[Path], Store]] = {
    "rocksdb": RocksStore,
    "memory": lambda _: MemoryStore(),
    "journal": lambda _: JournalStore(),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made = STORES[request.param](tmp_path / "s")
    yield made
    made.close()


def test_what_is_written_is_read(store: Store) -> None:
    store.write([(Cf.URL, b"a", b"1"), (Cf.URL, b"b", b""), (Cf.HOST, b"a", b"2")])
    assert store.get(Cf.URL, b"a") == b"1"
    assert store.get(Cf.URL, b"b") == b""
    assert store.get(Cf.HOST, b"a") == b"2"
    assert store.get(Cf.QUEUE, b"a") is None
    assert store.get_many(Cf.URL, [b"b", b"x", b"a", b"b"]) == [b"", None, b"1", b""]
    assert store.get_many(Cf.URL, []) == []


def test_none_deletes_and_the_last_of_two_writes_counts(store: Store) -> None:
    store.write([(Cf.URL, b"a", b"1"), (Cf.URL, b"a", b"2"), (Cf.URL, b"b", b"1"), (Cf.URL, b"b", None)])
    assert store.get_many(Cf.URL, [b"a", b"b"]) == [b"2", None]
    store.write([(Cf.URL, b"a", None), (Cf.URL, b"never", None)])
    assert store.get(Cf.URL, b"a") is None
    assert store.scan(Cf.URL, b"", None, 10) == []


def test_scans_are_ordered_by_byte_bounded_and_half_open(store: Store) -> None:
    keys = [b"", b"\x00", b"a", b"a\x00", b"b", b"\x7f", b"\x80", b"\xff", b"\xff\xff"]
    store.write([(Cf.QUEUE, key, key) for key in reversed(keys)])
    assert [key for key, _ in store.scan(Cf.QUEUE, b"", None, 99)] == sorted(keys)
    assert [key for key, _ in store.scan(Cf.QUEUE, b"a", b"b", 99)] == [b"a", b"a\x00"]
    assert [key for key, _ in store.scan(Cf.QUEUE, b"a\x00", None, 2)] == [b"a\x00", b"b"]
    assert store.scan(Cf.QUEUE, b"b", b"a", 9) == []
    assert store.scan(Cf.QUEUE, b"", None, 0) == []
    assert store.scan(Cf.QUEUE, b"", b"", 9) == []
    assert store.scan(Cf.QUEUE, b"a", b"a", 9) == []
    assert store.scan(Cf.QUEUE, b"\x80", b"\xff\xff\xff", 2) == [(b"\x80", b"\x80"), (b"\xff", b"\xff")]
    store.write([(Cf.QUEUE, b"\xff\xff", None)])  # the last row goes as any other
    assert store.scan(Cf.QUEUE, b"\xff", None, 9) == [(b"\xff", b"\xff")]


def test_a_batch_is_visible_at_once_and_values_may_be_large(store: Store) -> None:
    value = bytes(range(256)) * 4_096
    store.write([(Cf.PAYLOAD, b"k%d" % n, value) for n in range(5)])
    assert store.get_many(Cf.PAYLOAD, [b"k%d" % n for n in range(5)]) == [value] * 5
    store.sync()


def test_a_write_that_raises_on_its_way_changes_nothing(store: Store) -> None:
    def ops() -> Iterator[Op]:
        yield (Cf.URL, b"a", b"1")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        store.write(ops())
    assert store.get(Cf.URL, b"a") is None


def test_the_operations_of_a_batch_may_look_at_the_store_as_it_was(store: Store) -> None:
    store.write([(Cf.META, b"n", b"1")])

    def ops() -> Iterator[Op]:
        yield (Cf.META, b"n", b"2")
        yield (Cf.META, b"before", store.get(Cf.META, b"n"))

    store.write(ops())
    assert store.get_many(Cf.META, [b"n", b"before"]) == [b"2", b"1"]


def test_column_families_are_apart(store: Store) -> None:
    store.write([(cf, b"k", cf.value.encode()) for cf in Cf])
    for cf in Cf:
        assert store.scan(cf, b"", None, 9) == [(b"k", cf.value.encode())]
    store.write([(cf, b"k", None) for cf in Cf if cf is not Cf.URL])
    assert [cf for cf in Cf if store.get(cf, b"k") is not None] == [Cf.URL]


def test_a_scan_is_of_the_moment(store: Store) -> None:
    store.write([(Cf.DUE, b"%d" % n, b"") for n in range(5)])
    for key, _ in store.scan(Cf.DUE, b"", None, 9):
        store.write([(Cf.DUE, key, None), (Cf.DUE, b"9" + key, b"")])
    assert [key for key, _ in store.scan(Cf.DUE, b"", None, 99)] == [b"9%d" % n for n in range(5)]


def test_a_batch_of_nothing_and_a_sync_of_nothing_are_no_errors(store: Store) -> None:
    store.sync()
    store.write([])
    store.sync()
    store.sync()


CALLS: dict[str, Callable[[Store], object]] = {
    "get": lambda store: store.get(Cf.URL, b"k"),
    "get_many": lambda store: store.get_many(Cf.URL, [b"k"]),
    "get_many of nothing": lambda store: store.get_many(Cf.URL, []),
    "scan": lambda store: store.scan(Cf.URL, b"", None, 9),
    "write": lambda store: store.write([(Cf.URL, b"k", b"v")]),
    "write of nothing": lambda store: store.write([]),
    "sync": lambda store: store.sync(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_store_can_only_be_closed(store: Store, call: str) -> None:
    store.write([(Cf.URL, b"k", b"v")])
    store.close()
    with pytest.raises(StoreError, match="closed"):
        CALLS[call](store)
    store.close()


OPS = st.lists(
    st.lists(st.tuples(st.sampled_from([Cf.URL, Cf.QUEUE]), st.binary(max_size=2), st.none() | st.binary(max_size=3)),
             max_size=6), max_size=12)  # fmt: skip


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=OPS)
def test_the_fake_and_rocksdb_agree(tmp_path_factory: pytest.TempPathFactory, batches: list[list[Op]]) -> None:
    real, fake = RocksStore(tmp_path_factory.mktemp("store")), JournalStore()
    for batch in batches:
        real.write(batch)
        fake.write(batch)
    for cf in (Cf.URL, Cf.QUEUE, Cf.HOST):
        assert real.scan(cf, b"", None, 999) == fake.scan(cf, b"", None, 999)
        assert real.scan(cf, b"\x01", b"\x80", 3) == fake.scan(cf, b"\x01", b"\x80", 3)
    real.close()
    again = fake.after(len(batches))
    assert [again.scan(cf, b"", None, 999) for cf in Cf] == [fake.scan(cf, b"", None, 999) for cf in Cf]


# -- RocksDB alone -------------------------------------------------------------------------------------------------


def test_a_store_is_there_when_opened_again(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "s")
    store.write([(cf, b"k", cf.value.encode()) for cf in Cf])
    store.close()
    again = RocksStore(tmp_path / "s")
    assert [again.get(cf, b"k") for cf in Cf] == [cf.value.encode() for cf in Cf]
    again.close()


def test_two_owners_are_refused_and_readers_are_not(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "s")
    store.write([(Cf.META, b"k", b"v")])
    store.sync()
    with pytest.raises(StoreError, match="in use by another process"):
        RocksStore(tmp_path / "s")
    reader = RocksStore(tmp_path / "s", read_only=True)
    assert reader.get(Cf.META, b"k") == b"v"
    reader.close()
    store.close()


def test_reading_what_is_not_there_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no crawl state"):
        RocksStore(tmp_path / "s", read_only=True)
    assert not (tmp_path / "s").exists()


def test_damage_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "s")
    store.write([(Cf.URL, b"k", b"v")])
    store.close()
    current = tmp_path / "s" / "CURRENT"
    current.write_bytes(b"MANIFEST-999999\n")
    before = sorted((path.name, path.stat().st_size) for path in (tmp_path / "s").iterdir() if "LOG" not in path.name)
    with pytest.raises(StoreError, match="damaged or cannot be read"):
        RocksStore(tmp_path / "s")
    after = sorted((path.name, path.stat().st_size) for path in (tmp_path / "s").iterdir() if "LOG" not in path.name)
    assert before == after


def test_a_write_for_which_there_is_no_room_leaves_nothing_and_nothing_may_follow_it(tmp_path: Path) -> None:
    store = RocksStore(tmp_path / "s")
    store.write([(Cf.URL, b"before", b"1")])
    store.sync()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with pytest.raises(DiskFullError, match="no room left"):
            store.write([(Cf.URL, b"small", b"1"), (Cf.PAYLOAD, b"large", b"x" * (2 << 20))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(DiskFullError):
        store.write([(Cf.URL, b"after", b"1")])
    with pytest.raises(DiskFullError):
        store.close()
    again = RocksStore(tmp_path / "s")
    assert [key for key, _ in again.scan(Cf.URL, b"", None, 9)] == [b"before"]
    again.close()
