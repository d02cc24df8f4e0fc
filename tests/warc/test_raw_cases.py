"""Answers of broken servers, fetched by the real client and archived: every one makes a valid file and reads back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.adapters.clock import SystemClock
from gossamer.adapters.http.client import HttpClient
from gossamer.adapters.warc.check import iterate_segments
from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.reader import Reader
from gossamer.model.page import Job, Outcome, Request
from gossamer.policy.guard import parse_networks
from tests.support.warc import by_warcio, fastwarc_types, make_job, make_writer, warcio_check

CASES = Path(__file__).parent.parent / "cases" / "http"
RAW: list[dict[str, Any]] = [json.loads(line) for line in (CASES / "raw_cases.jsonl").read_text().splitlines()]


async def fetch_all() -> list[Outcome]:
    """The outcome of every case, from a server that sends its bytes after any GET and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        case = RAW[int(request.split(b" ", 2)[1][1:])]
        writer.write((CASES / case["file"]).read_bytes())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = HttpClient(parse_networks(("127.0.0.0/8",)), clock=SystemClock())
    outcomes = []
    for number in range(len(RAW)):
        address = "127.0.0.1"
        url = f"http://{address}:{port}/{number}"
        request = Request(
            url=url,
            scheme="http",
            name=address,
            port=port,
            target=f"/{number}",
            address=address,
            total_timeout_s=5.0,
            fresh=True,  # the server closes after each answer, which the client learns too late
        )
        outcomes.append(await client.fetch(request))
    await client.close()
    server.close()
    return outcomes


def job_of(number: int, outcome: Outcome) -> Job:
    names = set(Job.__struct_fields__) & set(Outcome.__struct_fields__)
    return make_job(url=f"http://raw.example/{number}", **{name: getattr(outcome, name) for name in names})


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return asyncio.run(fetch_all())


def test_every_answer_is_archived_and_comes_back(outcomes: list[Outcome], tmp_path: Path) -> None:
    assert len(RAW) == 143
    understood = [(n, outcome) for n, outcome in enumerate(outcomes) if outcome.failure is None]
    assert len(understood) >= 97
    writer = make_writer(tmp_path)
    written = [(job_of(n, outcome), n) for n, outcome in understood]
    pointers = [writer.write(job, metadata={"case": RAW[n]["id"]}) for job, n in written]
    writer.close()
    (path,) = tmp_path.glob("*.warc.gz")
    warcio_check(path)
    assert fastwarc_types(path).count("response") == len(written)
    assert not [item for item in iterate_segments(tmp_path) if item.error]
    reader = Reader(tmp_path)
    stored = {record.rec_headers.get_header("WARC-Target-URI"): record for record in by_warcio(path)[1::3]}
    for (job, n), pointer in zip(written, pointers, strict=True):
        capture = reader.read(pointer)
        name = RAW[n]["id"]
        assert capture.digest_ok is True, name
        assert capture.payload == job.payload, name
        assert capture.payload_digest == sha1(job.payload), name
        assert stored[job.url].body == (job.payload if job.framed is None else job.framed), name
        assert stored[job.url].http_headers.protocol in {"HTTP/1.0", "HTTP/1.1"}, name
    assert msgspec.msgpack.encode([job for job, _ in written])
