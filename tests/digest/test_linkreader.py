"""What the reader remembers of links changes nothing: it says of every link what a reader without memory says."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.adapters.digest import linkreader
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.linkreader import LinkReader
from gossamer.adapters.digest.links import Judged, LinkRules
from gossamer.model.config import Config
from gossamer.model.limits import LINKS_PER_PAGE_MAX
from gossamer.model.reason import Reason
from gossamer.model.url import Base, parse
from gossamer.policy.scope import compile_scope
from tests.conftest import examples

Page = tuple[str, str, list[str]]  # its URL, its encoding, its links as written

SEED = parse("http://example.com/")
assert not isinstance(SEED, Reason)
START_S = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
RULES = LinkRules(scope=compile_scope(Config().scope, [SEED]))


def read(
    reader: LinkReader,
    page: Page,
    year: int = 2026,
    depth: int = 1,
    *,
    job: int = 1,
    at_s: float = 0.0,
    tell_all: bool = False,
) -> Judged:
    url, encoding, texts = page
    links = [(text, False) for text in texts]
    base = Base(url, encoding)
    now = datetime(year, 6, 1, tzinfo=UTC).timestamp() + at_s
    return reader.read(
        links, base, job=job, own_key="own", depth=depth, via=url, now=now, nofollow=False, tell_all=tell_all
    )


_PARTS = st.sampled_from(
    "/ // a .. . \\ \n \t http: https: Http: example.com other.org ?q=ü ?q # : ; x.png \u200b".split(" ")
)
_TEXTS = st.lists(_PARTS, min_size=1, max_size=5).map("".join)
_PAGES = st.tuples(
    st.sampled_from(
        [
            "http://example.com/",
            "http://example.com/a/x",
            "http://example.com/a/y?q",
            "https://example.com/a/",
            "mailto:x",
        ]
    ),
    st.sampled_from(["utf-8", "utf-8", "windows-1251"]),
    st.lists(_TEXTS, max_size=12),
)


@settings(deadline=None, max_examples=examples(1_000))
@given(pages=st.lists(_PAGES, min_size=2, max_size=4))
@example(pages=[("http://example.com/a/x", "utf-8", [text]) for text in ("http:?q", "http:", "?q")] * 2)
@example(pages=[(f"http://example.com/a/{name}", "utf-8", ["http:?q", "http:", "h\nttp:?q", " ?q"]) for name in "xy"])
@example(
    pages=[(f"{scheme}://example.com/", "utf-8", ["//other.org/", "/\\example.com"]) for scheme in ("http", "https")]
)
@example(
    pages=[("http://example.com/", "utf-8", [text]) for text in ("http://example.com/\nhttp:x", "http:x", "/\t/evil")]
)
@example(pages=[("http://example.com/", encoding, ["/?q=ü"]) for encoding in ("utf-8", "windows-1251")])
def test_memory_changes_nothing(pages: list[Page]) -> None:
    reader = LinkReader(RULES, Hooks())
    for page in pages * 2:
        assert read(reader, page) == read(LinkReader(RULES, Hooks()), page)


def test_what_was_kept_near_the_seeds_is_refused_too_deep() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/a", "//other.org/"])
    assert [url.wire for url in read(reader, page).kept] == ["http://example.com/a"]
    deep = read(reader, page, depth=RULES.depth_max)
    assert not deep.kept
    assert deep.refused == {Reason.TRAP_DEPTH.value: 1, Reason.SCOPE_OUTSIDE.value: 1}


def test_a_new_year_is_judged_anew() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/calendar/2031/05/"])
    assert read(reader, page, year=2026).refused == {Reason.TRAP_CALENDAR.value: 1}
    assert [url.wire for url in read(reader, page, year=2031).kept] == ["http://example.com/calendar/2031/05/"]


def wires(judged: Judged) -> list[str]:
    return [url.wire.removeprefix("http://example.com") for url in judged.kept]


def test_links_that_the_core_has_rows_for_are_not_told_again_for_an_hour() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/a", "/b", "/c?d", "/a#x"])
    assert wires(read(reader, page, job=7)) == ["/a", "/b", "/c?d"]
    assert wires(read(reader, page, job=8)) == ["/a", "/b", "/c?d"]  # nothing was said of them yet
    reader.settle(7, (parse("http://example.com/b").key,), 0)  # type: ignore[union-attr]
    reader.settle(7, (), START_S)  # once is enough, and what was refused stays unsettled
    assert wires(read(reader, page, job=9)) == ["/a", "/b", "/c?d"]  # settled half a century ago
    reader.settle(9, (parse("http://example.com/b").key,), START_S)  # type: ignore[union-attr]
    again = read(reader, page, job=10, at_s=linkreader.SETTLED_S - 1)
    assert wires(again) == ["/b", "/c?d"]  # a query is compared with that of the page, so each page tells it
    assert again.found == 3
    assert wires(read(reader, page, job=11, at_s=linkreader.SETTLED_S)) == ["/a", "/b", "/c?d"]


def test_a_page_whose_links_count_more_now_tells_all_of_them() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/a", " /b"])
    assert wires(read(reader, page, job=1)) == ["/a", "/b"]
    reader.settle(1, (), START_S)
    assert wires(read(reader, page, job=2)) == []
    assert wires(read(reader, page, job=3, tell_all=True)) == ["/a", "/b"]


def test_a_settled_link_is_still_refused_where_the_page_speaks_against_it() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/a"])
    read(reader, page)
    reader.settle(1, (), START_S)
    assert read(reader, page, depth=RULES.depth_max).refused == {Reason.TRAP_DEPTH.value: 1}


def test_pages_of_which_the_core_never_says_anything_are_forgotten() -> None:
    reader = LinkReader(RULES, Hooks())
    for job in range(linkreader.UNSETTLED_MAX + 5):
        read(reader, ("http://example.com/", "utf-8", ["/a"]), job=job)
    assert len(reader._told) == linkreader.UNSETTLED_MAX
    reader.settle(0, (), START_S)
    assert wires(read(reader, ("http://example.com/", "utf-8", ["/a"]))) == ["/a"]


def test_who_reads_the_links_of_pages_is_told_all_of_them() -> None:
    rules = msgspec.structs.replace(RULES, tell_all=True)
    reader = LinkReader(rules, Hooks())
    read(reader, ("http://example.com/", "utf-8", ["/a"]))
    reader.settle(1, (), START_S)
    assert wires(read(reader, ("http://example.com/", "utf-8", ["/a"]))) == ["/a"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkreader, "REMEMBERED_MAX", 50)
    reader = LinkReader(RULES, Hooks())
    for number in range(40):
        page = (f"http://example.com/{number}/", "utf-8", [f"p{n}" for n in range(10)] + ["/menu"])
        assert len(read(reader, page).kept) == len(page[2])
        shelves = reader._shelves
        stored = len(shelves) + sum(len(shelf) for shelf in shelves.values())
        assert stored == reader._remembered <= 50 + 11 + 3
        assert "/menu" in shelves["http://example.com"]  # what every page asks for stays


def test_long_links_are_read_but_not_remembered() -> None:
    reader = LinkReader(RULES, Hooks())
    page = ("http://example.com/", "utf-8", ["/" + "a" * linkreader.TEXT_MAX_CHARS])
    first = read(reader, page)
    assert first.found == 1
    assert read(reader, page) == first
    assert not any(reader._shelves.values())


def test_links_beyond_the_most_are_counted_unread() -> None:
    reader = LinkReader(RULES, Hooks())
    judged = read(reader, ("http://example.com/", "utf-8", [f"/{n}" for n in range(LINKS_PER_PAGE_MAX + 7)]))
    assert len(judged.kept) == judged.found == LINKS_PER_PAGE_MAX
    assert judged.refused == {Reason.PAGE_LINKS.value: 7}
