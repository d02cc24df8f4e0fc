"""Content codings: which apply, and decoding under caps."""

from __future__ import annotations

import gzip
import os
import time
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.decode import applied_codings, decode_body
from gossamer.model.limits import DECODE_RATIO_GRACE_BYTES

MIB = 1 << 20
TEXT = b"".join(b"<p>paragraph %d</p>\n" % place for place in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    return zlib.compress(data)[2:-4]


def gzip_with_everything(data: bytes) -> bytes:
    """A member with extra field, name, comment and header checksum."""
    extra = b"\x05\0abcde" + b"name\0" + b"comment\0" + b"\0\0"
    tail = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return b"\x1f\x8b\x08\x1e\0\0\0\0\0\x03" + extra + raw_deflate(data) + tail


ENCODERS = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("coding", ENCODERS)
@given(data=st.binary(max_size=5000), factor=st.integers(1, 40))
def test_round_trip(coding: str, data: bytes, factor: int) -> None:
    body = data * factor
    coded = ENCODERS[coding](body)
    assert decode_body(coded, (coding,), 10 * MIB) == (body, False, "")
    assert applied_codings([coding], coded) == ((coding,), ()) or not body


@given(data=st.binary(max_size=300), coding=st.sampled_from([*ENCODERS, "gzip, br", "x-gzip,deflate,zstd", "\xe9"]))
def test_nothing_raises_and_caps_hold(data: bytes, coding: str) -> None:
    codings, _ = applied_codings([coding], data)
    for each in (codings, ("gzip",), ("deflate",), ("br",), ("zstd",), ("zstd", "gzip"), ("unknown",)):
        assert len(decode_body(data, each, 100).body) <= 100


@pytest.mark.parametrize(
    "coded",
    [
        raw_deflate(TEXT),
        zlib.compress(TEXT) + b"trailing bytes",
        raw_deflate(TEXT) + b"trailing bytes",
    ],
)
def test_deflate_as_servers_send_it(coded: bytes) -> None:
    assert applied_codings(["deflate"], coded) == (("deflate",), ())
    assert decode_body(coded, ("deflate",), 10 * MIB) == (TEXT, False, "")


@pytest.mark.parametrize(
    ("coded", "body"),
    [
        (gzip_with_everything(TEXT), TEXT),
        (gzip.compress(TEXT, mtime=0) + gzip.compress(b"second", mtime=0), TEXT + b"second"),
        (gzip.compress(TEXT, mtime=0) + b"\0" * 100, TEXT),
        (gzip.compress(TEXT, mtime=0)[:-8], TEXT),  # no checksum
        (gzip.compress(TEXT, mtime=0)[:-8] + b"badcheck", TEXT),
        (gzip.compress(b"", mtime=0), b""),
    ],
)
def test_gzip_as_servers_send_it(coded: bytes, body: bytes) -> None:
    assert applied_codings(["x-gzip"], coded) == (("gzip",), ())
    assert decode_body(coded, ("gzip",), 10 * MIB) == (body, False, "")


@pytest.mark.parametrize("coding", ENCODERS)
def test_body_that_ends_early_keeps_what_came(coding: str) -> None:
    noise = os.urandom(600_000)
    coded = ENCODERS[coding](noise)[:400_000]
    assert applied_codings([coding], coded) == ((coding,), ())
    decoded = decode_body(coded, (coding,), 10 * MIB)
    assert noise.startswith(decoded.body)
    assert len(decoded.body) > 200_000
    assert (decoded.truncated, decoded.error) == (False, f"{coding}: ends early")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_damage_keeps_what_came_before(coding: str) -> None:
    coded = bytearray(ENCODERS[coding](TEXT))
    middle = len(coded) // 2
    coded[middle : middle + 200] = b"\xff" * 200
    decoded = decode_body(bytes(coded), (coding,), 10 * MIB)
    assert decoded.error
    assert len(decoded.body) > len(TEXT) // 3
    assert TEXT[: len(TEXT) // 3] == decoded.body[: len(TEXT) // 3]


@pytest.mark.parametrize("coding", ENCODERS)
def test_bombs_stop_at_the_caps(coding: str) -> None:
    bomb = ENCODERS[coding](b"\0" * (200 * MIB))
    begun = time.process_time()
    decoded = decode_body(bomb, (coding,), 10 * MIB)
    assert time.process_time() - begun < 1
    assert decoded.truncated
    assert len(decoded.body) == min(10 * MIB, max(DECODE_RATIO_GRACE_BYTES, 100 * len(bomb)))


def test_bomb_inside_a_bomb() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (200 * MIB)))
    assert decode_body(bomb, ("gzip", "gzip"), 10 * MIB).truncated


def test_decoded_size_at_the_limit_is_not_truncated() -> None:
    for coding, encode in ENCODERS.items():
        coded = encode(os.urandom(1000))
        assert not decode_body(coded, (coding,), 1000).truncated
        assert decode_body(coded, (coding,), 999).truncated
    assert decode_body(b"plain", (), 5) == (b"plain", False, "")
    assert decode_body(b"plain", (), 4) == (b"plai", True, "")


def test_many_gzip_members_stay_linear() -> None:
    begun = time.process_time()
    decoded = decode_body(gzip.compress(b"", mtime=0) * 400_000, ("gzip",), 10 * MIB)
    assert time.process_time() - begun < 1
    assert "gzip members" in decoded.error


@pytest.mark.parametrize(
    ("values", "payload", "codings", "faults"),
    [
        ([], TEXT, (), ()),
        (["gzip"], b"", (), ()),
        (["GZIP"], gzip.compress(TEXT, mtime=0), ("gzip",), ()),
        (["br", "gzip"], gzip.compress(brotli.compress(TEXT), mtime=0), ("br", "gzip"), ()),
        (["gzip, gzip"], gzip.compress(TEXT, mtime=0), ("gzip",), ("content-encoding: gzip does not apply",)),
        (["gzip, utf-8"], gzip.compress(TEXT, mtime=0), ("gzip",), ("content-encoding: unknown coding 'utf-8'",)),
        (["gzip," * 5], gzip.compress(TEXT, mtime=0), (), ("content-encoding: 5 codings",)),
        (["br"], TEXT, (), ("content-encoding: br does not apply",)),
        (["deflate"], b"hi, plain text", (), ("content-encoding: deflate does not apply",)),
        (["gzip"], TEXT, (), ("content-encoding: gzip does not apply",)),
    ],
)
def test_which_codings_apply(
    values: list[str], payload: bytes, codings: tuple[str, ...], faults: tuple[str, ...]
) -> None:
    assert applied_codings(values, payload) == (codings, faults)
