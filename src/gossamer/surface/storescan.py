"""Streaming over column families in bounded batches. What the rows mean is their readers' affair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import msgspec

from gossamer.core.changes import decode_host, decode_url
from gossamer.model.errors import StoreError
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.ports.store import Store

URLS_AT_ONCE: Final = 2_000
HOSTS_AT_ONCE: Final = 64  # a robots.txt of up to 500 KiB may stand beside each ledger

T = TypeVar("T")
Damaged = Callable[[str], None]


def batches(
    store: Store, cf: Cf, start: bytes = b"", stop: bytes | None = None, size: int = URLS_AT_ONCE
) -> Iterator[list[tuple[bytes, bytes]]]:
    """All pairs with start <= key < stop, ascending, at most `size` at once; never an empty batch."""
    while True:
        rows = store.scan(cf, start, stop, size)
        if rows:
            yield rows
        if len(rows) < size:
            return
        start = rows[-1][0] + b"\x00"


def pairs(
    store: Store, cf: Cf, start: bytes = b"", stop: bytes | None = None, size: int = URLS_AT_ONCE
) -> Iterator[tuple[bytes, bytes]]:
    """The same, one pair at a time."""
    for rows in batches(store, cf, start, stop, size):
        yield from rows


def decoded(decode: Callable[[bytes], T], cf: Cf, key: bytes, value: bytes) -> T:
    """A row. Raises StoreError that names it when it cannot be read."""
    try:
        return decode(value)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        name = key.partition(b"\x00")[0].decode("utf-8", "backslashreplace")
        raise StoreError(f"the state is damaged: {cf} row {name[:200]} cannot be read ({error})") from error


def url_rows(store: Store, damaged: Damaged | None = None) -> Iterator[tuple[str, UrlRow]]:
    """(URL key, row) of every known URL, in the order of the keys.

    A damaged row is told to `damaged` and passed over; without `damaged`, StoreError is raised.
    """
    for key, value in pairs(store, Cf.URL):
        row = _row(decode_url, Cf.URL, key, value, damaged)
        if row is not None:
            yield key.decode("utf-8", "backslashreplace"), row


def url_row(store: Store, key: str) -> UrlRow | None:
    """The row of one URL, or None. Raises StoreError for a damaged row."""
    raw = store.get(Cf.URL, key.encode())
    return None if raw is None else decoded(decode_url, Cf.URL, key.encode(), raw)


def host_rows(store: Store, damaged: Damaged | None = None, *, after: str = "") -> Iterator[HostRow]:
    """The ledger of every host after a name, in the order of the names, without what stands beside them.

    Damage as in `url_rows`.
    """
    start = after.encode() + b"\x01" if after else b""  # what stands beside a ledger: its name, NUL and more
    for key, value in pairs(store, Cf.HOST, start, size=HOSTS_AT_ONCE):
        if b"\x00" not in key:
            row = _row(decode_host, Cf.HOST, key, value, damaged)
            if row is not None:
                yield row


def _row(decode: Callable[[bytes], T], cf: Cf, key: bytes, value: bytes, damaged: Damaged | None) -> T | None:
    try:
        return decoded(decode, cf, key, value)
    except StoreError as error:
        if damaged is None:
            raise
        damaged(str(error))
        return None


def host_row(store: Store, host: str) -> HostRow | None:
    """The ledger of one host, or None. Raises StoreError for a damaged row."""
    raw = store.get(Cf.HOST, host.encode())
    return None if raw is None else decoded(decode_host, Cf.HOST, host.encode(), raw)
