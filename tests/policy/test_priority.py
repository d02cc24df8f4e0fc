"""Levels of the queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.limits import LEVELS
from gossamer.policy.priority import link_level, redirect_level, sitemap_level


@pytest.mark.parametrize(
    ("depth", "plain", "query", "of_copy"), [(1, 1, 2, 4), (5, 5, 6, 8), (9, 9, 9, 9), (16, 9, 9, 9)]
)
def test_links_go_down_with_depth_queries_and_copies(depth: int, plain: int, query: int, of_copy: int) -> None:
    assert link_level(depth) == plain
    assert link_level(depth, has_query=True) == query
    assert link_level(depth, parent_duplicate=True) == of_copy


def test_a_redirects_target_goes_before_its_peers() -> None:
    assert [redirect_level(level) for level in range(LEVELS)] == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("priority", "level"), [(None, 4), (1.0, 2), (0.5, 4), (0.0, 6), (7.0, 2), (-1.0, 6)])
def test_sitemap_priorities(priority: float | None, level: int) -> None:
    assert sitemap_level(priority) == level


@given(st.integers(0, 100), st.booleans(), st.booleans(), st.none() | st.floats(0, 1))
def test_levels_are_levels(depth: int, query: bool, copy: bool, priority: float | None) -> None:
    for level in (link_level(depth, has_query=query, parent_duplicate=copy), sitemap_level(priority)):
        assert 0 <= redirect_level(level) <= level < LEVELS
