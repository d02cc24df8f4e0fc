"""A frontier of many URLs beside one of a million: `python -m bench.frontier [--urls N] [--folder KEPT]`.

Two stores are made by the code that admits links; then each is opened by turns in processes of their own, which lease
and complete pages (`frontier_turns`). What is compared is CPU of one thread, in one run on one machine. `--folder`
keeps the stores for another run: 50 million URLs take half an hour to make.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from bench.frontier_store import STARTED, Made, make
from bench.frontier_turns import Turns
from bench.rows import Bench, parser

HOUR_S: Final = 3_600.0
GIB: Final = 2**30


def turns(folder: Path, number: int, *, slots: int, warm: int, pages: int, parts: bool = False) -> Turns:
    """The `number`-th start on a store, an hour of virtual time after the one before."""
    start = STARTED + HOUR_S * (number + 1)
    command = [sys.executable, "-m", "bench.frontier_turns", str(folder), "--asked", str(time.time())]
    command += ["--start", str(start), "--slots", str(slots), "--warm", str(warm), "--pages", str(pages)]
    command += ["--parts"] * parts
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=Turns)


def per_page_us(found: list[Turns]) -> float:
    """CPU of a page, the middle one of several runs."""
    return statistics.median(each.cpu_s / each.pages for each in found) * 1e6


def tell_parts(bench: Bench, found: Turns) -> None:
    """What a page consists of."""
    if found.store is None:
        raise AssertionError("the store was not looked at")
    per_us = [each.took_s / found.pages * 1e6 for each in found.store]
    reads, scans, writes = found.store
    lease, response, commit = (
        cpu_s / found.pages * 1e6 for cpu_s in (found.lease_cpu_s, found.response_cpu_s, found.commit_cpu_s)
    )
    bench.row(
        "of a page: calls of the store",
        sum(per_us),
        "µs",
        note=f"by the clock: {reads.rows / found.pages:.1f} rows read {per_us[0]:.0f}, "
        f"{scans.calls / found.pages:.2f} scans {per_us[1]:.0f}, {writes.calls / found.pages:.2f} writes of "
        f"{writes.rows / found.pages:.1f} rows {per_us[2]:.0f}",
    )
    bench.row(
        "of a page: everything else",
        lease + response + commit - sum(per_us),
        "µs",
        note=f"with the store's calls the lease takes {lease:.0f}, the response {response:.0f}, the commit "
        f"{commit:.0f}; robots.txt of its host included",
    )


def tell(bench: Bench, made: Made, base: Made, big: list[Turns], small: list[Turns], full: Turns) -> None:
    """The rows."""
    us, small_us = per_page_us(big), per_page_us(small)
    rate = statistics.median(each.pages / each.wall_s for each in big)
    lease_us = statistics.median(each.lease_cpu_s / each.pages for each in big) * 1e6
    bench.row("URLs in the store", made.urls, note=f"on {made.hosts:,} hosts; beside it one of {base.urls:,}")
    bench.row(
        "lease and complete",
        1e6 / us,
        "/s",
        least=10_000,
        note=f"by the CPU of its thread: {us:.0f} µs a page, {lease_us:.0f} of them its lease; by the clock {rate:.0f}",
    )
    bench.row(
        "lease and complete, against a million URLs",
        us / small_us,
        "×",
        most=1.2,
        note=f"{us:.0f} µs of CPU against {small_us:.0f}",
    )
    bench.row(
        "lease and complete, 99th percentile",
        statistics.median(each.p99_ms for each in big),
        "ms",
        most=1.0,
        note=f"CPU; median {statistics.median(each.p50_ms for each in big):.2g} ms, longest call "
        f"{max(each.max_ms for each in big):.1f} ms; 99th percentile by the clock "
        f"{statistics.median(each.p99_clock_ms for each in big):.2g} ms",
    )
    bench.row("RSS of the process, 10,000 slots", full.peak_bytes / GIB, "GiB", most=2.0, note="at its highest")
    bench.row(
        "restart to the first lease",
        max(each.first_lease_s for each in [*big, full]),
        "s",
        most=5.0,
        note=f"from nothing; {full.open_s:.2g} s of it to open the store; the gap after a restart left out",
    )
    bench.row(
        "new links admitted",
        made.urls / made.new_cpu_s,
        "/s",
        least=60_000,
        note=f"by the CPU of its thread, {made.new_cpu_s / made.urls * 1e6:.1f} µs each, their commit included; "
        f"by the clock {made.urls / made.new_s:,.0f}/s",
    )
    bench.row("known links, met lately", made.recent_links / made.recent_s, "/s", least=300_000)
    bench.row(
        "known links, remembered by the store alone",
        made.stored_links / made.stored_s,
        "/s",
        least=300_000,
        note=f"{made.stored_s / made.stored_links * 1e6:.1f} µs of CPU each; a page tells few such",
    )
    bench.row("disk", made.disk_bytes / made.urls, "bytes a URL", note="row, queue entry, share of its host")


def main() -> int:
    """Make, measure by turns, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--urls", type=int, default=5_000_000)
    arguments.add_argument("--base", type=int, default=1_000_000)
    arguments.add_argument("--pages", type=int, default=40_000, help="measured in each run")
    arguments.add_argument("--warm", type=int, default=55_000, help="before; more than a generation of slots")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--slots", type=int, default=1_000)
    arguments.add_argument("--folder", type=Path)
    options = arguments.parse_args()
    bench = Bench(4, "frontier", "A frontier of many URLs")
    with tempfile.TemporaryDirectory(prefix="gossamer-frontier-") as name:
        folder = options.folder or Path(name)
        base = make(folder / str(options.base), options.base)
        made = make(folder / str(options.urls), options.urls)
        big, small = [], []
        size = {"slots": options.slots, "warm": options.warm, "pages": options.pages}
        begun = len(list(folder.glob("run-*")))  # starts that a kept store has seen
        for number in range(begun, begun + options.rounds):
            (folder / f"run-{number}").touch()
            small.append(turns(folder / str(options.base), number, **size))
            big.append(turns(folder / str(options.urls), number, **size))
        last = begun + options.rounds
        parts = turns(folder / str(options.urls), last, **size, parts=True)
        full = turns(folder / str(options.urls), last + 1, slots=10_000, warm=12_000, pages=2_000)
        for number in (last, last + 1):
            (folder / f"run-{number}").touch()
        tell(bench, made, base, big, small, full)
        tell_parts(bench, parts)
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
