"""Reading records back, and going over all of them."""

from __future__ import annotations

import base64
import gzip
import hashlib
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.statusandheaders import StatusAndHeadersParser

from gossamer.adapters.warc import members, parse
from gossamer.adapters.warc.check import iterate_segment, iterate_segments
from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.reader import Reader, capture_of
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Original, Pointer
from gossamer.ports.archive import ArchiveReader
from tests.support.warc import DATE, HEAD, archive, make_job, make_writer


def test_a_capture_is_what_was_written_open_or_finished(tmp_path: Path) -> None:
    reader: ArchiveReader = Reader(tmp_path)
    writer = make_writer(tmp_path)
    job = make_job(head_bytes=b"HTTP/1.1 200 All\xe9 right\r\nA: b\r\n c\r\na: d\r\nnonsense\r\n\r\n")
    pointer = writer.write(job, metadata={})
    opened = reader.read(pointer)
    writer.close()
    assert reader.read(pointer) == opened
    assert (opened.record_type, opened.status, opened.reason) == ("response", 200, "Allé right")
    assert opened.headers == (("a", "b c"), ("a", "d"))
    assert opened.head_bytes == job.head_bytes
    assert opened.payload == job.payload
    assert opened.payload_digest == job.payload_digest
    assert opened.url == job.url
    assert opened.date == pytest.approx(DATE, abs=1e-6)
    assert opened.digest_ok is True


@pytest.mark.parametrize(
    ("framed", "payload"),
    [
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello"),
        (b"0005;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX: y\r\n\r\n", b"hello world"),
        (b"5\nhello\n0\n\n", b"hello"),
        (b"5\r\nhel", b"hel"),
        (b"5\r\nhello", b"hello"),
        (b"5\r\nhello\r\nzz\r\n", b"hello"),
        (b"5\r\nhelloworld\r\n", b"hello"),
        (b"zz\r\nhello", b""),
        (b"", b""),
    ],
)
def test_chunked_bodies_come_back_as_the_fetch_understood_them(tmp_path: Path, framed: bytes, payload: bytes) -> None:
    head = HEAD[:-2] + b"Transfer-Encoding: gzip, Chunked\r\n\r\n"
    writer = make_writer(tmp_path)
    pointer = writer.write(make_job(head_bytes=head, framed=framed, payload=payload), metadata={})
    capture = Reader(tmp_path).read(pointer)
    assert capture.payload == payload
    assert capture.payload_digest == sha1(payload)
    assert capture.digest_ok is True
    writer.close()


def test_a_body_that_only_claimed_to_be_chunked_comes_back(tmp_path: Path) -> None:
    head = HEAD[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
    writer = make_writer(tmp_path)
    pointer = writer.write(make_job(head_bytes=head, payload=b"5\r\nplain after all"), metadata={})
    capture = Reader(tmp_path).read(pointer)
    writer.close()
    assert (capture.payload, capture.digest_ok) == (b"5\r\nplain after all", True)


def test_a_revisit_has_the_payload_of_its_original(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    job = make_job()
    first = writer.write(job, metadata={})
    other = writer.write(make_job(payload=b"another"), metadata={})
    original = Original(job.url, job.date, job.payload_digest, first)
    again = writer.write(make_job(date=DATE + 9, original=original, revisit="identical"), metadata={})
    head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    same = make_job(status=304, head_bytes=head, payload=b"", original=original, revisit="not-modified")
    unchanged = writer.write(same, metadata={})
    writer.close()
    reader = Reader(tmp_path)
    for pointer, status in ((again, 200), (unchanged, 304)):
        bare, whole = reader.read(pointer), reader.read(pointer, first)
        assert (bare.record_type, bare.status, bare.payload) == ("revisit", status, b"")
        assert (whole.payload, whole.payload_digest, whole.digest_ok) == (job.payload, job.payload_digest, True)
        assert reader.read(pointer, other).digest_ok is False
    assert reader.read(first, other).payload == job.payload


def test_what_is_not_there_or_not_whole_is_an_error(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    good = next(item.pointer for item in iterate_segment(path) if item.record_type == "response")
    reader = Reader(tmp_path, record_max_bytes=10_000)
    bad = [
        (Pointer("nothing.warc.gz", 0, 10), "no such segment"),
        (Pointer("../" + good.segment, good.offset, good.length), "not a segment name"),
        (Pointer("", 0, 1), "not a segment name"),
        (Pointer(good.segment, good.offset, good.length - 1), "cut off"),
        (Pointer(good.segment, good.offset, good.length + 1), "bytes after the gzip member"),
        (Pointer(good.segment, good.offset + 1, good.length), "damaged gzip member"),
        (Pointer(good.segment, -1, good.length), "not an offset"),
        (Pointer(good.segment, good.offset, 0), "are allowed"),
        (Pointer(good.segment, good.offset, 1 << 40), "are allowed"),
        (Pointer(good.segment, path.stat().st_size - 5, 10), "cut off: 5 of 10"),
    ]
    for pointer, message in bad:
        with pytest.raises(ArchiveError, match=message):
            reader.read(pointer)
    assert reader.read(good).digest_ok is True


def test_a_record_that_inflates_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.warc.gz").write_bytes(members.pack(bytes(50_000_000)))
    size = (tmp_path / "bomb.warc.gz").stat().st_size
    with pytest.raises(ArchiveError, match="more than 100000 bytes"):
        Reader(tmp_path, record_max_bytes=100_000).read(Pointer("bomb.warc.gz", 0, size))


def test_check_names_every_fault_and_goes_on(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job(), make_job(payload=b"other"))
    pieces = [item.pointer for item in iterate_segment(path)]
    data = path.read_bytes()
    first = members.unpack(data[pieces[1].offset : pieces[1].offset + pieces[1].length])
    changed = members.pack(first.replace(b"<p>hello", b"<p>jello"))
    path.write_bytes(data[: pieces[1].offset] + changed + data[pieces[2].offset : -10])
    (tmp_path / "z-empty.warc.gz").write_bytes(b"")
    (tmp_path / "z-junk.warc.gz.open").write_bytes(members.pack(b"WARC/9.9\r\n\r\n") + b"junk" * 5)
    found = list(iterate_segments(tmp_path))
    assert [item.error for item in found if item.pointer.segment == path.name] == [
        "",
        "digest does not match",
        *[""] * 4,
        "gzip member is cut off",
    ]
    assert [item.digest_ok for item in found[:3]] == [True, False, True]
    assert [item.error for item in found[-3:-1]] == ["empty segment", "not a WARC record: it starts with b'WARC/9.9'"]
    assert "damaged gzip member" in found[-1].error
    assert found[-1].pointer.segment == "z-junk.warc.gz"


def test_check_gives_what_verify_compares(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    pointer = writer.write(make_job(), metadata={})
    items = {item.record_type: item for item in iterate_segments(tmp_path)}
    writer.close()
    response = items["response"]
    assert (response.pointer, response.url, response.status) == (pointer, "https://a.example/page?q=1", 200)
    assert response.payload_digest == sha1(b"<p>hello</p>")
    assert response.date == pytest.approx(DATE, abs=1e-6)
    assert list(iterate_segments(tmp_path / "none")) == []


def labels(data: bytes) -> list[str]:
    one, two, three = (hashlib.new(name, data).digest() for name in ("sha1", "md5", "sha256"))
    return [
        "sha1:" + base64.b32encode(one).decode(),
        "SHA-1:" + base64.b32encode(one).decode().lower(),
        "sha1:" + one.hex(),
        "sha1:" + base64.b64encode(one).decode(),
        "md5:" + two.hex(),
        "md5:" + base64.b32encode(two).decode(),
        "sha256:" + base64.b32encode(three).decode(),
        "sha256:" + base64.b32encode(three).decode().rstrip("="),
        "sha256:" + three.hex().upper(),
    ]


@pytest.mark.parametrize("index", range(9))
def test_digests_in_every_notation_writers_use(index: int) -> None:
    assert parse.digest_matches(labels(b"data")[index], b"data") is True
    assert parse.digest_matches(labels(b"data")[index], b"Data") is False


@pytest.mark.parametrize("text", ["", "sha1:", "blake3:abc", "no label", "xx:yy"])
def test_a_digest_that_cannot_be_judged(text: str) -> None:
    assert parse.digest_matches(text, b"") is None


@given(st.binary(max_size=300))
def test_hostile_records_raise_archive_errors_only(data: bytes) -> None:
    for text in (data, b"WARC/1.1\r\n" + data, b"WARC/1.1\r\nContent-Length: 3\r\n\r\n" + data):
        try:
            capture_of(parse.record(text))
        except ArchiveError:
            continue
    with pytest.raises(ArchiveError):
        members.unpack(data)


@given(
    st.binary(max_size=90)
    | st.lists(st.sampled_from([b"\n", b"\r", b" ", b"\x1c", b"a", b"\x85", b"\xe3\x80\x80", b"\xa0"])).map(b"".join)
)
def test_the_body_is_where_readers_that_go_line_by_line_find_it(data: bytes) -> None:
    offset = 0
    for line in BytesIO(data):
        offset += len(line)
        if line.endswith(b"\n") and not StatusAndHeadersParser.decode_header(line).strip():
            break
    else:
        offset = len(data)
    assert parse.body_offset(data) == offset


@given(st.binary(max_size=3_000), st.integers(0, 3_000), st.binary(max_size=5), st.booleans())
def test_members_hold_what_was_put_in_wherever_storing_starts(
    data: bytes, coded_from: int, end: bytes, is_quick: bool
) -> None:
    record = data * 60
    packed = members.pack(record[:coded_from], record[coded_from:], end, is_quick=is_quick)
    assert members.unpack(packed) == gzip.decompress(packed) == record + end


@given(st.binary(max_size=40))
def test_sha1_is_base32_of_the_digest(data: bytes) -> None:
    assert sha1(data) == "sha1:" + base64.b32encode(hashlib.sha1(data).digest()).decode()


@given(st.binary(max_size=200))
def test_hostile_chunking_ends(data: bytes) -> None:
    assert len(parse.dechunk(data)) <= len(data)
    assert 0 <= parse.body_offset(data) <= len(data)
