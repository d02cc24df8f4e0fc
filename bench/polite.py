"""Politeness against the ceiling: `python -m bench.polite [--seconds S] [--hosts N] [--few N ...]`.

A crawl that waits a second after each fetch of a host can fetch hosts / (fetch + gap) pages a second and no more. How
near it comes is counted from the server's log: with few hosts, where the ceiling is low, and with many, where the
cores bind. nginx runs on the same cores. Every gap of every address is looked at.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final, NamedTuple

from bench.harness import watch
from bench.quick_web import Served, quick_web
from bench.rows import Bench, parser
from bench.soak_judge import Manners, judge_manners
from tests.support.crawl import Crawl
from tests.support.politeness import ROUNDING_S, Hit, read_log

GAP_S: Final = 1.0
WARM_S: Final = 15.0  # robots.txt of every host, and first fetches spread by jitter
END_S: Final = 3.0
SHARE_LEAST: Final = 99.0
RATE_LEAST: Final = 600.0


class Went(NamedTuple):
    """A crawl, by the server's log."""

    rate: float  # pages a second between the warm-up and the end
    ceiling: float
    slowest: float  # pages a second in the slowest tenth of that time
    main_share: float  # of a core
    cpu_ms: float  # whole tree, a page


def options_of(served: Served, workers: int) -> dict[str, dict[str, Any]]:
    """Politeness as it comes, for a server whose addresses lie close together."""
    return {
        "politeness": {
            "min_delay": f"{GAP_S}s",
            "response_factor": 10,
            "start_jitter": "2s",
            "net_rate": 0,
            "as_rate": 0,
        },
        "limits": {"depth": 100},
        "dns": {"hosts_file": str(served.folder / "nginx" / "hosts")},
        "workers": {"count": workers},
    }


def rates(hits: list[Hit], hosts: int) -> tuple[float, float, float]:
    """Pages a second, their ceiling, and pages a second in the slowest tenth."""
    begin, end = hits[0].start + WARM_S, hits[-1].end - END_S
    counted = [hit for hit in hits if begin <= hit.end < end and not hit.is_robots]
    fetch_s = statistics.fmean(hit.end - hit.start for hit in counted)
    tenths = [0] * 10
    for hit in counted:
        tenths[min(9, int((hit.end - begin) / (end - begin) * 10))] += 1
    return len(counted) / (end - begin), hosts / (fetch_s + GAP_S), min(tenths) / (end - begin) * 10


def crawl(served: Served, hosts: int, seconds: float, workers: int) -> Went:
    """Crawl so many hosts for so many seconds."""
    folder = served.folder / f"hosts-{hosts}"
    folder.mkdir()
    (folder / "seeds").write_text("\n".join(served.seeds(served.port, hosts)) + "\n")
    flags = ("--seeds", str(folder / "seeds"), "--scope", "host", "--duration", f"{seconds}s")
    begin = len(read_log(served.log))
    watched = watch(Crawl(folder, (), options_of(served, workers), flags))
    if watched.code != 0:
        raise SystemExit(f"bench: the crawl ended with {watched.code}:\n{watched.words[-3000:]}")
    hits = read_log(served.log)[begin:]
    rate, ceiling, slowest = rates(hits, hosts)
    main_s = watched.processes[watched.main].cpu_s
    return Went(rate, ceiling, slowest, main_s / watched.elapsed_s, watched.cpu_s / len(hits) * 1e3)


def main() -> int:
    """Serve, crawl, judge, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=120.0, help="with many hosts")
    arguments.add_argument("--hosts", type=int, default=2_000)
    arguments.add_argument("--few", type=int, nargs="*", default=[100, 200, 400])
    arguments.add_argument("--few-seconds", type=float, default=50.0)
    arguments.add_argument("--workers", type=int, default=1)
    arguments.add_argument("--rate", type=float, default=RATE_LEAST, help="pages a second that the web lasts for")
    options = arguments.parse_args()
    bench = Bench(2, "polite", "A second between two fetches of a host")
    pages = int(max(options.few_seconds, options.seconds * 1.1 * options.rate / options.hosts)) + 10
    with quick_web(options.hosts, pages) as served:
        for hosts in options.few:
            went = crawl(served, hosts, options.few_seconds, options.workers)
            bench.row(
                f"{hosts} hosts, share of the ceiling",
                went.rate / went.ceiling * 100,
                "%",
                least=SHARE_LEAST,
                note=f"{went.rate:.1f} of {went.ceiling:.1f} pages/s",
            )
        went = crawl(served, options.hosts, options.seconds, options.workers)
        manners = Manners()
        judge_manners(served.log, GAP_S, rounding_s=ROUNDING_S, into=manners)
    bench.row(
        f"{options.hosts:,} hosts, {options.seconds:g} s",
        went.rate,
        "pages/s",
        least=RATE_LEAST,
        note=f"{went.rate / went.ceiling:.0%} of the ceiling of {went.ceiling:,.0f}; slowest tenth {went.slowest:.0f}; "
        f"{went.cpu_ms:.2f} ms of CPU a page, main process {went.main_share:.0%} of a core",
    )
    bench.row(
        "gaps cut short",
        manners.short,
        f"of {manners.requests:,} requests",
        most=0,
        note=f"shortest {manners.shortest_gap_s:.3f} s {manners.first_short}",
    )
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
