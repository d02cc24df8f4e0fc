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
CHUNK: Final = 1 << 14  # shingles whose bits are counted at once: bounds memory at 1 MiB
ROWS: Final = 128  # of a table whose columns are summed in bytes; at most 255
FEW: Final = 128  # shingles among which the smallest distinct ones are nearly always found
BLOCK_BYTES: Final = 1 << 16  # of text whose words are hashed at once
SPACE: Final = 32

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
_SHIFT_33: Final = np.uint64(33)
_FIRST_LEAD: Final = -64  # 0xC0 as a signed byte; ASCII is positive


class TextFingerprint(NamedTuple):
    """What is kept of a text for comparisons."""

    content_hash: int  # xxh3_64 of the hashes of all words; 0 when there is no word
    simhash: int | None  # None: too short to judge
    sketch: bytes  # empty when simhash is None
    text_chars: int  # of the words with one space between two


def fingerprint(text: str) -> TextFingerprint:
    """Fingerprint of a text. Words are lower-cased; ASCII punctuation and the kind and number of spaces don't count."""
    data = text.encode("utf-8", "replace").translate(_SEPARATE)
    words, length = _word_hashes(data)
    if not len(words):
        return TextFingerprint(0, None, b"", 0)
    content_hash = xxh3_64_intdigest(words.astype("<u8", copy=False).data) or 1
    chars = length if text.isascii() else length - _continuations(data)
    if length > CHARACTER_WORD_BYTES * len(words):
        characters = " ".join(_CHARACTERS.findall(data.decode("utf-8", "replace")))
        words, _ = _word_hashes(characters.encode("utf-8", "replace").translate(_SEPARATE))
    if len(words) < WORDS_PER_SHINGLE:
        return TextFingerprint(content_hash, None, b"", chars)
    shingles = _shingles(words)
    distinct = _smallest(shingles)
    if len(distinct) < SHINGLES_MIN:
        return TextFingerprint(content_hash, None, b"", chars)
    sketch = (distinct[:SKETCH_SIZE] >> _SHIFT).astype(">u4").tobytes()
    return TextFingerprint(content_hash, _simhash(shingles), sketch, chars)


def _continuations(data: bytes) -> int:
    """Bytes of UTF-8 that do not begin a character: 0x80 to 0xBF."""
    return int(np.count_nonzero(np.frombuffer(data, np.int8) < _FIRST_LEAD))


def _word_hashes(data: bytes) -> tuple[Hashes, int]:
    """A hash of each word, and the bytes of the words with one space between two.

    A hash is a polynomial of the word's bytes modulo 2**64, then mixed. The sum of bytes times powers up to each place
    is built once; a word's part of it, times the inverse of the power at its start, does not depend on where it stands.
    Blocks keep the table of powers small; they end between words, unless one fills a block.
    """
    hashes: list[Hashes] = []
    start = length = 0
    while start < len(data):
        end = start + BLOCK_BYTES
        if end < len(data):
            end = data.rfind(b" ", start, end) + 1 or end
        block = np.frombuffer(data, np.uint8, min(end, len(data)) - start, start)
        start = end
        spaces = np.ones(len(block) + 2, np.bool_)  # the block between two spaces
        np.equal(block, SPACE, out=spaces[1:-1])
        edges = (spaces[1:] != spaces[:-1]).nonzero()[0]  # where a word begins, where it ends, where the next begins
        if not len(edges):
            continue
        sums = np.empty(len(block) + 1, np.uint64)
        sums[0] = 0
        np.multiply(block, _POWERS[: len(block)], out=sums[1:])
        at_edges = np.add.accumulate(sums, out=sums)[edges]
        found = at_edges[1::2] - at_edges[::2]
        found *= _INVERSES[edges[::2]]
        hashes.append(_mix(found))
        length += len(spaces) - 2 - int(np.count_nonzero(spaces[1:-1])) + len(found)
    if len(hashes) == 1:
        return hashes[0], length - 1
    return (np.concatenate(hashes), length - 1) if hashes else (np.empty(0, np.uint64), 0)


def _shingles(words: Hashes) -> Hashes:
    """Hashes of the word 4-grams."""
    count = len(words) - WORDS_PER_SHINGLE + 1
    shingles = words[:count] * _PLACES[0]
    part = np.empty_like(shingles)
    for place in range(1, WORDS_PER_SHINGLE):
        np.multiply(words[place : place + count], _PLACES[place], out=part)
        shingles += part
    return _mix(shingles)


def _mix(hashes: Hashes) -> Hashes:
    """Spread every bit over all (the finaliser of MurmurHash3). In place."""
    shifted = hashes >> _SHIFT_33
    hashes ^= shifted
    hashes *= _MIX_A
    np.right_shift(hashes, _SHIFT_33, out=shifted)
    hashes ^= shifted
    hashes *= _MIX_B
    np.right_shift(hashes, _SHIFT_33, out=shifted)
    hashes ^= shifted
    return hashes


def _smallest(hashes: Hashes) -> Hashes:
    """The smallest distinct hashes, ascending: SHINGLES_MIN of them or more, or all. Reorders its argument.

    Sorting all is left to texts that repeat themselves.
    """
    if len(hashes) > FEW:
        hashes.partition(FEW - 1)
        distinct = _distinct(hashes[:FEW])
        if len(distinct) >= SHINGLES_MIN:
            return distinct
    return _distinct(hashes)


def _distinct(hashes: Hashes) -> Hashes:
    """Each hash once, ascending. Sorts its argument."""
    hashes.sort()
    first = np.ones(len(hashes), np.bool_)
    np.not_equal(hashes[1:], hashes[:-1], out=first[1:])
    return hashes[first]


def _simhash(hashes: Hashes) -> int:
    """Per bit position, whether more than half of the hashes have it set.

    Bits are added up as bytes, down the columns of a table with too few rows for a byte to overflow.
    """
    counts = np.zeros(64, np.int64)
    for start in range(0, len(hashes), CHUNK):
        chunk = hashes[start : start + CHUNK]
        columns = -(-len(chunk) // ROWS)
        table = np.zeros(ROWS * columns, "<u8")
        table[: len(chunk)] = chunk
        bits = np.unpackbits(table.view(np.uint8), bitorder="little").reshape(ROWS, -1)
        sums = np.add.reduce(bits, axis=0, dtype=np.uint8).reshape(columns, 64)
        counts += np.add.reduce(sums, axis=0, dtype=np.int64)
    return int.from_bytes(np.packbits(2 * counts > len(hashes), bitorder="little").tobytes(), "little")


def _powers(base: int) -> Hashes:
    """Powers of an odd number modulo 2**64."""
    found = np.full(BLOCK_BYTES, base, np.uint64)
    found[0] = 1
    return np.cumprod(found, dtype=np.uint64)


_BASE: Final = 0x9E3779B97F4A7C15
_POWERS: Final = _powers(_BASE)
_INVERSES: Final = _powers(pow(_BASE, -1, 1 << 64))
