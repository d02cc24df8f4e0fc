"""Known URLs that begin alike, from the table of URLs: its keys sort by site, so a beginning is a range."""

from __future__ import annotations

from itertools import islice
from typing import Final

import msgspec

from gossamer.core.changes import decode_url
from gossamer.model.record import Cf, UrlRow
from gossamer.model.url import HTTP_SUFFIX, Url, parse
from gossamer.ports.store import Store
from gossamer.surface.storescan import decoded, pairs

URLS_SHOWN: Final = 100


class UrlLine(msgspec.Struct, frozen=True, kw_only=True):
    """One known URL."""

    url: str  # wire form
    state: str  # "queued" | "fetched" | "refused" | "failed" | "gone"
    status: int = 0  # of the last visit; 0: there was none
    visited: float = 0.0  # unix seconds; 0: never
    due: float = 0.0  # of the next visit; 0: none is planned
    reason: str = ""  # why it was refused or given up, or a note


class UrlList(msgspec.Struct, frozen=True, kw_only=True):
    """Some known URLs, in the order of their keys."""

    urls: tuple[UrlLine, ...]
    next: str = ""  # what `after` must be for the list that follows; "": this is the last


def url_list(store: Store, prefix: str, after: str = "", limit: int = URLS_SHOWN) -> UrlList | None:
    """Known URLs of either scheme that begin with `prefix`; None when that is no beginning of a URL.

    Args:
        store: the crawl's.
        prefix: a URL, whole up to its host; its path may end anywhere.
        after: a key, from the list before.
        limit: how many at most.

    Raises:
        StoreError: a row is damaged.
    """
    url = parse(prefix)
    if not isinstance(url, Url):
        return None
    beginning = url.key.removesuffix(HTTP_SUFFIX).encode()
    start = max(beginning, after.encode() + b"\x00") if after else beginning
    found: list[UrlLine] = []
    last = b""
    for key, value in islice(pairs(store, Cf.URL, start, beginning + b"\xff", limit + 1), limit + 1):
        if len(found) == limit:
            return UrlList(urls=tuple(found), next=last.decode("utf-8", "replace"))
        found.append(_line(decoded(decode_url, Cf.URL, key, value)))
        last = key
    return UrlList(urls=tuple(found))


def _line(row: UrlRow) -> UrlLine:
    reason = f"{row.reason}: {row.detail}" if row.reason and row.detail else row.reason
    return UrlLine(
        url=row.url,
        state=row.state.name.lower(),
        status=row.status,
        visited=row.visited,
        due=row.due,
        reason=reason,
    )
