"""What is in the records of one visit, as independent readers see it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.warc import parse, records
from gossamer.adapters.warc.parse import sha1
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import WARC_FIELD_MAX_CHARS
from gossamer.model.page import Job, Original, Pointer
from gossamer.policy.revisits import revisit_of
from tests.support.warc import DATE, HEAD, REQUEST, archive, by_warcio, fastwarc_types, make_job, warcio_check

CHUNKED_HEAD = HEAD[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
FIRST = Original(
    "https://a.example/first", DATE - 1000.5, sha1(b"<p>hello</p>"), Pointer("GOSSAMER-1-00-00000.warc.gz", 400, 900)
)


def headers_of(record: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in record.rec_headers.headers}


def repeated(record: Any, name: str) -> list[str]:
    return [value for key, value in record.rec_headers.headers if key == name]


def one(job: Job, **options: Any) -> parse.Record:
    return parse.record(records.page(job, {}, **options)[0].data)


def test_a_page_is_response_request_and_metadata_tied_to_each_other(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    warcio_check(path)
    assert fastwarc_types(path) == ["warcinfo", "response", "request", "metadata"]
    info, response, request, metadata = by_warcio(path)
    fields = headers_of(response)
    assert fields["warc-target-uri"] == "https://a.example/page?q=1"
    assert fields["warc-date"] == records.warc_date(DATE) == "2026-11-30T18:45:00.123456Z"
    assert fields["warc-ip-address"] == "192.0.2.7"
    assert repeated(response, "WARC-Protocol") == ["http/1.1", "tls/1.3"]
    assert fields["warc-cipher-suite"] == "TLS_AES_128_GCM_SHA256"
    assert fields["warc-payload-digest"] == sha1(b"<p>hello</p>")
    assert fields["warc-block-digest"] == sha1(HEAD + b"<p>hello</p>")
    assert response.body == b"<p>hello</p>"
    assert request.http_headers.protocol == "GET"
    assert headers_of(request)["warc-block-digest"] == sha1(REQUEST)
    assert fields["warc-concurrent-to"] == headers_of(request)["warc-record-id"]
    assert headers_of(request)["warc-concurrent-to"] == fields["warc-record-id"]
    assert headers_of(metadata)["warc-concurrent-to"] == fields["warc-record-id"]
    assert metadata.body == b"via: https://a.example/\r\nfetchTimeMs: 250\r\ndepth: 2\r\n"
    assert b"software: Gossamer/0.1\r\n" in info.body
    assert len({headers_of(record)["warc-record-id"] for record in (info, response, request, metadata)}) == 4


# ------------------------------------------------------------------------------------- rows of the field reports


def test_payload_digest_is_of_the_entity_not_of_its_chunk_framing(tmp_path: Path) -> None:
    """One page in two framings has one digest, so that the second is a duplicate of the first."""
    entity = b"hello world"
    framings = (b"b\r\nhello world\r\n0\r\n\r\n", b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nTrailer: t\r\n\r\n")
    jobs = [make_job(head_bytes=CHUNKED_HEAD, payload=entity, framed=framed) for framed in framings]
    found = [one(job) for job in [*jobs, make_job(payload=entity)]]
    digests = [record.get("warc-payload-digest") or record.get("x-entity-digest") for record in found]
    assert digests == [sha1(entity)] * 3
    assert [record.block[len(CHUNKED_HEAD) :] for record in found[:2]] == list(framings)
    # warcio digests the framing, other validators do not: neither may find a digest that it thinks wrong.
    assert [bool(record.get("warc-payload-digest")) for record in found] == [False, False, True]
    path = archive(tmp_path, *jobs)
    warcio_check(path)
    assert fastwarc_types(path).count("response") == 2


def test_body_is_stored_as_received_under_the_head_as_received(tmp_path: Path) -> None:
    """No decoded body under the original Content-Length and Content-Encoding."""
    packed = bytes.fromhex("1f8b0800000000000003cb48cdc9c95728cf2fca49010085114a0d0b000000")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    path = archive(tmp_path, make_job(head_bytes=head, payload=packed, content_encoding=("gzip",)))
    response = by_warcio(path)[1]
    assert response.body == packed
    assert response.http_headers.get_header("content-length") == str(len(packed))
    assert headers_of(response)["warc-payload-digest"] == sha1(packed)


@pytest.mark.parametrize("line", [b"HTTP/2 200", b"HTTP/2.0 200 OK", b"HTTP/3 200 OK"])
def test_status_line_of_http_2_is_written_as_1_1_with_the_protocol_beside_it(tmp_path: Path, line: bytes) -> None:
    job = make_job(head_bytes=line + b"\r\ncontent-type: text/html\r\n\r\n", http_version="h2")
    path = archive(tmp_path, job)
    warcio_check(path)
    response, metadata = by_warcio(path)[1], by_warcio(path)[3]
    assert response.http_headers.protocol == "HTTP/1.1"
    assert response.http_headers.get_statuscode() == "200"
    assert repeated(response, "WARC-Protocol") == ["h2", "tls/1.3"]
    assert b"head-repair: status-line\r\n" in metadata.body


def test_304_refers_to_the_original_with_the_original_digest(tmp_path: Path) -> None:
    head = b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"
    job = make_job(status=304, head_bytes=head, payload=b"", original=FIRST, revisit="not-modified")
    path = archive(tmp_path, job)
    warcio_check(path)
    revisit = by_warcio(path)[1]
    fields = headers_of(revisit)
    assert revisit.rec_type == "revisit"
    assert fields["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert fields["warc-payload-digest"] == FIRST.digest != sha1(b"")
    assert fields["warc-refers-to-target-uri"] == FIRST.url
    assert fields["warc-refers-to-date"] == records.warc_date(FIRST.date)
    assert revisit.http_headers.get_statuscode() == "304"


def test_never_a_revisit_of_an_empty_payload() -> None:
    empty = Original("https://a.example/", DATE, sha1(b""))
    for revisit in ("identical", "not-modified"):
        job = make_job(payload=b"", original=empty, revisit=revisit)
        assert one(job).get("warc-type") == "response"
        assert revisit_of(job) is None
    assert one(make_job(payload=b"", original=FIRST, revisit="identical")).get("warc-type") == "response"


def test_every_file_starts_with_warcinfo(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    info = by_warcio(path)[0]
    assert info.rec_type == "warcinfo"
    assert headers_of(info)["warc-filename"] == path.name
    for field in (
        b"software: ",
        b"format: WARC File Format 1.1",
        b"http-header-user-agent: Gossamer/",
        b"robots: obey",
    ):
        assert field in info.body


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/a b", "http://a.example/a%20b"),
        ("<http://a.example/>", "%3Chttp://a.example/%3E"),
        ("http://[2001:db8::1]/x", "http://[2001:db8::1]/x"),
        ("http://a.example/\r\nWARC-Type: evil", "http://a.example/%0D%0AWARC-Type:%20evil"),
        ("http://a.example/é\u2028\x7f", "http://a.example/%C3%A9%E2%80%A8%7F"),
        ("http://a.example/\ud800", "http://a.example/%ED%A0%80"),
    ],
)
def test_target_uri_has_no_spaces_brackets_or_line_ends(url: str, expected: str) -> None:
    assert one(make_job(url=url)).get("warc-target-uri") == expected


# ------------------------------------------------------------------------------------------------------ revisits


def test_identical_payload_keeps_the_head_and_drops_the_body(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job(original=FIRST, revisit="identical"))
    warcio_check(path)
    assert fastwarc_types(path) == ["warcinfo", "revisit", "request", "metadata"]
    revisit = by_warcio(path)[1]
    assert headers_of(revisit)["warc-profile"] == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert headers_of(revisit)["warc-refers-to-target-uri"] == FIRST.url
    assert headers_of(revisit)["content-length"] == str(len(HEAD))
    assert revisit.body == b""


def test_without_an_original_it_is_a_response() -> None:
    assert one(make_job(revisit="identical")).get("warc-type") == "response"
    assert one(make_job(status=304, payload=b"", revisit="not-modified")).get("warc-type") == "response"


def test_noarchive_leaves_a_metadata_record_only() -> None:
    built = records.page(make_job(), {"reason": "noarchive in meta robots"}, noarchive=True)
    assert [record.kind for record in built] == ["metadata"]
    record = parse.record(built[0].data)
    assert b"<p>hello" not in record.block
    assert record.block.startswith(b"reason: noarchive in meta robots\r\n")
    assert b"status: 200\r\n" in record.block


# --------------------------------------------------------------------------------------------------- hostile values


@pytest.mark.parametrize(
    ("changes", "repairs"),
    [
        ({"head_bytes": b"HTTP/1.1 200 OK\nA: b\n\n"}, b""),  # LF alone stays
        ({"head_bytes": b"HTTP/1.1 200 OK\r\nA: b"}, b"empty-line"),
        ({"head_bytes": b"HTTP/1.0 200\r\n"}, b"empty-line"),
        ({"head_bytes": b""}, b"status-line empty-line"),
        ({"head_bytes": b"A: b\r\n\r\n"}, b"status-line"),
        ({"head_bytes": b"ICY 200 OK\r\nicy-name: x\r\n\r\n"}, b"status-line"),
        ({"head_bytes": b"\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"}, b"blank-lines"),
        ({"head_bytes": b"HTTP/1.2 200 OK\r\n\r\n"}, b"status-line"),
        ({"head_bytes": b"http/1.1 200 OK\r\n\r\n"}, b"status-line"),
        ({"head_bytes": b"HTTP/1.1 200 OK\r\nA: b\r\n \t \r\nC: d\r\n\r\n"}, b"blank-lines"),
        ({"head_bytes": b"HTTP/1.1 200 \xff\x00\r\nn\xc3\xa4me: \xe9\r\nno colon\r\n folded\r\n\r\n"}, b""),
        ({"head_bytes": b"HTTP/1.1 200 OK\r\n\xe3\x80\x80\r\nA: b\r\n\r\n"}, b"blank-lines"),  # U+3000
        ({"head_bytes": CHUNKED_HEAD, "framed": b"5\r\nhel", "payload": b"hel", "truncated": "disconnect"}, b""),
        ({"head_bytes": CHUNKED_HEAD, "framed": b"zz\r\nhello", "payload": b""}, b""),
        ({"head_bytes": CHUNKED_HEAD, "payload": b"not chunked at all"}, b""),
        ({"head_bytes": HEAD, "payload": b""}, b""),
        ({"request_bytes": b""}, b""),
        ({"truncated": "length"}, b""),
        ({"http_version": "HTTP/9.9\r\nX: y", "tls_version": "?", "tls_cipher": "A\r\nB: c"}, b""),
        ({"address": "not an address\r\nX: y"}, b""),
        ({"via": "http://a.example/\r\n\r\nWARC/1.1"}, b""),
    ],
)
def test_odd_pages_make_valid_files_and_read_back(tmp_path: Path, changes: dict[str, Any], repairs: bytes) -> None:
    job = make_job(**changes)
    path = archive(tmp_path, job)
    warcio_check(path)
    assert fastwarc_types(path) == ["warcinfo", "response", "request", "metadata"]
    _, response, _, metadata = by_warcio(path)
    received = job.head_bytes + (job.payload if job.framed is None else job.framed)
    if repairs:
        assert b"head-repair: " + repairs + b"\r\n" in metadata.body
    else:
        assert b"head-repair" not in metadata.body
        assert headers_of(response)["warc-block-digest"] == sha1(received)
    assert headers_of(response).get("warc-truncated") == (job.truncated or None)
    assert response.http_headers.protocol in {"HTTP/1.0", "HTTP/1.1"}
    assert response.body == (job.payload if job.framed is None else job.framed)
    assert "x" not in headers_of(response)
    assert "b" not in headers_of(response)


@given(
    url=st.text(min_size=1, max_size=60),
    head=st.binary(max_size=120),
    body=st.binary(max_size=120),
    framed=st.none() | st.binary(max_size=60),
    words=st.lists(st.text(max_size=30), min_size=6, max_size=6),
)
def test_nothing_from_outside_breaks_a_record(
    url: str, head: bytes, body: bytes, framed: bytes | None, words: list[str]
) -> None:
    job = make_job(
        url=url,
        head_bytes=head,
        payload=body,
        framed=framed,
        via=words[0],
        address=words[1],
        http_version=words[2],
        tls_cipher=words[3],
        truncated=words[4],
    )
    built = records.page(job, {words[5]: words[0], "k": words[1]})
    names = {name for record in built for name, _ in parse.record(record.data).fields}
    assert names <= {
        "WARC-Type",
        "WARC-Record-ID",
        "WARC-Target-URI",
        "WARC-Date",
        "WARC-IP-Address",
        "WARC-Protocol",
        "WARC-Cipher-Suite",
        "WARC-Concurrent-To",
        "WARC-Truncated",
        "WARC-Payload-Digest",
        "X-Entity-Digest",
        "WARC-Block-Digest",
        "Content-Type",
        "Content-Length",
    }
    block = parse.record(built[0].data).block
    assert block[parse.body_offset(block) :] == (body if framed is None else framed)


def test_what_hooks_say_takes_no_name_of_ours_and_breaks_no_line() -> None:
    said = {
        "charset": "",  # ours, without a value: the name is taken all the same
        "Charset": "theirs",
        "VIA": "http://evil.example/",
        "fetchtimems": "0",
        "noarchive": "true",
        "status": "999",
        "words": "12",
        "a b\r\nWARC-Type": "x\r\nvia: y\r\n\r\nWARC/1.1\u2028z",
        "Words": "13",
        "": "nameless",
        "empty": " \r\n ",
        "\ud800": "\udfff",
        "long": "x" * 100_000,
    }
    *_, metadata = records.page(make_job(via=""), said)
    assert parse.record(metadata.data).block == (
        b"words: 12\r\na-b--WARC-Type: x  via: y    WARC/1.1 z\r\n-: ?\r\nlong: "
        + b"x" * WARC_FIELD_MAX_CHARS
        + b"\r\nfetchTimeMs: 250\r\ndepth: 2\r\n"
    )


def test_a_url_that_fits_no_header_is_refused() -> None:
    with pytest.raises(ArchiveError, match="cannot be archived"):
        records.page(make_job(url="http://a.example/" + "x" * 20_000), {})
    with pytest.raises(ArchiveError, match="at most 64"):
        records.page(make_job(), {f"k{n}": "v" for n in range(65)})


@pytest.mark.parametrize("seconds", [0.0, DATE, 1_796_064_300.999_999_9, 4_102_444_800.000_001])
def test_dates_survive_the_way_through_the_archive(seconds: float) -> None:
    text = records.warc_date(seconds)
    assert records.warc_date(parse.date(text)) == text
    assert abs(parse.date(text) - seconds) < 1e-6
