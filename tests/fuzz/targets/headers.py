"""Values of single headers and attributes: dates, Retry-After, directives, charsets, cookies, refresh, types."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from gossamer.adapters.digest.charset import header_charset
from gossamer.adapters.digest.media import media_type
from gossamer.adapters.digest.refresh import refresh_target
from gossamer.model.limits import RETRY_AFTER_MAX_S
from gossamer.policy.cookies import CookieJar
from gossamer.policy.dates import http_date, w3c_date
from gossamer.policy.directives import from_headers, from_meta
from gossamer.policy.politeness import retry_after_s
from tests.fuzz.harness import Target, seed, text_of

NOW = 1_790_000_000.0
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def check(control: bytes, content: bytes) -> None:
    """Nothing raises; a date is within the calendar, and every moment comes back from both notations; Retry-After is at
    most a day and never negative; directives add up; a cookie goes back as one line to its own host only.
    """
    text = text_of(content)
    for date in (http_date(text), w3c_date(text)):
        assert date is None or (math.isfinite(date) and -62_200_000_000 < date < 253_500_000_000)
    pause = retry_after_s(text, NOW)
    assert pause is None or 0 <= pause <= RETRY_AFTER_MAX_S
    moment = EPOCH + timedelta(seconds=int.from_bytes(control))  # to the year 2106
    assert http_date(format_datetime(moment, usegmt=True)) == moment.timestamp()
    assert w3c_date(moment.isoformat()) == moment.timestamp()
    _directives(text)
    _cookies(text)
    kind = media_type(text)
    assert kind == kind.strip().lower()
    header_charset(text)
    target = refresh_target(text)
    assert target is None or target in text


def _directives(text: str) -> None:
    one = from_headers([text], "Gossamer")
    assert from_headers(["noindex", text], "Gossamer") == one | from_headers(["noindex"], "Gossamer")
    assert from_headers([text], "GOSSAMER") == one
    from_meta("robots", text, "Gossamer")


def _cookies(text: str) -> None:
    jar = CookieJar()
    jar.take("a.example", (("set-cookie", text), ("set-cookie", "k=v; path=/x; secure")))
    assert jar.header("b.example", "/", secure=True) == ""
    header = jar.header("a.example", "/", secure=False)
    assert header.isascii()
    assert header.isprintable()
    assert "k=v" in jar.header("a.example", "/x/y", secure=True)


def seeds() -> Iterator[bytes]:
    """Values as servers send them."""
    for text in (
        "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "0", "120", "-1",
        "3120", "1e9", "6 Nov 94 08:49 +0100", "2026-11-30T01:02:03.5+01:00", "2026", "2026-11", "2026-W48", "none",
        "noindex, nofollow", "otherbot: noindex, nofollow", "unavailable_after: 25 Jun 2010 15:00:00 PST", "1.5",
        "googlebot: none, gossamer: noarchive", 'text/html; charset="utf-8"', "text/html;charset=gbk, text/html",
        "a=b; Path=/; Secure; HttpOnly", "a=; Max-Age=0", 'a="b"; max-age=-1', "5; url=/next", "k=; max-age=0",
        "0;URL='http://a.example/'", '.5,url = "x', "99999999999999999999", "120, 120", "31 Feb 2026 25:61:61 GMT",
        "Thu, 01 Jan 1970 00:00:00 -9999",
    ):  # fmt: skip
        yield from seed(text.encode())


HEADERS = Target("headers", check, seeds, 30)
