"""What a lookup in RocksDB reads once the store is larger than its cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.adapters import rocksdb
from gossamer.model.limits import KIB, MIB
from gossamer.model.record import Cf

ROWS = 120_000
BATCH = 1_000
ASKED = 1_000
READ_MAX_BYTES = 16 * KIB  # a block of data, one of the filter, one of the index, and room


def bytes_read() -> int:
    """What this process got from read calls so far, from the page cache or not."""
    return int(Path("/proc/self/io").read_text().split()[1])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="needs Linux's count of bytes read")
def test_a_lookup_reads_blocks_and_not_a_whole_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filters of whole files pushed each other out of the cache: a megabyte was read for a key, 130 us of CPU."""
    monkeypatch.setattr(rocksdb, "BLOCK_CACHE_BYTES", MIB // 4)
    monkeypatch.setattr(rocksdb, "WRITE_BUFFERS_BYTES", 4 * MIB)
    store = rocksdb.RocksStore(tmp_path / "state")
    chance = random.Random(1)
    families = (Cf.URL, Cf.HOST)
    keys = [chance.randbytes(16) for _ in range(ROWS)]
    for start in range(0, ROWS, BATCH):
        store.write([(cf, key, b"v" * 20) for key in keys[start : start + BATCH] for cf in families])
    store.close()
    store = rocksdb.RocksStore(tmp_path / "state")

    def a_lookup(key: Callable[[], bytes], there: bool) -> float:
        before = bytes_read()
        for _ in range(ASKED):
            for cf in families:
                assert (store.get(cf, key()) is not None) == there
        return (bytes_read() - before) / (ASKED * len(families))

    assert a_lookup(lambda: chance.choice(keys), there=True) < READ_MAX_BYTES
    assert a_lookup(lambda: chance.randbytes(16), there=False) < READ_MAX_BYTES
    store.close()
