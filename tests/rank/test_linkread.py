"""Pairs of hosts are added up rightly however often they are laid together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters import linkread

HOST = st.integers(0, 2**32 - 1) | st.integers(0, 5)
BATCHES = st.lists(st.lists(st.tuples(st.integers(0, 2**31 - 1) | st.integers(0, 3), HOST, st.integers(1, 9))))


@given(BATCHES, st.integers(1, 12))
def test_pairs_are_added_up_at_any_pace(batches: list[list[tuple[int, int, int]]], merge_at: int) -> None:
    expected: Counter[int] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linkread, "MERGE_AT", merge_at)
        pairs = linkread._Pairs()
        for batch in batches:
            numbers = np.array(batch, np.int64).reshape(-1, 3)
            pairs.add(numbers[:, 0], numbers[:, 1], numbers[:, 2])
            for source, target, pages in batch:
                expected[source << 32 | target] += pages
        keys, counts = pairs.merged()
        again = pairs.merged()
    assert keys.tolist() == sorted(expected)
    assert counts.tolist() == [expected[key] for key in sorted(expected)]
    assert (again[0].tolist(), again[1].tolist()) == (keys.tolist(), counts.tolist())
