"""The longest callback of the main process at full load: `python -m bench.loop_health [--seconds S] [--hosts N]`.

The program crawls the reference web without delays, its loop watched (`timed_crawl`): store writes, commits, the
garbage collector and all. The first seconds, in which it opens and warms up, and the last are left out. What its pages
do not have is measured apart: the commit of a page whose links are all new, up to as many as one page may bring.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from bench import peer
from bench.frontier_store import STARTED, Gate, links_of, open_partition
from bench.harness import watch
from bench.page import options_of
from bench.quick_web import Served, quick_web
from bench.rows import Bench, parser
from bench.timed_crawl import EDGES_MS, Call, Timed
from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.limits import LINKS_PER_PAGE_MAX
from tests.support.crawl import Crawl, program

WARM_S: Final = 15.0
END_S: Final = 2.0
MOST_MS: Final = 10.0
WORST: Final = 3
LINK_HOSTS: Final = 50
LINK_ROUNDS: Final = 5


@dataclass
class TimedCrawl(Crawl):
    """A crawl whose loop is watched."""

    result: Path = field(default_factory=Path)

    def command(self, *more: str) -> list[str]:
        """The same command, by way of the watch."""
        plain = super().command(*more)[len(program()) :]
        return [sys.executable, "-m", "bench.timed_crawl", str(self.result), *plain]


def within(found: Timed, seconds: float) -> list[Call]:
    """Long calls between the warm-up and the end, the longest first."""
    calls = [call for call in found.long if WARM_S <= call.at_s <= seconds - END_S]
    return sorted(calls, key=lambda call: -call.ours_ms)


def named(calls: list[Call]) -> str:
    """The worst, each name once."""
    worst: dict[str, Call] = {}
    for call in calls:
        worst.setdefault(call.what, call)
    parts = []
    for name, call in list(worst.items())[:WORST]:
        collected = f", {call.collected_ms:.0f} of them the garbage collector" if call.collected_ms >= 1 else ""
        waited = f" by the clock, {call.cpu_ms:.1f} of CPU: it waited" if call.waited else ""
        parts.append(f"{name} {call.ours_ms:.1f} ms{waited}{collected}")
    return "; ".join(parts)


def run(served: Served, seconds: float, workers: int) -> tuple[Timed, float]:
    """A crawl of so many seconds; its calls, and pages a second."""
    folder = served.folder / "timed"
    folder.mkdir()
    flags = ("--seeds", str(served.folder / "seeds"), "--scope", "host", "--duration", f"{seconds}s")
    crawl = TimedCrawl(folder, (), options_of(served, workers), flags, result=folder / "calls.json")
    watched = watch(crawl)
    if watched.code != 0:
        raise SystemExit(f"bench: the crawl ended with {watched.code}:\n{watched.words[-3000:]}")
    requests, _, _ = peer.counted(served.log, 0)
    return msgspec.json.decode(crawl.result.read_bytes(), type=Timed), requests / watched.elapsed_s


def new_links_ms(count: int) -> float:
    """Milliseconds of CPU of admitting so many new links of one page, to 50 hosts, the middle of several."""
    found = []
    with tempfile.TemporaryDirectory(prefix="gossamer-links-") as name:
        store = RocksStore(Path(name) / "state")
        gate = Gate(open_partition(store, STARTED, 1_000), store)
        for start in range(LINK_ROUNDS):
            each = max(1, count // LINK_HOSTS)
            gate.offer([links_of(n, start * each, each) for n in range(min(LINK_HOSTS, count))])
            _, cpu_s, links = gate.take()
            found.append(cpu_s / links * count * 1e3)
        gate.close()
        store.close()
    return statistics.median(found)


def main() -> int:
    """Serve, crawl, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=60.0)
    arguments.add_argument("--hosts", type=int, default=10_000)
    arguments.add_argument("--pages-per-host", type=int, default=6)
    arguments.add_argument("--workers", type=int, default=1)
    options = arguments.parse_args()
    bench = Bench(8, "loop_health", "The event loop at full load")
    with quick_web(options.hosts, options.pages_per_host) as served:
        found, rate = run(served, options.seconds, options.workers)
    calls = within(found, options.seconds)
    longest = calls[0].ours_ms if calls else EDGES_MS[3]
    over = sum(call.ours_ms > MOST_MS for call in calls)
    by_clock = max((call.wall_ms for call in calls), default=0.0)
    spread: dict[str, int] = defaultdict(int)
    for call in calls:
        spread[call.what] += call.ours_ms > MOST_MS
    bench.row(
        "longest callback",
        longest,
        "ms",
        most=MOST_MS,
        note=f"at {rate:.0f} pages/s; {named(calls)}; CPU, or the clock where it waited for a "
        f"disk or a lock; longest by the clock when others had the core {by_clock:.0f} ms",
    )
    bench.row(
        "callbacks over 10 ms",
        over,
        f"of {found.calls:,}",
        note=", ".join(
            f"{name} {count}" for name, count in sorted(spread.items(), key=lambda item: -item[1])[:WORST] if count
        ),
    )
    bench.row(
        "longest run of the garbage collector",
        found.collected_longest_ms,
        "ms",
        note=f"by the clock, warm-up included; {found.collections:,} runs, {found.collected_s:.2f} s in all",
    )
    for count in (150, 1_000, LINKS_PER_PAGE_MAX):
        bench.row(
            f"commit of {count:,} new links of one page",
            new_links_ms(count),
            "ms",
            most=MOST_MS if count < LINKS_PER_PAGE_MAX else None,
            note="CPU; as many as a page may bring" if count == LINKS_PER_PAGE_MAX else "CPU",
        )
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
