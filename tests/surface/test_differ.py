"""The difference of two texts: right for every pair, short for ordinary ones, bounded for made ones."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.surface import differ
from gossamer.surface.differ import changes

TOKENS = st.lists(st.sampled_from("abcdefgh"), max_size=40)


def applied(a: list[str], b: list[str]) -> list[str]:
    """What the steps make of `a`; each is checked against what it says of itself."""
    out: list[str] = []
    at_a = 0
    for change in changes(a, b):
        assert change.a_start == at_a
        assert change.b_start == len(out)
        before, after = a[change.a_start : change.a_end], b[change.b_start : change.b_end]
        assert change.tag == (
            "equal" if before == after else "insert" if not before else "delete" if not after else "replace"
        )
        out += after
        at_a = change.a_end
    assert at_a == len(a)
    return out


def edits(a: list[str], b: list[str]) -> int:
    return sum(
        change.a_end - change.a_start + change.b_end - change.b_start
        for change in changes(a, b)
        if change.tag != "equal"
    )


def fewest(a: list[str], b: list[str]) -> int:
    """The length of the shortest edit script, by the table that is quadratic."""
    row = list(range(len(b) + 1))
    for at_a, left in enumerate(a, 1):
        before, row[0] = row[0], at_a
        for at_b, right in enumerate(b, 1):
            before, row[at_b] = row[at_b], before if left == right else 1 + min(row[at_b], row[at_b - 1])
    return row[-1]


@given(TOKENS, TOKENS)
@settings(deadline=None, max_examples=200)
def test_short_texts_get_the_shortest_steps(a: list[str], b: list[str]) -> None:
    assert applied(a, b) == b
    assert edits(a, b) == fewest(a, b)


@given(TOKENS, TOKENS, st.integers(0, 60))
@settings(deadline=None, max_examples=150)
def test_anchored_texts_get_right_steps(a: list[str], b: list[str], work: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differ, "SHORT_MAX", 0)
        assert applied(a, b) == b
        patch.setattr(differ, "WORK_PER_TOKEN", 0)
        patch.setattr(differ, "WORK_BASE", work)
        assert applied(a, b) == b


def test_a_long_text_with_few_changes() -> None:
    a = [f"line {number % 900}" for number in range(20_000)]
    b = a.copy()
    del b[15_000:15_010]
    b[7_000:7_001] = ["new", "newer"]
    b.insert(3, "first")
    assert applied(a, b) == b
    assert edits(a, b) == 14


@pytest.mark.parametrize("letters", ["ab", "abcdefghijklmnopqrstuvwxyz"])
def test_made_texts_take_bounded_time(letters: str) -> None:
    chance = random.Random(1)
    a = [chance.choice(letters) for _ in range(200_000)]
    b = [chance.choice(letters) for _ in range(200_000)]
    started_s = time.process_time()
    assert applied(a, b) == b
    assert time.process_time() - started_s < 15


def test_one_anchor_at_a_time_takes_bounded_time() -> None:
    """Each anchor leaves a region one token shorter, in which one more token has become single."""
    a = [token for number in range(30_000) for token in (f"a{number}", f"x{number}", f"x{number + 1}")]
    b = [token for number in range(30_000) for token in (f"x{number}", f"b{number}", f"x{number + 1}")]
    started_s = time.process_time()
    assert applied(a, b) == b
    assert time.process_time() - started_s < 15
