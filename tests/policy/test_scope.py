"""Which URLs belong to a crawl."""

from __future__ import annotations

import pickle
from time import perf_counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.config import Scope
from gossamer.model.errors import ConfigError
from gossamer.model.reason import Reason
from gossamer.model.url import Url, parse
from gossamer.policy.scope import ScopeRules, check_pattern, check_surt, compile_scope, directory_prefix, judge, why

OUT = Reason.SCOPE_OUTSIDE
EXCLUDED = Reason.SCOPE_EXCLUDED


def good(text: str) -> Url:
    url = parse(text)
    assert isinstance(url, Url)
    return url


SEED = good("https://www.example.com/docs/guide/start.html?x=1")


def rules(scope: Scope, *seeds: str) -> ScopeRules:
    return compile_scope(scope, [good(seed) for seed in seeds] or [SEED])


@pytest.mark.parametrize(
    ("mode", "text", "verdict"),
    [
        ("host", "https://www.example.com/other", None),
        ("host", "http://www.example.com/other", None),  # one host, two schemes
        ("host", "https://example.com/", OUT),
        ("host", "https://www.example.com:8443/", OUT),
        ("site", "http://a.b.example.com:8080/", None),
        ("site", "https://example.com/", None),
        ("site", "https://example.org/", OUT),
        ("site", "https://notexample.com/", OUT),
        ("site", "https://example.com.evil.example/", OUT),
        ("prefix", "https://www.example.com/docs/guide/", None),
        ("prefix", "http://www.example.com/docs/guide/deeper/page", None),
        ("prefix", "https://www.example.com/docs/guide", OUT),
        ("prefix", "https://www.example.com/docs/guidebook", OUT),
        ("prefix", "https://www.example.com/docs/", OUT),
        ("prefix", "https://www.example.com:8443/docs/guide/", OUT),
        ("prefix", "https://www.example.com/docs/guide/../secret", OUT),
        ("any", "http://example.org/", None),
    ],
)
def test_modes(mode: str, text: str, verdict: Reason | None) -> None:
    compiled = rules(msgspec.convert({"mode": mode}, Scope))
    assert judge(compiled, good(text)) is verdict
    assert why(compiled, good(text)).startswith("in: " if verdict is None else "out: ")


def test_platform_subdomains_are_sites_of_their_own() -> None:
    compiled = rules(Scope(mode="site"), "https://alice.github.io/")
    assert judge(compiled, good("https://bob.github.io/")) is OUT


def test_addresses_and_single_labels() -> None:
    compiled = rules(Scope(mode="site"), "http://127.0.0.1:8000/", "http://intranet/")
    assert judge(compiled, good("http://127.0.0.1:9000/x")) is None
    assert judge(compiled, good("http://127.0.0.2:8000/")) is OUT
    assert judge(compiled, good("https://intranet/x")) is None


def test_order_exclude_then_include_then_mode() -> None:
    compiled = rules(Scope(mode="host", include=("*://other.example/*",), exclude=("*/print/*", "*.pdf")))
    assert judge(compiled, good("http://other.example/a")) is None
    assert judge(compiled, good("http://other.example/print/a")) is EXCLUDED
    assert judge(compiled, good("https://www.example.com/print/a")) is EXCLUDED
    assert judge(compiled, good("https://www.example.com/a.pdf")) is EXCLUDED
    assert judge(compiled, good("https://www.example.com/a.pdf?x")) is None
    assert "exclude pattern */print/* matches" in why(compiled, good("http://other.example/print/a"))
    assert "include pattern *://other.example/* matches" in why(compiled, good("http://other.example/a"))


def test_exclude_holds_in_scope_any() -> None:
    compiled = rules(Scope(mode="any", exclude=("*://*.example.org/*",)))
    assert judge(compiled, good("http://www.example.org/")) is EXCLUDED
    assert judge(compiled, good("http://example.org/")) is None


@pytest.mark.parametrize(
    "prefix", ["org,example,", "(org,example,", "http://(org,example,", "https://(org,example,www)/a"]
)
def test_surt_prefixes(prefix: str) -> None:
    compiled = rules(Scope(mode="host", surts=(prefix,)))
    assert judge(compiled, good("http://www.example.org/a/b")) is None
    assert judge(compiled, good("https://www.example.org/a/b")) is None
    assert judge(compiled, good("http://example.net/a/b")) is OUT


def test_many_prefixes_find_the_one() -> None:
    seeds = [f"http://h{number}.example/d{number}/x" for number in range(500)]
    compiled = rules(Scope(mode="prefix"), *seeds, "http://h7.example/")  # the last one covers h7's directory
    assert judge(compiled, good("https://h499.example/d499/y")) is None
    assert judge(compiled, good("https://h499.example/d498/y")) is OUT
    assert judge(compiled, good("https://h7.example/anything")) is None
    assert len(compiled.prefixes) == 500


@pytest.mark.parametrize(
    ("seed", "prefix"),
    [
        ("https://example.com", "com,example)/"),
        ("https://example.com/a", "com,example)/"),
        ("https://example.com/a/", "com,example)/a/"),
        ("http://example.com:81/a/b?c=/d/", "com,example:81)/a/"),
    ],
)
def test_directory_prefix(seed: str, prefix: str) -> None:
    assert directory_prefix(good(seed)) == prefix


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "*/print/*",
        "https://example.com/*",
        "http://example.com/",
        "http*://example.com/a?b=*",
        "*.pdf",
        "ht*/x",
        "*[*]*",
    ],
)
def test_patterns_that_can_match(pattern: str) -> None:
    assert check_pattern(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("", "empty"),
        ("example.com/*", "begins with http://"),
        ("/docs/*", "begins with http://"),
        ("^https://.*", "begins with http://"),
        ("ftp://*", "begins with http://"),
        ("*/a b/*", "printable ASCII"),
        ("*/ä/*", "printable ASCII"),
        ("*/\x00", "printable ASCII"),
        ("*#top", "fragment"),
        ("https://example.com", "after its host"),
        ("*" * 33, "stars"),
        ("*" + "a" * 1000, "longer than 1000"),
    ],
)
def test_bad_patterns_are_named(pattern: str, part: str) -> None:
    fault = check_pattern(pattern)
    assert fault is not None
    assert part in fault
    for kind in ("include", "exclude"):
        with pytest.raises(ConfigError) as caught:
            rules(msgspec.convert({kind: [pattern]}, Scope))
        message = str(caught.value)
        assert message.startswith(f"scope.{kind}: pattern {pattern[:200]!r}: ")
        assert "allowed:" in message
        assert "\n" not in message


@pytest.mark.parametrize(
    "prefix",
    ["", "http://(", "com,Example)", "com,example/docs", "www.example.com", "com,example)x", "com, example", "ä"],
)
def test_bad_surts_are_named(prefix: str) -> None:
    assert check_surt(prefix) is not None
    with pytest.raises(ConfigError, match=r"scope\.surts: prefix .* allowed:"):
        rules(Scope(surts=(prefix,)))


@pytest.mark.parametrize(
    "prefix",
    ["com,example", "com,example,", "com,example)", "com,example:81)/a", "127.0.0.1)", "127.0.0.1:80", "[::1]:81)/"],
)
def test_good_surts(prefix: str) -> None:
    assert check_surt(prefix) is None


def slow_match(pattern: str, text: str) -> bool:
    """The textbook recursion over positions, as the oracle."""
    reach = {0}
    for sign in pattern:
        if sign == "*":
            reach = set(range(min(reach), len(text) + 1)) if reach else set()
        else:
            reach = {at + 1 for at in reach if at < len(text) and text[at] == sign}
    return len(text) in reach


@given(st.text("ab/*", max_size=12), st.text("ab/", max_size=20))
def test_globs_match_as_they_read(pattern: str, tail: str) -> None:
    pattern = "*" + pattern
    url = good("http://a/" + tail)
    compiled = rules(Scope(mode="any", exclude=(pattern,)))
    assert (judge(compiled, url) is EXCLUDED) == slow_match(pattern, url.canonical)


def test_hostile_url_against_greedy_pattern_is_linear() -> None:
    compiled = rules(Scope(mode="any", exclude=("*" + "a*" * 31 + "b",)))
    url = good("http://example.com/" + "a" * 16_000)
    start = perf_counter()
    assert judge(compiled, url) is None
    assert perf_counter() - start < 0.1


def test_rules_travel_to_workers() -> None:
    compiled = rules(Scope(mode="prefix", include=("*/a/*",), exclude=("*/b/*",), surts=("org,example,",)))
    assert pickle.loads(pickle.dumps(compiled)) == compiled
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(compiled), type=ScopeRules) == compiled
