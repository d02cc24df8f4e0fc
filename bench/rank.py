"""`gossamer rank` on 10 million links: `python -m bench.rank [--links N] [--hosts N] [--method M]`.

A web with power laws on both sides is written as link logs by the code that writes them, then read, ranked and written
into a store, as the command does. Seconds and peak memory of the job alone; exit code 1 above the budget.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from bench.harness import machine, table
from gossamer.adapters.linklog import LinkLog
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX
from gossamer.model.record import Cf, HostRow

BUDGET_S = 60.0
PAGES_PER_SEGMENT = 20_000
LINKS_A_PAGE = 12
HOSTS_PER_SITE = 1.3
EXPONENT = 0.9  # of the popularity of hosts: the n-th is linked to n^-0.9 as often as the first


def name(host: int, sites: int) -> str:
    """Of a host; a third of the sites have more than one."""
    return f"h{host}.site-{host % sites}.example"


def make(directory: Path, links: int, hosts: int) -> int:
    """Write a crawl's store and link logs; pages made. Both ends of a link follow a power law."""
    chance = np.random.default_rng(1)
    sites = int(hosts / HOSTS_PER_SITE)
    names = [name(host, sites) for host in range(hosts)]
    weights = np.arange(1, hosts + 1) ** -EXPONENT
    reach = np.cumsum(weights / weights.sum())
    places = chance.permutation(hosts)
    archive = directory / "archive"
    archive.mkdir(parents=True)
    log = LinkLog(archive)
    made = pages = 0
    while made < links:
        segment = f"B-{pages // PAGES_PER_SEGMENT:05d}.warc.gz"
        (archive / segment).touch()
        sources = np.searchsorted(reach, chance.random(PAGES_PER_SEGMENT) ** 0.5).clip(0, hosts - 1)
        targets = places[np.searchsorted(reach, chance.random(PAGES_PER_SEGMENT * LINKS_A_PAGE)).clip(0, hosts - 1)]
        for number, source in enumerate(sources.tolist()):
            page = targets[number * LINKS_A_PAGE : (number + 1) * LINKS_A_PAGE].tolist()
            distinct = dict.fromkeys(names[target] for target in page[:LINK_HOSTS_PER_PAGE_MAX] if target != source)
            log.note(segment, names[source], distinct, 0.0)
            made += len(distinct)
        log.flush()
        pages += PAGES_PER_SEGMENT
    store = RocksStore(directory / "state")
    for start in range(0, hosts, 1_000):
        rows = [(host, names[host]) for host in range(start, min(hosts, start + 1_000))]
        store.write([(Cf.HOST, text.encode(), encode(HostRow(host=text, site="x"))) for _, text in rows])
    store.close()
    return pages


def job(directory: str, method: str) -> tuple[dict[str, object], float, float, float]:
    """The job in a process of its own: what it says, its seconds, those of the processor, its peak in MB."""
    from gossamer.surface.rankjob import rank_crawl  # noqa: PLC0415 - counted in its memory, so not loaded before

    started_s, cpu_s = time.perf_counter(), time.process_time()
    summary = rank_crawl(Path(directory), method, 1.0)  # type: ignore[arg-type]
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    said = {
        name: getattr(summary, name) for name in ("hosts", "sites", "links", "pages", "rounds", "settled", "written")
    }
    return said, time.perf_counter() - started_s, time.process_time() - cpu_s, peak_mb


def main() -> int:
    """Make, measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--links", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--method", action="append", choices=("pagerank", "harmonic"))
    options = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory(prefix="gossamer-rank-") as folder:
        started_s = time.perf_counter()
        directory = Path(folder) / "crawl"
        with get_context("spawn").Pool(1) as pool:
            pages = pool.apply(make, (directory, options.links, options.hosts))
        print(f"rank: {machine()}")
        size = sum(path.stat().st_size for path in (directory / "links").iterdir())
        print(f"made in {time.perf_counter() - started_s:.0f} s: {pages:,} pages, link logs of {size / 1e6:.0f} MB")
        rows = []
        for method in options.method or ["pagerank"]:
            with get_context("spawn").Pool(1) as pool:
                said, elapsed_s, cpu_s, peak_mb = pool.apply(job, (str(directory), method))
            print(f"{method}: {said}")
            rows.append((method, f"{elapsed_s:.1f} s, {cpu_s:.1f} s of the processor, {peak_mb:,.0f} MB at most"))
            slow = slow or (method == "pagerank" and elapsed_s > BUDGET_S)
        table(rows)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
