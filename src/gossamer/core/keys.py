"""How store keys are laid out, so that the order of bytes is the order of work."""

from __future__ import annotations

import struct
from typing import Final

from gossamer.model.limits import LEVELS

QUEUE_LEVELS = 2 * LEVELS  # 0-9 discovery, 10-19 refresh of the same priority
_SEQ = struct.Struct(">Q")
_LEVEL_SEQ = struct.Struct(">BQ")


def queue_key(host: str, level: int, sequence: int) -> bytes:
    """Key of one queue entry: host, level, sequence."""
    return host.encode() + b"\x00" + _LEVEL_SEQ.pack(level, sequence)


def queue_place(key: bytes) -> tuple[int, int]:
    """(level, sequence) of a queue key."""
    level, sequence = _LEVEL_SEQ.unpack(key[-9:])
    return level, sequence


def waiting_key(level: int, sequence: int) -> bytes:
    """Key of a host in the front queue of a level."""
    return _LEVEL_SEQ.pack(level, sequence)


def due_key(due: float, url_key: str) -> bytes:
    """Key in the refresh calendar; `due` in unix seconds, kept to the millisecond."""
    return _SEQ.pack(max(0, int(due * 1000))) + url_key.encode()


def due_bound(due: float) -> bytes:
    """Exclusive upper bound of everything due at or before a time."""
    return _SEQ.pack(max(0, int(due * 1000)) + 1)


SEGMENT_PREFIX: Final = b"segment\x00"


def segment_key(segment: str) -> bytes:
    """Key that says that some commit refers to a segment."""
    return SEGMENT_PREFIX + segment.encode()


def robots_key(host: str, scheme: str) -> bytes:
    """Key of a robots.txt body beside its host's ledger."""
    return f"{host}\x00robots\x00{scheme}".encode()


def shape_key(host: str, shape: str) -> bytes:
    """Key of the growth statistics of one URL shape of a host."""
    return f"{host}\x00shape\x00{shape}".encode()


PROBE_PREFIX: Final = b"probe\x00"


def probe_key(host: str) -> bytes:
    """Key of the page for which a host is to be asked for its not-found page."""
    return PROBE_PREFIX + host.encode()


MEMBER_PREFIX: Final = b"copy\x00"


def member_key(original: str, since: float, member: str) -> bytes:
    """Key of a copy among the copies of its original, the earliest first; `since` in unix seconds."""
    return member_bounds(original)[0] + _SEQ.pack(max(0, int(since * 1000))) + member.encode()


def member_bounds(original: str) -> tuple[bytes, bytes]:
    """Where the copies of an original begin, and the exclusive end."""
    front = MEMBER_PREFIX + original.encode()
    return front + b"\x00", front + b"\x01"


def member_of(slot: bytes, original: str) -> str:
    """The URL key of a copy from its place among the copies of its original."""
    return slot[len(member_bounds(original)[0]) + 8 :].decode()


DISBAND_PREFIX: Final = b"disband\x00"


def disband_key(original: str) -> bytes:
    """Key that says that the copies of a page are still to be judged anew."""
    return DISBAND_PREFIX + original.encode()


LATE_PREFIX: Final = b"late\x00"


def late_key(host: str, number: int, url_key: str) -> bytes:
    """Key of a refresh that waits for room in the queue of its host; what is worth more has a lower number."""
    return late_bounds(host)[0] + _SEQ.pack(number) + url_key.encode()


def late_bounds(host: str) -> tuple[bytes, bytes]:
    """Where the refreshes begin that wait for a host, and the exclusive end."""
    front = LATE_PREFIX + host.encode()
    return front + b"\x00", front + b"\x01"


def late_of(slot: bytes, host: str) -> tuple[int, str]:
    """(number, URL key) of such a key."""
    rest = slot[len(late_bounds(host)[0]) :]
    return int.from_bytes(rest[: _SEQ.size], "big"), rest[_SEQ.size :].decode()
