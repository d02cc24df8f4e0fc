"""One suite for every store: RocksDB and its fake in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.errors import StoreError
from gossamer.model.record import Cf
from gossamer.ports.store import Op, Store
from gossamer.sim.memstore import JournalStore, MemoryStore


class Opener(Protocol):
    def __call__(self) -> Store: ...


@pytest.fixture(params=["rocksdb", "memory", "journal"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = {"rocksdb": lambda: RocksStore(tmp_path / "s"), "memory": MemoryStore, "journal": JournalStore}[
        request.param
    ]()
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


OPS = st.lists(
    st.lists(st.tuples(st.sampled_from([Cf.URL, Cf.QUEUE]), st.binary(max_size=2), st.none() | st.binary(max_size=3)),
             max_size=6), max_size=12)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    store.sync()
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
