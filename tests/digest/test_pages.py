"""Pages to digests: links and refusals, directives, text, language, what is parsed and what is not, hostile markup."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters.digest.links import LinkRules
from gossamer.model.config import Scope
from gossamer.model.limits import LINKS_PER_PAGE_MAX, TITLE_MAX_CHARS
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.policy.scope import compile_scope
from tests.digest.helpers import digest, links, url_of, words

SITE = LinkRules(scope=compile_scope(Scope(mode="site"), [url_of("http://example.org/")]), depth_max=3)


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang=en><head><title>T</title>{head}</head><body>{body}</body></html>"


def test_links_are_grouped_by_host_in_page_order() -> None:
    found = digest(
        page("<a href=/b>1</a><a href=//other.example/x>2</a><area href=a><iframe src=/f></iframe>"),
        head_bytes=b"HTTP/1.1 200 OK\r\n\r\n",
    )
    assert [(group.host, group.site) for group in found.links] == [
        ("example.org", "example.org"),
        ("other.example", "other.example"),
    ]
    assert [wire for wire, _ in found.links[0].links] == [
        "http://example.org/b",
        "http://example.org/a",
        "http://example.org/f",
    ]
    assert found.links[0].links[0][1] == url_of("http://example.org/b").key
    assert found.links_found == 4


def test_link_elements() -> None:
    head = (
        "<link rel=next href=n><link rel='alternate' type=application/rss+xml href=feed>"
        "<link rel='alternate stylesheet' href=s.x><link rel=icon href=i.x><link rel=canonical href=/c?b=2&a=1>"
        "<link rel=alternate type=application/json+oembed href=o><link rel='ALTERNATE' hreflang=de href=/de>"
    )
    found = digest(page("", head))
    assert links(found) == [f"http://example.org/{name}" for name in ("n", "feed", "c?b=2&a=1", "de")]
    assert found.canonical == ("http://example.org/c?b=2&a=1", url_of("http://example.org/c?a=1&b=2").key)


def test_every_link_that_is_dropped_is_counted_under_its_reason() -> None:
    body = """<a href=/ok>1</a><a href=/ok#part>same</a><a href=#top>here</a><a href="">here</a>
    <a href=http://elsewhere.example/>2</a><a href=/photo.jpg>3</a><a href=/shy rel="noopener NoFollow">4</a>
    <a href=mailto:a@b>5</a><a href="javascript:void(0)">6</a><a href=http://[bad>7</a>
    <a href=/a/b/a/b/a/b/a/b/>8</a><a href=/page>self</a>"""
    found = digest(page(body), rules=SITE)
    assert links(found) == ["http://example.org/ok"]
    assert found.refused == {
        Reason.SCOPE_OUTSIDE.value: 1,
        Reason.TYPE_NOT_WANTED.value: 1,
        Reason.NOFOLLOW.value: 1,
        Reason.URL_SCHEME.value: 2,
        Reason.URL_INVALID.value: 1,
        Reason.TRAP_REPEATED_SEGMENTS.value: 1,
    }
    assert found.links_found == 9
    assert {type(reason) for reason in found.refused} == {str}


def test_links_too_deep_are_refused() -> None:
    found = digest(page("<a href=/x>x</a>"), rules=SITE, depth=3)
    assert (found.links, found.refused) == ((), {Reason.TRAP_DEPTH.value: 1})


def test_a_link_may_be_followed_where_it_is_not_nofollow() -> None:
    found = digest(page("<a rel=nofollow href=/x>a</a><a href=/x>b</a><a rel=nofollow href=/x>c</a>"))
    assert links(found) == ["http://example.org/x"]
    assert found.refused == {"nofollow": 1}


def test_a_page_that_says_nofollow_has_no_links() -> None:
    found = digest(page("<a href=/x>a</a><a href=/y>b</a>", "<META NAME=ROBOTS CONTENT=NOFOLLOW>"))
    assert (found.links, found.refused, found.nofollow) == ((), {"nofollow": 2}, True)


def test_directives_for_another_robot_do_not_bind() -> None:
    head = "<meta name=otherbot content=noindex><meta name=gossamer content='noarchive'>"
    headers = (("content-type", "text/html"), ("x-robots-tag", "otherbot: nofollow"), ("x-robots-tag", "noindex"))
    found = digest(page("", head), headers=headers)
    assert (found.noindex, found.nofollow, found.noarchive) == (True, False, True)


@pytest.mark.parametrize(
    "href",
    [
        "\u200bhttp://example.org/x\u200b",
        "\ufeff/x",
        " \t\n/x\r\n ",
        "/\tx",
        "\x01/x\x1f",
        "\u00a0/x\u3000",
        "/x#\u200b",
    ],
)
def test_zero_width_characters_in_an_href(href: str) -> None:
    assert links(digest(page(f'<a href="{href}">x</a>'))) == ["http://example.org/x"]


def test_links_are_resolved_against_the_url_after_the_redirect() -> None:
    assert links(digest(page("<a href=c>x</a>"), url="http://example.org/a/b/")) == ["http://example.org/a/b/c"]


def test_the_first_base_with_an_href_counts_for_links_before_it_too() -> None:
    body = "<a href=one>1</a><base target=_top><base href=/dir/><base href=/other/><a href=two>2</a>"
    assert links(digest(page(body))) == ["http://example.org/dir/one", "http://example.org/dir/two"]


@pytest.mark.parametrize("base", ["http://[bad", "javascript:x", "data:text/html,x", "mailto:a@b"])
def test_a_base_that_is_none_is_ignored(base: str) -> None:
    assert links(digest(page(f'<base href="{base}"><a href=x>1</a>'))) == ["http://example.org/x"]


def test_a_query_is_sent_in_the_encoding_of_its_page() -> None:
    body = "<a href='/süß?q=süß'>x</a>".encode("iso-8859-1")
    found = digest(body, content_type="text/html; charset=iso-8859-1")
    assert links(found) == ["http://example.org/s%C3%BC%C3%9F?q=s%FC%DF"]


def test_forms_scripts_and_images_give_no_links() -> None:
    body = (
        "<form action=/search><input></form><script>location='/js'</script><img src=/i.x srcset='/j.x 2x'>"
        "<div data-href=/d></div><object data=/o></object><embed src=/e><video src=/v></video><!-- <a href=/c> -->"
        "<style>@import '/s'</style><template><a href=/t>t</a></template><button formaction=/b></button>"
    )
    assert links(digest(page(body))) == []


def test_links_in_noscript_are_followed() -> None:
    assert links(digest(page("<noscript><a href=/plain>x</a></noscript>"))) == ["http://example.org/plain"]


def test_a_frame_without_its_frameset_is_a_link() -> None:
    assert links(digest("<html><FRAME SRC='/left'><body>x")) == ["http://example.org/left"]


@pytest.mark.parametrize("more", [7, 100_000 - LINKS_PER_PAGE_MAX])
def test_more_links_than_a_page_may_have_are_counted(more: int) -> None:
    body = "".join(f"<a href=/p{number}>x</a>" for number in range(LINKS_PER_PAGE_MAX + more))
    found = digest(page(body))
    assert len(links(found)) == found.links_found == LINKS_PER_PAGE_MAX
    assert found.refused == {Reason.PAGE_LINKS.value: more}


# Text, title, language


def test_title_language_and_text() -> None:
    story = " ".join(words(200))
    found = digest(f"<html lang='de-AT'><title>\n Ein  &amp;\tTitel\n</title><body><p>{story}</p></body></html>")
    assert (found.title, found.language, found.charset) == ("Ein & Titel", "de", "utf-8")
    assert found.text_chars == len(story)
    assert found.content_hash
    assert found.simhash is not None
    assert found.sketch


def test_a_title_is_cut_and_a_picture_has_none() -> None:
    assert len(digest(f"<title>{'x' * 9_000}</title>").title) == TITLE_MAX_CHARS
    assert digest("<body><svg><title>Logo</title></svg><p>x").title == ""
    assert digest("<title>a\0b</title>").title in {"a\ufffdb", "ab"}


def test_language_is_detected_when_it_is_not_declared() -> None:
    text = """Комитет вчера решил, что новые правила вступят в силу только в следующем году. До тех пор остаются в силе
    прежние сроки, о которых участники договорились весной после долгих переговоров и нескольких отсрочек."""
    assert digest(f"<p>{text}</p>").language == "ru"
    assert digest("<p>ok</p>").language == ""
    assert digest(f"<html lang='klingon or so'><p>{text}</p>").language == "ru"


SURROUNDINGS = {
    "navigation": "<nav><ul><li>Home</li><li>Products and services</li></ul></nav>{}",
    "footer": "{}<footer>All rights reserved by somebody</footer>",
    "sidebar by class": '<div class="left-sidebar">Most read stories of the week</div>{}',
    "menu by id": '<ul id="main-menu"><li>About the company</li></ul>{}',
    "role": '<div role="navigation">Go somewhere else entirely</div>{}',
    "hidden": "<div hidden>You have been logged out of here</div>{}",
    "consent": '<div class="cookie-banner">We value your privacy very much</div>{}',
    "script": "<script>var words = 'many words that nobody reads';</script>{}",
    "main": "<p>Something outside of it</p><main>{}</main><p>Something after it</p>",
    "article": "<p>Something outside of it</p><article>{}</article><p>Something after it</p>",
    "role main": '<p>Something outside of it</p><div role="main">{}</div>',
}


@pytest.mark.parametrize("kind", SURROUNDINGS)
def test_boilerplate_does_not_count(kind: str) -> None:
    story = f"<p>{' '.join(words(300))}</p>"
    alone, dressed = digest(page(story)), digest(page(SURROUNDINGS[kind].format(story)))
    assert (dressed.content_hash, dressed.simhash) == (alone.content_hash, alone.simhash)


@pytest.mark.parametrize(
    "wrapper",
    [
        '<div class="has sidebar">{}</div>',
        '<div id="menu-and-content"><form>{}</form></div>',
        "<nav>{}</nav>",
        "<header>{}</header>",
        '<main hidden>{}</main><div class="footer">x</div>',
        '<div class="sidebar"><main>{}</main></div>',
        "<footer><article>{}</article></footer>",
    ],
)
def test_a_page_that_is_all_boilerplate_is_not_empty(wrapper: str) -> None:
    story = " ".join(words(300))
    found = digest(page(wrapper.format(f"<p>{story}</p>")))
    in_markup = "<nav>" in wrapper or "<footer>" in wrapper
    assert found.text_chars == (0 if in_markup else pytest.approx(len(story), abs=3))


# What is parsed


@pytest.mark.parametrize("status", [204, 206, 301, 304, 404, 410, 500])
def test_only_pages_have_links_and_text(status: int) -> None:
    found = digest(page("<a href=/x>x</a>" + " ".join(words(200))), status=status)
    assert (found.links, found.text_chars, found.simhash, found.media_type) == ((), 0, None, "text/html")


@pytest.mark.parametrize(
    ("content_type", "body", "is_parsed"),
    [
        ("text/html", "x<a href=/x>x</a>", True),
        ("Application/XHTML+XML; q=1", "<html><a href=/x>x</a></html>", True),
        ("", "\n<!DOCTYPE HTML><a href=/x>x</a>", True),
        ("", "plain words <a href=/x>", False),
        ("application/xml", "<?xml version='1.0'?><html xmlns='x'><a href='/x'>x</a></html>", True),
        ("application/xml", "<?xml version='1.0'?><rss><a href='/x'>x</a></rss>", False),
        ("text/plain", "<html><a href=/x>x</a>", False),
        ("application/pdf", "%PDF <a href=/x>", False),
        ("application/rss+xml", "<rss><a href='/x'/></rss>", False),
    ],
)
def test_html_is_parsed_and_the_rest_is_not(content_type: str, body: str, is_parsed: bool) -> None:
    found = digest(body.encode(), content_type=content_type)
    assert bool(found.links) == is_parsed
    assert bool(found.charset) == is_parsed


def test_a_compressed_body_is_decoded_under_the_cap() -> None:
    body = gzip.compress(page("<a href=/x>x</a>").encode())
    assert links(digest(body, content_encoding=("gzip",))) == ["http://example.org/x"]
    small = LinkRules(scope=SITE.scope, body_max_bytes=100)
    cut = digest(
        gzip.compress(page("<p>" + "y" * 500 + "<a href=/late>x</a>").encode()), small, content_encoding=("gzip",)
    )
    assert cut.links == ()
    assert cut.error == "decoded: cut at 100 bytes"
    damaged = digest(body[:-20], content_encoding=("gzip",))
    assert damaged.error.startswith("gzip: ")
    assert damaged.charset


def test_a_job_that_shall_not_be_parsed_is_not() -> None:
    found = digest(page("<a href=/x>x</a>"), parse=False)
    assert (found.links, found.title, found.media_type) == ((), "", "text/html")


def test_the_probe_of_a_missing_page_has_text_but_no_links() -> None:
    found = digest(page("<a href=/x>x</a>" + " ".join(words(200))), kind=Kind.PROBE)
    assert found.links == ()
    assert found.simhash is not None


# Hostile markup


X = "<a href=/x>x</a>"
HOSTILE = {
    "nesting": X + "<div>" * 400_000,
    "nesting of inline elements": X + "<b><i>" * 100_000,
    "nesting of tables": X + "<table><tr><td>" * 100_000,
    "a long attribute": f'<p title="{"y" * 10_000_000}">{X}',
    "a long href": f'<a href="{"y" * 10_000_000}">y</a>{X}',
    "many attributes": "<p " + " ".join(f"a{number}=1" for number in range(10_000)) + ">" + X,
    "NULs": "\0" * 100_000 + "<a\0 href=/y>y</a>" + X,
    "unclosed comment": X + "<!--" + "x" * 1_000_000,
    "unclosed attribute": X + "<a href='" + "x" * 1_000_000,
    "boilerplate in boilerplate": '<div class="sidebar"><nav class=menu>' * 2_000 + X,
    "hidden mains": "<div hidden><main><article>" * 1_500 + X,
    "entities": "&amp;" * 200_000 + X,
    "lone surrogates by reference": "&#xD800;" * 1_000 + X,
    "selects": X + "<select><option>" * 20_000,
    "line breaks": "<br>" * 500_000 + X,
    "less-than signs": "< " * 500_000 + X,
}


def test_markup_that_nests_too_deep_is_cut_and_said_to_be() -> None:
    deep = digest(page(X + "<div>" * 20_000 + "<a href=/y>y</a>"))
    assert deep.error == "markup: cut where it nests deeper than 5000 elements"
    assert links(deep) == ["http://example.org/x"]
    flat = digest(page("<p><br><img>" * 20_000 + "<b>x</b>" * 20_000 + X))
    assert (flat.error, links(flat)) == ("", ["http://example.org/x"])


def test_frames_of_a_frameset() -> None:
    assert links(digest("<frameset>" * 3_000 + "<frame src=/x>")) == ["http://example.org/x"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_markup_costs_bounded_time(kind: str) -> None:
    started = time.process_time()
    found = digest(page(HOSTILE[kind]))
    assert time.process_time() - started < 10
    assert "http://example.org/x" in links(found)


SOUP = (
    "<a href=|'|\"|>|<nav>|</nav>|<main>|</main>|<div class=sidebar>|</div>|<p>text</p>|<base href=x>|<svg>|<title>|"
    "</title>|<template>|<table>|<footer>|\0|&#0;|<meta name=robots content=|nofollow|<frame src=x>|<noscript>|<!--|"
    "-->|<article>|word |<form>|</body>|<body>|<iframe>|é|\ud83d"
).split("|")


@settings(deadline=None, max_examples=120)
@given(st.lists(st.sampled_from(SOUP), min_size=1, max_size=60))
def test_any_soup_is_digested(parts: list[str]) -> None:
    found = digest("".join(parts).encode("utf-8", "surrogatepass"), content_type="text/html; charset=utf-8")
    assert found.charset == "utf-8"


@settings(deadline=None, max_examples=60)
@given(
    st.binary(min_size=1, max_size=400),
    st.sampled_from(["text/html", "", "text/html; charset=utf-16", "application/xml"]),
)
def test_any_bytes_are_digested(body: bytes, content_type: str) -> None:
    assert digest(body, content_type=content_type).id == 7
