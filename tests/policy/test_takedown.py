"""Which URLs a takedown covers, which targets may be named, and that the keys of what is covered lie in its range."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.takedown import Takedown, Target, TargetKind
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import (
    NOTHING,
    TargetError,
    check_words,
    checked,
    closing,
    compile_takedowns,
    covering,
    key_range,
)

COVERED: list[tuple[TargetKind, str, list[str], list[str]]] = [
    ("host", "www.example.com",
     ["http://www.example.com/", "https://WWW.example.com/a?b", "https://www.example.com:8080/", "https://www.example.com./"],
     ["https://example.com/", "https://a.www.example.com/", "https://www.example.com.evil.test/", "https://wwww.example.com/"]),
    ("host", "example.com:8080", ["http://example.com:8080/x"], ["http://example.com/", "http://example.com:8081/"]),
    ("host", "192.0.2.7", ["http://192.0.2.7/", "http://192.0.2.7:81/"], ["http://192.0.2.70/", "http://92.0.2.7/"]),
    ("host", "[2001:db8::1]", ["http://[2001:db8::1]:8080/", "http://[2001:DB8:0::1]/"], ["http://[2001:db8::2]/"]),
    ("site", "example.com",
     ["http://example.com/", "https://a.b.example.com:9/x", "http://example.com:81/"],
     ["https://example.org/", "https://notexample.com/", "https://example.com.evil.test/", "http://com/"]),
    ("site", "shop.example.co.uk", ["http://shop.example.co.uk/", "http://a.shop.example.co.uk/"], ["http://example.co.uk/"]),
    ("prefix", "https://example.com/private/",
     ["http://example.com/private/", "https://example.com/private/a/b?c", "https://example.com/%70rivate/x"],
     ["https://example.com/private", "https://example.com/", "https://www.example.com/private/",
      "https://example.com:81/private/"]),
    ("pattern", "*://*.example.com/*.pdf", ["http://a.example.com/x.pdf", "https://b.c.example.com/d/e.pdf"],
     ["http://example.com/x.pdf", "http://a.example.com/x.pdf?y", "http://a.example.com/x.html"]),
    ("pattern", "https://example.com/a*b", ["https://example.com/ab", "https://example.com/a/x/b"],
     ["http://example.com/ab", "https://example.com/abc"]),
]  # fmt: skip


def url_of(text: str) -> Url:
    found = parse(text)
    assert isinstance(found, Url), text
    return found


def one(kind: TargetKind, value: str, name: str = "t1", lifted: float = 0.0) -> Takedown:
    return Takedown(id=name, target=checked(Target(kind, value)), reason="x", lifted=lifted)


def test_there_are_as_many_cases_as_there_should_be() -> None:
    assert (len(COVERED), sum(len(yes) + len(no) for _, _, yes, no in COVERED)) == (9, 44)


@pytest.mark.parametrize(("kind", "value", "yes", "no"), COVERED)
def test_a_target_covers_what_it_says(kind: TargetKind, value: str, yes: list[str], no: list[str]) -> None:
    rules = compile_takedowns([one(kind, value)])
    assert [covering(rules, url_of(text)) for text in yes] == ["t1"] * len(yes)
    assert [text for text in no if covering(rules, url_of(text))] == []
    start, stop = key_range(checked(Target(kind, value)))
    assert all(start <= url_of(text).key < stop for text in yes)


@pytest.mark.parametrize(("kind", "value"), [
    ("host", ""), ("host", "a b"), ("host", "x/y"), ("host", "https://example.com/path"), ("host", "*.example.com"),
    ("host", "user@example.com"), ("host", "http://"), ("host", "x" * 20_000), ("site", "com"), ("site", "co.uk"),
    ("site", "github.io"), ("site", "localhost"), ("prefix", "example.com/x"), ("prefix", "ftp://example.com/"),
    ("prefix", "https://"), ("pattern", "*"), ("pattern", "http*"), ("pattern", "*/*"), ("pattern", "*://*/*"),
    ("pattern", "example.com"), ("pattern", "https://example.com"), ("pattern", "*" * 40),
    ("pattern", "*o*"), ("pattern", "*.com/*"), ("pattern", "https://*.org/"), ("pattern", "*://www.*"),
    ("pattern", "*co.uk*"),
])  # fmt: skip
def test_what_means_nothing_or_everything_may_not_be_named(kind: TargetKind, value: str) -> None:
    with pytest.raises(TargetError) as caught:
        checked(Target(kind, value))
    assert caught.value.allowed
    assert len(str(caught.value)) < 500


@given(kind=st.sampled_from(["host", "site", "prefix", "pattern"]), value=st.text(max_size=60))
def test_every_text_is_a_target_in_its_normal_form_or_none(kind: TargetKind, value: str) -> None:
    try:
        found = checked(Target(kind, value))
    except TargetError:
        return
    assert checked(found) == found
    compile_takedowns([Takedown(id="t", target=found, reason="x")])


NAMES = st.sampled_from(
    ["example.com", "www.example.com", "a.b.example.com", "example.org", "xexample.com", "192.0.2.1"]
)
PORTS = st.sampled_from(["", ":8080", ":81"])
PATHS = st.sampled_from(["/", "/a", "/a/", "/a/b", "/a/b?c=d", "/ab"])
SCHEMES = st.sampled_from(["http", "https"])
URLS = st.tuples(SCHEMES, st.just("://"), NAMES, PORTS, PATHS).map("".join)
TARGETS = st.one_of(
    st.builds(lambda name, port: ("host", name + port), NAMES, PORTS),
    st.builds(lambda name: ("site", name), NAMES),
    st.builds(lambda url: ("prefix", url), URLS),
    st.builds(lambda name: ("pattern", f"*://{name}/*"), NAMES),
)


def naive(kind: str, value: str, text: str) -> bool:
    """The same without anything clever."""
    url = url_of(text)
    name = url.host.partition(":")[0]
    if kind == "host":
        return value in {url.host, name}
    if kind == "site":
        return name == value or name.endswith("." + value)
    if kind == "prefix":
        return url.surt.startswith(url_of(value).surt)
    return url.canonical.partition("://")[2].startswith(value[4:-1])


@given(targets=st.lists(TARGETS, max_size=6), text=URLS)
def test_many_targets_together_cover_what_each_of_them_does(targets: list[tuple[TargetKind, str]], text: str) -> None:
    takedowns = [one(kind, value, f"t{number}") for number, (kind, value) in enumerate(targets)]
    rules, url = compile_takedowns(takedowns), url_of(text)
    expected = {
        takedown.id
        for takedown, (kind, _) in zip(takedowns, targets, strict=True)
        if naive(kind, takedown.target.value, text)
    }
    assert bool(covering(rules, url)) == bool(expected)
    assert covering(rules, url) in expected | {""}
    if closing(rules, url.host):
        assert covering(rules, url), "what closes a host covers all of it"
    for takedown in takedowns:
        if takedown.id in expected:
            start, stop = key_range(takedown.target)
            assert start <= url.key < stop


def test_what_was_lifted_covers_nothing() -> None:
    assert compile_takedowns([one("host", "example.com", lifted=5.0)]) == NOTHING
    assert not NOTHING


@pytest.mark.parametrize(("reason", "ticket", "field"), [("", "", "reason"), ("x" * 1_001, "", "reason"),
                                                         ("x", "y" * 1_001, "ticket"), ("x", "y", None)])  # fmt: skip
def test_words_have_bounds(reason: str, ticket: str, field: str | None) -> None:
    fault = check_words(reason, ticket, "")
    assert (fault[0] if fault else None) == field
