"""Ratios that hold on any machine, in seconds: `python -m bench.ratios [--keep]`. A test holds them against the kept
ones.

Both halves of a ratio are measured in turn, in CPU of this thread, each the best of several rounds: what slows the
machine down slows both. `bench/ratios.json` has what they were; a rise of more than a fifth is a regression.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from bench import bare, frontier_store, near_duplicates
from bench.frontier_turns import measure
from bench.quick_web import QuickMaker
from bench.reference_web import host_name
from bench.rows import parser
from bench.warc import job
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.linkreader import LinkReader
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.parse import parse
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.config import Scope
from gossamer.policy.scope import compile_scope

KEPT: Final = Path(__file__).parent / "ratios.json"
WORSE_MOST: Final = 1.2
PAGES: Final = 30
ROUNDS: Final = 7
SMALL_URLS: Final = 10_000
LARGE_URLS: Final = 100_000
TURNS: Final = 3_000
SMALL_INDEX: Final = 5_000
LARGE_INDEX: Final = 50_000
PROBES: Final = 2_000


def ratios() -> dict[str, float]:
    """Each ratio by its name."""
    with tempfile.TemporaryDirectory(prefix="gossamer-ratios-") as name:
        folder = Path(name)
        return {
            "a page's digest, compressed, to its libraries": digest_ratio(folder / "packed", is_packed=True),
            "a page's digest, plain, to its libraries": digest_ratio(folder / "plain", is_packed=False),
            **frontier_ratios(folder / "frontier"),
            "looking for near-duplicates among ten times as many": probe_ratio(folder / "near"),
        }


def digest_ratio(folder: Path, *, is_packed: bool) -> float:
    """Parsing and archiving a page, to the bare calls for it."""
    maker = QuickMaker(3, PAGES, 8080, variants=False)
    samples, jobs = [], []
    for number, path in enumerate(maker.paths()[1:]):
        host = host_name(number % 3)
        plain, packed = maker.page(host, path)
        url = f"http://{host}:8080{path}"
        samples.append(bare.Sample(url, host, "", 8080, path, plain, packed))
        page = job(packed if is_packed else plain, ("gzip",) if is_packed else ())
        jobs.append(msgspec.structs.replace(page, id=number + 1, url=url, key=url))
    rules = LinkRules(scope=compile_scope(Scope(mode="any"), []))
    hooks = Hooks()
    reader = LinkReader(rules, hooks)
    folder.mkdir()
    writer = SegmentWriter(folder, "R", segment_bytes=1 << 30, software="r", user_agent="r", clock=lambda: 0.0)

    def ours() -> None:
        for page in jobs:
            digest = parse(page, rules, hooks, reader)
            writer.write(page, metadata={"title": digest.title})

    libraries = bare.works(samples, is_packed=is_packed)

    def theirs() -> None:
        for work in libraries:
            for sample in samples:
                work(sample)

    found = best(ours, theirs)
    writer.close()
    return found


def frontier_ratios(folder: Path) -> dict[str, float]:
    """Turns of a store ten times as large; links that are known to links that are new."""
    made = {urls: frontier_store.make(folder / str(urls), urls) for urls in (SMALL_URLS, LARGE_URLS)}
    cost: dict[int, float] = dict.fromkeys(made, float("inf"))
    for start in range(3):
        for urls in made:
            now = frontier_store.STARTED + 3_600.0 * (start + 1)
            turns = measure(folder / str(urls), time.time(), now, 100, TURNS // 10, TURNS // 3)
            cost[urls] = min(cost[urls], turns.cpu_s / turns.pages)
    large = made[LARGE_URLS]
    new_s = large.new_cpu_s / large.urls
    return {
        "lease and complete among ten times as many URLs": cost[LARGE_URLS] / cost[SMALL_URLS],
        "links met lately to new links": large.recent_s / large.recent_links / new_s,
        "links that the store knows to new links": large.stored_s / large.stored_links / new_s,
    }


def probe_ratio(folder: Path) -> float:
    """Looking for a page and filing it in an index of ten times the size."""
    stores = {count: near_duplicates.opened(folder, count) for count in (SMALL_INDEX, LARGE_INDEX)}
    cost = dict.fromkeys(stores, float("inf"))
    for number in range(3):
        for count, (store, simhashes) in stores.items():
            probed = near_duplicates.probed(store, simhashes, PROBES, random.Random(number), 10_000_000 * (number + 1))
            cost[count] = min(cost[count], probed.cpu_us)
    for store, _ in stores.values():
        store.close()
    return cost[LARGE_INDEX] / cost[SMALL_INDEX]


def best(one: Callable[[], None], other: Callable[[], None]) -> float:
    """CPU of one to the other, in turn, the best of each; the first round warms up."""
    least = [float("inf"), float("inf")]
    for number in range(ROUNDS + 1):
        for place, work in enumerate((one, other)):
            began = time.thread_time()
            work()
            if number:
                least[place] = min(least[place], time.thread_time() - began)
    return least[0] / least[1]


def kept() -> dict[str, float]:
    """What the ratios were."""
    return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, float])


def worse(found: dict[str, float], before: dict[str, float]) -> list[str]:
    """Which ratios have risen by more than a fifth, or are missing on either side, in words."""
    words = [f"{name}: measured in one place only" for name in sorted(found.keys() ^ before.keys())]
    return words + [
        f"{name}: {value:.2f}, and it was {before[name]:.2f}"
        for name, value in found.items()
        if name in before and value > WORSE_MOST * before[name]
    ]


def main() -> int:
    """Measure, print, compare or keep."""
    options = parser(__doc__).parse_args()
    found = ratios()
    for name, value in found.items():
        print(f"  {value:6.2f}  {name}")
    if options.keep:
        KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
        return 0
    regressions = worse(found, kept())
    for words in regressions:
        print(f"bench: {words}", file=sys.stderr)
    return int(bool(regressions))


if __name__ == "__main__":
    sys.exit(main())
