"""Head parser and body readers: properties that hold for any bytes and any way to cut them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.http.body import LengthBody
from gossamer.adapters.http.chunked import ChunkedBody
from gossamer.adapters.http.head import HeadError, HeadTooLargeError, head_end, parse_head
from gossamer.adapters.http.response import Response
from gossamer.model.limits import HEADER_COUNT_MAX, HEADER_LINE_MAX_BYTES
from tests.http.raw_server import make_request

bodies = st.lists(st.binary(min_size=1, max_size=40), max_size=6)
cuts = st.lists(st.integers(1, 9), min_size=1, max_size=8)


def pieces(data: bytes, sizes: list[int]) -> list[bytes]:
    """Data cut into pieces of the sizes, over and over."""
    out, place = [], 0
    while place < len(data):
        for size in sizes:
            out.append(data[place : place + size])
            place += size
    return [piece for piece in out if piece]


@given(chunks=bodies, sizes=cuts, end=st.sampled_from([b"\r\n", b"\n"]), extra=st.sampled_from([b"", b"; a=b", b" "]))
def test_chunked_round_trip(chunks: list[bytes], sizes: list[int], end: bytes, extra: bytes) -> None:
    wire = b"".join(b"%x%b%b%b%b" % (len(chunk), extra, end, chunk, end) for chunk in chunks)
    wire += b"0" + end + b"Trailer: x" + end + end
    body = ChunkedBody(10_000)
    for piece in pieces(wire, sizes):
        body.feed(piece)
    assert body.done
    assert body.clean
    assert (body.payload(), body.framed, body.truncated) == (b"".join(chunks), wire, "")


@given(data=st.binary(max_size=200), sizes=cuts, limit=st.integers(0, 50))
def test_any_bytes_as_chunks_end_within_the_limit_however_they_are_cut(
    data: bytes, sizes: list[int], limit: int
) -> None:
    one, many = ChunkedBody(limit), ChunkedBody(limit)
    one.feed(data)
    for piece in pieces(data, sizes):
        many.feed(piece)
    one.eof()
    many.eof()
    assert (one.payload(), one.framed, one.truncated) == (many.payload(), many.framed, many.truncated)
    assert len(one.payload()) <= limit
    assert data.startswith(one.framed)


@given(data=st.binary(max_size=100), sizes=cuts, length=st.integers(0, 120), limit=st.integers(0, 120))
def test_body_of_a_length(data: bytes, sizes: list[int], length: int, limit: int) -> None:
    body = LengthBody(length, limit)
    for piece in pieces(data, sizes):
        if not body.done:
            body.feed(piece)
    body.eof()
    assert body.payload() == data[: min(length, limit)]
    assert bool(body.truncated) >= (len(data) < length or limit < length)


@given(st.binary(max_size=300))
def test_no_head_raises_anything_else(raw: bytes) -> None:
    for data in (raw, b"HTTP/1.1 200 OK\r\n" + raw):
        try:
            head = parse_head(data)
        except HeadError:
            continue
        assert 100 <= head.status <= 999
        assert all("\n" not in value and "\r" not in value for _, value in head.headers)


@given(data=st.binary(max_size=300), sizes=cuts)
def test_any_bytes_end_as_a_response_or_a_failure(data: bytes, sizes: list[int]) -> None:
    for prefix in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        response = Response(make_request(80))
        for piece in pieces(prefix + data, sizes):
            response.feed(piece)
        response.eof("")
        assert response.done
        assert (response.failure is None) == (response.head is not None)


@pytest.mark.parametrize(
    ("data", "end"),
    [(b"a\r\n\r\nb", 5), (b"a\n\nb", 3), (b"a\n\r\nb", 4), (b"a\r\nb\n\nc\r\n\r\n", 6), (b"a\r\nb\r\n", -1), (b"", -1)],
)
def test_end_of_a_head(data: bytes, end: int) -> None:
    assert head_end(data, 0) == end


def test_bounds_of_a_head() -> None:
    line = b"HTTP/1.1 200 OK\r\n"
    assert len(parse_head(line + b"X: y\r\n" * HEADER_COUNT_MAX + b"\r\n").headers) == HEADER_COUNT_MAX
    with pytest.raises(HeadTooLargeError):
        parse_head(line + b"X: y\r\n" * (HEADER_COUNT_MAX + 1) + b"\r\n")
    with pytest.raises(HeadTooLargeError):
        parse_head(line + b"X: " + b"y" * HEADER_LINE_MAX_BYTES + b"\r\n\r\n")


def test_head_that_comes_byte_by_byte_stays_linear() -> None:
    data = b"HTTP/1.1 200 OK\r\nX: " + b"y" * 200_000
    response = Response(make_request(80))
    begun = time.process_time()
    for place in range(len(data)):
        response.feed(data[place : place + 1])
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("piece", [b"1\r\na\r\n", b"1;" + b"e" * 4000 + b"\r\na\r\n", b"0" * 14 + b"1\r\na\r\n"])
def test_chunk_framing_cannot_outgrow_the_body(piece: bytes) -> None:
    body = ChunkedBody(100_000)
    taken = 0
    while not body.done:
        body.feed(piece * 100)
        taken += len(piece) * 100
        assert taken < 4 << 20
    assert body.truncated == "length"


def test_endless_trailer_ends() -> None:
    body = ChunkedBody(100)
    body.feed(b"0\r\n")
    for _ in range(10_000):
        body.feed(b"X: y\r\n")
    assert body.done
    assert body.truncated == "unspecified"
