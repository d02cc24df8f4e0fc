"""What is kept of the links of one URL: gathered from the URL table and the link log."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.linkread import read_neighbours
from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.record import UrlRow
from gossamer.model.url import Url, name_of, site_of
from gossamer.ports.store import Store
from gossamer.surface.storescan import url_row, url_rows

NAMED_MAX: Final = 20


class Ties(msgspec.Struct, kw_only=True):
    """Other URLs that have to do with one in one way: how many, and the first of them by key."""

    total: int = 0
    urls: list[str] = []

    def add(self, url: str) -> None:
        """One more."""
        self.total += 1
        if len(self.urls) < NAMED_MAX:
            self.urls.append(url)


class HostLinks(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts at one end of links: those with most pages first."""

    hosts: int = 0
    sites: int = 0
    named: tuple[tuple[str, int], ...] = ()  # (host, pages)


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """What leads to a URL and to its host, and what these lead to."""

    url: str
    known: bool
    found_on: str = ""  # URL, or as the row says it: "seed", "ping"
    redirects: Ties  # pages that redirect to it
    copies: Ties  # pages that are copies of it
    canonicals: Ties  # pages whose rel=canonical names it
    found: Ties  # URLs first found on it
    host: str
    leading: HostLinks  # to its host
    led: HostLinks  # by its host
    left_out: int = 0  # links that the log does not tell of


def links_of(directory: Path, asked: Url) -> Links:
    """What is kept of the links of a URL and its host. Raises StoreError."""
    store = RocksStore(directory / "state", read_only=True)
    try:
        row = url_row(store, asked.key)
        found = {name: Ties() for name in ("redirects", "copies", "canonicals", "found")}
        for key, other in url_rows(store):
            if key != asked.key:
                _tie(found, asked.key, other)
        origin = _origin(store, row)
    finally:
        store.close()
    near = read_neighbours(directory / "archive", asked.host)
    return Links(
        url=asked.wire if row is None else row.url,
        known=row is not None,
        found_on=origin,
        host=asked.host,
        leading=_hosts(near.leading),
        led=_hosts(near.led),
        left_out=near.left_out,
        **found,
    )


def _tie(found: dict[str, Ties], key: str, other: UrlRow) -> None:
    if key in (other.redirect_to, other.moved_to):
        found["redirects"].add(other.url)
    if other.duplicate_of == key:
        found["copies"].add(other.url)
    if other.canonical == key:
        found["canonicals"].add(other.url)
    if other.via in (key, f"sitemap:{key}"):
        found["found"].add(other.url)


def _origin(store: Store, row: UrlRow | None) -> str:
    """The URL of the page a row was found on; what its `via` says where there is no such page."""
    if row is None:
        return ""
    page = url_row(store, row.via.removeprefix("sitemap:"))
    return row.via if page is None else page.url


def _hosts(pages: dict[str, int]) -> HostLinks:
    named = heapq.nsmallest(NAMED_MAX, pages.items(), key=lambda item: (-item[1], item[0]))
    return HostLinks(hosts=len(pages), sites=len({site_of(name_of(host)) for host in pages}), named=tuple(named))
