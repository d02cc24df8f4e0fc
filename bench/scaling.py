"""Pages a second against digest workers: `python -m bench.scaling [--workers N ...] [--pages N]`.

The reference web without delays, crawled with one worker, two, three and so on, all on the cores that there are. What
the main process takes of a core for each page says at how many pages a second it would bind, had it a core of its
own.
"""

from __future__ import annotations

import os
import sys

from bench.page import crawled
from bench.quick_web import quick_web
from bench.rows import Bench, parser


def main() -> int:
    """Serve, crawl, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    arguments.add_argument("--hosts", type=int, default=500)
    arguments.add_argument("--pages-per-host", type=int, default=40)
    arguments.add_argument("--pages", type=int, default=10_000)
    options = arguments.parse_args()
    bench = Bench(7, "scaling", "Cores")
    cores = os.cpu_count() or 1
    main_ms = worker_ms = 0.0
    with quick_web(options.hosts, options.pages_per_host) as served:
        for workers in options.workers:
            flags = ("--pages", str(options.pages))
            watched, ran, _ = crawled(served, f"workers-{workers}", served.seeds(served.port), workers, *flags)
            main_s = watched.processes[watched.main].cpu_s
            main_ms = main_s / ran.requests * 1e3
            worker_ms = (watched.cpu_s - main_s) / ran.requests * 1e3
            bench.row(
                f"{workers} worker{'s' * (workers > 1)}",
                ran.requests / ran.elapsed_s,
                "pages/s",
                note=f"main process {main_s / ran.elapsed_s:.0%} of a core, workers "
                f"{(watched.cpu_s - main_s) / ran.elapsed_s:.0%} of {cores} cores that nginx shares",
            )
    bench.row(
        "the main process binds at",
        1e3 / main_ms,
        "pages/s",
        note=f"worked out: {main_ms:.2f} ms of it a page; {worker_ms / main_ms:.1f} workers on cores of their own "
        f"would keep it busy. This machine has {cores} cores for all of it",
    )
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
