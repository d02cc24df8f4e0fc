"""robots.txt: reading and matching, against a matcher that tries everything."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gossamer.model.limits import CRAWL_DELAY_READ_MAX_S, ROBOTS_MAX_BYTES, SITEMAPS_PER_HOST_MAX
from gossamer.policy import robots
from gossamer.policy.robots_match import Rule, normal_pattern, normal_target
from tests.fuzz.harness import CASES, Target, seed, text_of

PRODUCT = "Gossamer"
NAIVE_MAX_BYTES = 600  # of a file whose verdict is found by trying everything
SEEDS_STEP = 4  # many cases are one file and different URLs
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
PLAIN = UNRESERVED | frozenset(b"!&'()+,/:;=?@[]")
HEX = "0123456789abcdefABCDEF"


def check(control: bytes, content: bytes) -> None:
    """Target on the first line, file after it. The verdict is that of an exhaustive matcher with normal forms of its
    own; groups of others, line ends, comments and a byte order mark change nothing; normal forms are final; delays and
    sitemaps are within their bounds.
    """
    first, _, body = content.partition(b"\n")
    target = "/" + text_of(first)
    rules = robots.parse(body, PRODUCT)
    verdict = rules.decide(target)
    assert rules.crawl_delay_s is None or 0 <= rules.crawl_delay_s <= CRAWL_DELAY_READ_MAX_S
    assert len(rules.sitemaps) <= SITEMAPS_PER_HOST_MAX
    assert normal_target(normal_target(target)) == normal_target(target)
    if len(content) <= NAIVE_MAX_BYTES:
        assert verdict.allowed == _exhaustive(body, target), (target, verdict)
        _patterns_are_final(body)
    if body[:2] in {b"\xff\xfe", b"\xfe\xff"} or body[:3] == b"\xef\xbb\xbf" or len(body) > ROBOTS_MAX_BYTES // 2:
        return
    for other in _same(body):
        changed = robots.parse(other, PRODUCT)
        assert changed.decide(target).allowed == verdict.allowed
        assert changed.crawl_delay_s == rules.crawl_delay_s
        assert changed.sitemaps == rules.sitemaps


def _same(body: bytes) -> Iterator[bytes]:
    """Spellings of the same file."""
    yield b"\xef\xbb\xbf" + body
    yield b"User-agent: zz-other\nDisallow: /\nCrawl-delay: 99\n" + body
    yield b"# a comment\r\n\r\n" + body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    yield body + b"\n# the end"


def _patterns_are_final(body: bytes) -> None:
    for line in body.splitlines()[:40]:
        pattern, anchored = normal_pattern(robots._text(line))
        assert normal_pattern(pattern + "$" * anchored) == (pattern, anchored)


def _exhaustive(body: bytes, target: str) -> bool:
    """The verdict by the rules that were read, each tried at every place of every star; the longest wins."""
    if target == "/robots.txt":
        return True
    reader = robots._Reader(PRODUCT)
    for number, line in enumerate(robots._lines(body), 1):
        reader.line(number, line)
    rules: list[Rule] = reader.rules["ours" if reader.named else "*"]
    text = _octets(target, operators=False)
    hits = []
    for rule in rules:
        pattern = _octets(rule.pattern, operators=True)
        if _matches(pattern, text, anchored=rule.anchored):
            hits.append((len(pattern) + rule.anchored, rule.verdict.allowed))
    return max(hits)[1] if hits else True


def _octets(text: str, *, operators: bool) -> list[str]:
    """Characters of a target or a pattern in its one spelling (RFC 9309 section 2.2.2, RFC 3986 section 6.2.2).

    A `%` that escapes nothing is itself, and matches that of an escape, as it does for Google.
    """
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "%" and len(text) > at + 2 and text[at + 1] in HEX and text[at + 2] in HEX:
            byte = int(text[at + 1 : at + 3], 16)
            out.append(chr(byte) if byte in UNRESERVED else f"%{byte:02X}")
            at += 3
            continue
        at += 1
        if char in "%#" or (operators and char == "*"):
            out.append(char)
        else:
            octets = char.encode("utf-8", "surrogatepass")
            out.extend(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in octets)
    return list("".join(out))


def _matches(pattern: list[str], text: list[str], *, anchored: bool) -> bool:
    reached = {0}
    for sign in pattern:
        if sign == "*":
            reached = set(range(min(reached), len(text) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(text) and text[at] == sign}
        if not reached:
            return False
    return not anchored or len(text) in reached


def seeds() -> Iterator[bytes]:
    """Files and URLs of the fact files, with our product for the agent that each is about."""
    for line in (CASES / "robots" / "allow.jsonl").read_text(encoding="utf-8").splitlines()[::SEEDS_STEP]:
        case = json.loads(line)
        body = case.get("robots", "").replace(case["agent"] or "\0", PRODUCT)
        path = "/" + case["url"].partition("://")[2].partition("/")[2]
        if len(body) < 1200:
            yield from seed(
                path[1:].replace("\n", "").encode("utf-8", "replace") + b"\n" + body.encode("utf-8", "surrogatepass")
            )


ROBOTS = Target("robots", check, seeds, 500)
