"""The store on RocksDB through rocksdict, always in raw mode. Fulfils `ports.store.Store`."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    ColumnFamily,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.limits import MIB
from gossamer.model.record import Cf
from gossamer.ports.store import Op

BLOOM_BITS_PER_KEY: Final = 20  # a false positive costs a disk read here; the seen-set itself is exact
BLOCK_CACHE_BYTES: Final = 64 * MIB
WRITE_BUFFERS_BYTES: Final = 96 * MIB  # all column families together; past it RocksDB writes out whichever is oldest
# Each family fills a buffer of its own, so that what is written out is worth merging. One bound for all of them would
# write out every family each time the counters, which are written with each commit, have filled it.
WRITE_BUFFER_BYTES: Final = 1 * MIB  # of a family not named here
WRITE_BUFFER_BYTES_OF: Final = {
    Cf.URL: 16 * MIB,
    Cf.FINGERPRINT: 16 * MIB,
    Cf.PAYLOAD: 8 * MIB,
    Cf.QUEUE: 8 * MIB,
    Cf.HOST: 8 * MIB,
    Cf.META: 8 * MIB,
    Cf.DUE: 4 * MIB,
}
LOG_BYTES_MAX: Final = 256 * MIB  # write-ahead log that a start after a crash reads again
OPEN_FILES_MAX: Final = 512
INFO_LOGS_KEPT: Final = 2
INFO_LOG_BYTES: Final = 1 * MIB
_NO_ROOM: Final = ("no space", "file too large", "quota exceeded")  # RocksDB quotes the system's words
_NO_ROOM_CODES: Final = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})


class RocksStore:
    """A RocksDB database with one column family for each member of `Cf`."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the store at `path`, making it when it is not there.

        `read_only` opens a store that another process may be writing. Raises StoreError when the store is in use,
        damaged, or (read-only) not there, DiskFullError when there is no room for it.
        """
        self._path = path
        self._failure: StoreError | DiskFullError | None = None  # of a write; every later one fails the same way
        self._unsure: StoreError | DiskFullError | None = None  # of a sync; what was written may be gone
        if not (path / "CURRENT").exists():
            if next(path.glob("MANIFEST-*"), None) is not None:  # RocksDB would begin anew and sweep away what is there
                msg = f"the crawl state at {path} is damaged, nothing was changed: its file CURRENT is missing"
                raise StoreError(msg)
            if read_only:
                msg = f"no crawl state at {path}"
                raise StoreError(msg)
        cache = Cache(BLOCK_CACHE_BYTES)
        access = AccessType.read_only() if read_only else AccessType.read_write()
        families = {"default": _options(cache)}
        families |= {cf.value: _options(cache, WRITE_BUFFER_BYTES_OF.get(cf, WRITE_BUFFER_BYTES)) for cf in Cf}
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._db = Rdict(str(path), options=_options(cache), column_families=families, access_type=access)
            self._cf = {cf: self._db.get_column_family(cf.value) for cf in Cf}
            self._handle: dict[Cf, ColumnFamily] = {cf: self._db.get_column_family_handle(cf.value) for cf in Cf}
        except Exception as error:  # rocksdict raises plain Exception for every fault of RocksDB
            raise _translate(error, path) from error
        self._unsynced = WriteOptions()
        self._read = ReadOptions()

    def get(self, cf: Cf, key: bytes) -> bytes | None:
        """The value, or None."""
        try:
            return self._cf[cf].get(key)
        except Exception as error:
            raise _translate(error, self._path) from error

    def get_many(self, cf: Cf, keys: Sequence[bytes]) -> list[bytes | None]:
        """Values in the order of the keys."""
        try:
            family = self._cf[cf]
            return family.get(list(keys)) if keys else []  # type: ignore[return-value]
        except Exception as error:
            raise _translate(error, self._path) from error

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` pairs with start <= key < stop, ascending."""
        found: list[tuple[bytes, bytes]] = []
        options = ReadOptions()
        if stop is not None:
            options.set_iterate_upper_bound(stop)
        try:
            cursor = self._cf[cf].iter(options)
            cursor.seek(start)
            while len(found) < limit and cursor.valid():
                found.append((cursor.key(), cursor.value()))
                cursor.next()
            cursor.status()  # a damaged block looks like the end
        except Exception as error:
            raise _translate(error, self._path) from error
        return found

    def write(self, ops: Iterable[Op]) -> None:
        """Apply all or nothing; visible at once, durable after `sync`."""
        batch = WriteBatch(raw_mode=True)
        handle = self._handle
        if not handle:
            raise _closed(self._path)
        for cf, key, value in ops:
            if value is None:
                batch.delete(key, handle[cf])
            else:
                batch.put(key, value, handle[cf])
        if self._failure is not None:
            raise self._failure
        try:
            self._db.write(batch, self._unsynced)
        except Exception as error:
            # This batch is missing: none after it may be written, or counters and rows would part.
            self._failure = _translate(error, self._path)
            raise self._failure from error

    def sync(self) -> None:
        """Make everything written so far durable: one fsync of the write-ahead log."""
        if self._unsure is not None:
            raise self._unsure
        if not self._handle:
            raise _closed(self._path)
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:
            self._unsure = self._failure = _translate(error, self._path)
            raise self._unsure from error

    def close(self) -> None:
        """Sync and release the store. Raises DiskFullError, StoreError; it is released all the same.

        Closing it again does nothing; other calls raise StoreError from now on.
        """
        if not self._handle:
            return
        self._cf.clear()
        self._handle.clear()
        try:
            self._db.close()
        except Exception as error:
            raise _translate(error, self._path) from error


def _options(cache: Cache, write_buffer_bytes: int = WRITE_BUFFER_BYTES) -> Options:
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS_PER_KEY, block_based=False)
    table.set_block_cache(cache)
    # In pieces: a whole filter for each file pushes all else out of the cache, and is read again for a key.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_pin_top_level_index_and_filter(True)
    table.set_cache_index_and_filter_blocks(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(write_buffer_bytes)
    options.set_db_write_buffer_size(WRITE_BUFFERS_BYTES)
    options.set_max_total_wal_size(LOG_BYTES_MAX)
    options.set_max_open_files(OPEN_FILES_MAX)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_keep_log_file_num(INFO_LOGS_KEPT)
    options.set_max_log_file_size(INFO_LOG_BYTES)
    options.set_max_background_jobs(2)
    return options


def _closed(path: Path) -> StoreError:
    return StoreError(f"the crawl state at {path} is closed")


def _translate(error: Exception, path: Path) -> StoreError | DiskFullError:
    """What a fault of RocksDB means to the person who runs the crawl."""
    if isinstance(error, KeyError):  # no column families are left
        return _closed(path)
    text = str(error)
    low = text.lower()
    if any(words in low for words in _NO_ROOM) or (isinstance(error, OSError) and error.errno in _NO_ROOM_CODES):
        return DiskFullError(f"no room left for the crawl state at {path}: free some space and run the same command")
    if "lock" in low and ("temporarily unavailable" in low or "lock hold" in low or "no locks" in low):
        return StoreError(f"the crawl state at {path} is in use by another process: wait for it or stop it")
    if "too many open files" in low:
        return StoreError(
            f"the crawl state at {path} has no file descriptors left (ulimit -n): what is committed is safe"
        )
    if "column families not opened" in low:
        return StoreError(
            f"the crawl state at {path} was written by a newer version: use that one, nothing was changed"
        )
    if isinstance(error, PermissionError):
        return StoreError(f"the crawl state at {path} cannot be opened: permission denied")
    return StoreError(f"the crawl state at {path} is damaged or cannot be read, nothing was changed: {text[:300]}")
