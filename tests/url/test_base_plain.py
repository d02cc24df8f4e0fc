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


_PARTS = st.sampled_from("/ a .. . // \n \t http: https:// example.com ?q \\ : x".split(" "))
_TEXTS = st.lists(_PARTS, min_size=1, max_size=6).map("".join)
_FOLDERS = st.sampled_from(["http://example.com/", "http://example.com/a/x", "https://example.com/a/", "http://a/?q"])


@settings(deadline=None, max_examples=2_000)
@given(one=st.tuples(_FOLDERS, _TEXTS), other=st.tuples(_FOLDERS, _TEXTS))
def test_links_of_one_place_are_one_link(one: tuple[str, str], other: tuple[str, str]) -> None:
    places = [Base(base).place_of(text) for base, text in (one, other)]
    if places[0] is not None and places[0] == places[1]:
        assert Base(one[0]).parse(one[1]) == Base(other[0]).parse(other[1])


def test_a_line_feed_in_an_absolute_link_does_not_borrow_a_relative_one() -> None:
    base = Base("http://example.com/")
    assert base.place_of("http://example.com/\nhttp:x") != base.place_of("http:x")
    assert base.place_of("http://example.com/\t/evil") != base.place_of("/\t/evil")
