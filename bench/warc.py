"""CPU of writing and checking the records of one page: ours, FastWARC's and warcio's writers side by side.

Usage: python bench/warc.py FOLDER   (a folder of HTML files; those of 80 kB and more are used, cut at 90,000 bytes)
"""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.adapters.warc import members, records
from gossamer.adapters.warc.check import iterate_segments
from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.page import Job, Kind

HEAD = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 30 Nov 2026 18:00:00 GMT\r\nContent-Type: text/html\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\nUser-Agent: Gossamer/0.1 (+https://example.org/bot)\r\n\r\n"
METADATA = {"title": "A page", "language": "en"}
ROUNDS = 7
PAGES = 30


def job(body: bytes, codings: tuple[str, ...]) -> Job:
    return Job(
        id=1,
        kind=Kind.PAGE,
        url="https://a.example/library/functions.html?a=1",
        key="",
        depth=1,
        date=1_796_064_300.123456,
        status=200,
        headers=(("content-type", "text/html"),),
        request_bytes=REQUEST,
        head_bytes=HEAD,
        payload=body,
        framed=None,
        content_encoding=codings,
        truncated="",
        address="192.0.2.1",
        http_version="HTTP/1.1",
        tls_version="TLSv1.3",
        tls_cipher="TLS_AES_128_GCM_SHA256",
        payload_digest=sha1(body),
    )


def by_fastwarc(page: Job) -> int:
    out = io.BytesIO()
    kinds = (
        (WarcRecordType.response, page.head_bytes + page.payload),
        (WarcRecordType.request, REQUEST),
        (WarcRecordType.metadata, b"title: A page\r\n"),
    )
    for kind, block in kinds:
        writer = GzipWriter(out, 1)
        record = WarcRecord()
        record.init_headers(kind)
        record.headers["WARC-Target-URI"] = page.url
        record.is_http = False
        record.set_bytes_content(block)
        record.write(writer, checksum_data=True)
        writer.finish()
    return len(out.getvalue())


def by_warcio(page: Job) -> int:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    response = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
    request = StatusAndHeaders("GET / HTTP/1.1", [("Host", "a.example")], is_http_request=True)
    writer.write_record(
        writer.create_warc_record(page.url, "response", io.BytesIO(page.payload), http_headers=response)
    )
    writer.write_record(writer.create_warc_record(page.url, "request", io.BytesIO(), http_headers=request))
    writer.write_record(writer.create_warc_record(page.url, "metadata", io.BytesIO(b"title: A page\r\n")))
    return len(out.getvalue())


def ours(page: Job) -> int:
    return sum(len(members.pack(record.start, record.coded, record.end)) for record in records.page(page, METADATA))


def measure(name: str, write: Callable[[Job], int], pages: list[Job]) -> None:
    best, size = 1e9, 0
    for _ in range(ROUNDS):
        start = time.process_time()
        size = sum(write(page) for page in pages)
        best = min(best, time.process_time() - start)
    print(f"  {name:28} {best / len(pages) * 1e6:7.0f} µs a page {size / len(pages):8.0f} bytes")


def main() -> None:
    found = [path.read_bytes() for path in sorted(Path(sys.argv[1]).rglob("*.html"))]
    bodies = [body[:90_000] for body in found if len(body) >= 80_000][:PAGES]
    if not bodies:
        sys.exit(f"no HTML file of 80 kB or more under {sys.argv[1]}")
    packed = [gzip.compress(body, 6) for body in bodies]
    for name, pages in (
        ("plain bodies", [job(body, ()) for body in bodies]),
        ("gzip bodies", [job(body, ("gzip",)) for body in packed]),
    ):
        print(f"{name}, {sum(len(page.payload) for page in pages) // len(pages)} bytes on average:")
        measure("records and compression", ours, pages)
        measure("FastWARC, level 1", by_fastwarc, pages)
        measure("warcio", by_warcio, pages)
        with tempfile.TemporaryDirectory() as folder:
            writer = SegmentWriter(
                Path(folder), "B", segment_bytes=1 << 30, software="b", user_agent="b", clock=lambda: 0.0
            )
            measure("write(), index line included", lambda page: writer.write(page, metadata=METADATA).length, pages)  # noqa: B023 - used at once
            writer.close()
            start = time.process_time()
            count = sum(1 for _ in iterate_segments(Path(folder)))
            print(f"  {'check':28} {(time.process_time() - start) / count * 3e6:7.0f} µs a page")


if __name__ == "__main__":
    main()
