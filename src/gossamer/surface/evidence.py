"""What the store says about one URL, gathered before anything is said about it."""

from __future__ import annotations

import msgspec

from gossamer.core.counters import Totals
from gossamer.model.config import Config
from gossamer.model.record import HostRow, UrlRow
from gossamer.model.url import HTTP_SUFFIX, Url
from gossamer.policy.networks import RangeSet
from gossamer.policy.scope import ScopeRules
from gossamer.ports.store import Store
from gossamer.surface.storescan import host_row, url_row


class Crawled(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl as far as explanations need it."""

    config: Config
    scope: ScopeRules
    store: Store
    totals: Totals
    cdn: RangeSet
    now: float  # unix seconds
    running: bool


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One URL and its rows."""

    crawl: Crawled
    asked: str
    url: Url
    row: UrlRow | None
    host: HostRow | None
    via: UrlRow | None  # the page it was found on
    other_scheme: UrlRow | None  # the row of the same address under http instead of https, or the reverse

    @property
    def is_seed(self) -> bool:
        """Whether a person named it."""
        return self.url.wire in self.crawl.config.seeds if self.row is None else self.row.via == "seed"

    @property
    def depth(self) -> int:
        """Links from its seed; for a URL that was never seen: as if a seed linked to it."""
        if self.row is not None:
            return self.row.depth
        return 0 if self.is_seed else 1

    @property
    def wire(self) -> str:
        """The form that goes on the wire: as first found."""
        return self.url.wire if self.row is None else self.row.url


def gather(crawl: Crawled, asked: str, url: Url) -> Evidence:
    """Look everything up that is kept under the URL's key, its host and its referrer."""
    row = url_row(crawl.store, url.key)
    via = url_row(crawl.store, row.via) if row is not None and row.via else None
    other = url.surt if url.key.endswith(HTTP_SUFFIX) else url.surt + HTTP_SUFFIX
    return Evidence(
        crawl=crawl,
        asked=asked,
        url=url,
        row=row,
        host=host_row(crawl.store, url.host),
        via=via,
        other_scheme=url_row(crawl.store, other),
    )
