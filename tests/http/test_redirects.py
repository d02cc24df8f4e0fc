"""Every published redirect case: the request lines that a visitor sends who follows Location."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gossamer.model.page import Failure, Outcome, Request
from gossamer.model.reason import Reason
from gossamer.model.url import parse, wire_parts
from gossamer.policy.redirect import redirect_target
from tests.http.raw_server import Peer, make_client, make_request, serve

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases" / "http" / "redirects.jsonl").read_text("utf-8").splitlines()
    if line
]


class _CurlServer:
    """Answers by the last number in the target, as the server of curl's test suite does."""

    def __init__(self, responses: dict[str, str]) -> None:
        self._responses = {path: base64.b64decode(data) for path, data in responses.items()}
        self._bounces: dict[str, int] = {}
        self.port = 0

    async def __call__(self, peer: Peer) -> None:
        target = (await peer.request()).split(b" ", 2)[1].decode()
        number = re.findall(r"/(\d+)", target)[-1]
        bounce = self._bounces.get(number, 0)
        data = self._responses[f"/{number}{bounce:04d}" if bounce else f"/{number}"]
        if b"swsbounce" in data and f"/{number}{bounce + 1:04d}" in self._responses:
            self._bounces[number] = bounce + 1
        await peer.send(data.replace(b"{PORT}", str(self.port).encode()))


def _request(url: str, target: str, port: int) -> Request:
    return make_request(port, target, url=url, name="127.0.0.1")


async def _follow(row: dict[str, Any]) -> tuple[list[str], Outcome]:
    curl = _CurlServer(row["responses_by_path_b64"])
    async with serve(curl) as server:
        curl.port = server.port
        command = row["command"].replace("{PORT}", str(server.port))
        url = re.findall(r"http://[^\s\"]+", command)[0]
        found = re.findall(r"--max-redirs (\d+)", command)
        hops = int(found[0]) if found else 50
        target = url.split("/", 3)[-1] if "--path-as-is" in command else ""
        client = make_client()
        while True:
            parsed = parse(url)
            assert not isinstance(parsed, Reason)
            _, _, port, wire_target = wire_parts(parsed.wire)
            request = _request(url, f"/{target}" if target else wire_target, port)
            outcome = await client.fetch(request)
            if outcome.failure is Failure.STALE:  # the server closes without saying so; the core asks again later
                outcome = await client.fetch(request)
            target = ""
            location = redirect_target(outcome)
            if location is None or hops == 0:
                break
            hops -= 1
            url_or_reason = parse(location, url)
            assert not isinstance(url_or_reason, Reason)
            url = url_or_reason.wire
        await client.close()
        return server.lines, outcome


def test_all_cases_are_here() -> None:
    assert len(ROWS) == 22


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_redirect_case(row: dict[str, Any]) -> None:
    lines, outcome = uvloop.run(_follow(row))
    assert lines == row["expected_request_lines"]
    assert outcome.failure is None


@pytest.mark.parametrize(
    ("status", "headers", "target"),
    [
        (302, (("location", ""), ("location", " /b ")), "/b"),
        (302, (("location", "/a"), ("location", "/b")), "/a"),
        (301, (("location", "/caf\xc3\xa9"),), "/café"),  # UTF-8 bytes
        (301, (("location", "/caf\xe9"),), "/café"),  # latin-1 bytes
        (200, (("location", "/a"),), None),
        (304, (("location", "/a"),), None),
        (308, (), None),
    ],
)
def test_target_of_a_redirect(status: int, headers: tuple[tuple[str, str], ...], target: str | None) -> None:
    assert redirect_target(Outcome(status=status, headers=headers)) == target
