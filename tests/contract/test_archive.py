"""The suite of `ports.archive.ArchiveReader`: the reader of segments in a directory.

It has no fake: the simulated archive holds jobs, and nothing in the core or the stages reads records back.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator, is_http
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warcio.bufferedreaders import ChunkedDataReader
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.reader import Reader
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Original, Pointer
from gossamer.ports.archive import ArchiveReader
from tests.support.warc import DATE, HEAD, make_job, make_writer

CASES = Path(__file__).parent.parent / "cases" / "warc" / "files"
READERS: dict[str, Callable[[Path], ArchiveReader]] = {"files": Reader}


@pytest.fixture(params=READERS)
def open_reader(request: pytest.FixtureRequest) -> Callable[[Path], ArchiveReader]:
    return READERS[request.param]


@pytest.fixture
def reader(open_reader: Callable[[Path], ArchiveReader], tmp_path: Path) -> ArchiveReader:
    return open_reader(tmp_path)


# -- what was written ----------------------------------------------------------------------------------------------


def test_every_field_of_a_capture(reader: ArchiveReader, tmp_path: Path) -> None:
    job = make_job(status=404, head_bytes=b"HTTP/1.1 404 Nope\r\nA: b\r\nA: c\r\n\r\n", payload=b"gone")
    writer = make_writer(tmp_path)
    pointer = writer.write(job, metadata={})
    writer.close()
    capture = reader.read(pointer)
    assert (capture.record_type, capture.url) == ("response", job.url)
    assert capture.date == pytest.approx(DATE, abs=1e-6)
    assert (capture.status, capture.reason) == (404, "Nope")
    assert capture.headers == (("a", "b"), ("a", "c"))
    assert (capture.head_bytes, capture.payload) == (job.head_bytes, b"gone")
    assert (capture.payload_digest, capture.digest_ok) == (sha1(b"gone"), True)
    assert dict(capture.warc_headers)["WARC-Type"] == "response"


def test_the_payload_is_de_chunked_and_its_coding_is_left(reader: ArchiveReader, tmp_path: Path) -> None:
    coded = gzip.compress(b"<p>hello</p>" * 99)
    framed = b"%x\r\n%s\r\n0\r\n\r\n" % (len(coded), coded)
    head = HEAD[:-2] + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer = make_writer(tmp_path)
    job = make_job(head_bytes=head, payload=coded, framed=framed, content_encoding=("gzip",))
    pointer = writer.write(job, metadata={})
    writer.close()
    assert reader.read(pointer).payload == coded
    assert reader.read(pointer).digest_ok is True


def test_a_segment_is_read_while_it_is_written_and_afterwards(reader: ArchiveReader, tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    jobs = [make_job(payload=b"<p>%d</p>" % number) for number in range(5)]
    pointers = []
    for job in jobs:
        pointers.append(writer.write(job, metadata={}))
        assert reader.read(pointers[-1]).payload == job.payload
    assert not (tmp_path / pointers[0].segment).exists()
    during = [reader.read(pointer) for pointer in pointers]
    writer.close()
    assert (tmp_path / pointers[0].segment).exists()
    assert [reader.read(pointer) for pointer in reversed(pointers)] == during[::-1]


def test_a_revisit_has_the_payload_of_the_original_that_is_given(reader: ArchiveReader, tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    job = make_job()
    first, other = writer.write(job, metadata={}), writer.write(make_job(payload=b"another"), metadata={})
    original = Original(job.url, job.date, job.payload_digest, first)
    again = writer.write(make_job(original=original, revisit="identical"), metadata={})
    writer.close()
    assert (reader.read(again).record_type, reader.read(again).payload) == ("revisit", b"")
    assert reader.read(again, first).payload == job.payload
    assert reader.read(again, first).digest_ok is True
    assert reader.read(again, other).digest_ok is False
    assert reader.read(first, other) == reader.read(first)
    with pytest.raises(ArchiveError):
        reader.read(again, Pointer("lost.warc.gz", 0, 9))


def test_a_record_that_does_not_have_its_digest_says_so(reader: ArchiveReader, tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    pointer = writer.write(make_job(), metadata={})
    writer.close()
    path = tmp_path / pointer.segment
    data = path.read_bytes()
    record = gzip.decompress(data[pointer.offset : pointer.offset + pointer.length])
    changed = gzip.compress(record.replace(b"hello", b"jello"), mtime=0)
    path.write_bytes(data[: pointer.offset] + changed)
    capture = reader.read(Pointer(pointer.segment, pointer.offset, len(changed)))
    assert (capture.payload, capture.digest_ok) == (b"<p>jello</p>", False)


# -- what is not there or not whole --------------------------------------------------------------------------------


def test_what_is_not_there_or_not_whole_is_an_archive_error(reader: ArchiveReader, tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    good = writer.write(make_job(), metadata={})
    writer.close()
    (tmp_path / "folder.warc.gz").mkdir()
    (tmp_path / "empty.warc.gz").write_bytes(b"")
    (tmp_path / "plain.warc").write_bytes(b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n")
    bad = [
        Pointer("nothing.warc.gz", 0, 10),
        Pointer("folder.warc.gz", 0, 10),
        Pointer("empty.warc.gz", 0, 10),
        Pointer("plain.warc", 0, 35),
        Pointer(".", 0, 10),
        Pointer("..", 0, 10),
        Pointer("", 0, 10),
        Pointer("a/b", 0, 10),
        Pointer("a\0b", 0, 10),
        Pointer("\ud800", 0, 10),
        Pointer("x" * 5_000, 0, 10),
        Pointer(good.segment, good.offset - 1, good.length),
        Pointer(good.segment, good.offset + 1, good.length - 1),
        Pointer(good.segment, good.offset, good.length - 1),
        Pointer(good.segment, good.offset, good.length + 1),
        Pointer(good.segment, good.offset, 0),
        Pointer(good.segment, good.offset, -1),
        Pointer(good.segment, good.offset, 1 << 62),
        Pointer(good.segment, -1, good.length),
        Pointer(good.segment, 1 << 62, good.length),
        Pointer(good.segment, 1 << 70, good.length),
    ]
    for pointer in bad:
        with pytest.raises(ArchiveError) as caught:
            reader.read(pointer)
        assert "\n" not in str(caught.value), pointer
    assert reader.read(good).digest_ok is True


def test_nothing_stays_open(reader: ArchiveReader, tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    good = writer.write(make_job(), metadata={})
    writer.close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        reader.read(good)
        with pytest.raises(ArchiveError):
            reader.read(Pointer(good.segment, good.offset + 1, good.length))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200), offset=st.integers(), length=st.integers(), kind=st.sampled_from(["raw", "gz"]))
def test_no_bytes_and_no_pointer_raise_anything_else(
    reader: ArchiveReader, tmp_path: Path, data: bytes, offset: int, length: int, kind: str
) -> None:
    for record in (data, b"WARC/1.1\r\n" + data, b"WARC/1.1\r\nContent-Length: 0\r\n\r\n" + data):
        stored = gzip.compress(record, mtime=0) if kind == "gz" else record
        (tmp_path / "odd.warc.gz").write_bytes(stored)
        for pointer in (Pointer("odd.warc.gz", 0, len(stored)), Pointer("odd.warc.gz", offset, length)):
            with pytest.raises(ArchiveError):
                reader.read(pointer)


# -- what others wrote ---------------------------------------------------------------------------------------------


def test_records_of_another_writer(reader: ArchiveReader, tmp_path: Path) -> None:
    out = BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/plain"), ("X-Y", "z")], protocol="HTTP/1.1")
    starts, bodies = [0], [b"one", b"", b"three" * 1_000]
    for body in bodies:
        writer.write_record(
            writer.create_warc_record("http://b.example/", "response", payload=BytesIO(body), http_headers=head)
        )
        starts.append(out.tell())
    (tmp_path / "other.warc.gz").write_bytes(out.getvalue())
    for start, end, body in zip(starts, starts[1:], bodies, strict=False):
        capture = reader.read(Pointer("other.warc.gz", start, end - start))
        assert (capture.status, capture.reason, capture.payload, capture.digest_ok) == (200, "OK", body, True)
        assert capture.headers == (("content-type", "text/plain"), ("x-y", "z"))


# Archives with a gzip member for each record, by other writers; how many records, and how many with a wrong digest:
# this Wget digests the framing of a chunked body too.
FOREIGN = {
    "chatnoir-eu+chatnoir-resiliparse/warcfile.warc.gz": (50, 0),
    "commoncrawl+whirlwind-python/whirlwind.warc.gz": (4, 0),
    "iipc+jwarc/cc.warc.gz": (1, 0),
    "iipc+webarchive-commons/IAH-urls-wget.warc.gz": (36, 5),
    "ukwa+webarchive-test-suite/IAH-20080430204825-00000-blackbook-truncated.warc.gz": (23, 0),
    "ukwa+webarchive-test-suite/main-page.warc.gz": (151, 0),
    "webrecorder+pywb/dupes.warc.gz": (25, 0),
    "webrecorder+pywb/example-wpull.warc.gz": (4, 0),
    "webrecorder+pywb/iana.warc.gz": (343, 0),
    "webrecorder+warcio/post-test.warc.gz": (6, 0),
}


def members_of(path: Path) -> list[tuple[int, int, Any]]:
    """Offset, length and FastWARC's reading of each record."""
    found = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, parse_http=False):
            body = record.reader.read()
            found.append((record.stream_pos, record.headers["WARC-Type"], is_http(record), body))
    ends = [start for start, *_ in found[1:]] + [path.stat().st_size]
    return [(start, end - start, rest) for (start, *rest), end in zip(found, ends, strict=True)]


def dechunked(body: bytes) -> bytes:
    """What warcio makes of a body whose head says chunked."""
    return bytes(ChunkedDataReader(BytesIO(body)).read())


@pytest.mark.parametrize("name", FOREIGN)
def test_records_in_archives_of_others(open_reader: Callable[[Path], ArchiveReader], name: str) -> None:
    path = CASES / name
    reader = open_reader(path.parent)
    records = members_of(path)
    wrong = 0
    for offset, length, (kind, http, block) in records:
        capture = reader.read(Pointer(path.name, offset, length))
        assert capture.record_type == kind
        wrong += capture.digest_ok is False
        if http:
            assert bool(capture.status) == (kind != "request")
            assert block.startswith(capture.head_bytes)
            body = block[len(capture.head_bytes) :]
            assert capture.payload == (dechunked(body) if ("transfer-encoding", "chunked") in capture.headers else body)
        else:
            assert capture.payload == block
    assert (len(records), wrong) == FOREIGN[name]
