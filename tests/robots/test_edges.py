"""Faults that others had, hostile files, and properties of the matcher."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.limits import ROBOTS_MAX_BYTES, ROBOTS_WILDCARD_BYTES_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.policy.robots import judge_response, parse
from gossamer.policy.robots_match import Matcher, RobotsVerdict, Rule, normal_pattern, normal_target


def allowed(robots: str | bytes, target: str, agent: str = "Gossamer") -> bool:
    return parse(robots.encode() if isinstance(robots, str) else robots, agent).decide(target).allowed


def test_verdict_names_line_rule_and_group() -> None:
    rules = parse(
        b"# hello\r\nUser-agent: *\r\nDisallow: /a\r\n\r\nuser-agent: GOSSAMER/2\r\nDISALLOW:/p*\r\n", "Gossamer"
    )
    assert rules.decide("/private") == RobotsVerdict(allowed=False, line=6, rule="Disallow: /p*", agent="Gossamer")
    assert rules.decide("/a") == RobotsVerdict(allowed=True, agent="Gossamer")
    assert parse(b"User-agent: *\nDisallow: /a", "Gossamer").decide("/a").agent == "*"
    assert parse(b"User-agent: x\nDisallow: /a", "Gossamer").decide("/a") == RobotsVerdict(allowed=True)


def test_byte_order_marks() -> None:
    assert not allowed(b"\xef\xbb\xbfUser-agent: *\nDisallow: /", "/x")
    assert not allowed("User-agent: *\nDisallow: /".encode("utf-16"), "/x")


def test_nuls_hide_no_rule() -> None:
    assert not allowed(b"User-agent: *\0\nDisallow: /x\0\n", "/x")
    for encoding in ("utf-16-le", "utf-16-be"):
        body = "User-agent: *\nDisallow: /x".encode(encoding)
        assert not allowed(body, "/x")
        assert judge_response(200, "text/plain", body, "disallow")[0] == "rules"


def test_rules_far_into_the_file_count() -> None:
    filler = "# filler\n" * 20_000
    assert not allowed(f"User-agent: *\n{filler}Disallow: /late\n", "/late")


def test_nothing_past_the_limit_counts_and_the_broken_line_is_ignored() -> None:
    head = b"User-agent: *\n" + b"#" * (ROBOTS_MAX_BYTES - 14 - 11) + b"\nDisallow: /shop/private\nDisallow: /b\n"
    for body in (head, head[:ROBOTS_MAX_BYTES]):
        assert allowed(body, "/shop")
        assert allowed(body, "/b")


def test_query_counts() -> None:
    assert not allowed("User-agent: *\nDisallow: /*?sort=", "/list?sort=asc")
    assert allowed("User-agent: *\nDisallow: /*?sort=", "/list?page=2")


def test_operators_in_the_target_are_not_operators() -> None:
    assert not allowed("User-agent: *\nDisallow: /a-%2A.html", "/a-*.html")
    assert allowed("User-agent: *\nDisallow: /a-%2A.html", "/a-b.html")
    assert not allowed("User-agent: *\nDisallow: /a-%2A.html", "/a-%2a.html")
    assert not allowed("User-agent: *\nDisallow: /p$x", "/p$x")
    assert not allowed("User-agent: *\nDisallow: /p$x", "/p%24x")
    assert not allowed("User-agent: *\nDisallow: /p%24", "/p$")


def test_reserved_escapes_stay_distinct_and_unreserved_ones_do_not() -> None:
    assert allowed("User-agent: *\nDisallow: /a%2Fb", "/a/b")
    assert not allowed("User-agent: *\nDisallow: /a%2fb", "/a%2Fb")
    assert not allowed("User-agent: *\nDisallow: /%7ejoe/%62", "/~joe/b")
    assert not allowed("User-agent: *\nDisallow: /Käse", "/K%c3%a4se")
    assert not allowed("User-agent: *\nDisallow: /K%C3%A4se", "/Käse")


def test_empty_disallow_changes_nothing() -> None:
    assert not allowed("User-agent: *\nDisallow: /x\nDisallow:\n", "/x")


def test_extension_lines_do_not_leak_between_groups() -> None:
    body = b"User-agent: *\nCrawl-delay: 30\nDisallow: /x\n\nUser-agent: gossamer\nDisallow: /y\n"
    rules = parse(body, "Gossamer")
    assert rules.crawl_delay_s is None
    assert rules.decide("/x").allowed
    assert parse(body, "Other").crawl_delay_s == 30.0


@pytest.mark.parametrize("value", ["-1", "1e9", "nan", "inf", "1,5", "٣", "0x10", ".", "", "1.2.3"])
def test_crawl_delay_that_is_no_number(value: str) -> None:
    assert parse(f"User-agent: *\nCrawl-delay: {value}\n".encode(), "g").crawl_delay_s is None


def test_crawl_delay_is_bounded_and_the_longest_of_a_group() -> None:
    assert parse(b"User-agent: *\nCrawl-delay: " + b"9" * 5000, "g").crawl_delay_s == 1e6
    assert parse(b"User-agent: *\nCrawl-delay: 2\nCrawl-delay: 7\nCrawl-delay: 3", "g").crawl_delay_s == 7.0


def test_sitemaps_are_bounded_and_those_beyond_are_counted() -> None:
    body = b"".join(b"Sitemap: /s%d.xml\n" % i for i in range(SITEMAPS_PER_HOST_MAX + 50))
    found = parse(body + body, "g")
    assert (len(found.sitemaps), found.sitemaps_beyond) == (SITEMAPS_PER_HOST_MAX, 100)


def test_a_token_is_not_a_longer_token() -> None:
    for line in ("gossamer-images", "gossamerbot", "my-gossamer", "gossamer_x"):
        assert allowed(f"User-agent: {line}\nDisallow: /", "/x")
    for line in ("GOSSAMER", "gossamer/1.0", "gossamer 1.0", "gossamer; x"):
        assert not allowed(f"User-agent: {line}\nDisallow: /", "/x")
    assert allowed("User-agent: bot10\nDisallow: /", "/x", "bot1")
    assert not allowed("User-agent: bot1\nDisallow: /", "/x", "bot1")


HTML = b"<!DOCTYPE html>\n<html><body>Page not found</body></html>"


@pytest.mark.parametrize(
    ("status", "content_type", "body", "expected"),
    [
        (200, "text/plain", HTML, ("disallow", "html")),
        (200, "text/html; charset=utf-8", b"not found", ("disallow", "html")),
        (200, "text/plain", b"\xef\xbb\xbf \n" + HTML, ("disallow", "html")),
        (200, "text/plain", b"\x89PNG\r\n\x1a\n\0\0", ("disallow", "binary")),
        (200, "text/html", b"User-agent: *\nDisallow: /x", ("rules", "200")),
        (200, "text/html", b"<pre>\nUser-agent: *<br>\nDisallow: /x<br>", ("rules", "200")),
        (200, "text/html", b"", ("rules", "200")),
        (200, "text/plain", "User-agent: *".encode("utf-16"), ("rules", "200")),
        (204, "", b"", ("rules", "204")),
        (302, "", b"", ("allow", "redirects")),
        (404, "text/html", HTML, ("allow", "404")),
        (429, "", b"", ("disallow", "unreachable: 429")),
        (503, "", b"", ("disallow", "unreachable: 503")),
        (0, "", b"", ("disallow", "unreachable")),
        (100, "", b"", ("disallow", "unreachable: 100")),
        (999, "", b"", ("disallow", "unreachable: 999")),
    ],
)
def test_judge(status: int, content_type: str, body: bytes, expected: tuple[str, str]) -> None:
    assert judge_response(status, content_type, body, "disallow") == expected
    if expected[1] in {"html", "binary"}:
        assert judge_response(status, content_type, body, "allow") == ("allow", expected[1])


@pytest.mark.parametrize("unparseable", ["disallow", "allow"])
@pytest.mark.parametrize("body", [b"", b"User-agent: *\n", HTML, b"\0"])
def test_a_file_in_part_closes_whatever_there_is_of_it(body: bytes, unparseable: Literal["disallow", "allow"]) -> None:
    assert judge_response(200, "text/html", body, unparseable, "why") == ("disallow", "unreachable: why")
    assert judge_response(404, "text/html", body, unparseable, "why") == ("allow", "404")


def cpu_s(body: bytes, target: str) -> float:
    rules = parse(body, "g")
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        rules.decide(target)
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.serial
@pytest.mark.parametrize("end", ["", "b"])
def test_stars_stay_linear(end: str) -> None:
    """A backtracking matcher needs longer than the universe lasts for 1,000 stars; so it is time or nothing."""
    body = b"User-agent: *\nDisallow: /" + b"*a" * 1000 + b"$\n"
    assert cpu_s(body, "/" + "a" * 1999 + end) < 0.01


@pytest.mark.serial
@pytest.mark.parametrize(
    "line",
    [
        b"Disallow: /*a$\n",
        b"Disallow: /*" + b"a" * 40 + b"b" + b"a" * 40 + b"*x\n",
        b"Disallow: /" + b"*a" * 60 + b"$\n",
        b"Disallow: /*b" + b"a" * 90 + b"\n",
    ],
)
def test_a_file_full_of_hostile_patterns_is_bounded(line: bytes) -> None:
    assert cpu_s(b"User-agent: *\n" + line * (ROBOTS_MAX_BYTES // len(line)), "/" + "a" * 1999) < 0.1


def test_past_the_wildcard_bound_rules_get_stricter() -> None:
    filler = "Disallow: /zz*y\n" * (ROBOTS_WILDCARD_BYTES_MAX // 3)
    rules = parse(f"User-agent: *\n{filler}Disallow: /cut*off\nAllow: /cut*allowed\n".encode(), "g")
    assert not rules.decide("/cut/anything").allowed
    assert not rules.decide("/cut/allowed").allowed


@given(st.binary(max_size=400), st.text(max_size=60))
@settings(deadline=None, max_examples=200)
def test_nothing_raises(body: bytes, target: str) -> None:
    for content in (body, b"User-agent: *\nDisallow: " + body):
        parse(content, "g").decide(target)
        judge_response(200, "", content, "disallow")


def reference(rules: list[Rule], target: str) -> bool:
    """The longest match by trying every place of every star."""

    def match(pattern: str, text: str, *, anchored: bool) -> bool:
        reached = {0}
        for char in pattern:
            if char == "*":
                reached = set(range(min(reached), len(text) + 1))
            else:
                reached = {at + 1 for at in reached if at < len(text) and text[at] == char}
            if not reached:
                return False
        return not anchored or len(text) in reached

    hits = [
        (len(r.pattern) + r.anchored, r.verdict.allowed) for r in rules if match(r.pattern, target, anchored=r.anchored)
    ]
    return max(hits)[1] if hits else True


@given(
    st.lists(st.tuples(st.text("ab*/", max_size=8), st.booleans(), st.booleans()), max_size=12),
    st.text("ab/", max_size=10),
)
@settings(deadline=None, max_examples=500)
def test_matcher_agrees_with_exhaustive_search(lines: list[tuple[str, bool, bool]], path: str) -> None:
    rules = [Rule("/" + text, end, RobotsVerdict(allowed=allow, line=1)) for text, end, allow in lines]
    found = Matcher(rules).find("/" + path)
    assert (found is None or found.allowed) == reference(rules, "/" + path)


@given(st.text(max_size=40))
@settings(deadline=None, max_examples=300)
def test_normal_forms_are_stable(text: str) -> None:
    assert normal_target(normal_target(text)) == normal_target(text)
    pattern, anchored = normal_pattern(text)
    assert normal_pattern(pattern + "$" * anchored) == (pattern, anchored)


@pytest.mark.serial
def test_thousands_of_plain_rules_cost_what_ten_cost() -> None:
    few, many = (
        parse(b"User-agent: *\n" + b"".join(b"Disallow: /dir%d/\n" % i for i in range(count)), "g")
        for count in (10, 10_000)
    )
    costs = []
    for rules in (few, many):
        start = time.thread_time()
        for _ in range(2000):
            rules.decide("/some/other/page.html")
        costs.append(time.thread_time() - start)
    assert all(later < 20 * earlier for earlier, later in pairwise(costs))
