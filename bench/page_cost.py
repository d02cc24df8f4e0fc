"""CPU of the whole process tree for each page of 85-100 KB with 150 links: `python -m bench.page_cost [--pages N]`.

The web is `stored_web`; the crawl runs without delays, so that only work is measured. User and system time of the
main process and of every worker count, from the kernel's accounting; starting and stopping the program is measured by a
crawl of few pages and shown apart. Exit code 1 when the cost is above the budget.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import sys
from pathlib import Path

from bench.harness import Watched, bench_crawl, calibration_ms, machine, stored_web, table, watch
from bench.reference_web import LINKS, Maker, host_name
from tests.support.politeness import read_log

BUDGET_MS = 2.5
FEW = 50


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--hosts", type=int, default=60)
    parser.add_argument("--pages-per-host", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--budget-ms", type=float, default=BUDGET_MS)
    options = parser.parse_args()
    before_ms = calibration_ms()
    with stored_web(options.hosts, options.pages_per_host, LINKS) as (folder, _):
        few, _ = measure(folder, "few", FEW, options.workers)
        many, fetched = measure(folder, "many", options.pages, options.workers)
    cost_ms = many.cpu_s / fetched * 1000
    marginal_ms = (many.cpu_s - few.cpu_s) / (fetched - FEW) * 1000
    report(options.hosts, fetched, many, few, cost_ms, marginal_ms)
    table([("fixed work", f"{before_ms:.0f} ms before, {calibration_ms():.0f} ms after: how busy the machine was")])
    if cost_ms > options.budget_ms:
        print(f"above the budget of {options.budget_ms} ms a page", file=sys.stderr)
        return 1
    return 0


def measure(folder: Path, name: str, pages: int, workers: int) -> tuple[Watched, int]:
    """One crawl of so many pages, and how many pages the server saw asked for."""
    log = folder / "nginx" / "access.log"
    before = len(read_log(log))
    crawl = bench_crawl(folder, name, {"workers": {"count": workers}}, "--pages", str(pages))
    watched = watch(crawl)
    if watched.code != 0:
        raise SystemExit(f"bench: the crawl ended with {watched.code}:\n{watched.words[-3000:]}")
    hits = read_log(log)[before:]
    fetched = sum(hit.status == 200 and not hit.is_robots for hit in hits)
    if fetched < pages:
        raise SystemExit(f"bench: {fetched} pages of {pages} were fetched:\n{watched.words[-3000:]}")
    return watched, fetched


def report(hosts: int, fetched: int, many: Watched, few: Watched, cost_ms: float, marginal_ms: float) -> None:
    """The numbers, for a person."""
    maker = Maker(hosts)
    sample = [maker.page(host_name(n), maker.path(n)) for n in range(50)]
    sizes = [len(page) for page in sample]
    packed = statistics.fmean(len(gzip.compress(page, 5)) for page in sample)
    main_s = many.processes[many.main].cpu_s
    workers_s = sum(process.cpu_s for number, process in many.processes.items() if number != many.main)
    print(f"page cost: {machine()}")
    table(
        [
            ("pages", f"{fetched:,} of {hosts:,} hosts, {min(sizes):,}-{max(sizes):,} bytes, {packed:,.0f} compressed"),
            ("links a page", str(sample[0].count(b"<a "))),
            ("wall clock", f"{many.elapsed_s:.1f} s, {fetched / many.elapsed_s:.0f} pages/s"),
            ("CPU, whole tree", f"{many.cpu_s:.1f} s: {cost_ms:.2f} ms a page, start and stop included"),
            ("CPU, marginal", f"{marginal_ms:.2f} ms a page"),
            ("main process", f"{main_s:.1f} s: {main_s / fetched * 1000:.2f} ms a page"),
            ("workers", f"{workers_s:.1f} s: {workers_s / fetched * 1000:.2f} ms a page"),
            ("start and stop", f"{few.cpu_s:.2f} s for {FEW} pages"),
            ("peak RSS, main", f"{many.processes[many.main].peak_bytes / 2**20:.0f} MiB"),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
