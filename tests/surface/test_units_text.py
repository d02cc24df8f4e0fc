"""Durations and sizes read exactly and are written so that they read back equal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.surface.units import (
    parse_duration,
    parse_size,
    show_count,
    show_duration,
    show_size,
    write_duration,
    write_size,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("500ms", 0.5),
        ("2h", 7200.0),
        ("90d", 7_776_000.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("1.1h", 3960.0),
        ("0.1s", 0.1),
        ("15", 15.0),
        ("4w", 2_419_200.0),
        ("0", 0.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "s", "1x", "-1s", "1e3s", "1..2s", "1h30", "nan", "inf", "1 parsec", "٣s", "1" * 99, "1S", "1s!"]
)
def test_not_durations(text: str) -> None:
    with pytest.raises(ValueError):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("10MiB", 10 * 2**20),
        ("1GiB", 2**30),
        ("5MB", 5_000_000),
        ("1.5KiB", 1536),
        ("7", 7),
        ("7B", 7),
        ("2 tib", 2**41),
    ],
)
def test_sizes(text: str, count: int) -> None:
    assert parse_size(text) == count


@pytest.mark.parametrize("text", ["", "MiB", "1.5B", "0.1KiB", "1KiB1B", "-1MB", "1MBit", "1e6", "٣"])
def test_not_sizes(text: str) -> None:
    with pytest.raises(ValueError):
        parse_size(text)


@settings(deadline=None, max_examples=200)
@given(st.floats(0, 1e9) | st.integers(0, 10**9).map(float) | st.integers(0, 10**6).map(lambda ms: ms / 1000))
def test_a_written_duration_reads_back_equal(seconds: float) -> None:
    text = write_duration(seconds)
    if len(text) <= 40:
        assert parse_duration(text) == seconds


@settings(deadline=None, max_examples=200)
@given(st.integers(0, 2**50) | st.integers(0, 1000).map(lambda count: count * 2**20))
def test_a_written_size_reads_back_equal(count: int) -> None:
    assert parse_size(write_size(count)) == count


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=60))
def test_no_text_makes_the_readers_fail_otherwise(text: str) -> None:
    for read in (parse_duration, parse_size):
        try:
            assert read(text) >= 0
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (show_size(0), "0 B"),
        (show_size(1023), "1023 B"),
        (show_size(1024), "1.00 KiB"),
        (show_size(10 * 2**20), "10.0 MiB"),
        (show_size(2**50), "1024 TiB"),
        (show_count(999_999), "999,999"),
        (show_count(1_240_000), "1.24 M"),
        (show_count(999_999_999), "1.00 G"),
        (show_duration(0), "0 s"),
        (show_duration(0.08), "80 ms"),
        (show_duration(0.9999), "1.0 s"),
        (show_duration(59.97), "1 m 00 s"),
        (show_duration(3599.6), "1 h 00 m"),
        (show_duration(86_400 * 3 + 3600), "3 d 01 h"),
    ],
)
def test_forms_for_people(shown: str, expected: str) -> None:
    assert shown == expected
