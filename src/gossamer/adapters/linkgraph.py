"""How hosts stand in the graph of links between them: PageRank and harmonic centrality, on sparse matrices (scipy).

Names below a registered domain cost nothing, so in both a *site* counts once, however many hosts it has: links within a
site are left out, the random jumps of PageRank choose a site first and then one of its hosts, and harmonic centrality
counts the sites that reach a host. Ten thousand hosts of one site give what one host of it could.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gossamer.policy.importance import VOTES_FULL

DAMPING: Final = 0.85
PRECISION: Final = 1e-8  # change of the ranks in a round, summed, at which they count as settled
ROUNDS_MAX: Final = 100
EXACT_HOSTS_MAX: Final = 1_000  # harmonic centrality: beyond so many hosts it is estimated
REGISTERS: Final = 64
DISTANCE_MAX: Final = 64  # links between hosts; what is further away adds less than its 64th part

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Graph(NamedTuple):
    """Hosts by number, and which of them lead to which, each pair once and none within a site."""

    sites: NDArray[np.int32]  # of each host, numbered from 0 without holes
    matrix: csr_array[Any, Any]  # [target, source] = weight of the link


class Ranks(NamedTuple):
    """What a method says of every host."""

    values: Floats  # PageRank: they sum to 1; harmonic: sum over sites of 1 / distance
    importance: Floats  # the same from 0 to 1
    rounds: int
    settled: bool  # whether they had stopped changing; harmonic: whether every distance was looked at
    exact: bool  # harmonic: not estimated


def build(sites: NDArray[np.int32], sources: Numbers, targets: Numbers, pages: NDArray[np.int64]) -> Graph:
    """The graph of hosts whose site is known, from pairs of host numbers; equal pairs add up.

    A host that links from each of its thousand pages says it hardly more often than one that does from ten: a link
    weighs log2(1 + pages).
    """
    across = (sites[sources] != sites[targets]) & (pages > 0)
    size = len(sites)
    shape = (size, size)
    pairs = (targets[across], sources[across])
    matrix: csr_array[Any, Any] = csr_array((pages[across].astype(np.float64), pairs), shape=shape)
    matrix.sum_duplicates()
    matrix.data = np.log2(1.0 + matrix.data)
    return Graph(sites, matrix)


def pagerank(graph: Graph) -> Ranks:
    """PageRank (Page, Brin, Motwani, Winograd, 1998), with jumps to sites instead of hosts.

    Hosts without a link to another site pass on what they have to all sites. Importance counts what comes to a host by
    links, in units of what a jump gives a site: a host that nobody links to has 0.
    """
    size = len(graph.sites)
    if not size:
        return Ranks(np.zeros(0), np.zeros(0), 0, settled=True, exact=True)
    hosts_of_site = np.bincount(graph.sites)
    jump = 1.0 / (len(hosts_of_site) * hosts_of_site[graph.sites])
    leaving = np.asarray(graph.matrix.sum(axis=0)).ravel()
    dangling = leaving == 0
    share = np.divide(1.0, leaving, out=np.zeros(size), where=~dangling)
    ranks = jump.copy()
    inflow = np.zeros(size)
    base = 1.0
    rounds, moved = 0, np.inf
    while rounds < ROUNDS_MAX and moved > PRECISION:
        inflow = DAMPING * (graph.matrix @ (ranks * share))
        base = 1.0 - float(inflow.sum())  # jumps, and what hosts without links pass on
        following = inflow + base * jump
        moved = float(np.abs(following - ranks).sum())
        ranks = following
        rounds += 1
    units = inflow * len(hosts_of_site) / base
    return Ranks(ranks, _scaled(units), rounds, settled=moved <= PRECISION, exact=True)


def _scaled(units: Floats) -> Floats:
    """`policy.importance.of_votes` for many."""
    scaled: Floats = np.minimum(1.0, np.log1p(np.maximum(0.0, units)) / np.log1p(VOTES_FULL))
    return scaled


def harmonic(graph: Graph) -> Ranks:
    """Harmonic centrality by sites: for each host, the sum of 1 / distance over the other sites that reach it.

    Up to EXACT_HOSTS_MAX hosts it is exact; beyond, the sites within each distance are counted by HyperLogLog counters
    of REGISTERS registers (HyperBall: Boldi and Vigna, "In-core computation of geometric centralities with HyperBall",
    2013), with a standard error of about 13 %. Importance is the share of the highest.
    """
    size = len(graph.sites)
    if not size:
        return Ranks(np.zeros(0), np.zeros(0), 0, settled=True, exact=True)
    exact = size <= EXACT_HOSTS_MAX
    values, rounds, settled = _reached(graph) if exact else _hyperball(graph)
    top = float(values.max())
    return Ranks(values, values / top if top else values, rounds, settled=settled, exact=exact)


def _reached(graph: Graph) -> tuple[Floats, int, bool]:
    """By the set of sites that reach each host within a distance: a row of flags for each."""
    size = len(graph.sites)
    reached = np.zeros((size, int(graph.sites.max()) + 1), dtype=np.float32)
    reached[np.arange(size), graph.sites] = 1.0
    values, counts = np.zeros(size), np.ones(size)
    links = graph.matrix.astype(np.float32)
    distance = 0
    while distance < size:
        following = np.minimum(1.0, reached + links @ reached)  # no link weighs less than 1
        distance += 1
        now = following.sum(axis=1, dtype=np.float64)
        if np.array_equal(now, counts):
            return values, distance - 1, True
        values += (now - counts) / distance
        reached, counts = following, now
    return values, distance, True


def _hyperball(graph: Graph) -> tuple[Floats, int, bool]:
    """By counters: each round, a host's takes in those of the hosts that lead to it."""
    size = len(graph.sites)
    starts, sources = graph.matrix.indptr, graph.matrix.indices
    linked = np.flatnonzero(np.diff(starts))
    registers = _first_registers(graph.sites)
    values = np.zeros(size)
    counts = _counted(registers)
    for distance in range(1, DISTANCE_MAX + 1):
        changed = False
        for number, old in enumerate(registers):  # one register of all hosts: it fits a cache
            best = np.maximum.reduceat(old[sources], starts[linked]) if len(linked) else old[linked]
            new = old.copy()
            new[linked] = np.maximum(old[linked], best)
            changed = changed or not np.array_equal(new, old)
            registers[number] = new
        if not changed:
            return values, distance - 1, True
        now = np.maximum(_counted(registers), counts)
        values += (now - counts) / distance
        counts = now
    return values, DISTANCE_MAX, False


def _first_registers(sites: NDArray[np.int32]) -> NDArray[np.uint8]:
    """[register, host]: every host is reached by its own site. Hashes are of numbers of ours (splitmix64)."""
    hashed = sites.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashed = (hashed ^ (hashed >> np.uint64(shift))) * np.uint64(factor)
    hashed ^= hashed >> np.uint64(31)
    index = (hashed & np.uint64(REGISTERS - 1)).astype(np.int64)
    # 32 bits are enough for the place of the highest one, and exact as a float.
    high = (hashed >> np.uint64(32)).astype(np.float64)
    rank = 33 - np.frexp(high)[1]
    registers = np.zeros((REGISTERS, len(sites)), dtype=np.uint8)
    registers[index, np.arange(len(sites))] = rank
    return registers


def _counted(registers: NDArray[np.uint8]) -> Floats:
    """How many sites are in each host's counter (Flajolet et al. 2007; linear counting for few)."""
    size = registers.shape[1]
    total, empty = np.zeros(size), np.zeros(size)
    powers = np.ldexp(1.0, -np.arange(64))
    for row in registers:
        total += powers[row]
        empty += row == 0
    found = 0.709 * REGISTERS**2 / total
    few = (found <= 2.5 * REGISTERS) & (empty > 0)
    found[few] = REGISTERS * np.log(REGISTERS / empty[few])
    return found
