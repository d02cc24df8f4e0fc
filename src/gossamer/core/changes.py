"""One atomic commit being put together: reads see what it has already changed."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec

from gossamer.model.record import Cf, Copy, Entry, FingerprintEntry, HostRow, RobotsState, SiteRow, UrlRow, UrlStage
from gossamer.ports.store import Op, Store

T = TypeVar("T")

_ENCODER: Final = msgspec.msgpack.Encoder()
encode = _ENCODER.encode
decode_url: Final = msgspec.msgpack.Decoder(UrlRow).decode
decode_stage: Final = msgspec.msgpack.Decoder(UrlStage).decode
decode_host: Final = msgspec.msgpack.Decoder(HostRow).decode
decode_robots: Final = msgspec.msgpack.Decoder(RobotsState).decode
decode_entry: Final = msgspec.msgpack.Decoder(Entry).decode
decode_site: Final = msgspec.msgpack.Decoder(SiteRow).decode
decode_copy: Final = msgspec.msgpack.Decoder(Copy).decode
decode_fingerprints: Final = msgspec.msgpack.Decoder(list[FingerprintEntry]).decode
decode_shape: Final = msgspec.msgpack.Decoder(tuple[int, int]).decode


class Changes:
    """Collects the writes of one event; `ops` applied together are its Commit."""

    def __init__(self, store: Store) -> None:
        """Start an empty commit that reads through to `store`."""
        self._store = store
        self._pending: dict[tuple[Cf, bytes], bytes | None] = {}
        self._urls: dict[str, UrlRow] = {}

    def get(self, cf: Cf, key: bytes) -> bytes | None:
        """A value as it will be after this commit."""
        slot = (cf, key)
        if slot in self._pending:
            return self._pending[slot]
        return self._store.get(cf, key)

    def get_many(self, cf: Cf, keys: list[bytes]) -> list[bytes | None]:
        """Values as they will be after this commit, in the order of the keys."""
        found = self._store.get_many(cf, keys)
        if self._pending:
            for index, key in enumerate(keys):
                slot = (cf, key)
                if slot in self._pending:
                    found[index] = self._pending[slot]
        return found

    def put(self, cf: Cf, key: bytes, value: bytes) -> None:
        """Set a value."""
        self._pending[cf, key] = value

    def delete(self, cf: Cf, key: bytes) -> None:
        """Remove a value."""
        self._pending[cf, key] = None

    def url(self, key: str) -> UrlRow | None:
        """The row of a URL; the same object for every call within this commit."""
        row = self._urls.get(key)
        if row is None:
            raw = self.get(Cf.URL, key.encode())
            if raw is None:
                return None
            row = decode_url(raw)
            self._urls[key] = row
        return row

    def put_url(self, key: str, row: UrlRow) -> None:
        """Write the row of a URL."""
        self._urls[key] = row
        self._pending[Cf.URL, key.encode()] = encode(row)

    def ops(self) -> list[Op]:
        """Everything to be applied, each key once."""
        return [(cf, key, value) for (cf, key), value in self._pending.items()]
