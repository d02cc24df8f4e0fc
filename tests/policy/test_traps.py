"""Traps that show in a URL: what falls to which guard, and what must not."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.limits import SEED_URL_MAX_BYTES, URL_MAX_BYTES
from gossamer.model.reason import Reason
from gossamer.model.url import Url, parse
from gossamer.policy.traps import static_trap


def judge(text: str, via: str | None = None, *, depth: int = 3, seed: bool = False) -> Reason | None:
    url = parse(text)
    assert isinstance(url, Url)
    return static_trap(url, depth, 16, seed, via, year_now=2026)


REPEATED, GROWING, CALENDAR = Reason.TRAP_REPEATED_SEGMENTS, Reason.TRAP_GROWING_QUERY, Reason.TRAP_CALENDAR
SESSION, FACETS = Reason.TRAP_SESSION, Reason.TRAP_FACETS

TRAPS = [
    (REPEATED, "/a/b/a/b/a/b"),
    (REPEATED, "/x/x/x"),
    (REPEATED, "/css/css/css/"),
    (REPEATED, "/en/docs/img/docs/img/docs/img/a.html"),
    (REPEATED, "/a/b/c/d/a/b/c/d/a/b/c/d/"),
    (REPEATED, "/Docs/docs/DOCS/"),
    (REPEATED, "/foo/a/foo/b/foo/c/foo/d/foo/e"),
    (REPEATED, "/0/0/0/0/0/"),
    (REPEATED, "/www.example.com/www.example.com/"),
    (REPEATED, "/b/www.example.com/b/www.example.com/x"),
    (REPEATED, "/a/////b"),
    (REPEATED, "//////"),
    (GROWING, "/p?q=&q=&q="),
    (GROWING, "/p?q=1&q=1&q=1&r=2"),
    (GROWING, "/p?" + "&".join(f"f={number}" for number in range(9))),
    (GROWING, "/p?u=http%3A%2F%2Fwww.example.com%2Fp%3Fu%3Dhttp%3A%2F%2Fwww.example.com%2Fp"),
    (GROWING, "/login?next=%2Flogin%3Fnext%3D%252Flogin"),
    (GROWING, "/?u=http://www.example.com/?u=http://www.example.com/"),
    (GROWING, "/a?r=%25252F%25253F"),
    (CALENDAR, "/stats?statisticsYear=7749"),
    (CALENDAR, "/?year=20260"),
    (CALENDAR, "/calendar/2099/05/"),
    (CALENDAR, "/calendar/2099/"),
    (CALENDAR, "/de/kalender/2031/1"),
    (CALENDAR, "/calendar/1200/05/"),
    (CALENDAR, "/events/2033/07/"),
    (CALENDAR, "/events/month/2033-07/"),
    (CALENDAR, "/events/2033-07-14/"),
    (CALENDAR, "/events/2033/july/"),
    (CALENDAR, "/list?year=2040&month=3"),
    (CALENDAR, "/list?month=2040-03"),
    (CALENDAR, "/list?tribe-bar-date=2040-03-01"),
    (CALENDAR, "/list?date=20400301"),
    (CALENDAR, "/calendar?date=2031-03"),
    (SESSION, "/p?s=0123456789abcdef0123456789abcdef"),
    (SESSION, "/p?mysession=ab12cd34ef56ab78cd90"),
    (SESSION, "/p?csrf_token=Ab1Cd2Ef3Gh4Ij5Kl6"),
    (SESSION, "/p?websid=ab12cd34ef56ab78cd90"),
    (SESSION, "/session/ab12cd34ef56ab78cd90/page"),
    (SESSION, "/page;mysession=ab12cd34ef56ab78cd90"),
    (FACETS, "/shop?" + "&".join(f"filter{number}=x" for number in range(9))),
    (FACETS, "/shop?f[a]=1&f[b]=2&f[c]=3&f[d]=4&f[e]=5"),
    (FACETS, "/shop?f%5B0%5D=1&f%5B1%5D=2&f%5B2%5D=3&f%5B3%5D=4&f%5B4%5D=5"),
]

HONEST = """
/
/3/library/asyncio-task.html
/3/library/xml.etree.elementtree.html
/3/whatsnew/3.11.html
/docs/15/sql-createtable.html
/docs/15/functions-datetime.html
/docs/9.6/static/app-psql.html
/2024/05/05/a-title/
/2011/11/11/
/2011/11/11/11/
/11/11/11/11/
/tiles/0/0/0.html
/archive/2003/12
/archive/1998-07-04.html
/1999/01/01/
/blog/page/250/
/questions/123456/how-do-i
/p/123456
/issues/7749
/issues/7749/12
/events/1234
/events/7749/tickets
/event/3456/
/articles/7749/05/
/calendar/2026/12/
/calendar/2028/01/
/calendar/1890/05/
/calendar/
/events/2027-01-14/
/en/en/
/foo/bar/foo/bar/
/src/main/java/org/example/main/java/App.java.html
/git/tree/test/fixtures/test/fixtures/a
/python/cpython/blob/main/Lib/test/test_json/test_json.py
/web/20200101000000/http://example.org/
/a//b//c
/wiki/Main_Page
/wiki/Category:1850_births
/wiki/%C3%84rger
/commit/3f2a9c1b7d8e4f5a6b7c8d9e0f1a2b3c4d5e6f70
/watch?v=dQw4w9WgXcQ
/?p=4711
/?s=word
/index.php?/topic/1/
/viewtopic.php?f=2&t=7749&start=150
/showthread.php?t=123456&page=99
/index.php?option=com_content&view=article&id=12:a&catid=3&Itemid=40&lang=en&limitstart=0
/search?q=year+7749
/search?q=&type=&from=&to=&lang=&sort=&order=&page=2&x=&y=
/list?page=9999
/list?year=1850
/list?year=1850&month=3
/list?year=2027&month=3
/projections?year=2100
/list?modified_to_date=9999-12-31
/list?date=2024-02-29
/list?id=20400301
/map?y=4567&x=7749
/gitweb/?p=a.git;a=commit;h=3f2a9c1b7d8e4f5a6b7c8d9e0f1a2b3c4d5e6f70
/login?next=/account/orders
/page?share=https%3A%2F%2Fwww.example.com%2Fpage
/go?u=http%3A%2F%2Fexample.org%2Fa%3Fb%3Dhttp%253A%252F%252Fexample.net%252F
/talks?session=42
/talks?session_id=42
/session/keynote-about-crawlers
/compare?a[]=1&a[]=2&a[]=3
/shop?color=red&size=4&page=7
/newsid?newsid=20240115
/thesis?assessmentid=5f3c2a1b9d8e7f6a5b4c
""".split()


def test_lists_are_whole() -> None:
    assert len(TRAPS) == 43
    assert len(HONEST) == 69


@pytest.mark.parametrize(("reason", "tail"), TRAPS)
def test_trap(reason: Reason, tail: str) -> None:
    assert judge("http://www.example.com" + tail) is reason


@pytest.mark.parametrize("tail", HONEST)
def test_honest_urls_pass(tail: str) -> None:
    assert judge("https://docs.example.org" + tail) is None
    assert judge("https://docs.example.org" + tail, "https://docs.example.org/") is None


def test_a_name_without_dots_may_be_a_segment() -> None:
    assert judge("http://docs/docs/guide/docs") is None


def test_depth() -> None:
    assert judge("http://example.com/", depth=16) is None
    assert judge("http://example.com/", depth=17) is Reason.TRAP_DEPTH


def test_length() -> None:
    front = "http://example.com/"
    assert judge(front + "a" * (URL_MAX_BYTES - len(front))) is None
    assert judge(front + "a" * (URL_MAX_BYTES - len(front) + 1)) is Reason.URL_TOO_LONG
    assert judge(front + "ä" * 200) is Reason.URL_TOO_LONG  # bytes on the wire count, six for each
    assert judge(front + "a" * (SEED_URL_MAX_BYTES - len(front)), seed=True) is None
    assert judge(front + "a" * (SEED_URL_MAX_BYTES - len(front) + 1), seed=True) is Reason.URL_TOO_LONG


def test_seeds_are_taken_as_given() -> None:
    for _, tail in TRAPS:
        assert judge("http://www.example.com" + tail, seed=True) is None


def test_value_that_only_grows() -> None:
    page = "http://example.com/tags?t="
    old = "red,green,blue,yellow,black"
    assert judge(f"{page}{old},white", f"{page}{old}") is GROWING
    assert judge(f"{page}white,{old}", f"{page}{old}") is GROWING
    assert judge(f"{page}{old},white", None) is None
    assert judge(f"{page}{old},white", f"http://example.com/other?t={old}") is None
    assert judge(f"{page}{old}&page=2", f"{page}{old}") is None
    assert judge(f"{page}red,green", f"{page}red") is None


@pytest.mark.parametrize(
    ("start", "step"),
    [
        ("http://example.com/p?q=", lambda url: url + "&q="),
        (
            "http://example.com/p?x=1",
            lambda url: "http://example.com/p?u=" + url.replace("%", "%25").replace("&", "%26"),
        ),
        ("http://www.example.com/a/", lambda url: url + "www.example.com/a/"),
        ("http://example.com/a/", lambda url: url + "/"),
        ("http://example.com/a/b/", lambda url: url + "a/b/"),
        ("http://example.com/s?statisticsYear=2026", lambda url: url[:-4] + str(int(url[-4:]) + 1)),
    ],
)
def test_walks_end(start: str, step: object) -> None:
    """A crawler that follows each step of a known trap is stopped, and not late."""
    url, via = start, None
    for steps in range(150):
        if judge(url, via, depth=1) is not None:
            assert steps > 0
            return
        via, url = url, step(url)  # type: ignore[operator]
    pytest.fail("the walk goes on")


@given(st.text(alphabet="ab/.?&=%;25", max_size=300), st.one_of(st.none(), st.text(max_size=50)))
def test_never_raises(tail: str, via: str | None) -> None:
    assert judge("http://example.com/" + tail, via) in {None, *Reason}


@pytest.mark.parametrize(
    "tail",
    ["a/" * 490, "?" + "a=1&" * 245, "?a=" + "%25" * 320, "1a" * 490, "?u=" + "%2F" * 320,
     "/".join(f"{at % 9}x" for at in range(330)),
     "calendar/" + "2024-05" * 140, ";" * 980],
)  # fmt: skip
def test_hostile_urls_are_judged_quickly(tail: str) -> None:
    start = perf_counter()
    for _ in range(20):
        judge("http://example.com/" + tail, "http://example.com/" + tail)
    assert perf_counter() - start < 0.2
