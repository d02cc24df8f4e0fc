"""Copies: which payloads and which texts the corpus already holds."""

from __future__ import annotations

from typing import Final

from gossamer.core.changes import Changes, decode_copy, decode_fingerprints, encode
from gossamer.model.page import Original, Pointer
from gossamer.model.record import Cf, Copy, FingerprintEntry, UrlRow
from gossamer.policy.duplicates import NEAR_DISTANCE_MAX, block_keys, confirm, hamming

BUCKET_MAX: Final = 64  # entries of one table key; a fuller bucket keeps its oldest
CANDIDATES_MAX: Final = 32  # rows compared by the second signal for one page


def find_copy(changes: Changes, payload_digest: str) -> Copy | None:
    """The first capture of a payload."""
    raw = changes.get(Cf.PAYLOAD, payload_digest.encode())
    return None if raw is None else decode_copy(raw)


def original_of(copy: Copy, payload_digest: str) -> Original:
    """What a revisit record of this payload refers to."""
    return Original(copy.url, copy.date, payload_digest, copy.pointer)


def remember_copy(changes: Changes, payload_digest: str, key: str, url: str, date: float, pointer: Pointer) -> None:
    """File the first capture of a payload; a later one changes nothing."""
    slot = payload_digest.encode()
    if changes.get(Cf.PAYLOAD, slot) is None:
        changes.put(Cf.PAYLOAD, slot, encode(Copy(key, url, date, pointer)))


def _table_keys(simhash: int) -> list[bytes]:
    return [bytes((table,)) + key for table, key in block_keys(simhash)]


def find_near(changes: Changes, key: str, row: UrlRow, text_chars: int) -> str | None:
    """URL key of an earlier page with the same text, or None. Confirmed by the second signal.

    Complete within Hamming distance 3: six blocks, every choice of three is a table.
    """
    simhash = row.simhash
    if simhash is None:
        return None
    candidates: dict[str, int] = {}
    for raw in changes.get_many(Cf.FINGERPRINT, _table_keys(simhash)):
        if raw is None:
            continue
        for entry in decode_fingerprints(raw):
            if entry.key != key:
                distance = hamming(entry.simhash, simhash)
                if distance <= NEAR_DISTANCE_MAX:
                    candidates[entry.key] = distance
    for candidate in sorted(candidates, key=lambda name: (candidates[name], name))[:CANDIDATES_MAX]:
        other = changes.url(candidate)
        if other is None or other.simhash is None or other.duplicate_of:
            continue
        if confirm(text_chars, row.sketch, other.text_chars, other.sketch, (row.title, other.title)):
            return candidate
    return None


def file_fingerprint(changes: Changes, key: str, simhash: int) -> None:
    """Enter a page in all twenty tables."""
    slots = _table_keys(simhash)
    for slot, raw in zip(slots, changes.get_many(Cf.FINGERPRINT, slots), strict=True):
        entries = [] if raw is None else decode_fingerprints(raw)
        if len(entries) < BUCKET_MAX:
            entries.append(FingerprintEntry(simhash, key))
            changes.put(Cf.FINGERPRINT, slot, encode(entries))


def unfile_fingerprint(changes: Changes, key: str, simhash: int) -> None:
    """Take a page out of all twenty tables."""
    slots = _table_keys(simhash)
    for slot, raw in zip(slots, changes.get_many(Cf.FINGERPRINT, slots), strict=True):
        if raw is not None:
            entries = [entry for entry in decode_fingerprints(raw) if entry.key != key]
            if entries:
                changes.put(Cf.FINGERPRINT, slot, encode(entries))
            else:
                changes.delete(Cf.FINGERPRINT, slot)
