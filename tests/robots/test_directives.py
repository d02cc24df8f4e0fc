"""X-Robots-Tag and meta robots."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy.directives import Directives, from_headers, from_meta

US = "Gossamer"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], ""),
        (["none"], "if"),
        (["noindex", "nofollow"], "if"),
        (["noindex, nofollow"], "if"),
        (["NoIndex,NOARCHIVE"], "ia"),
        (["all"], ""),
        (["index, follow"], ""),
        (["nocache"], "a"),
        (["googlebot: noindex, nofollow"], ""),
        (["gossamer: nofollow"], "f"),
        (["Gossamer/1.0: nofollow"], "f"),
        (["*: noindex"], "i"),
        (["otherbot: noindex, nofollow", "noarchive"], "a"),
        (["otherbot: noindex, gossamer: nofollow"], "f"),
        (["nofollow, otherbot: noindex"], "f"),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"], ""),
        (["unavailable_after: Wed, 25 Jun 2010 15:00:00 GMT, noindex"], "i"),
        (["max-snippet:-1, max-image-preview:large, max-video-preview:-1, nofollow"], "f"),
        (["gossamer: unavailable_after: 25 Jun 2010 15:00:00 PST"], ""),
        ([":noindex"], ""),
        (["noindexing, xnofollow"], ""),
        (["noindex," * 100_000], "i"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_headers(values: list[str], expected: str) -> None:
    assert from_headers(values, US) == Directives("i" in expected, "f" in expected, "a" in expected)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("robots", "noindex,nofollow", "if"),
        ("ROBOTS", "NONE", "if"),
        (" robots ", "noindex nofollow; noarchive", "ifa"),
        ("gossamer", "nofollow", "f"),
        ("googlebot", "none", ""),
        ("", "none", ""),
        ("robots", "", ""),
        ("robots", "all", ""),
        ("robots", "index, noindex", "i"),
        ("description", "noindex", ""),
    ],
)
def test_meta(name: str, content: str, expected: str) -> None:
    assert from_meta(name, content, US) == Directives("i" in expected, "f" in expected, "a" in expected)


def test_sources_add_up() -> None:
    assert Directives(noindex=True) | Directives(nofollow=True) == Directives(noindex=True, nofollow=True)


@given(st.lists(st.text(max_size=60)))
@settings(deadline=None, max_examples=200)
def test_nothing_raises(values: list[str]) -> None:
    total = from_headers(values, US)
    for value in values:
        total |= from_meta("robots", value, US)
    assert isinstance(total, Directives)
