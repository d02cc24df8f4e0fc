"""What the reader remembers of links changes nothing: it says of every link what a reader without memory says."""

from __future__ import annotations

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

Page = tuple[str, str, list[str]]  # its URL, its encoding, its links as written

SEED = parse("http://example.com/")
assert not isinstance(SEED, Reason)
RULES = LinkRules(scope=compile_scope(Config().scope, [SEED]))


def read(reader: LinkReader, page: Page, year: int = 2026, depth: int = 1) -> Judged:
    url, encoding, texts = page
    links = [(text, False) for text in texts]
    base = Base(url, encoding)
    return reader.read(links, base, own_key="own", depth=depth, via=url, year=year, nofollow=False)


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


@settings(deadline=None, max_examples=1_000)
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
