"""The offline job behind `gossamer rank`: reads the link logs, ranks the hosts, writes the result into their ledgers.

One writer: the store is opened for writing, which a running crawl forbids. A ledger is changed in nothing else. The
summary is written last, so that a job that was cut short shows as the one before it; running it again makes it whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from gossamer.adapters.linkgraph import Ranks, harmonic, pagerank
from gossamer.adapters.linkread import Links, read_links
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.core.counters import load_totals
from gossamer.model.record import Cf
from gossamer.ports.store import Op, Store
from gossamer.surface.rankrow import SUMMARY_KEY, Summary, Top
from gossamer.surface.storescan import host_rows

Method = Literal["pagerank", "harmonic"]

TOP_SHOWN: Final = 20
ROWS_AT_ONCE: Final = 500
_METHODS: Final = {"pagerank": pagerank, "harmonic": harmonic}


def rank_crawl(directory: Path, method: Method, now: float, told: Callable[[int, int], None] | None = None) -> Summary:
    """Rank the hosts of the crawl in `directory`.

    Args:
        directory: of the crawl.
        method: how.
        now: unix seconds.
        told: is given (link logs read, link logs in all) as they are read.

    Raises StoreError when the crawl is running, when there is no state, or when it is damaged.
    """
    RocksStore(directory / "state", read_only=True).close()  # one that is not there is not made
    store = RocksStore(directory / "state")
    try:
        load_totals(store)  # refuses a store of another version
        links = read_links(directory / "archive", told)
        ranks = _METHODS[method](links.graph)
        written = write_ranks(store, links.hosts, ranks, now)
        summary = _summary(method, now, links, ranks, written)
        store.write([(Cf.META, SUMMARY_KEY, encode(summary))])
        store.sync()
    finally:
        store.close()
    return summary


def write_ranks(store: Store, hosts: dict[str, int], ranks: Ranks, now: float) -> int:
    """Write the importance of every host into its ledger; how many there are. One without links has 0."""
    ops: list[Op] = []
    written = 0
    for row in host_rows(store):
        number = hosts.get(row.host)
        row.rank = 0.0 if number is None else round(float(ranks.importance[number]), 6)
        row.ranked = now
        ops.append((Cf.HOST, row.host.encode(), encode(row)))
        written += 1
        if len(ops) >= ROWS_AT_ONCE:
            store.write(ops)
            ops = []
    store.write(ops)
    return written


def _summary(method: Method, now: float, links: Links, ranks: Ranks, written: int) -> Summary:
    names = heapq.nsmallest(TOP_SHOWN, links.hosts, key=lambda host: (-float(ranks.values[links.hosts[host]]), host))
    top = [(name, links.hosts[name]) for name in names]
    sites = links.graph.sites
    return Summary(
        method=method,
        time=now,
        hosts=len(links.hosts),
        sites=int(sites.max()) + 1 if len(sites) else 0,
        links=int(links.graph.matrix.nnz),
        pages=links.pages,
        left_out=links.left_out,
        logs=links.logs,
        rounds=ranks.rounds,
        settled=ranks.settled,
        exact=ranks.exact,
        written=written,
        top=tuple(Top(name, float(ranks.importance[at]), float(ranks.values[at])) for name, at in top),
    )
