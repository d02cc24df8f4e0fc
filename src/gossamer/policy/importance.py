"""How much a host matters to the web that the crawl has seen: votes of other sites, on a scale from 0 to 1.

A vote is a link from a page of another site, and a site has one vote for a host however many hosts or pages it has:
names cost nothing below a registered domain, so they must weigh nothing. While the crawl runs, the sites that vote for
a host are counted in a sketch of fixed size; `gossamer rank` computes PageRank over the link log (adapters/linkgraph).
Both count in votes of an ordinary site, so both are put on one scale here.

The sketch is HyperLogLog (Flajolet, Fusy, Gandouet, Meunier, 2007) with 64 registers of a byte, standard error 13 %,
and linear counting for small numbers. Hashes are keyed, since the names that are counted are chosen by strangers.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from typing import Final

REGISTERS: Final = 64
VOTES_FULL: Final = 1_000.0  # votes of ordinary sites from which on more make a host no more important
HOST_OCTAVES: Final = 2.0  # doublings of a page's importance between the least and the most important hosts
SKETCHES_REMEMBERED_MAX: Final = 4_096
_INDEX_BITS: Final = 6
_ALPHA: Final = 0.709  # the bias correction for 64 registers
_EMPTY: Final = bytes(REGISTERS)
_KEY_MAX_BYTES: Final = 64


def site_hash(site: str, key: bytes) -> int:
    """64 bits of a site's name that nobody can foresee who does not know the key, of at most 64 bytes."""
    return int.from_bytes(hashlib.blake2b(site.encode(), digest_size=8, key=key[:_KEY_MAX_BYTES]).digest())


def add_vote(sketch: bytes, hashed: int) -> bytes:
    """The sketch with one more site in it: the same object when it says nothing new. An empty one is b""."""
    index = hashed & (REGISTERS - 1)
    rest = hashed >> _INDEX_BITS
    rank = 64 - _INDEX_BITS - rest.bit_length() + 1
    registers = sketch if len(sketch) == REGISTERS else _EMPTY
    if registers[index] >= rank:
        return sketch
    return registers[:index] + bytes((rank,)) + registers[index + 1 :]


def merged(sketch: bytes, other: bytes) -> bytes:
    """The sketch of the sites that are in either: the same object when the other brings none."""
    if len(other) != REGISTERS:
        return sketch
    both = bytes(map(max, sketch, other)) if len(sketch) == REGISTERS else other
    return sketch if both == sketch else both


@lru_cache(maxsize=SKETCHES_REMEMBERED_MAX)  # every page asks for its host's
def votes(sketch: bytes) -> float:
    """About how many sites are in a sketch."""
    if len(sketch) != REGISTERS:
        return 0.0
    found = _ALPHA * REGISTERS**2 / sum(math.ldexp(1.0, -rank) for rank in sketch)
    empty = sketch.count(0)
    if empty and found <= 2.5 * REGISTERS:
        return REGISTERS * math.log(REGISTERS / empty)
    return found


def of_votes(count: float) -> float:
    """Importance, from 0 (nobody links to it) to 1 (VOTES_FULL sites do, or more). Each doubling is worth the same."""
    return min(1.0, math.log1p(max(0.0, count)) / math.log1p(VOTES_FULL))


def of_host(ranked: float | None, sketch: bytes) -> float:
    """Importance of a host: what `gossamer rank` found, which knows how much each vote is worth; as long as it has not
    seen the host (None), what the votes that were counted come to.
    """
    return of_votes(votes(sketch)) if ranked is None else ranked


def of_page(by_place: float, host: float) -> float:
    """Importance of a page to the refresh calendar: by its place in its site, and by its host (0 to 1)."""
    return by_place * math.pow(2.0, HOST_OCTAVES * host)
