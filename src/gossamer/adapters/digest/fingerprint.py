"""Fingerprints of a text: content hash, 64-bit simhash over word 4-grams, and a MinHash sketch of the same 4-grams.

Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; Manku et al., WWW 2007. Every word
counts (no sampling), each distinct 4-gram once. Comparing fingerprints is `policy.duplicates`.
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
CHUNK: Final = 1 << 16  # shingles whose bits are counted at once: bounds memory at 4 MiB

Hashes = npt.NDArray[np.uint64]

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


class TextFingerprint(NamedTuple):
    """What is kept of a text for comparisons."""

    content_hash: int  # xxh3_64 of the normalised text; 0 when there is no word
    simhash: int | None  # None: too short to judge
    sketch: bytes  # empty when simhash is None
    text_chars: int  # of the normalised text


def fingerprint(text: str) -> TextFingerprint:
    """Fingerprint of a text. Normalised: lower-case ASCII words with single spaces, ASCII punctuation dropped."""
    words = text.encode("utf-8", "replace").translate(_SEPARATE).split()
    if not words:
        return TextFingerprint(0, None, b"", 0)
    normal = b" ".join(words)
    chars = len(normal) if text.isascii() else len(normal.decode("utf-8", "replace"))
    content_hash = xxh3_64_intdigest(normal) or 1
    if len(normal) > CHARACTER_WORD_BYTES * len(words):
        words = [word.encode() for word in _CHARACTERS.findall(normal.decode("utf-8", "replace"))]
    if len(words) < WORDS_PER_SHINGLE:
        return TextFingerprint(content_hash, None, b"", chars)
    hashes = _distinct_shingles(words)
    if len(hashes) < SHINGLES_MIN:
        return TextFingerprint(content_hash, None, b"", chars)
    sketch = (hashes[:SKETCH_SIZE] >> _SHIFT).astype(">u4").tobytes()
    return TextFingerprint(content_hash, _simhash(hashes), sketch, chars)


def _distinct_shingles(words: list[bytes]) -> Hashes:
    """Hashes of the distinct word 4-grams, ascending. Arithmetic is modulo 2**64."""
    one = np.fromiter(map(xxh3_64_intdigest, words), np.uint64, len(words))
    count = len(one) - WORDS_PER_SHINGLE + 1
    shingles = one[:count] * _PLACES[0]
    for place in range(1, WORDS_PER_SHINGLE):
        shingles += one[place : place + count] * _PLACES[place]
    shingles ^= shingles >> np.uint64(33)
    shingles *= _MIX_A
    shingles ^= shingles >> np.uint64(29)
    shingles *= _MIX_B
    shingles ^= shingles >> _SHIFT
    shingles.sort()
    keep = np.empty(count, np.bool_)
    keep[0] = True
    np.not_equal(shingles[1:], shingles[:-1], out=keep[1:])
    return shingles[keep]


def _simhash(hashes: Hashes) -> int:
    """Per bit position, whether more than half of the hashes have it set."""
    counts = np.zeros(64, np.int64)
    for start in range(0, len(hashes), CHUNK):
        chunk = hashes[start : start + CHUNK].astype(">u8").view(np.uint8).reshape(-1, 8)
        counts += np.unpackbits(chunk, axis=1).sum(axis=0, dtype=np.int64)
    return int.from_bytes(np.packbits(2 * counts > len(hashes)).tobytes(), "big")
