"""The formulas of capacity planning that have a name: Bloom filter, simhash index, freshness under Poisson changes."""

from __future__ import annotations

import math
from typing import Final

import msgspec

SIMHASH_BITS: Final = 64
SIMHASH_DISTANCE: Final = 3
SPLIT_STEPS: Final = 1_000  # a search over the share of one page in steps of 0.1 %


def bloom_hashes(bits_per_key: float) -> int:
    """The number of hash functions that makes false positives rarest: bits ln 2 (Bloom 1970, Mitzenmacher 2002)."""
    return max(1, round(bits_per_key * math.log(2)))


def bloom_clear_share(bits_per_key: float, hashes: int) -> float:
    """Share of the bits that are still clear when the filter holds all its keys."""
    return math.exp(-hashes / bits_per_key)


def bloom_false_positive(bits_per_key: float, hashes: int | None = None) -> float:
    """Probability that a key never put in is called seen.

    Args:
        bits_per_key: bits of the filter over keys in it.
        hashes: hash functions; None for the best number.
    """
    count = bloom_hashes(bits_per_key) if hashes is None else hashes
    return float((1.0 - bloom_clear_share(bits_per_key, count)) ** count)


def bloom_bits(false_positive: float) -> float:
    """Bits for each key that a rate of false positives costs: -ln p / (ln 2)²."""
    return -math.log(false_positive) / math.log(2) ** 2


class SimhashIndex(msgspec.Struct, frozen=True):
    """What a block-permuted index of 64-bit fingerprints costs (Manku, Jain and Das Sarma 2007)."""

    tables: int
    key_bits: int  # of the narrowest key
    candidates_per_probe: float  # in one table
    candidates_per_query: float  # in all tables
    index_bytes: float


def simhash_index(fingerprints: float, blocks: int, entry_bytes: float) -> SimhashIndex:
    """The index that finds every fingerprint within distance 3.

    With `blocks` blocks, at least `blocks - 3` are untouched by three bits, so one table for each choice of that many.

    Args:
        fingerprints: how many are in it, spread evenly.
        blocks: 4 to 16 blocks, as even as 64 bits allow.
        entry_bytes: bytes of one entry of one table.
    """
    clean = blocks - SIMHASH_DISTANCE
    narrow, wider = divmod(SIMHASH_BITS, blocks)
    widths = sorted([narrow + 1] * wider + [narrow] * (blocks - wider))
    key_bits = sum(widths[:clean])
    tables = math.comb(blocks, clean)
    per_probe = fingerprints / 2.0**key_bits
    return SimhashIndex(tables, key_bits, per_probe, per_probe * tables, tables * fingerprints * entry_bytes)


def freshness(changes_per_visit: float) -> float:
    """Share of the time that the stored copy equals the page: (1 - e^-x) / x for x changes between two visits.

    Cho and Garcia-Molina, "Synchronizing a database to improve freshness" (2000); changes are a Poisson process.
    """
    return 1.0 if changes_per_visit <= 0 else -math.expm1(-changes_per_visit) / changes_per_visit


def split_freshness(fast_per_day: float, slow_per_day: float, fast_share: float) -> tuple[float, float]:
    """Freshness of two pages that share one fetch a day, when `fast_share` of it goes to the first.

    A page that is never fetched is never fresh.
    """
    fast = freshness(fast_per_day / fast_share) if fast_share > 0 else 0.0
    slow = freshness(slow_per_day / (1.0 - fast_share)) if fast_share < 1 else 0.0
    return fast, slow


def best_split(fast_per_day: float, slow_per_day: float) -> float:
    """The share for the first page with which both together are freshest, to 0.1 %."""
    shares = (step / SPLIT_STEPS for step in range(SPLIT_STEPS + 1))
    return max(shares, key=lambda share: sum(split_freshness(fast_per_day, slow_per_day, share)))


def depth_that_reaches(pages: float, branching: float) -> float | None:
    """Links from a seed after which `pages` pages are reached when each page reveals `branching` new ones.

    None when a page reveals no more than one: then the crawl runs dry instead.
    """
    return math.log(pages) / math.log(branching) if branching > 1 else None
