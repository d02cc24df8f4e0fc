"""RSS of the main process after 100,000 URLs on 5,000 hosts: `python -m bench.memory [--urls N] [--hosts N]`.

Every host serves small pages that link to the host's other pages, and the crawl runs until all of them are fetched.
Exit code 1 when the main process grew above the budget.
"""

from __future__ import annotations

import argparse
import sys

from bench.harness import bench_crawl, machine, reference_web, table, watch
from tests.support.politeness import read_log

BUDGET_MB = 400.0
SHOWN = 10


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=100_000)
    parser.add_argument("--hosts", type=int, default=5_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--budget-mb", type=float, default=BUDGET_MB)
    options = parser.parse_args()
    per_host = options.urls // options.hosts
    with reference_web(options.hosts, per_host, links=per_host * 2, small=True) as (folder, _):
        flags = ("--pages", str(options.urls))
        watched = watch(bench_crawl(folder, "memory", {"workers": {"count": options.workers}}, *flags))
        hits = read_log(folder / "nginx" / "access.log")
    if watched.code != 0:
        print(f"bench: the crawl ended with {watched.code}:\n{watched.words[-3000:]}", file=sys.stderr)
        return 1
    pages = [hit for hit in hits if hit.status == 200 and not hit.is_robots]
    peak_mb = watched.processes[watched.main].peak_bytes / 1e6
    print(f"memory: {machine()}")
    steps = max(1, len(watched.samples) // SHOWN)
    table(
        [
            ("pages", f"{len(pages):,} of {len({hit.host for hit in pages}):,} hosts"),
            ("wall clock", f"{watched.elapsed_s:.1f} s, {len(pages) / watched.elapsed_s:.0f} pages/s"),
            ("RSS, main", ", ".join(f"{at:.0f} s: {rss / 1e6:.0f} MB" for at, rss in watched.samples[::steps])),
            ("peak RSS, main", f"{peak_mb:.0f} MB"),
        ]
    )
    if len(pages) < options.urls * 0.9:
        print("fewer pages than asked for: the number says nothing", file=sys.stderr)
        return 1
    if peak_mb > options.budget_mb:
        print(f"above the budget of {options.budget_mb:.0f} MB", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
