"""Shapes of URLs, and verdicts on what their pages brought."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.limits import SHAPE_MAX_CHARS
from gossamer.model.reason import Reason
from gossamer.policy.traps import judge_duplicates, judge_shape, shape_of, shapes_of


@pytest.mark.parametrize(
    ("tail", "shape"),
    [
        ("/", "/"),
        ("/about/team.html", "/about/team.html"),
        ("/p/123456", "/p/{n}"),
        ("/2024/05/05/title", "/{n}/{n}/{n}/title"),
        ("/2024-05-05", "/{n}-{n}-{n}"),
        ("/item-17.html", "/item-{n}.html"),
        ("/c/3f2a9c1b7d8e4f5a6b7c8d9e0f1a2b3c4d5e6f70", "/c/{h}"),
        ("/c/deadbee1", "/c/{h}"),
        ("/c/550e8400-e29b-41d4-a716-446655440000/x", "/c/{h}/x"),
        ("/v/dQw4w9WgXcQ", "/v/{h}"),
        ("/deadline/facade/accessed", "/deadline/facade/accessed"),
        ("/python3/library2024", "/python{n}/library{n}"),
        ("/x?b=2&a=1", "/x?a&b"),
        ("/x?a=1&a=2&a=3", "/x?a"),
        ("/x?f[0]=1&f[1]=2", "/x?f[{n}]"),
        ("/x?", "/x?"),
        ("/index.php?/topic/12/", "/index.php?/topic/{n}/"),
    ],
)
def test_shape(tail: str, shape: str) -> None:
    assert shape_of("https://www.example.com:8080" + tail) == shape
    assert shape_of("http://h" + tail) == shape


def test_pages_of_one_pattern_share_a_shape() -> None:
    assert (
        len(
            {
                shape_of(f"http://example.com/calendar/{year}/{month:02}?view={month}")
                for year in range(1900, 2100)
                for month in range(1, 13)
            }
        )
        == 1
    )


@given(st.text(alphabet="a1Zf-/.?&=%", max_size=600))
def test_shapes_are_bounded_and_final(tail: str) -> None:
    shape = shape_of("http://example.com/" + tail)
    assert len(shape) <= SHAPE_MAX_CHARS
    assert not any(sign.isdigit() for sign in shape)


@pytest.mark.parametrize(
    ("fetched", "new", "trapped"),
    [
        (0, 0, False), (1, 0, False), (49, 0, False), (50, 0, True), (50, 2, True), (50, 3, False), (199, 10, False),
        (200, 19, True), (200, 20, False), (1_000, 199, True), (1_000, 200, False), (100_000, 100_000, False),
        (100_000, 30_000, False), (100_000, 1_000, True),
    ],
)  # fmt: skip
def test_judge_shape(fetched: int, new: int, trapped: bool) -> None:
    assert judge_shape(fetched, new) is (Reason.TRAP_SHAPE if trapped else None)


@pytest.mark.parametrize(
    ("fetched", "duplicates", "trapped"),
    [
        (0, 0, False), (99, 99, False), (100, 90, False), (100, 91, True), (500, 400, False), (1_000, 750, False),
        (1_000, 751, True), (1_000_000, 10, False),
    ],
)  # fmt: skip
def test_judge_duplicates(fetched: int, duplicates: int, trapped: bool) -> None:
    assert judge_duplicates(fetched, duplicates) is (Reason.TRAP_DUPLICATES if trapped else None)


def test_falling_rate_stops_a_walk() -> None:
    """A calendar whose first 30 months hold something and whose other pages are all alike."""
    stopped = next(fetched for fetched in range(100_000) if judge_shape(fetched, min(fetched, 30)) is not None)
    assert 100 < stopped < 700


def test_a_query_is_counted_under_its_path_as_well() -> None:
    assert shapes_of("http://h/list?size=2&color=red") == ("/list?color&size", "/list?*")
    assert shapes_of("http://h/p/12") == ("/p/{n}",)


@pytest.mark.parametrize(
    ("tail", "deep"),
    [
        ("/tiles/12/2048/1361", None),
        ("/2024/05/05/1234", "/{*}"),
        ("/2024/05/05/title/1", None),
        ("/deep/0/568/781/659", "/deep/{*}"),
        ("/deep/0/568/781/659/690/718/801/794", "/deep/{*}"),
        ("/deep/0/568/781/659/690/718/801/794/", "/deep/{*}/"),
        ("/a/1/2/3/4/b/5/6/c/7/8/9/3f2a9c1b7d8e4f5a/z", "/a/{*}/b/{n}/{n}/c/{*}/z"),
        ("/deep/0/568/781/659?x=1", "/deep/{*}"),
        ("/1-2/3-4/5-6/7-8", None),
    ],
)
def test_folders_without_end_are_counted_at_any_depth(tail: str, deep: str | None) -> None:
    shapes = shapes_of(f"http://h{tail}")
    assert shapes[0] == shape_of(f"http://h{tail}")
    assert shapes[2 if "?" in tail else 1 :] == ((deep,) if deep else ())
