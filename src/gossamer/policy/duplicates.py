"""When two pages are the same page: simhash distance, the keys of the near-duplicate tables, and the second signal.

Pure arithmetic on fingerprints. Making a fingerprint from text is `adapters.digest.fingerprint`; looking candidates up
and deciding what a duplicate means for the crawl is the core's.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final, NamedTuple

SIMHASH_BITS: Final = 64
NEAR_DISTANCE_MAX: Final = 3  # bits; Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007
UNCHANGED_DISTANCE_MAX: Final = 1  # bits between two captures of one page that still count as no change

# docs/decisions/near-duplicate-tables.md says why so many.
BLOCK_BITS: Final = (13, 13, 13, 13, 12)  # together 64; three differing bits leave at least two blocks alike
BLOCKS_PER_KEY: Final = 2
TABLES: Final = 10  # ways to choose two blocks of five
BLOCK_KEY_BYTES: Final = 4  # the widest choice is 26 bits

SKETCH_SIZE: Final = 32  # smallest shingle hashes kept
SKETCH_ITEM_BYTES: Final = 4
LENGTH_RATIO_MIN: Final = 0.8  # shorter over longer text
SIMILARITY_MIN: Final = 0.75  # estimated Jaccard similarity of the shingle sets
SIMILARITY_SAME_TITLE_MIN: Final = 0.6  # ... when both pages carry the same title
SIMILARITY_OTHER_NUMBER_MIN: Final = 0.9  # ... when only numbers in the titles differ: a version, or another item


def _block_layout() -> tuple[tuple[int, int], ...]:
    """(shift, width) of each block, from the most significant bit down."""
    layout, shift = [], SIMHASH_BITS
    for width in BLOCK_BITS:
        shift -= width
        layout.append((shift, width))
    return tuple(layout)


_LAYOUT: Final = _block_layout()
_SIGNS: Final = (*range(0x30), *range(0x3A, 0x41), *range(0x5B, 0x61), *range(0x7B, 0xC0), *range(0x2010, 0x2040))
_CHOICES: Final = tuple(combinations(range(len(BLOCK_BITS)), BLOCKS_PER_KEY))
_SEPARATORS: Final = dict.fromkeys(_SIGNS, " ")


class Fingerprint(NamedTuple):
    """What is compared of one page."""

    simhash: int
    text_chars: int
    sketch: bytes  # bottom-k MinHash: SKETCH_SIZE ascending uint32, big-endian
    title: str = ""


def hamming(a: int, b: int) -> int:
    """Bits in which two 64-bit simhashes differ."""
    return (a ^ b).bit_count()


def is_near(a: int, b: int) -> bool:
    """Close enough to be candidates for one page; `confirm` decides."""
    return hamming(a, b) <= NEAR_DISTANCE_MAX


def is_unchanged(a: int | None, b: int | None) -> bool:
    """Whether two captures of one page count as the same content. Without both simhashes the answer is no."""
    return a is not None and b is not None and hamming(a, b) <= UNCHANGED_DISTANCE_MAX


def block_keys(simhash: int) -> tuple[tuple[int, bytes], ...]:
    """The (table number, key) pairs under which a simhash is filed, one for each of the TABLES.

    Two simhashes at distance <= 3 share at least one pair: three bits touch at most three of the five blocks.
    Raises ValueError when `simhash` is not an unsigned 64-bit number.
    """
    if not 0 <= simhash < 1 << SIMHASH_BITS:
        message = f"simhash {simhash} is not an unsigned 64-bit number"
        raise ValueError(message)
    blocks = [(simhash >> shift) & ((1 << width) - 1) for shift, width in _LAYOUT]
    keys = []
    for table, choice in enumerate(_CHOICES):
        value = 0
        for block in choice:
            value = (value << BLOCK_BITS[block]) | blocks[block]
        keys.append((table, value.to_bytes(BLOCK_KEY_BYTES, "big")))
    return tuple(keys)


def similarity(a: bytes, b: bytes) -> float:
    """Estimated Jaccard similarity, 0..1, of two shingle sets from their bottom-k sketches.

    Of the k smallest hashes of the union, the share that both sets hold (Broder, "On the resemblance and containment
    of documents", 1997). Empty or torn sketches resemble nothing.
    """
    left, right = _items(a), _items(b)
    if not left or not right:
        return 0.0
    size = min(SKETCH_SIZE, max(len(left), len(right)))
    union = sorted(left | right)[:size]
    both = left & right
    return sum(item in both for item in union) / len(union)


def _items(sketch: bytes) -> set[bytes]:
    """The hashes of a sketch; big-endian bytes sort as the numbers do."""
    if len(sketch) % SKETCH_ITEM_BYTES:
        return set()
    return {sketch[at : at + SKETCH_ITEM_BYTES] for at in range(0, len(sketch), SKETCH_ITEM_BYTES)}


def confirm(a_chars: int, a_sketch: bytes, b_chars: int, b_sketch: bytes, titles: tuple[str, str] = ("", "")) -> bool:
    """The second signal: whether two pages whose simhashes are near really say the same.

    Args: text lengths in characters and MinHash sketches of both pages; their titles, where known ("" is unknown).
    Lengths and estimated similarity must agree. Titles must not contradict each other: two items of a catalogue may
    share all but their name, so when each title has a word that the other lacks, the pages are two. An equal title
    lowers the similarity asked for, never to nothing, because pages of one template share titles as well.
    """
    longer = max(a_chars, b_chars)
    if longer <= 0 or min(a_chars, b_chars) < LENGTH_RATIO_MIN * longer:
        return False
    needed = _similarity_needed(*titles)
    return needed is not None and similarity(a_sketch, b_sketch) >= needed


def _similarity_needed(a: str, b: str) -> float | None:
    """The similarity that two pages of these titles must have; None when no similarity would do."""
    if not a or not b:
        return SIMILARITY_MIN
    left, right = set(a.lower().translate(_SEPARATORS).split()), set(b.lower().translate(_SEPARATORS).split())
    if left == right:
        return SIMILARITY_SAME_TITLE_MIN
    only_left, only_right = left - right, right - left
    if not only_left or not only_right:
        return SIMILARITY_MIN  # one title is the other with something added: a site's name, "print view"
    if any(word.isalpha() for word in only_left | only_right):
        return None
    return SIMILARITY_OTHER_NUMBER_MIN


def same_page(a: Fingerprint, b: Fingerprint) -> bool:
    """Whether two fingerprints are of one page: near and confirmed."""
    return is_near(a.simhash, b.simhash) and confirm(a.text_chars, a.sketch, b.text_chars, b.sketch, (a.title, b.title))
