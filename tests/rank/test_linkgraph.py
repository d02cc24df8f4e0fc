"""PageRank and harmonic centrality: against their definitions, and against those who would like to stand higher."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters import linkgraph
from gossamer.adapters.linkgraph import DAMPING, ROUNDS_MAX, Graph, build, harmonic, pagerank
from gossamer.adapters.linkread import number_sites

Pairs = list[tuple[int, int]]


def graph(sites: list[int], pairs: Pairs, pages: list[int] | None = None) -> Graph:
    _, numbered = np.unique(np.array(sites, np.int64), return_inverse=True)
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    counts = np.array(pages if pages is not None else [1] * len(pairs), np.int64)
    return build(numbered.astype(np.int32), ends[:, 0], ends[:, 1], counts)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 12))
    host = st.integers(0, size - 1)
    sites = draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    return graph(sites, draw(st.lists(st.tuples(host, host), max_size=40)))


def by_definition(one: Graph) -> np.ndarray:
    """PageRank from the dense matrix: the eigenvector, solved directly."""
    size = len(one.sites)
    links = one.matrix.toarray()
    sizes = np.bincount(one.sites)
    jump = 1 / (len(sizes) * sizes[one.sites])
    leaving = links.sum(axis=0)
    step = np.where(leaving > 0, links / np.where(leaving > 0, leaving, 1), jump[:, None])
    return np.linalg.solve(np.eye(size) - DAMPING * step, (1 - DAMPING) * jump)


@settings(deadline=None, max_examples=100)
@given(graphs())
def test_pagerank_is_what_the_definition_says_and_sums_to_one(one: Graph) -> None:
    found = pagerank(one)
    assert found.settled or found.rounds == ROUNDS_MAX  # two hosts that pass on to each other take 113
    assert found.values == pytest.approx(by_definition(one), abs=1e-6)
    assert found.values.sum() == pytest.approx(1.0)
    assert ((found.importance >= 0) & (found.importance <= 1)).all()


def distances(one: Graph) -> np.ndarray:
    """[source, target] by breadth-first search, infinite where there is no way."""
    size = len(one.sites)
    links = one.matrix.toarray().T > 0
    far = np.full((size, size), np.inf)
    for start in range(size):
        far[start, start], layer, distance = 0, {start}, 0
        while layer:
            distance += 1
            layer = {int(target) for source in layer for target in np.flatnonzero(links[source])}
            layer = {target for target in layer if far[start, target] == np.inf}
            far[start, list(layer)] = distance
    return far


@settings(deadline=None, max_examples=100)
@given(graphs())
def test_harmonic_centrality_is_what_the_definition_says(one: Graph) -> None:
    far = distances(one)
    wanted = [
        sum(1 / far[one.sites == site, host].min() for site in set(one.sites.tolist()) - {int(one.sites[host])})
        for host in range(len(one.sites))
    ]
    found = harmonic(one)
    assert found.exact
    assert found.settled
    assert found.values == pytest.approx(wanted)


def test_the_estimate_is_near_the_exact_value(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(5)
    size = 900
    pairs = list(zip(chance.integers(0, size, 5_000), (chance.pareto(0.8, 5_000) * 10).astype(int) % size, strict=True))
    one = graph(list(range(size)), pairs)
    exact = harmonic(one)
    monkeypatch.setattr(linkgraph, "EXACT_HOSTS_MAX", 0)
    estimated = harmonic(one)
    assert (exact.exact, estimated.exact, estimated.settled) == (True, False, True)
    far = exact.values > 10
    assert far.sum() > 100
    off = np.abs(estimated.values[far] / exact.values[far] - 1)
    assert off.max() < 0.6
    assert off.mean() < 0.15
    assert np.corrcoef(exact.values, estimated.values)[0, 1] > 0.95


@pytest.mark.parametrize("method", [pagerank, harmonic])
def test_direction_matters(method: object) -> None:
    assert callable(method)
    importance = method(graph([0, 1, 2, 3], [(1, 0), (2, 0), (3, 0)])).importance
    assert importance[0] > 0
    assert importance[1:].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("method", [pagerank, harmonic])
def test_hosts_without_links_have_no_importance_and_an_empty_graph_is_no_fault(method: object) -> None:
    assert callable(method)
    assert method(graph([0, 1, 2], [])).importance.tolist() == [0.0, 0.0, 0.0]
    assert len(method(graph([], [])).values) == 0
    found = method(graph([0, 1, 2], [(0, 1)])).importance
    assert (found[0], found[2]) == (0.0, 0.0)
    assert found[1] > 0


@pytest.mark.parametrize("method", [pagerank, harmonic])
def test_a_farm_of_ten_thousand_hosts_of_one_site_weighs_what_one_of_them_does(method: object) -> None:
    assert callable(method)
    farm = 10_000
    # Hosts 0, 1 and 2 stand alone: a farm leads to 0, one host to 1, three sites to 2. The farm's also link each other.
    sites = [0, 1, 2, 3, 4, 5, 6, *[7] * farm]
    first = 7
    pairs = [(3, 1), (4, 2), (5, 2), (6, 2)]
    pairs += [(first + number, 0) for number in range(farm)]
    pairs += [(first + number, first + (number + 1) % farm) for number in range(farm)]
    found = method(graph(sites, pairs)).importance
    assert found[0] == pytest.approx(found[1], rel=0.02)
    assert found[2] > 2 * found[0]
    assert found[first:].tolist() == [0.0] * farm  # what a site says of itself is no vote


def test_a_vote_of_a_host_with_votes_is_worth_more() -> None:
    importance = pagerank(graph(list(range(8)), [(2, 0), (3, 1), (4, 2), (5, 2), (6, 2)])).importance
    assert importance[0] > 1.5 * importance[1]


def test_many_pages_weigh_a_little_more_than_one() -> None:
    importance = pagerank(graph([0, 1, 2], [(0, 1), (0, 2)], [1, 1023])).values
    assert importance[2] > importance[1]
    weights = graph([0, 1, 2], [(0, 1), (0, 2)], [1, 1023]).matrix.data
    assert sorted(weights.tolist()) == [1.0, 10.0]


def test_sites_of_hosts() -> None:
    hosts = ["www.a.example.co.uk", "b.example.co.uk:8080", "x.github.io", "y.github.io", "[::1]:81", "10.0.0.1"]
    assert number_sites(hosts).tolist() == [0, 0, 1, 2, 3, 4]
