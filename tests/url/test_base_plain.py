"""Plain paths are joined without the engine: the result must be the engine's, for every base and path."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.url import Base, Url, parse

BASES = [
    "http://example.com",
    "http://example.com/a/b/c.html?x=/y/z#/f/g",
    "https://user:pw@example.com:8443/dir/",
    "http://[::1]/x",
    "https://例え.jp/パス/p",
    "http://example.com/a//b/",
    "http://1.2.3.4/?q",
]


@settings(deadline=None, max_examples=400)
@given(base=st.sampled_from(BASES), text=st.text("ab9_~-./:?#%;\\ @", max_size=14))
def test_a_link_means_what_the_engine_says(base: str, text: str) -> None:
    assert Base(base).parse(text) == parse(text, base)


@pytest.mark.parametrize("text", ["p.html", "/p.html", "a/b/c", "/", "a/", "~user/x-y_z.1", "-", "x.."])
def test_plain_paths(text: str) -> None:
    for base in BASES:
        found = Base(base).parse(text)
        assert isinstance(found, Url)
        assert found == parse(text, base)
