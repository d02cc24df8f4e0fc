"""Distances, tables and the second signal, on numbers and sketches alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy import duplicates
from gossamer.policy.duplicates import block_keys, confirm, hamming, is_near, is_unchanged, similarity

SIMHASHES = st.integers(0, 2**64 - 1)


def sketch(*numbers: int) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in sorted(numbers))


FULL = sketch(*range(100, 132))


@settings(deadline=None, max_examples=300)
@given(SIMHASHES, st.sets(st.integers(0, 63), max_size=3))
def test_simhashes_at_distance_three_share_a_table(simhash: int, bits: set[int]) -> None:
    other = simhash
    for bit in bits:
        other ^= 1 << bit
    assert hamming(simhash, other) == len(bits)
    assert is_near(simhash, other)
    assert set(block_keys(simhash)) & set(block_keys(other))


@settings(deadline=None, max_examples=100)
@given(SIMHASHES)
def test_a_simhash_has_a_key_in_each_table_and_they_give_it_away(simhash: int) -> None:
    keys = block_keys(simhash)
    assert [table for table, _ in keys] == list(range(duplicates.TABLES))
    assert {len(key) for _, key in keys} == {duplicates.BLOCK_KEY_BYTES}
    assert int.from_bytes(keys[0][1], "big") == simhash >> 38  # blocks 0 and 1
    assert int.from_bytes(keys[4][1], "big") == (simhash >> 25) & (1 << 26) - 1  # blocks 1 and 2
    assert int.from_bytes(keys[-1][1], "big") == simhash & (1 << 25) - 1  # blocks 3 and 4


@pytest.mark.parametrize("simhash", [-1, 2**64])
def test_what_is_not_64_bits_is_refused(simhash: int) -> None:
    with pytest.raises(ValueError, match=str(simhash)):
        block_keys(simhash)


def test_a_far_simhash_need_not_share_a_table() -> None:
    blocks_hit = 1 << 63 | 1 << 50 | 1 << 30 | 1 << 20
    assert hamming(0, blocks_hit) == 4
    assert not set(block_keys(0)) & set(block_keys(blocks_hit))
    assert not is_near(0, blocks_hit)


def test_one_bit_is_no_change_and_two_are() -> None:
    assert is_unchanged(5, 5)
    assert is_unchanged(5, 4)
    assert not is_unchanged(5, 6)
    assert not is_unchanged(None, 5)
    assert not is_unchanged(None, None)


def test_similarity_is_the_share_of_the_smallest_hashes() -> None:
    assert similarity(FULL, FULL) == 1.0
    assert similarity(FULL, sketch(*range(1000, 1032))) == 0.0
    assert similarity(FULL, sketch(*range(100, 116), *range(1000, 1016))) == 0.5
    assert similarity(b"", FULL) == similarity(FULL, b"") == similarity(b"", b"") == 0.0
    assert similarity(FULL[:-1], FULL) == 0.0  # torn


@settings(deadline=None, max_examples=100)
@given(st.sets(st.integers(0, 2**32 - 1), max_size=60), st.sets(st.integers(0, 2**32 - 1), max_size=60))
def test_similarity_is_symmetric_and_a_share(a: set[int], b: set[int]) -> None:
    left, right = sketch(*sorted(a)[:32]), sketch(*sorted(b)[:32])
    assert similarity(left, right) == similarity(right, left)
    assert 0.0 <= similarity(left, right) <= 1.0


def test_lengths_that_differ_by_a_fifth_are_two_pages() -> None:
    assert confirm(1000, FULL, 800, FULL)
    assert not confirm(1000, FULL, 799, FULL)
    assert not confirm(0, FULL, 0, FULL)


@pytest.mark.parametrize(
    ("titles", "needed"),
    [
        (("", ""), 24 / 32),
        (("Tables", ""), 24 / 32),
        (("Tables — Manual", "tables, manual"), 20 / 32),
        (("Tables", "Tables — print view"), 24 / 32),
        (("Manual 15.18", "Manual 15.20"), 29 / 32),
        (("Red shoe — Shop", "Blue shoe — Shop"), None),
        (("Красная туфля", "Синяя туфля"), None),
    ],
)
def test_titles_decide_how_alike_pages_must_be(titles: tuple[str, str], needed: float | None) -> None:
    for shared in range(33):
        other = sketch(*range(100, 100 + shared), *range(1000, 1032 - shared))
        expected = needed is not None and similarity(FULL, other) >= needed
        assert confirm(1000, FULL, 1000, other, titles) == expected
