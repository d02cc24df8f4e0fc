"""Votes of sites: what a sketch counts, what it cannot be made to count, and what importance is worth."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy.importance import (
    REGISTERS,
    VOTES_FULL,
    add_vote,
    of_host,
    of_page,
    of_votes,
    site_hash,
    votes,
)
from gossamer.policy.priority import link_level

KEY = b"1767225600.123456"


def sketch_of(sites: list[str], key: bytes = KEY) -> bytes:
    sketch = b""
    for site in sites:
        sketch = add_vote(sketch, site_hash(site, key))
    return sketch


@pytest.mark.parametrize("count", [1, 2, 5, 20, 100, 1_000, 20_000])
def test_sites_are_counted_within_four_standard_errors(count: int) -> None:
    found = votes(sketch_of([f"site{number}.example" for number in range(count)]))
    assert found == pytest.approx(count, rel=0.52, abs=0.5)
    assert len(sketch_of([f"site{number}.example" for number in range(count)])) == REGISTERS


def test_nobody_is_no_votes() -> None:
    assert votes(b"") == of_host(None, b"") == of_votes(0) == 0.0


@settings(deadline=None, max_examples=100)
@given(st.lists(st.text(max_size=8), max_size=30), st.randoms())
def test_order_and_repeats_make_no_difference(sites: list[str], chance: object) -> None:
    shuffled = sorted(sites + sites, key=lambda site: site_hash(site, b"other"))
    assert sketch_of(shuffled) == sketch_of(sites)


@settings(deadline=None, max_examples=100)
@given(st.binary(min_size=REGISTERS, max_size=REGISTERS) | st.just(b""), st.integers(0, 2**64 - 1))
def test_a_vote_never_takes_away(sketch: bytes, hashed: int) -> None:
    sketch = bytes(min(rank, 59) for rank in sketch)
    grown = add_vote(sketch, hashed)
    assert add_vote(grown, hashed) is grown
    assert all(new >= old for new, old in zip(grown, sketch, strict=False))
    assert 0.0 <= of_host(None, grown) <= 1.0


def test_names_chosen_for_one_key_say_nothing_under_another() -> None:
    best: dict[int, tuple[int, str]] = {}  # register -> the name that fills it most
    for number in range(20_000):
        name = f"x{number}.example"
        hashed = site_hash(name, KEY)
        best[hashed & 63] = min(best.get(hashed & 63, (1 << 64, "")), (hashed >> 6, name))
    chosen = [name for _, name in best.values()]
    assert len(chosen) == REGISTERS
    assert votes(sketch_of(chosen)) > 10_000  # who knows the key counts for twenty thousand
    assert votes(sketch_of(chosen, b"1767225600.654321")) < 200


def test_importance_grows_with_votes_and_ends_at_one() -> None:
    steps = [of_votes(count) for count in (0, 1, 10, 100, VOTES_FULL, 10 * VOTES_FULL)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-2], steps[-1]) == (0.0, 1.0, 1.0)
    assert of_votes(-1.0) == 0.0


def test_what_the_ranking_found_goes_before_what_was_counted() -> None:
    counted = sketch_of([f"site{number}.example" for number in range(50)])
    assert of_host(None, counted) > 0.5
    assert of_host(0.1, counted) == 0.1
    assert of_host(0.0, counted) == 0.0


@pytest.mark.parametrize(("depth", "hub", "leaf"), [(1, 1, 1), (2, 1, 2), (3, 1, 3), (6, 4, 6), (16, 9, 9)])
def test_a_hubs_pages_have_a_better_level_than_a_leafs_and_never_a_seeds(depth: int, hub: int, leaf: int) -> None:
    assert link_level(depth, importance=1.0) == hub
    assert link_level(depth, importance=0.0) == leaf


@settings(max_examples=200)
@given(st.integers(0, 30), st.floats(0, 1), st.floats(0, 1))
def test_more_importance_never_means_a_worse_level(depth: int, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert link_level(depth, importance=more) <= link_level(depth, importance=less)
    assert of_page(0.5, less) <= of_page(0.5, more)


def test_a_hubs_page_counts_four_times_a_leafs_in_the_calendar() -> None:
    assert of_page(0.25, 1.0) == 4 * of_page(0.25, 0.0) == 1.0
