"""Near-duplicates on labelled pairs of real documentation: what is found, and that nothing is found that is not.

`bench/near_duplicates_corpus.py` made the pairs; tests/cases/duplicates/SOURCES.md says from what. The figures printed
here are kept in docs/near-duplicates.md.
"""

from __future__ import annotations

import json
import lzma
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gossamer.adapters.digest.fingerprint import fingerprint
from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.text import main_text, title_of
from gossamer.policy.duplicates import NEAR_DISTANCE_MAX, Fingerprint, block_keys, hamming, same_page

CASES = Path(__file__).parent.parent / "cases" / "duplicates"
NEARLY_THE_SAME = 0.97  # share of 4-grams in common from which a fingerprint of 64 bits can be expected to agree
BANDS = (0.99, 0.97, 0.95, 0.9, 0.0)


class Judged(NamedTuple):
    kind: str
    same: bool
    alike: float
    distance: int | None  # None: at least one text is too short to judge
    near: bool
    merged: bool


@cache
def fingerprints() -> dict[str, Fingerprint | None]:
    found: dict[str, Fingerprint | None] = {}
    with lzma.open(CASES / "documents.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            tree = parse_html(document["html"])
            seen = scan(tree, document["html"])
            title = title_of(seen)
            made = fingerprint(main_text(tree, seen))
            found[document["id"]] = (
                None if made.simhash is None else Fingerprint(made.simhash, made.text_chars, made.sketch, title)
            )
    return found


@cache
def judged() -> list[Judged]:
    prints = fingerprints()
    results = []
    with (CASES / "pairs.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            a, b = prints[pair["a"]], prints[pair["b"]]
            if a is None or b is None:
                results.append(Judged(pair["kind"], pair["same"], pair["alike"], None, near=False, merged=False))
                continue
            distance = hamming(a.simhash, b.simhash)
            near = distance <= NEAR_DISTANCE_MAX
            results.append(Judged(pair["kind"], pair["same"], pair["alike"], distance, near, same_page(a, b)))
    return results


def test_the_corpus_is_whole() -> None:
    assert len(fingerprints()) == 713
    assert Counter((pair.kind, pair.same) for pair in judged()) == {
        ("release", True): 106,
        ("timestamp", True): 30,
        ("sidebar", True): 30,
        ("consent", True): 30,
        ("print", True): 30,
        ("session", True): 30,
        ("paragraph", True): 30,
        ("chapter", False): 140,
        ("template", False): 40,
        ("named", False): 30,
    }


def test_precision_and_recall() -> None:
    pairs = judged()
    merged = [pair for pair in pairs if pair.merged]
    positives = [pair for pair in pairs if pair.same]
    print(f"\nprecision {sum(pair.same for pair in merged) / len(merged):.3f} ({len(merged)} merged of {len(pairs)})")
    print(f"recall    {sum(pair.merged for pair in positives) / len(positives):.3f} ({len(positives)} pairs)")
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        some = [pair for pair in pairs if pair.kind == kind]
        short = sum(pair.distance is None for pair in some)
        print(f"  {kind:10} {sum(pair.merged for pair in some):3} of {len(some):3} merged, {short} too short to judge")
    high = 1.01
    for low in BANDS:
        band = [pair for pair in positives if low <= pair.alike < high]
        print(f"  alike {low:.2f} and up: recall {sum(p.merged for p in band) / max(1, len(band)):.3f} of {len(band)}")
        high = low
    blind = [pair for pair in pairs if pair.near]
    print(f"without the second signal: precision {sum(pair.same for pair in blind) / len(blind):.3f}")


def test_two_different_pages_never_merge() -> None:
    assert [pair for pair in judged() if pair.merged and not pair.same] == []


def test_the_second_signal_is_needed() -> None:
    """Items of one template are near by simhash alone; their names tell them apart."""
    assert sum(pair.near and not pair.same for pair in judged()) >= 15


@pytest.mark.parametrize("kind", ["sidebar", "consent", "print", "session"])
def test_what_a_site_hangs_around_a_page_changes_nothing(kind: str) -> None:
    some = [pair for pair in judged() if pair.kind == kind]
    assert sum(pair.merged for pair in some) == len(some) == 30


def test_pages_that_hardly_differ_are_found() -> None:
    some = [pair for pair in judged() if pair.same and pair.alike >= NEARLY_THE_SAME and pair.distance is not None]
    assert len(some) >= 120
    assert sum(pair.merged for pair in some) / len(some) >= 0.93


def test_near_pages_meet_in_a_table() -> None:
    """The index finds every pair that comparing all with all would find."""
    prints = [found for found in fingerprints().values() if found is not None]
    tables: dict[tuple[int, bytes], set[int]] = {}
    for number, found in enumerate(prints):
        for key in block_keys(found.simhash):
            tables.setdefault(key, set()).add(number)
    met = {(a, b) for members in tables.values() for a in members for b in members if a < b}
    near = {
        (a, b)
        for a in range(len(prints))
        for b in range(a + 1, len(prints))
        if hamming(prints[a].simhash, prints[b].simhash) <= NEAR_DISTANCE_MAX
    }
    assert near
    assert near <= met
