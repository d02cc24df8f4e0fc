"""The near-duplicate index with many fingerprints: `python -m bench.near_duplicates [--fingerprints N] [--folder
KEPT]`.

An index is filled table by table with the rows that filing one page after another would have made (a sample is held
against that). Then pages come, each looked for and filed in a commit of its own, as in a crawl; and fingerprints that
differ from a filed one in so many bits are looked for. The same beside an index of a tenth of the size, in one run.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from bench.frontier_store import Syncer, disk_bytes
from bench.rows import Bench, parser
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import Changes, encode
from gossamer.core.copies import BUCKET_MAX, Probe
from gossamer.model.record import Cf, FingerprintEntry
from gossamer.policy.duplicates import (
    BLOCK_BITS,
    BLOCK_KEY_BYTES,
    BLOCKS_PER_KEY,
    NEAR_DISTANCE_MAX,
    SIMHASH_BITS,
    block_keys,
)

ROWS_AT_ONCE: Final = 10_000
RECALL_TRIES: Final = 1_000  # for each distance
PAGES: Final = 20_000
NEAR_SHARE: Final = 0.1  # of the pages that come: near to one that is filed
MADE: Final = "made.json"
WITHOUT_CAPS: Final = (
    "; made by chance, no place in a table is full: "
    f"the {BUCKET_MAX + 1}th page with one fingerprint is not filed there"
)

Numbers = npt.NDArray[np.uint64]


class Probed(msgspec.Struct, frozen=True):
    """What looking and filing took."""

    wall_us: float  # the mean
    cpu_us: float
    p99_us: float


def key_of(number: int) -> str:
    """URL key of the page with a fingerprint."""
    return f"example,h{number % 999_983:06}-site,www)/section-{number % 7}/an-article-{number}.html"


def fingerprints(count: int) -> Numbers:
    """So many simhashes, the same every time."""
    return np.random.default_rng(1).integers(0, 2**64, count, dtype=np.uint64)


def slots(simhashes: Numbers) -> Iterator[tuple[int, Numbers]]:
    """For each table its number and every simhash's key in it, as `policy.duplicates.block_keys` has them."""
    blocks, shift = [], SIMHASH_BITS
    for width in BLOCK_BITS:
        shift -= width
        blocks.append(simhashes >> np.uint64(shift) & np.uint64((1 << width) - 1))
    for table, choice in enumerate(combinations(range(len(BLOCK_BITS)), BLOCKS_PER_KEY)):
        value = np.zeros(len(simhashes), np.uint64)
        for block in choice:
            value = value << np.uint64(BLOCK_BITS[block]) | blocks[block]
        yield table, value


def fill(store: RocksStore, simhashes: Numbers) -> None:
    """File all of them, a table at a time, each row once."""
    for table, keys in slots(simhashes):
        order = np.argsort(keys, kind="stable")
        front = bytes((table,))
        batch: list[tuple[Cf, bytes, bytes | None]] = []
        held: list[FingerprintEntry] = []
        last = -1
        for start in range(0, len(order), ROWS_AT_ONCE):
            part = order[start : start + ROWS_AT_ONCE]
            for number, key, simhash in zip(part.tolist(), keys[part].tolist(), simhashes[part].tolist(), strict=True):
                if key != last:
                    if held:
                        batch.append((Cf.FINGERPRINT, front + last.to_bytes(BLOCK_KEY_BYTES, "big"), encode(held)))
                    held, last = [], key
                if len(held) < BUCKET_MAX:
                    held.append(FingerprintEntry(simhash, key_of(number)))
            store.write(batch)
            batch = []
        if held:
            store.write([(Cf.FINGERPRINT, front + last.to_bytes(BLOCK_KEY_BYTES, "big"), encode(held))])


def check(store: RocksStore, simhashes: Numbers) -> None:
    """A sample stands in every table where filing it would have put it. Raises AssertionError."""
    for number in range(0, len(simhashes), max(1, len(simhashes) // 100)):
        simhash = int(simhashes[number])
        for table, key in block_keys(simhash):
            raw = store.get(Cf.FINGERPRINT, bytes((table,)) + key)
            if raw is None or key_of(number).encode() not in raw:
                raise AssertionError(f"fingerprint {number} is not in table {table}")


def near_to(simhash: int, distance: int, dice: random.Random) -> int:
    """A simhash that differs in so many bits."""
    for bit in dice.sample(range(SIMHASH_BITS), distance):
        simhash ^= 1 << bit
    return simhash


def recall(store: RocksStore, simhashes: Numbers, dice: random.Random) -> list[float]:
    """For each distance up to the near one, the share of filed fingerprints that are found."""
    shares = []
    for distance in range(NEAR_DISTANCE_MAX + 1):
        found = 0
        for _ in range(RECALL_TRIES):
            number = dice.randrange(len(simhashes))
            probe = Probe(Changes(store), near_to(int(simhashes[number]), distance, dice))
            found += key_of(number) in probe.near("")
        shares.append(found / RECALL_TRIES)
    return shares


def probed(store: RocksStore, simhashes: Numbers, pages: int, dice: random.Random, begin: int) -> Probed:
    """Look for pages and file them, each in its commit; `begin`: number of the first."""
    syncer = Syncer(store)
    took: list[float] = []
    cpu_s = 0.0
    for number in range(begin, begin + pages):
        simhash = dice.getrandbits(SIMHASH_BITS)
        if dice.random() < NEAR_SHARE:
            simhash = near_to(int(simhashes[dice.randrange(len(simhashes))]), dice.randint(0, NEAR_DISTANCE_MAX), dice)
        key = key_of(number)
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        changes = Changes(store)
        probe = Probe(changes, simhash)
        probe.near(key)
        probe.file(key)
        store.write(changes.ops())
        syncer.look()
        took.append(time.perf_counter() - began_s)
        cpu_s += time.thread_time() - began_cpu_s
    syncer.close()
    took.sort()
    return Probed(statistics.fmean(took) * 1e6, cpu_s / pages * 1e6, took[int(len(took) * 0.99)] * 1e6)


def opened(folder: Path, count: int) -> tuple[RocksStore, Numbers]:
    """An index of so many fingerprints, made unless it is there."""
    simhashes = fingerprints(count)
    store = RocksStore(folder / str(count) / "state")
    note = folder / str(count) / MADE
    if not note.exists():
        fill(store, simhashes)
        store.sync()
        note.write_text("{}")
    check(store, simhashes)
    return store, simhashes


def main() -> int:
    """Fill, measure, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--fingerprints", type=int, default=1_000_000)
    arguments.add_argument("--pages", type=int, default=PAGES)
    arguments.add_argument("--folder", type=Path)
    options = arguments.parse_args()
    bench = Bench(5, "near_duplicates", "Near-duplicates")
    with tempfile.TemporaryDirectory(prefix="gossamer-near-") as name:
        folder = options.folder or Path(name)
        dice = random.Random(time.time_ns() if options.folder else 1)  # a kept index has seen the first ones
        small_count = options.fingerprints // 10
        store, simhashes = opened(folder, small_count)
        small = probed(store, simhashes, options.pages, dice, 10 * options.fingerprints)
        store.close()
        began_s = time.perf_counter()
        store, simhashes = opened(folder, options.fingerprints)
        opened_s = time.perf_counter() - began_s
        shares = recall(store, simhashes, dice)
        big = probed(store, simhashes, options.pages, dice, 10 * options.fingerprints)
        store.close()
        disk = disk_bytes(folder / str(options.fingerprints))
    bench.row("fingerprints in the index", options.fingerprints, note=f"made or opened in {opened_s:.0f} s")
    bench.row(
        "probe and insert",
        big.wall_us,
        "µs",
        most=150,
        note=f"{big.cpu_us:.0f} µs of CPU, 99th percentile {big.p99_us:.0f} µs",
    )
    bench.row("probe and insert, against a tenth of it", big.cpu_us / small.cpu_us, "×")
    for distance, share in enumerate(shares):
        bench.row(
            f"found at distance {distance}",
            share * 100,
            "%",
            least=100,
            note=f"of {RECALL_TRIES:,}" + WITHOUT_CAPS * (not distance),
        )
    bench.row("disk", disk / options.fingerprints, "bytes a fingerprint")
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
