"""Keys, hosts, sites and wire parts."""

from __future__ import annotations

import pickle

import pytest

from gossamer.model import url as urls
from gossamer.model.limits import HOST_CACHE_MAX, URL_INPUT_MAX_CHARS
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url, key_host_prefix, name_of, parse, wire_parts


def good(text: str, base: str | None = None) -> Url:
    url = parse(text, base)
    assert isinstance(url, Url), url
    return url


@pytest.mark.parametrize(
    ("text", "key", "host", "site"),
    [
        ("https://www.example.com/a?b=1", "com,example,www)/a?b=1", "www.example.com", "example.com"),
        ("http://www.example.com/a", "com,example,www)/a http", "www.example.com", "example.com"),
        ("http://example.co.uk:8080/", "uk,co,example:8080)/ http", "example.co.uk:8080", "example.co.uk"),
        ("http://example.com:443/", "com,example:443)/ http", "example.com:443", "example.com"),
        ("https://example.com:80/", "com,example:80)/", "example.com:80", "example.com"),
        ("http://127.0.0.1:8000/x", "127.0.0.1:8000)/x http", "127.0.0.1:8000", "127.0.0.1"),
        ("https://[2001:db8::1]:444/x", "[2001:db8::1]:444)/x", "[2001:db8::1]:444", "[2001:db8::1]"),
        ("https://[2001:DB8::1]/", "[2001:db8::1])/", "[2001:db8::1]", "[2001:db8::1]"),
        ("http://localhost/", "localhost)/ http", "localhost", "localhost"),
        ("https://alice.github.io/", "io,github,alice)/", "alice.github.io", "alice.github.io"),
        ("https://bücher.example/", "example,xn--bcher-kva)/", "xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("https://wodnik_forum.example/", "example,wodnik_forum)/", "wodnik_forum.example", "wodnik_forum.example"),
        ("https://hg--69.example/", "example,hg--69)/", "hg--69.example", "hg--69.example"),
    ],
)
def test_key_host_site(text: str, key: str, host: str, site: str) -> None:
    url = good(text)
    assert (url.key, url.host, url.site) == (key, host, site)
    assert url.key.startswith(key_host_prefix(url.host))
    assert url.surt == url.key.removesuffix(" http")


def test_schemes_of_a_host_are_neighbours() -> None:
    """One host; different keys, so that a redirect from http to https is no loop; adjacent in the order of keys."""
    plain, secure = good("http://example.com/a"), good("https://example.com/a")
    assert plain.host == secure.host
    assert plain.key != secure.key
    others = [good(f"https://example.com/a{tail}").key for tail in ("!", "?x", "/", "a", ",")]
    assert sorted([*others, plain.key, secure.key])[:2] == [secure.key, plain.key]


def test_key_prefix_holds_one_host_only() -> None:
    """WHATWG allows commas and brackets in names; they must not reach into the keys of another host."""
    victim = key_host_prefix("example.com")
    for text in (
        "http://example)x.com/",
        "http://a,example.com/",
        "http://example.com:8080/",
        "http://www.example.com/",
    ):
        assert not good(text).key.startswith(victim)
    assert good("http://b,a.com/").key != good("http://a.b.com/").key


@pytest.mark.parametrize(
    ("host", "name"),
    [("example.com", "example.com"), ("example.com:81", "example.com"), ("[::1]", "[::1]"), ("[::1]:81", "[::1]")],
)
def test_name_of(host: str, name: str) -> None:
    assert name_of(host) == name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("http://example.com", ("http", "example.com", 80, "/")),
        ("https://example.com/a?b", ("https", "example.com", 443, "/a?b")),
        ("http://example.com?a=1", ("http", "example.com", 80, "/?a=1")),
        ("http://u:p@example.com.:81/x#y", ("http", "example.com", 81, "/x")),
        ("https://[::1]:8443/?", ("https", "[::1]", 8443, "/?")),
        ("http://0x7f.1/", ("http", "127.0.0.1", 80, "/")),
    ],
)
def test_wire_parts(text: str, parts: tuple[str, str, int, str]) -> None:
    assert wire_parts(good(text).wire) == parts


@pytest.mark.parametrize("text", ["", "example.com/", "ftp://example.com/"])
def test_wire_parts_refuses_other_texts(text: str) -> None:
    with pytest.raises(ValueError, match="not the wire form"):
        wire_parts(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("mailto:a@example.com", Reason.URL_SCHEME),
        ("javascript:void(0)", Reason.URL_SCHEME),
        ("data:text/html,<a href='http://example.com/'>", Reason.URL_SCHEME),
        ("ftp://example.com/", Reason.URL_SCHEME),
        ("wss://example.com/", Reason.URL_SCHEME),
        ("httpx://example.com/", Reason.URL_SCHEME),
        ("", Reason.URL_INVALID),
        ("/relative", Reason.URL_INVALID),
        ("http://", Reason.URL_INVALID),
        ("http://exa mple.com/", Reason.URL_INVALID),
        ("http://example.com:99999/", Reason.URL_INVALID),
        ("http://[::1", Reason.URL_INVALID),
        ("http://1.2.3.256/", Reason.URL_INVALID),
        ("http://a\x00b/", Reason.URL_INVALID),
        ("http://example.com/" + "a" * URL_INPUT_MAX_CHARS, Reason.URL_TOO_LONG),
        ("x" * 10_000_000, Reason.URL_TOO_LONG),
    ],
)
def test_refusals(text: str, reason: Reason) -> None:
    assert parse(text) is reason
    assert Base("").parse(text) is reason


@pytest.mark.parametrize(
    "text",
    [
        "http://a..b/", "http://./", "http://../", "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 200 + "example/",
        "http://" + "a" * 5_000 + "/", "http://-a-.example/", "http://*.example.com/", "http://xn--a.example/",
    ],
)  # fmt: skip
def test_names_that_dns_cannot_carry_are_urls_still(text: str) -> None:
    """WHATWG accepts them; the resolver's failure is then the recorded outcome."""
    url = good(text)
    assert good(url.canonical) == good(good(url.canonical).canonical)
    assert url.site
    assert url.key.startswith(key_host_prefix(url.host))


@pytest.mark.parametrize("text", ["http://a.example/\ud800x", "\udfff", "?\ud83d\ude00\ud83d", "//\ud800/"])
def test_lone_surrogates_are_replacement_characters(text: str) -> None:
    base = "http://example.com/"
    as_read = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert parse(text, base) == parse(as_read, base) == Base(base).parse(text)
    assert parse("a", "\ud800") is Reason.URL_INVALID


def test_base_reads_many_links() -> None:
    base = Base("http://example.com/dir/page.html?x#y")
    wires = [
        link.wire
        for link in map(base.parse, ["a", "/b", "?c", "#d", "//e.example", "https://f.example/"])
        if isinstance(link, Url)
    ]
    assert wires == [
        "http://example.com/dir/a",
        "http://example.com/b",
        "http://example.com/dir/page.html?c",
        "http://example.com/dir/page.html?x",
        "http://e.example/",
        "https://f.example/",
    ]


def test_link_without_scheme_is_a_path() -> None:
    """As browsers read it; that the path then repeats is for the traps."""
    assert good("www.example.com/a", "http://www.example.com/b/").wire == "http://www.example.com/b/www.example.com/a"


def test_opaque_or_broken_base_still_reads_absolute_links() -> None:
    for base in ("about:blank", "no url", "mailto:a@b"):
        assert Base(base).parse("a/b") is Reason.URL_INVALID
        link = Base(base).parse("http://example.com/a")
        assert isinstance(link, Url)
        assert link.wire == "http://example.com/a"


def test_query_follows_the_documents_encoding() -> None:
    page = "http://example.com/ä/"
    texts = {
        "windows-1252": "http://example.com/%C3%A4/%C3%BC?q=%FC",
        "iso-8859-1": "http://example.com/%C3%A4/%C3%BC?q=%FC",
        "utf-8": "http://example.com/%C3%A4/%C3%BC?q=%C3%BC",
        "UTF-16LE": "http://example.com/%C3%A4/%C3%BC?q=%C3%BC",
        "no-such-encoding": "http://example.com/%C3%A4/%C3%BC?q=%C3%BC",
        "zip": "http://example.com/%C3%A4/%C3%BC?q=%C3%BC",
        "koi8-r": "http://example.com/%C3%A4/%C3%BC?q=%26%23252%3B",
    }
    for encoding, wire in texts.items():
        link = Base(page, encoding).parse("ü?\nq=ü#ü")
        assert isinstance(link, Url), encoding
        assert link.wire == wire, encoding


def test_memory_of_origins_is_bounded() -> None:
    for number in range(HOST_CACHE_MAX + 50):
        good(f"http://h{number}.example/")
        assert len(urls._origins) <= HOST_CACHE_MAX
    assert good("http://h1.example/a").host == "h1.example"


def test_urls_travel_between_processes() -> None:
    url = good("http://example.com/a?b")
    assert pickle.loads(pickle.dumps(url)) == url


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("http://example.com/index.php?/topic/1/", "http://example.com/index.php?/topic/1/"),
        ("http://example.com/a?b=2&a=1&utm_source=x", "http://example.com/a?a=1&b=2"),
    ],
)
def test_what_is_sent_is_what_was_found(text: str, canonical: str) -> None:
    assert good(text).wire == text
    assert good(text).canonical == canonical
