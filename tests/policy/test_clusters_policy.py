"""Rules of clusters: mirrors, canonical links, votes and observations that are put together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.record import Pace
from gossamer.policy.canonicals import ABUSED_MIN, Said, is_distrusted
from gossamer.policy.importance import add_vote, merged, site_hash
from gossamer.policy.mirrors import PAIRS_MIN, SHARE_KEPT, SHARE_MIN, is_mirror, same_path
from gossamer.policy.refresh_rate import CHANGES_KEPT, DAY_S, add, observe


@pytest.mark.parametrize(
    ("key", "other", "same"),
    [
        ("example,a)/x", "example,b)/x", True),
        ("example,a)/x http", "example,b)/x", True),
        ("example,a)/x?q=1", "example,b)/x?q=1", True),
        ("example,a)/x", "example,b)/y", False),
        ("example,a)/x", "example,b)/x?q=1", False),
        ("example,a,www:8080)/(x)", "example,b)/(x)", True),
    ],
)
def test_pages_of_mirrors_differ_in_the_host_alone(key: str, other: str, *, same: bool) -> None:
    assert same_path(key, other) is same
    assert same_path(other, key) is same


def test_a_mirror_needs_many_pairs_and_nearly_all_pages() -> None:
    assert not is_mirror(PAIRS_MIN - 1, 0, PAIRS_MIN - 1)
    assert is_mirror(PAIRS_MIN, 0, PAIRS_MIN)
    assert is_mirror(PAIRS_MIN // 2, PAIRS_MIN - PAIRS_MIN // 2, PAIRS_MIN), "whichever way round the pairs are"
    assert is_mirror(100, 0, int(100 / SHARE_MIN))
    assert not is_mirror(100, 0, int(100 / SHARE_MIN) + 1)
    assert is_mirror(100, 0, int(100 / SHARE_MIN) + 1, now=True), "it ends later than it begins"
    assert not is_mirror(100, 0, int(100 / SHARE_KEPT) + 1, now=True)


@pytest.mark.parametrize(
    ("counts", "distrusted"),
    [
        ({}, False),
        ({Said.DIFFERS: ABUSED_MIN - 1}, False),
        ({Said.DIFFERS: ABUSED_MIN}, True),
        ({Said.DIFFERS: ABUSED_MIN - 1, Said.CHAIN: 1}, True),
        ({Said.DIFFERS: ABUSED_MIN, Said.HONOURED: ABUSED_MIN}, False),
        ({Said.DIFFERS: ABUSED_MIN, Said.HONOURED: 2, Said.DISTRUSTED: ABUSED_MIN - 2}, False),
        ({Said.UNSEEN: 1_000}, False),
    ],
)
def test_a_host_is_distrusted_for_many_false_canonicals_only(counts: dict[str, int], *, distrusted: bool) -> None:
    assert is_distrusted(counts) is distrusted


@settings(deadline=None, max_examples=100)
@given(st.sets(st.integers(0, 500)), st.sets(st.integers(0, 500)))
def test_a_merged_sketch_is_that_of_both_sets(left: set[int], right: set[int]) -> None:
    def sketch(sites: set[int]) -> bytes:
        made = b""
        for number in sites:
            made = add_vote(made, site_hash(f"s{number}.example", b"key"))
        return made

    assert merged(sketch(left), sketch(right)) == sketch(left | right)
    assert merged(sketch(left), b"") == sketch(left)


def seen(at: list[bool], day: float = 1.0) -> Pace:
    pace = Pace()
    observe(pace, day * DAY_S, changed=None)
    for number, changed in enumerate(at):
        observe(pace, (day + number + 1) * DAY_S, changed=changed)
    return pace


@settings(deadline=None, max_examples=100)
@given(st.lists(st.booleans(), max_size=30), st.lists(st.booleans(), max_size=30))
def test_what_was_seen_of_two_pages_adds_up(left: list[bool], right: list[bool]) -> None:
    pace = seen(left)
    add(pace, seen(right))
    both = seen(left + right)
    assert pace.unchanged_s == pytest.approx(both.unchanged_s)
    assert [bucket for bucket, _, _ in pace.changed] == [bucket for bucket, _, _ in both.changed]
    assert sum(visits for _, visits, _ in pace.changed) == pytest.approx(sum(left) + sum(right))


def test_what_adds_up_stays_bounded() -> None:
    pace = seen([True] * int(CHANGES_KEPT))
    for _ in range(20):
        add(pace, seen([True] * int(CHANGES_KEPT)))
    assert sum(visits for _, visits, _ in pace.changed) <= CHANGES_KEPT
