"""Every published case of a server that sends raw bytes and closes: 97 that must be understood, 34 that are faulty."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gossamer.adapters.decode import decode_body
from gossamer.adapters.http.response import Response
from gossamer.model.page import Outcome
from tests.http.raw_server import answer, make_client, make_request, serve

CASES = Path(__file__).parent.parent / "cases" / "http"
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (CASES / "raw_cases.jsonl").read_text("utf-8").splitlines() if line
]
DECODED_MAX = 10 * 1024 * 1024

# What a fault that several clients refuse is to us: the page is kept, and marked; or there is no telling what it is.
REFUSED = {
    "X032": "protocol",  # NUL in a header
    "X038": "protocol",  # a transfer coding that nobody asked for
    "X047": "protocol",
    "X054": "protocol",
    "X066": "head-too-large",
    "X067": "head-too-large",
    "X087": "protocol",
    "X090": "head-too-large",
    "X096": "protocol",  # no status line
    "X112": "protocol",
    "X113": "protocol",
    "X114": "protocol",
    "X115": "protocol",
    "X118": "protocol",
    "X122": "protocol",
    "X126": "disconnected",
    "X128": "protocol",
    "X136": "protocol",
}


async def _fetch(data: bytes) -> Outcome:
    async with serve(answer(data)) as server:
        client = make_client()
        outcome = await client.fetch(make_request(server.port))
        await client.close()
        return outcome


def test_all_cases_are_here() -> None:
    by_outcome = {
        kind: sum(row["expected"]["outcome"] == kind for row in ROWS) for kind in ("ok", "error", "divergent")
    }
    assert by_outcome == {"ok": 97, "error": 34, "divergent": 12}
    assert len(list((CASES / "raw").iterdir())) == 143


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['id']}-{row['expected']['outcome']}" for row in ROWS])
def test_raw_case(row: dict[str, Any]) -> None:
    expected = row["expected"]
    outcome = uvloop.run(_fetch((CASES / row["file"]).read_bytes()))
    decoded = decode_body(outcome.payload, outcome.content_encoding, DECODED_MAX)
    assert outcome.elapsed_s < 4
    if expected["outcome"] == "ok":
        assert outcome.failure is None, outcome.failure_detail
        digest = hashlib.sha1(decoded.body).hexdigest()
        assert (outcome.status, len(decoded.body), digest) == (
            expected["status"],
            expected["body_len"],
            expected["body_sha1"],
        )
        assert not decoded.error
        assert not decoded.truncated
        assert not outcome.truncated
    elif expected["outcome"] == "error":
        assert (outcome.failure or "") == REFUSED.get(row["id"], "")
        assert outcome.failure or outcome.truncated or outcome.faults or decoded.error
    else:
        assert (outcome.failure is None) == (outcome.status > 0)


@pytest.mark.parametrize("step", [1, 2, 7])
def test_raw_cases_do_not_depend_on_how_bytes_are_cut(step: int) -> None:
    for row in ROWS:
        data = (CASES / row["file"]).read_bytes()
        if len(data) > 20_000:
            continue
        whole, pieces = Response(make_request(80)), Response(make_request(80))
        whole.feed(data)
        for place in range(0, len(data), step):
            if pieces.feed(data[place : place + step]):
                break
        whole.eof("")
        pieces.eof("")
        assert (whole.failure, whole.head_bytes) == (pieces.failure, pieces.head_bytes), row["id"]
        if whole.body is not None and pieces.body is not None:
            assert whole.body.payload() == pieces.body.payload(), row["id"]
            assert whole.body.framed == pieces.body.framed, row["id"]
