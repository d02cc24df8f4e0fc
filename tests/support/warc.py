"""Jobs to archive and the independent tools that judge what was written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.page import Job, Kind

DATE = 1_796_064_300.123456
HEAD = b"HTTP/1.1 200 OK\r\nServer: test\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
PREFIX = "GOSSAMER-20261130184500-00"


def make_job(**changes: Any) -> Job:
    """A job of a small page, with what a test is about changed."""
    fields: dict[str, Any] = {
        "id": 1,
        "kind": Kind.PAGE,
        "url": "https://a.example/page?q=1",
        "key": "example,a)/page?q=1",
        "depth": 2,
        "date": DATE,
        "status": 200,
        "headers": (("content-type", "text/html; charset=utf-8"),),
        "request_bytes": REQUEST,
        "head_bytes": HEAD,
        "payload": b"<p>hello</p>",
        "framed": None,
        "content_encoding": (),
        "truncated": "",
        "address": "192.0.2.7",
        "http_version": "HTTP/1.1",
        "tls_version": "TLSv1.3",
        "tls_cipher": "TLS_AES_128_GCM_SHA256",
        "payload_digest": "",
        "via": "https://a.example/",
        "elapsed_s": 0.25,
    } | changes
    fields["payload_digest"] = fields["payload_digest"] or sha1(fields["payload"])
    return Job(**fields)


def make_writer(directory: Path, prefix: str = PREFIX, segment_bytes: int = 1 << 30) -> SegmentWriter:
    return SegmentWriter(
        directory,
        prefix,
        segment_bytes=segment_bytes,
        software="Gossamer/0.1",
        user_agent="Gossamer/0.1 (+https://example.org/bot)",
        clock=lambda: DATE,
    )


def archive(directory: Path, *jobs: Job) -> Path:
    """One finished segment that holds the jobs."""
    writer = make_writer(directory)
    for job in jobs:
        writer.write(job, metadata={})
    writer.close()
    (name,) = writer.closed
    return directory / name


def warcio_check(*paths: Path) -> None:
    """`warcio check` finds nothing wrong."""
    # With the brotli package beside it warcio fails on any brotli body, right or wrong; without, it leaves them coded.
    script = "import sys; sys.modules['brotli'] = None; from warcio.cli import main; main()"
    command = [sys.executable, "-c", script, "check", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not result.stderr, result.stderr


def by_warcio(path: Path) -> list[Any]:
    """Records as warcio reads them, each with its body as `body`, not decoded."""
    records = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.body = record.raw_stream.read()
            records.append(record)
    return records


def fastwarc_types(path: Path) -> list[str]:
    """Record types as FastWARC reads them; every digest it finds is right."""
    types = []
    for record in FastIterator(str(path), parse_http=False):
        assert record.headers.get("WARC-Block-Digest")
        assert record.verify_block_digest(), record.record_id
        types.append(record.headers["WARC-Type"])
    return types
