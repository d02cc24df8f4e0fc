"""Properties that hold for every text, hostile ones first of all."""

from __future__ import annotations

from unicodedata import category

import ada_url
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.model.canonical import canonical_path, canonical_query, normalize_escapes
from gossamer.model.legacy_query import encode_query_of, percent_encode_query
from gossamer.model.reason import Reason
from gossamer.model.url import (
    Base,
    Url,
    key_host_prefix,
    parse,
    registered_domain,
    serialize,
    site_of,
    url_of_key,
    wire_parts,
)

ANY = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)
PIECES = st.lists(
    st.sampled_from(
        ["/", "//", ".", "..", "%", "%2e", "%2F", "%41", "%4", "%7e", "%25", "%%", ";", ";jsessionid=1", ";sid=", "?",
         "&", "=", "utm_x=1", "sid=2", "PHPSESSID", "(S(lit3py55t21z5v55vlm25s55))", "(", "))", "a", "Z", "1", "é",
         "\ud800", "\x00", " ", "\t", "\\", "@", ":", "[", "]", "|", "'", '"', "<", "#", ",", ")"],
    ),
    max_size=16,
).map("".join)  # fmt: skip
FRONTS = st.sampled_from(
    ["http://example.com", "https://a.b.example:81/", "http://h./", "HTTP://[::1]/", "http:", "//", "", "http://"]
)
TEXTS = st.one_of(ANY, st.builds(str.__add__, FRONTS, PIECES), st.builds(str.__add__, FRONTS, ANY))


@given(TEXTS, st.one_of(st.none(), TEXTS))
@example("http://example.com/%%34%31", None)
@example("http://example.com/..;sid=1/", None)
def test_nothing_raises_and_the_canonical_form_is_final(text: str, base: str | None) -> None:
    url = parse(text, base)
    if isinstance(url, Reason):
        assert url in {Reason.URL_INVALID, Reason.URL_SCHEME, Reason.URL_TOO_LONG}
        return
    again = parse(url.canonical)
    assert isinstance(again, Url)
    assert again.wire == url.canonical
    assert (again.canonical, again.key, again.host, again.site) == (url.canonical, url.key, url.host, url.site)
    assert parse(url.wire) == url
    assert " " not in url.canonical
    assert url.canonical.isascii()
    assert url.key.startswith(key_host_prefix(url.host) + "/")
    assert url_of_key(url.key) == url.canonical
    scheme, name, port, target = wire_parts(url.wire)
    assert scheme == url.scheme
    assert name
    assert 0 <= port < 65536
    assert target.startswith("/")


@given(TEXTS, TEXTS)
def test_a_base_reads_as_a_single_parse_does(text: str, base: str) -> None:
    if serialize(base) is not None:
        assert Base(base).parse(text) == parse(text, base)


@given(TEXTS.filter(lambda text: not any(category(char) in {"Cs", "Cn"} for char in text)))
def test_serialization_agrees_with_another_engine(text: str) -> None:
    """Surrogates aside, which neither takes, and unassigned characters, where their Unicode versions differ."""
    try:
        href = ada_url.URL(text).href
    except ValueError:
        href = None
    assert serialize(text) == href


@given(ANY)
def test_names_never_raise(name: str) -> None:
    site = site_of(name)
    domain = registered_domain(name)
    assert site == (domain or name)
    if domain is not None:
        assert registered_domain("www." + domain) == domain


@given(PIECES)
def test_normalizing_is_final(text: str) -> None:
    for form in (normalize_escapes, canonical_query, canonical_path):
        once = form(text)
        assert form(once) == once


@given(
    ANY, st.sampled_from(["big5", "euc-kr", "gbk", "shift_jis", "iso-2022-jp", "euc-jp", "windows-1252", "koi8-u", "?"])
)
def test_legacy_queries_are_ascii(text: str, encoding: str) -> None:
    encoded = percent_encode_query(text, encoding)
    assert encoded.isascii()
    assert not set(encoded) & set(" \"#<>'")
    link = Base("http://example.com/", encoding).parse("?" + text.replace("#", ""))
    assert isinstance(link, Url)
    assert encode_query_of("a?b", encoding) == "a?b"
