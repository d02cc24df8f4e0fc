"""What is one page under several spellings, and what is not."""

from __future__ import annotations

import pytest

from gossamer.model.url import Url, parse


def canonical(text: str) -> str:
    url = parse(text)
    assert isinstance(url, Url)
    return url.canonical


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Example.COM:80/a#top", "http://example.com/a"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com./a", "https://example.com/a"),
        ("https://user:secret@example.com/a", "https://example.com/a"),
        ("http://example.com?a=1", "http://example.com/?a=1"),
        ("http://example.com/?", "http://example.com/"),
        ("http://example.com/?&&", "http://example.com/"),
        ("http://example.com/?b=2&a=1&a=0", "http://example.com/?a=0&a=1&b=2"),
        ("http://example.com/?utm_source=x&utm_medium=y&id=3", "http://example.com/?id=3"),
        ("http://example.com/?UTM_Source=x", "http://example.com/"),
        ("http://example.com/?gclid=1&fbclid=2&msclkid=3&dclid=4&yclid=5&igshid=6&_ga=7", "http://example.com/"),
        ("http://example.com/?mc_cid=1&mc_eid=2&q=x", "http://example.com/?q=x"),
        ("http://example.com/?PHPSESSID=abc&sid=1&JSESSIONID=2&x=1", "http://example.com/?x=1"),
        ("http://example.com/?ASPSESSIONIDQABCDEFG=1&cfid=1&cftoken=2&zenid=3&osCsid=4", "http://example.com/"),
        ("http://example.com/?%75tm_source=x", "http://example.com/"),
        ("http://example.com/a;jsessionid=1F2E?x=1", "http://example.com/a?x=1"),
        ("http://example.com/a;JSESSIONID=1F2E/b;v=1;jsessionid=2", "http://example.com/a/b;v=1"),
        ("http://example.com/(S(lit3py55t21z5v55vlm25s55))/orders.aspx", "http://example.com/orders.aspx"),
        ("http://example.com/(X(1)S(lit3py55t21z5v55vlm25s55))/o.aspx", "http://example.com/o.aspx"),
        ("http://example.com/%7Eann/%61%2d", "http://example.com/~ann/a-"),
        ("http://example.com/a%2fb%3a?x=%2f", "http://example.com/a%2Fb%3A?x=%2F"),
        ("http://example.com/%zz?%zz", "http://example.com/%zz?%zz"),
        ("http://example.com/a//b///c", "http://example.com/a//b///c"),
        ("http://example.com/ä?ä", "http://example.com/%C3%A4?%C3%A4"),
        ("http://example.com/index.php?/topic/1/", "http://example.com/index.php?/topic/1/"),
        ("http://example.com/\u200ba", "http://example.com/%E2%80%8Ba"),
    ],
)
def test_canonical_form(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.com/a%2Fb", "http://example.com/a/b"),
        ("http://example.com/a%3Fb", "http://example.com/a?b"),
        ("http://example.com/a", "http://example.com/A"),
        ("http://example.com/a", "http://example.com/a/"),
        ("http://example.com/a//b", "http://example.com/a/b"),
        ("http://example.com/?a=1%262", "http://example.com/?a=1&2"),
        ("http://example.com/?a", "http://example.com/?a="),
        ("http://example.com/?q=a+b", "http://example.com/?q=a%2Bb"),
        ("http://example.com/?session_id=17", "http://example.com/?session_id=18"),  # talks at a conference
        ("http://example.com/a;v=1", "http://example.com/a;v=2"),
        ("http://example.com/(a)/b", "http://example.com/b"),
        ("http://example.com/%%341", "http://example.com/%41"),
        ("http://example.com/", "http://www.example.com/"),
        ("http://example.com/", "http://example.com:8080/"),
    ],
)
def test_different_pages_stay_apart(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "text", ["/..;jsessionid=1/a", "/%2e;sid=1/a", "/.;sid=1;sid=2", "/%%34%31", "/%4%31", "/%%%36%31"]
)
def test_stripping_and_decoding_make_nothing_new(text: str) -> None:
    """What is left must not become a dot segment or an escape that was not there."""
    once = canonical("http://example.com" + text)
    assert canonical(once) == once
    assert once.count("/") == ("http://example.com" + text).count("/")


def test_wire_keeps_what_was_found() -> None:
    url = parse("http://example.com/index.php?/topic/1/&b=2&a=1&utm_source=x#frag")
    assert isinstance(url, Url)
    assert url.wire == "http://example.com/index.php?/topic/1/&b=2&a=1&utm_source=x"
    assert url.canonical == "http://example.com/index.php?/topic/1/&a=1&b=2"
