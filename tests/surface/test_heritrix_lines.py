"""crawl.log lines have 12 fields that archivists' tools can split at spaces."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.event import FetchEvent
from gossamer.model.page import Failure, Kind
from gossamer.model.reason import Reason
from gossamer.surface.heritrix import format_heritrix, status_code
from tests.surface.samples import HOSTILE, START, event, robots_event

# The field syntax of Heritrix 3's crawl.log (org.archive.crawler.io.UriProcessingFormatter).
LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +-?\d+ +(?:\d+|-) \S+ (?:\d+\+)?[LREXPIM-]{1,50} \S+ \S+ #\d{3} "
    r"(?:\d{17}\+\d+|-) (?:sha1:[A-Z2-7]{32}|-) \S+ \S+"
)


def fields(one: FetchEvent) -> list[str]:
    line = format_heritrix(one)
    assert LINE.fullmatch(line), line
    parts = line.split()
    assert len(parts) == 12
    return parts


def test_a_page() -> None:
    assert fields(event()) == [
        "2026-01-01T00:00:01.500Z",
        "200",
        "1000",
        "https://example.com/a%20b",
        "LL",
        "https://example.com/",
        "text/html",
        "#000",
        "20260101000001250+212",
        "sha1:MNPAZKXH7ZCYQ3VXWIMMCOPYW4WYQHCS",
        "-",
        "links:12",
    ]


def test_columns_are_aligned_as_in_heritrix() -> None:
    assert format_heritrix(event()).startswith("2026-01-01T00:00:01.500Z   200       1000 https://")


def test_a_seed_a_redirect_robots_and_a_long_path() -> None:
    seed = fields(event(depth=0, via="seed"))
    assert (seed[4], seed[5], seed[10]) == ("-", "-", "https://example.com/a%20b")
    assert fields(event(redirects=1))[4] == "LLR"
    assert fields(robots_event())[4] == "P"
    assert fields(event(kind=Kind.SITEMAP, depth=0))[4] == "M"
    assert fields(event(depth=60))[4] == "10+" + "L" * 50


@pytest.mark.parametrize(
    ("via", "shown"),
    [
        ("com,example,www)/a?b=c http", "http://www.example.com/a?b=c"),
        ("com,example:8443)/", "https://example.com:8443/"),
        ("127.0.0.1:8080)/x http", "http://127.0.0.1:8080/x"),
        ("[::1]:81)/ http", "http://[::1]:81/"),
        ("[::1])/", "https://[::1]/"),
        ("localhost)/", "https://localhost/"),
        ("sitemap:com,example)/sitemap.xml", "https://example.com/sitemap.xml"),
        ("robots:com,example)/robots.txt http", "http://example.com/robots.txt"),
        ("host:example.com", "-"),
        ("seed", "-"),
        ("", "-"),
    ],
)
def test_via_is_a_url(via: str, shown: str) -> None:
    assert fields(event(via=via))[5] == shown


@pytest.mark.parametrize("failure", list(Failure))
def test_every_failure_has_a_code(failure: Failure) -> None:
    one = event(status=0, failure=failure)
    assert status_code(one) < 0
    assert fields(one)[2] == "-"
    assert failure in fields(one)[11]


@pytest.mark.parametrize("reason", [reason for reason in Reason if reason not in {Reason.SOFT_404, Reason.GONE}])
def test_every_reason_has_a_code_of_its_own_kind(reason: Reason) -> None:
    one = event(status=0, started=0.0, reason=reason)
    code = status_code(one)
    assert code < -5
    assert (code == -4000) == (reason.startswith("trap-") and reason != Reason.TRAP_DEPTH)
    assert fields(one)[8] == "-"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"failure": "dns"}, -1),
        ({"failure": "connect"}, -2),
        ({"failure": "disconnected"}, -3),
        ({"failure": "timeout"}, -4),
        ({"reason": "robots-disallowed"}, -9998),
        ({"reason": "scope-outside"}, -5000),
        ({"reason": "trap-calendar"}, -4000),
        ({"status": 404, "reason": "gone"}, 404),
    ],
)
def test_codes_of_heritrix(changes: dict[str, object], code: int) -> None:
    assert status_code(event(**{"status": 0, **changes})) == code


def test_annotations() -> None:
    one = event(attempt=3, truncated="length", duplicate_kind="exact", error="digest-timeout", links_found=0)
    assert fields(one)[11] == "3t,lenTrunc,warcRevisit:digest,le:digest-timeout"
    assert "warcRevisit:notModified" in fields(event(status=304, verdict="not-modified"))[11]


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec=None), max_size=40))
def test_no_text_breaks_the_fields(text: str) -> None:
    one = event(url="https://a.example/" + text, via=text, media_type=text, error=text, reason=text, payload_digest="")
    line = format_heritrix(one)
    assert len(line.split(" ")) >= 12
    assert len(line.split()) == 12
    assert line.isprintable()


def test_hostile_text() -> None:
    assert "\x1b" not in format_heritrix(event(url=HOSTILE, via=HOSTILE, time=START))
