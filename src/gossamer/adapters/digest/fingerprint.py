"""Fingerprints of a text: content hash, 64-bit simhash over word 4-grams, and a MinHash sketch of the same 4-grams.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku et al., WWW 2007. Every word
counts (no sampling), in the simhash as often as it occurs. Everything is done on whole arrays: splitting a page's text
into Python objects and hashing each costs three times as much (docs/near-duplicates.md). Comparing is
`policy.duplicates`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from gossamer.policy.duplicates import SKETCH_SIZE

WORDS_PER_SHINGLE: Final = 4
SHINGLES_MIN: Final = 48  # fewer distinct 4-grams say too little to call two pages one
CHARACTER_WORD_BYTES: Final = 15  # longer words on average: a script without spaces, taken character by character
CHUNK: Final = 1 << 14  # shingles whose bits are counted at once: bounds memory at 5 MiB
BLOCK_BYTES: Final = 1 << 16  # of text whose words are hashed at once
SPACE: Final = 32

Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

_SEPARATE: Final = bytes(  # ASCII letters and digits, lower-cased, and all of UTF-8's other bytes; the rest separates
    c if chr(c) in "0123456789abcdefghijklmnopqrstuvwxyz" or c > 0x7F else c + 32 if chr(c).isupper() else 32
    for c in range(256)
)
_CHARACTERS: Final = re.compile(
    r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)
_MIX_A: Final = np.uint64(0xFF51AFD7ED558CCD)
_MIX_B: Final = np.uint64(0xC4CEB9FE1A85EC53)
_PLACES: Final = tuple(
    np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93)
)
_SHIFT: Final = np.uint64(32)
_SHIFT_33: Final = np.uint64(33)
_ZERO: Final = np.zeros(1, np.int64)
_TRUE: Final = np.ones(1, np.bool_)


class TextFingerprint(NamedTuple):
    """What is kept of a text for comparisons."""

    content_hash: int  # xxh3_64 of the normalised text; 0 when there is no word
    simhash: int | None  # None: too short to judge
    sketch: bytes  # empty when simhash is None
    text_chars: int  # of the normalised text


def fingerprint(text: str) -> TextFingerprint:
    """Fingerprint of a text. Normalised: lower-case ASCII words with single spaces, ASCII punctuation dropped."""
    normal = _normalise(text)
    if not len(normal):
        return TextFingerprint(0, None, b"", 0)
    data = normal.tobytes()
    content_hash = xxh3_64_intdigest(data) or 1
    chars = len(data) if text.isascii() else len(data.decode("utf-8", "replace"))
    words = _word_hashes(normal)
    if len(data) > CHARACTER_WORD_BYTES * len(words):
        words = _word_hashes(_normalise(" ".join(_CHARACTERS.findall(data.decode("utf-8", "replace")))))
    if len(words) < WORDS_PER_SHINGLE:
        return TextFingerprint(content_hash, None, b"", chars)
    shingles = _shingles(words)
    distinct = shingles[np.concatenate((_TRUE, shingles[1:] != shingles[:-1]))]
    if len(distinct) < SHINGLES_MIN:
        return TextFingerprint(content_hash, None, b"", chars)
    sketch = (distinct[:SKETCH_SIZE] >> _SHIFT).astype(">u4").tobytes()
    return TextFingerprint(content_hash, _simhash(shingles), sketch, chars)


def _normalise(text: str) -> Bytes:
    """UTF-8 of the words, one space between two."""
    data = np.frombuffer(text.encode("utf-8", "replace").translate(_SEPARATE), np.uint8)
    keep = data != SPACE
    keep[1:] |= keep[:-1].copy()  # a separator right after a word stays
    normal: Bytes = data[keep]
    if len(normal) and normal[0] == SPACE:
        normal = normal[1:]
    return normal[:-1] if len(normal) and normal[-1] == SPACE else normal


def _word_hashes(normal: Bytes) -> Hashes:
    """A hash of each word: a polynomial of its bytes modulo 2**64, then mixed.

    The sum of bytes times powers up to each place is built once; a word's part of it, times the inverse of the power at
    its start, does not depend on where it stands. Blocks keep the table of powers small; they end between words.
    """
    hashes: list[Hashes] = []
    start = 0
    while start < len(normal):
        block = normal[start : start + BLOCK_BYTES]
        if start + len(block) < len(normal):
            spaces = np.flatnonzero(block == SPACE)
            if len(spaces):
                block = block[: int(spaces[-1]) + 1]
        start += len(block)
        gaps = np.flatnonzero(block == SPACE)
        sums = np.zeros(len(block) + 1, np.uint64)
        np.cumsum(block * _POWERS[: len(block)], out=sums[1:])
        begins = np.concatenate((_ZERO, gaps + 1))
        ends = np.concatenate((gaps, _ZERO + len(block)))
        if begins[-1] >= len(block):  # the block ends in a space
            begins, ends = begins[:-1], ends[:-1]
        hashes.append(_mix((sums[ends] - sums[begins]) * _INVERSES[begins]))
    return hashes[0] if len(hashes) == 1 else np.concatenate(hashes) if hashes else np.empty(0, np.uint64)


def _shingles(words: Hashes) -> Hashes:
    """Hashes of the word 4-grams, ascending."""
    count = len(words) - WORDS_PER_SHINGLE + 1
    shingles = words[:count] * _PLACES[0]
    for place in range(1, WORDS_PER_SHINGLE):
        shingles += words[place : place + count] * _PLACES[place]
    shingles = _mix(shingles)
    shingles.sort()
    return shingles


def _mix(hashes: Hashes) -> Hashes:
    """Spread every bit over all (the finaliser of MurmurHash3). In place."""
    hashes ^= hashes >> _SHIFT_33
    hashes *= _MIX_A
    hashes ^= hashes >> _SHIFT_33
    hashes *= _MIX_B
    hashes ^= hashes >> _SHIFT_33
    return hashes


def _simhash(hashes: Hashes) -> int:
    """Per bit position, whether more than half of the hashes have it set."""
    counts = np.zeros(64, np.float64)
    for start in range(0, len(hashes), CHUNK):
        chunk = hashes[start : start + CHUNK].astype("<u8", copy=False).view(np.uint8)
        bits = np.unpackbits(chunk, bitorder="little").reshape(-1, 64).astype(np.float32)
        counts += np.ones(len(bits), np.float32) @ bits  # exact: sums stay far below 2**24
    return int.from_bytes(np.packbits(2 * counts > len(hashes), bitorder="little").tobytes(), "little")


def _powers(base: int) -> Hashes:
    """Powers of an odd number modulo 2**64."""
    found = np.full(BLOCK_BYTES, base, np.uint64)
    found[0] = 1
    return np.cumprod(found, dtype=np.uint64)


_BASE: Final = 0x9E3779B97F4A7C15
_POWERS: Final = _powers(_BASE)
_INVERSES: Final = _powers(pow(_BASE, -1, 1 << 64))
