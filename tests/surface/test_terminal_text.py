"""Nothing a terminal would obey gets from the web to a terminal, and shortened text keeps to its width."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from gossamer.surface.jsontext import json_line, json_text
from gossamer.surface.terminal import escape, shorten

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("Grüße 日本", "Grüße 日本"),
        ("a\u00a0b\u3000c", "a b c"),
        ("e" + "\u0301" * 50 + "!", "e" + "\u0301" * 4 + "!"),
    ],
)
def test_escapes(text: str, shown: str) -> None:
    assert escape(text) == shown


@settings(deadline=None, max_examples=500)
@given(ANY_TEXT)
def test_escaped_text_is_printable_and_stable(text: str) -> None:
    assert escape(text).isprintable()
    assert escape(escape(text)) == escape(text)


@settings(deadline=None, max_examples=300)
@given(ANY_TEXT.map(lambda text: text * 3), st.integers(0, 60))
def test_shortened_text_fits_and_is_printable(text: str, cells: int) -> None:
    short = shorten(text, cells)
    assert cell_len(short) <= cells
    assert short.isprintable()


def test_shortening_keeps_both_ends() -> None:
    short = shorten("https://example.com/" + "a/" * 400 + "page.html", 40)
    assert short.startswith("https://example.com/")
    assert short.endswith("page.html")
    assert len(short) == 40


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=100))
def test_json_is_printable_and_says_the_same(text: str) -> None:
    line = json_line({"title": text})
    assert line.isprintable()
    assert json.loads(line) == {"title": text}
    assert json.loads(json_text({"title": text})) == {"title": text}
    assert all(part.isprintable() for part in json_text({"title": text}).split("\n"))
