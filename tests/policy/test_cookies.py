"""Cookies of a crawl that keeps them: a host's own, bounded, whatever a server sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.cookies import COOKIE_MAX_CHARS, COOKIES_PER_HOST_MAX, HOSTS_MAX, CookieJar


def jar(*lines: str, name: str = "a.example") -> CookieJar:
    made = CookieJar()
    made.take(name, tuple(("set-cookie", line) for line in lines))
    return made


def sent(made: CookieJar, target: str = "/", *, name: str = "a.example", secure: bool = False) -> str:
    return made.header(name, target, secure=secure)


def test_what_is_set_is_sent_back_to_that_host_alone() -> None:
    made = jar("sid=1; Path=/; HttpOnly", "lang=en; Domain=.example")
    assert sent(made) == "sid=1; lang=en"
    assert sent(made, name="b.example") == ""
    assert sent(made, name="www.a.example") == ""


@pytest.mark.parametrize(
    ("path", "target", "goes"),
    [
        ("/", "/x", True), ("/docs", "/docs", True), ("/docs", "/docs/x", True), ("/docs", "/docs?x=1", True),
        ("/docs", "/docsearch", False), ("/docs/", "/docs", False), ("/docs/", "/docs/x", True), ("docs", "/x", True),
    ],
)  # fmt: skip
def test_paths(path: str, target: str, goes: bool) -> None:
    assert bool(sent(jar(f"a=1; path={path}"), target)) is goes


def test_secure_cookies_stay_on_https() -> None:
    made = jar("a=1; Secure", "b=2")
    assert sent(made) == "b=2"
    assert sent(made, secure=True) == "a=1; b=2"


@pytest.mark.parametrize("age", ["0", "-1", "000", "-99999999999999999999"])
def test_max_age_of_nothing_removes(age: str) -> None:
    made = jar("a=1", "b=2")
    made.take("a.example", (("set-cookie", f"a=; Max-Age={age}"),))
    assert sent(made) == "b=2"


@pytest.mark.parametrize("age", ["1", "99999999999999999999", "\u00b2", "--5", "-", "", "1.5", "0x0", " "])
def test_any_other_max_age_keeps(age: str) -> None:
    assert sent(jar(f"a=1; Max-Age={age}")) == "a=1"


NO_COOKIES = ["", "=1", "a", "a b=1", "a=1\r\nX: y", "a=\u00e9", "a=1,b=2", "\u00e9=1", "a" * 3_000 + "=1"]


@pytest.mark.parametrize("line", NO_COOKIES)
def test_what_is_no_cookie_is_dropped(line: str) -> None:
    assert sent(jar(line)) == ""


def test_bounds() -> None:
    made = jar(*(f"c{n}=1" for n in range(COOKIES_PER_HOST_MAX + 20)), f"big={'x' * COOKIE_MAX_CHARS}")
    assert sent(made).count(";") == COOKIES_PER_HOST_MAX - 1
    made.take("a.example", (("set-cookie", "c0=new"),))  # one that is there may still change
    assert sent(made).startswith("c0=new")
    for number in range(HOSTS_MAX + 5):
        made.take(f"h{number}.example", (("set-cookie", "a=1"),))
    assert len(made._hosts) == HOSTS_MAX
    assert sent(made) == ""


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=8), st.text(max_size=20))
def test_nothing_raises_and_a_header_is_one_printable_line(lines: list[str], target: str) -> None:
    header = sent(jar(*lines, *(f"a=1;max-age={line}" for line in lines)), target, secure=True)
    assert header == "" or (header.isascii() and header.isprintable())
