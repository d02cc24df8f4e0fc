"""Copies: which payloads and which texts the corpus already holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gossamer.core.changes import Changes, decode_copy, decode_fingerprints, encode
from gossamer.model.page import Digest, Job, Kind, Original, Pointer
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, Copy, FingerprintEntry, UrlRow
from gossamer.policy.duplicates import NEAR_DISTANCE_MAX, block_keys, confirm, hamming, is_near

BUCKET_MAX: Final = 64  # entries of one table key; a fuller bucket keeps its oldest
OK: Final = 200
OTHER_MIN_BYTES: Final = 256  # what a revisit record is longer than a response without its payload, about
CANDIDATES_MAX: Final = 32  # rows compared by the second signal for one page


def find_copy(changes: Changes, payload_digest: str) -> Copy | None:
    """The first capture of a payload."""
    raw = changes.get(Cf.PAYLOAD, payload_digest.encode())
    return None if raw is None else decode_copy(raw)


def original_of(copy: Copy, payload_digest: str) -> Original:
    """What a revisit record of this payload refers to."""
    return Original(copy.url, copy.date, payload_digest, copy.pointer)


def response_of(changes: Changes, row: UrlRow, withheld: Callable[[str], str]) -> Original | None:
    """The archived response with the payload that a page showed last; None when there is none to refer to.

    Its own where it was archived in full, else the first capture of that payload. `withheld`: the takedown, if any, by
    which the record of a URL is not given out. Without a response a 304 would confirm what the archive does not have.
    """
    digest = row.payload_digest
    if row.pointer is None or row.noarchive or not digest or shown(row) != digest:
        return None
    if row.response_date:
        return Original(row.url, row.response_date, digest)
    copy = find_copy(changes, digest)
    return None if copy is None or withheld(copy.url) else original_of(copy, digest)


def remember_copy(changes: Changes, payload_digest: str, key: str, url: str, date: float, pointer: Pointer) -> None:
    """File the first capture of a payload; a later one changes nothing."""
    slot = payload_digest.encode()
    if changes.get(Cf.PAYLOAD, slot) is None:
        changes.put(Cf.PAYLOAD, slot, encode(Copy(key, url, date, pointer)))


def remember_other(changes: Changes, job: Job, digest: Digest) -> None:
    """File what is no page: robots.txt, sitemaps and error pages come back unchanged again and again.

    Short ones are left out: a record that refers to them is no shorter than they are.
    """
    if digest.pointer is None or digest.noarchive or job.truncated or job.revisit:
        return
    if len(job.payload) >= OTHER_MIN_BYTES:
        remember_copy(changes, job.payload_digest, job.key, job.url, job.date, digest.pointer)


def forget_copy(changes: Changes, payload_digest: str) -> None:
    """The first capture of a payload is to be referred to no more: the next one counts as the first."""
    changes.delete(Cf.PAYLOAD, payload_digest.encode())


def shown(row: UrlRow) -> str:
    """Payload digest of the page that a URL shows, as far as is known; "" when it shows none. Errors change nothing."""
    if row.missing or row.halted or row.reason == Reason.SOFT_404:
        return ""
    return row.content_digest or (row.payload_digest if row.status == OK else "")


def is_same(row: UrlRow, other: UrlRow) -> bool:
    """Whether two URLs show one page: the same bytes, the same text, or near texts that the second signal confirms."""
    if shown(row) and shown(row) == shown(other):
        return True
    if row.content_hash and row.content_hash == other.content_hash:
        return True
    if row.simhash is None or other.simhash is None or not is_near(row.simhash, other.simhash):
        return False
    return confirm(row.text_chars, row.sketch, other.text_chars, other.sketch, (row.title, other.title))


def holder(changes: Changes, key: str, payload_digest: str) -> str | None:
    """URL key of the page that a page with this payload at `key` is a copy of; None when it is the original itself.

    An original that no longer shows this payload makes way, and `key` takes its place; the archived record stays where
    it is. One that is a copy itself passes the question on.
    """
    copy = find_copy(changes, payload_digest)
    if copy is None or copy.key == key:
        return None
    first = changes.url(copy.key)
    is_page = first is not None and first.kind is Kind.PAGE
    if first is not None and is_page and shown(first) == payload_digest and first.duplicate_of != key:
        return first.duplicate_of or copy.key
    changes.put(Cf.PAYLOAD, payload_digest.encode(), encode(Copy(key, copy.url, copy.date, copy.pointer)))
    return None


class Probe:
    """The rows of the tables that a simhash is filed under, read once for looking and for filing."""

    def __init__(self, changes: Changes, simhash: int) -> None:
        """Read the rows."""
        self.simhash = simhash
        self._changes = changes
        self._slots = _table_keys(simhash)
        self._rows = changes.get_many(Cf.FINGERPRINT, self._slots)

    def near(self, key: str) -> list[str]:
        """Keys of other pages within the near distance, nearest first, at most CANDIDATES_MAX.

        Complete within Hamming distance 3: five blocks, every choice of two is a table.
        """
        found: dict[str, int] = {}
        for raw in self._rows:
            for entry in decode_fingerprints(raw) if raw is not None else ():
                if entry.key != key:
                    distance = hamming(entry.simhash, self.simhash)
                    if distance <= NEAR_DISTANCE_MAX:
                        found[entry.key] = distance
        return sorted(found, key=lambda name: (found[name], name))[:CANDIDATES_MAX]

    def file(self, key: str) -> None:
        """Enter a page in all tables."""
        entry = FingerprintEntry(self.simhash, key)
        alone = encode([entry])
        for slot, raw in zip(self._slots, self._rows, strict=True):
            if raw is None:
                self._changes.put(Cf.FINGERPRINT, slot, alone)
                continue
            entries = decode_fingerprints(raw)
            if len(entries) < BUCKET_MAX:
                self._changes.put(Cf.FINGERPRINT, slot, encode([*entries, entry]))


def _table_keys(simhash: int) -> list[bytes]:
    return [bytes((table,)) + key for table, key in block_keys(simhash)]


def confirmed(changes: Changes, candidates: list[str], row: UrlRow) -> str | None:
    """The first candidate that the second signal confirms to have the same text as `row`, or None."""
    for candidate in candidates:
        other = changes.url(candidate)
        if other is None or other.simhash is None or other.duplicate_of:
            continue
        if confirm(row.text_chars, row.sketch, other.text_chars, other.sketch, (row.title, other.title)):
            return candidate
    return None


def unfile_fingerprint(changes: Changes, key: str, simhash: int) -> None:
    """Take a page out of all tables."""
    slots = _table_keys(simhash)
    for slot, raw in zip(slots, changes.get_many(Cf.FINGERPRINT, slots), strict=True):
        if raw is not None:
            entries = [entry for entry in decode_fingerprints(raw) if entry.key != key]
            if entries:
                changes.put(Cf.FINGERPRINT, slot, encode(entries))
            else:
                changes.delete(Cf.FINGERPRINT, slot)
