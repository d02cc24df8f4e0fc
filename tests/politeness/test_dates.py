"""Dates of HTTP, RSS and sitemaps."""

from __future__ import annotations

import email.utils
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy.dates import http_date, w3c_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thu, 05 Jan 2017 12:34:51 GMT", "2017-01-05T12:34:51+00:00"),
        ("Thu, 5 Jan 2017 12:34 +0130", "2017-01-05T11:04:00+00:00"),
        ("05 Jan 17 12:34:51 EST", "2017-01-05T17:34:51+00:00"),
        ("05 January 2017 12:34:51 -0800", "2017-01-05T20:34:51+00:00"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37+00:00"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37+00:00"),
        ("Tue, 31 Dec 2016 23:59:60 GMT", "2016-12-31T23:59:59+00:00"),
        ("yesterday", None),
        ("", None),
        ("12:00", None),
        ("Thu, 05 Foo 2017 12:34:51 GMT", None),
        ("Thu, 05 Jan 2017 12:34:51 XYZ", None),
    ],
)
def test_http_date(text: str, expected: str | None) -> None:
    assert http_date(text) == (None if expected is None else datetime.fromisoformat(expected).timestamp())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2017", "2017-01-01T00:00:00+00:00"),
        ("2017-03", "2017-03-01T00:00:00+00:00"),
        ("2017-03-04", "2017-03-04T00:00:00+00:00"),
        (" 2017-03-04T05:06Z ", "2017-03-04T05:06:00+00:00"),
        ("2017-03-04T05:06:07+02:00", "2017-03-04T03:06:07+00:00"),
        ("2017-03-04T05:06:07-0200", "2017-03-04T07:06:07+00:00"),
        ("2017-03-04T05:06:07.250Z", "2017-03-04T05:06:07.250+00:00"),
        ("2017-03-04T05:06:07", "2017-03-04T05:06:07+00:00"),
        ("2017-03-04 05:06:07", "2017-03-04T05:06:07+00:00"),
        ("2017-3-4", "2017-03-04T00:00:00+00:00"),
        ("2017-13-04", None),
        ("2017-02-30", None),
        ("17-03-04", None),
        ("04.03.2017", None),
        ("2017-03-04T99:00Z", None),
        ("2017-03-04T05:06:07+99:99", None),
        ("٢٠١٧", None),
    ],
)
def test_w3c_date(text: str, expected: str | None) -> None:
    assert w3c_date(text) == (None if expected is None else datetime.fromisoformat(expected).timestamp())


@given(st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)))  # noqa: DTZ001 - UTC is put on below
@settings(deadline=None, max_examples=200)
def test_dates_that_the_standard_library_writes(moment: datetime) -> None:
    moment = moment.replace(microsecond=0, tzinfo=UTC)
    assert http_date(email.utils.format_datetime(moment, usegmt=True)) == moment.timestamp()
    assert http_date(email.utils.format_datetime(moment)) == moment.timestamp()
    assert w3c_date(moment.isoformat()) == moment.timestamp()


@given(st.text(max_size=70))
@settings(deadline=None, max_examples=300)
def test_nothing_raises(text: str) -> None:
    for variant in (text, f"2017-01-01T{text}", f"05 Jan 2017 12:00 {text}", f"{text} Jan {text} 12:00"):
        http_date(variant)
        w3c_date(variant)
