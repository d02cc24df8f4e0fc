"""What the fuzzer found, each with its right value. The inputs themselves are replayed from the corpora."""

from __future__ import annotations

import gzip
import time

import brotli
import pytest
import zstandard

from gossamer.adapters.decode import decode_body
from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.nesting import bounded
from gossamer.adapters.digest.text import title_of
from gossamer.adapters.http.chunked import ChunkedBody
from gossamer.adapters.http.head import HeadError, head_end, parse_head
from gossamer.adapters.http.response import Response
from gossamer.adapters.warc.parse import http_head
from gossamer.model.limits import (
    CHUNK_LINE_MAX_BYTES,
    CHUNK_OVERHEAD_MAX_BYTES,
    HEAD_MAX_BYTES,
    TITLE_MAX_CHARS,
    TRAILER_MAX_BYTES,
)
from gossamer.model.page import Failure
from gossamer.model.url import registered_domain, site_of
from gossamer.policy import robots
from tests.fuzz.harness import pieces
from tests.http.raw_server import make_request


def test_a_body_that_begins_with_a_line_end_keeps_it_after_a_head_of_bare_line_feeds() -> None:
    """It was lost when head and body came in one piece, and kept when they came in two."""
    assert head_end(b"HTTP/1.1 200 OK\nA: b\n\n\r\nbody", 0) == 22
    assert head_end(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n\n\nbody", 0) == 25


def test_line_ends_the_wrong_way_round_do_not_fold_all_fields_into_one() -> None:
    head = parse_head(b"HTTP/1.1 200 OK\n\rContent-Length: 5\n\rContent-Type: text/html\n\r\n")
    assert head.headers == (("content-length", "5"), ("content-type", "text/html"))
    folded = b"HTTP/1.1 200 OK\r\nLocation: /a\r\n\r\r b\r\n\rX: y\r\n\r\n"
    assert parse_head(folded).headers == http_head(folded)[2] == (("location", "/a b"), ("x", "y"))


def test_a_version_is_made_of_ascii_digits() -> None:
    with pytest.raises(HeadError, match="no HTTP status line"):
        parse_head("HTTP/\xb2.1 200 OK\r\n\r\n".encode("latin-1"))


def test_a_coding_cut_at_the_cap_inside_another_is_a_cut_and_no_damage() -> None:
    inner = zstandard.ZstdCompressor().compress(bytes(range(256)) * 4)
    assert len(inner) > 200
    found = decode_body(gzip.compress(inner), ("zstd", "gzip"), 200)
    assert found.truncated
    assert found.error == ""
    assert len(found.body) <= 200


def test_of_a_damaged_brotli_body_stays_what_precedes_the_damage() -> None:
    """All of it was lost when it was shorter than a slice."""
    text = b"".join(b"line %d of a page\n" % number for number in range(3000))
    packed = bytearray(brotli.compress(text, quality=5, lgwin=10))
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    found = decode_body(bytes(packed), ("br",), 1 << 20)
    assert found.error.startswith("br: ")
    assert len(found.body) > len(text) // 3
    assert found.body[: len(text) // 3] == text[: len(text) // 3]


def test_a_title_cut_between_two_words_ends_with_a_word() -> None:
    title = "x" * (TITLE_MAX_CHARS - 1)
    markup = f"<title>{title} y</title>"
    assert title_of(scan(parse_html(markup), markup)) == title


def test_a_name_with_two_dots_at_its_end_is_of_no_registered_domain() -> None:
    """It was of the site `example.com.`, which is none."""
    assert registered_domain("www.example.com..") is None
    assert site_of("www.example.com..") == "www.example.com.."
    assert registered_domain("www.example.com.") == "example.com"


def chunked(data: bytes, how: int, limit: int = 1000) -> ChunkedBody:
    body = ChunkedBody(limit)
    for piece in pieces(data, how):
        body.feed(piece)
    return body


LINE = b"1;" + b"x" * 2 * CHUNK_LINE_MAX_BYTES
MANY = b"1;" + b"e" * 2000 + b"\r\na\r\n"


@pytest.mark.parametrize("how", [0, 2, 7, 0x3F])
def test_a_chunk_line_that_is_too_long_stops_at_the_same_byte_however_it_comes(how: int) -> None:
    """What is stored of a body must not depend on packets."""
    body = chunked(LINE + b"\r\na\r\n", how)
    assert (body.truncated, len(body.framed), body.done) == ("unspecified", CHUNK_LINE_MAX_BYTES, True)


@pytest.mark.parametrize("how", [0, 2, 7, 0x3F])
def test_trailers_that_come_in_pieces_count_whole(how: int) -> None:
    """Byte by byte a trailer counted one byte a line: only the cap on all framing would have ended it."""
    trailer = b"X-Name: value\r\n" * (2 * TRAILER_MAX_BYTES // 15)
    body = chunked(b"0\r\n" + trailer, how)
    assert (body.truncated, body.faults) == ("unspecified", ["bad trailer"])
    assert TRAILER_MAX_BYTES < len(body.framed) <= TRAILER_MAX_BYTES + 20


@pytest.mark.parametrize("how", [0, 2, 0x3F])
def test_framing_stops_at_its_cap_and_not_a_read_later(how: int) -> None:
    limit = 1000
    most = 2 * limit + CHUNK_OVERHEAD_MAX_BYTES
    body = chunked(MANY * (most // len(MANY) + 9), how, limit)
    assert (body.truncated, len(body.framed)) == ("length", most)


@pytest.mark.parametrize("how", [0, 2, 0x3F])
def test_a_head_behind_blank_lines_is_too_large_or_not_however_it_comes(how: int) -> None:
    response = Response(make_request(80))
    for piece in pieces(b"\r\n" * (HEAD_MAX_BYTES // 2) + b"HTTP/1.1 200 OK\r\n\r\n", how):
        response.feed(piece)
    assert response.failure is Failure.HEAD_TOO_LARGE


def cpu_s(markup: str) -> float:
    begun = time.thread_time()
    text, _ = bounded(markup, markup.encode())
    scan(parse_html(text), text)
    return time.thread_time() - begun


@pytest.mark.parametrize(
    "unit",
    [
        "<b></body></html>",  # closes what was never counted as open
        "<div></x>",
        "<b></i></i>",
        "<div>" * 2_000 + "<marquee>" + "</div>" * 2_000,  # not in scope: the divs stay open
        "<div>" * 2_000 + "<svg><desc></marquee>" + "</div>" * 2_000,
        "<object><div></object>" * 3 + "<div><table></div>",
    ],
)
def test_closing_tags_that_close_nothing_do_not_hide_how_deep_markup_nests(unit: str) -> None:
    """Two megabytes of them took the parser minutes."""
    markup = unit * (600_000 // len(unit))
    text, was_cut = bounded(markup, markup.encode())
    assert was_cut
    assert len(text) < len(markup)
    assert cpu_s(markup) < 5


@pytest.mark.parametrize(
    "unit", ["<div><span>a</span></div>", "<table><tr><td><b>x</b></table>", "<p><a href=x>y</a><br>", "<DIV>x</div>"]
)
def test_what_is_closed_does_not_nest_however_much_there_is(unit: str) -> None:
    markup = unit * 20_000
    assert bounded(markup, markup.encode()) == (markup, False)


def test_bases_in_noscripts_are_looked_up_once() -> None:
    """Each cost a copy of the whole page."""
    assert cpu_s("<noscript><base href=http://a.example/></noscript>" * 20_000) < 2


@pytest.mark.parametrize(("target", "is_allowed"), [("/%24100", False), ("/%", False), ("/$100", False), ("/24", True)])
def test_a_percent_sign_that_escapes_nothing_matches_that_of_an_escape(target: str, is_allowed: bool) -> None:
    """The fuzzer's own matcher took escapes for one sign each. Google's compares as ours does, and so bars more."""
    rules = robots.parse(b"User-agent: *\nDisallow: /%\n", "Gossamer")
    assert rules.decide(target).allowed == is_allowed
