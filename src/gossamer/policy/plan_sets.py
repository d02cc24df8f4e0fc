"""Capacity planning, what must be remembered: the frontier, the seen-set, the near-duplicate index."""

from __future__ import annotations

from typing import Final

from gossamer.model.plan import MONTH_DAYS, PlanInputs
from gossamer.policy.plan_formulas import (
    bloom_bits,
    bloom_clear_share,
    bloom_false_positive,
    bloom_hashes,
    simhash_index,
)
from gossamer.policy.plan_rates import Numbers, Rates

BLOOM_POINTS: Final = (8.0, 10.0, 15.0, 20.0)  # bits for each key, besides the plan's own
MINHASH_BYTES: Final = 4.0
FINGERPRINT_BYTES: Final = 8.0
FEW_BLOCKS: Final = 4  # the smallest index there is: 4 tables
MEMORY_S: Final = 1e-7  # one reference
DEVICE_S: Final = 1e-4  # one random read


def frontier(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Whether the queue ever empties, and what canonical form saves."""
    added = inputs.links_per_page * inputs.novelty
    raw = rates.pages_per_day * inputs.links_per_page
    break_even = 1 / inputs.links_per_page
    values: dict[str, float | None] = {
        "break_even_novelty": break_even if break_even <= 1 else None,
        "frontier_added": added,
        "frontier_net": added - 1,
        "frontier_month": inputs.pages_per_month * (added - 1),
        "new_urls_per_day": rates.pages_per_day * added,
        "links_per_day": raw,
        "links_distinct_per_day": raw * (1 - inputs.collapse),
        "lookups_avoided_per_day": raw * inputs.collapse,
    }
    return Numbers(values)


def seen_set(inputs: PlanInputs, rates: Rates) -> Numbers:
    """The Bloom filter, what its mistakes cost, its cliff, and the exact set."""
    hashes = bloom_hashes(inputs.bits_per_key)
    rate = bloom_false_positive(inputs.bits_per_key)
    lean = bloom_false_positive(inputs.lean_bits)
    overfull = bloom_false_positive(inputs.bits_per_key / inputs.overfill, hashes)
    ram = inputs.known_urls * inputs.bits_per_key / 8
    extra = ram - inputs.known_urls * inputs.lean_bits / 8
    recovered = inputs.known_urls * (lean - rate)
    values: dict[str, float | None] = {
        "bloom_hashes": hashes,
        "bloom_clear": bloom_clear_share(inputs.bits_per_key, hashes),
        "bloom_false_positive": rate,
        "bloom_bytes": ram,
        "bloom_shard_bytes": ram / inputs.shards,
        "bloom_lost": inputs.known_urls * rate,
        "bloom_lean_lost": inputs.known_urls * lean,
        "bloom_extra_bytes": extra,
        "bloom_recovered": recovered,
        "bloom_recovered_per_gb": recovered / (extra / 1e9) if extra else None,
        "bloom_overfull": overfull,
        "bloom_cliff": overfull / rate,
        "bloom_bits_for": bloom_bits(inputs.false_positive),
        "bloom_bytes_for": inputs.known_urls * bloom_bits(inputs.false_positive) / 8,
    }
    points = sorted({*BLOOM_POINTS, inputs.bits_per_key, inputs.lean_bits})
    rows = tuple(_bloom_row(inputs, bits) for bits in points)
    return Numbers(values | _exact(inputs, rates, rate), {"bloom": rows})


def _bloom_row(inputs: PlanInputs, bits: float) -> tuple[float, ...]:
    rate = bloom_false_positive(bits)
    return bits, float(bloom_hashes(bits)), rate, inputs.known_urls * bits / 8, inputs.known_urls * rate


def _exact(inputs: PlanInputs, rates: Rates, false_positive: float) -> dict[str, float | None]:
    lookups = rates.peak * inputs.links_per_page
    shard = rates.average * inputs.links_per_page / inputs.shards
    prints = inputs.known_urls * FINGERPRINT_BYTES
    return {
        "lookups_per_s": lookups,
        "lookups_per_s_shard": shard,
        "lookup_devices": lookups / inputs.iops,
        "exact_bytes": inputs.known_urls * inputs.url_key_bytes,
        "exact_over_bloom": inputs.url_key_bytes * 8 / inputs.bits_per_key,
        "exact_latency": DEVICE_S / MEMORY_S,
        "exact_reads": false_positive,
        "prints_bytes": prints,
        "prints_shard_bytes": prints / inputs.shards,
        "url_table_bytes": inputs.known_urls * inputs.url_row_bytes,
        "host_table_bytes": inputs.hosts_known * inputs.host_row_bytes,
    }


def duplicates(inputs: PlanInputs, rates: Rates) -> Numbers:
    """Copies that only a near-duplicate index finds, and what the index costs."""
    few = simhash_index(inputs.fingerprints, FEW_BLOCKS, inputs.entry_bytes)
    many = simhash_index(inputs.fingerprints, int(inputs.blocks), inputs.entry_bytes)
    share = inputs.near_share - inputs.exact_share
    pages = inputs.pages_per_month * share
    minhash = inputs.minhashes * MINHASH_BYTES
    days = MONTH_DAYS * share
    values: dict[str, float | None] = {
        "near_only_share": share,
        "near_only_pages": pages,
        "near_only_days": days,
        "near_only_bytes": pages * rates.stored_bytes,
        "index_extra_bytes": many.index_bytes - few.index_bytes,
        "comparisons_removed": rates.peak * (few.candidates_per_query - many.candidates_per_query),
        "index_writes": rates.average * many.tables,
        "simhash_bytes": inputs.fingerprints * FINGERPRINT_BYTES,
        "minhash_bytes": inputs.fingerprints * minhash,
        "minhash_ratio": minhash / FINGERPRINT_BYTES,
    }
    rows = tuple(
        (
            float(blocks),
            float(index.tables),
            float(index.key_bits),
            index.candidates_per_probe,
            index.candidates_per_query,
            rates.peak * index.candidates_per_query,
            index.index_bytes,
        )
        for blocks, index in {FEW_BLOCKS: few, int(inputs.blocks): many}.items()
    )
    return Numbers(values, {"simhash": rows})
