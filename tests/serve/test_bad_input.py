"""Requests that are wrong: each refusal names the field, the value and what is allowed."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from gossamer.serve import inputs, listen
from tests.serve.fakes import FakeControl
from tests.serve.server import Running

QUERIES = [
    ("/v1/hosts?limit=0", 422, "query.limit", "0", "a whole number from 1 to 1,000"),
    ("/v1/hosts?limit=abc", 422, "query.limit", "abc", "a whole number from 1 to 1,000"),
    ("/v1/hosts?limit=99999999999999999999999", 422, "query.limit", "99999999999999999999999", "a whole number from"),
    ("/v1/hosts?state=asleep", 422, "query.state", "asleep", "one of idle, parked, ready, resting, waiting"),
    ("/v1/hosts?sort=up", 422, "query", "sort", "one of crawl, after, limit, state"),
    ("/v1/hosts?limit=1&limit=2", 422, "query.limit", "2", "it once"),
    ("/v1/hosts?after=%ff", 400, "query", "after=%ff", "percent-encoded UTF-8"),
    ("/v1/hosts?" + "&".join(f"a{n}=1" for n in range(40)), 400, "query", "a0=1", "at most 32 fields"),
    ("/v1/urls", 422, "query.url", "", "text of 1 to 16,384 characters"),
    ("/v1/urls?url=", 422, "query.url", "", "text of 1 to 16,384 characters"),
    ("/v1/freshness?host=a%20b", 422, "query.host", "a b", "a host name or address"),
    ("/v1/hosts/%00", 422, "path.host", "\0", "a host name or address"),
    ("/v1/hosts/a.example%00robots", 422, "path.host", "a.example\0robots", "a host name or address"),
    ("/v1/hosts/never.example", 404, "path.host", "never.example", "a host of GET /v1/hosts"),
    ("/v1/crawls?crawl=x", 422, "query", "crawl", "no query at all"),
    ("/v1/frontier/lease?worker_id=w&n=257", 422, "query.n", "257", "a whole number from 1 to 256"),
    ("/v1/frontier/lease?worker_id=", 422, "query.worker_id", "", "text of 1 to 100 characters"),
    ("/v2/status", 404, "path", "/v2/status", "see /openapi.json"),
]  # fmt: skip
BODIES: list[tuple[str, Any, int, str, str, str]] = [
    ("/v1/takedown", {"scope": "all", "value": "x", "reason": "y"}, 422, "body.scope", "all", "one of host, pattern"),
    ("/v1/takedown", {"scope": "host", "value": "", "reason": "y"}, 422, "body.value", "", "text of 1 to 2,083"),
    ("/v1/takedown", {"scope": "host", "value": "x"}, 422, "body.reason", "", "text of 1 to 1,000"),
    ("/v1/takedown", {"scope": "host", "value": "x", "reason": "y", "why": 1}, 422, "body", "why", "an object with"),
    ("/v1/takedown", [], 422, "body", "[]", "an object with"),
    ("/v1/takedown", {"scope": "host", "value": 7, "reason": "y"}, 422, "body.value", "7", "text of 1 to 2,083"),
    ("/v1/seeds", {}, 422, "body.urls", "", "at least one URL"),
    ("/v1/seeds", {"urls": ["https://a.example/"] * 10_001}, 422, "body.urls", "[", "a list of 0 to 10,000"),
    ("/v1/seeds", {"urls": ["x" * 3_000]}, 422, "body.urls[0]", "x", "text of 1 to 2,083"),
    ("/v1/frontier/urls", {"urls": [{"url": "https://a.example/", "priority": 10}]}, 422, "body.urls[0].priority",
     "10", "a whole number from 0 to 9"),
    ("/v1/frontier/complete", {"worker_id": "w", "results": [{"lease": "x", "body": "***"}]}, 422,
     "body.results[0].body", "***", "text"),
    ("/v1/indexnow", {"key": "short", "urlList": ["https://a.example/"]}, 422, "body.key", "short", "text of 8 to 128"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "status", "field", "value", "allowed"), QUERIES, ids=lambda value: str(value)[:40])
def test_wrong_queries(server: Running, path: str, status: int, field: str, value: str, allowed: str) -> None:
    answer = server.get(path)
    assert answer.status == status, answer.text
    assert answer.fault["field"] == field
    assert answer.fault.get("value", "").startswith(value)
    assert allowed in answer.fault["allowed"]


@pytest.mark.parametrize(("path", "body", "status", "field", "value", "allowed"), BODIES, ids=lambda v: str(v)[:40])
def test_wrong_bodies(
    server: Running, control: FakeControl, path: str, body: Any, status: int, field: str, value: str, allowed: str
) -> None:
    answer = server.post(path, body)
    assert answer.status == status, answer.text
    assert answer.fault["field"] == field
    assert answer.fault.get("value", "").startswith(value)
    assert allowed in answer.fault["allowed"]
    assert control.asked == []
    last = server.audited()[-1]
    assert (last["step"], last["status"], last["who"]) == ("refused", 422, "admin")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"nul",
        b'{"reason": "\xff"}',
        b'{"reason": "\\ud800"}',
        b"[" * 100_000,
        b'{"reason": NaN}',
        b"\x00",
        b"{} {}",
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_what_is_not_json(server: Running, raw: bytes) -> None:
    answer = server.ask("POST", "/v1/pause", raw=raw, headers={"Content-Type": "application/json"})
    assert answer.status in (400, 422), answer.text
    assert answer.fault["field"].startswith("body")


@pytest.mark.parametrize("media_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_of_another_type(server: Running, media_type: str) -> None:
    answer = server.ask("POST", "/v1/pause", raw=b"{}", headers={"Content-Type": media_type})
    assert answer.status == 415
    assert answer.fault["allowed"] == "application/json"


def test_methods_that_a_path_has_not(server: Running) -> None:
    answer = server.ask("PUT", "/v1/pause")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert server.ask("DELETE", "/v1/hosts/a.example").headers["allow"] == "GET, PATCH"
    assert server.ask("HEAD", "/v1/status").status == 200
    assert server.ask("TRACE", "/healthz").status == 405
    assert server.ask("POST", "/hosts").status == 405


def test_a_body_that_is_too_long_is_not_read(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(
            b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 999999999999\r\nAuthorization: Bearer " + server.tokens["admin"].encode() + b"\r\n\r\n"
        )
        answer = connection.recv(65_536)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"at most 1,048,576 bytes" in answer
    assert server.audited()[-1]["status"] == 413


def test_a_body_that_has_no_end(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(
            b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\nAuthorization: Bearer " + server.tokens["admin"].encode() + b"\r\n\r\n"
        )
        piece = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        for _ in range(17):
            connection.sendall(piece)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 413 ")


def test_a_slow_body(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "BODY_TIMEOUT_S", 0.3)
    with server.connect() as connection:
        connection.sendall(
            b"POST /v1/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 10\r\nAuthorization: Bearer " + server.tokens["admin"].encode() + b"\r\n\r\n{"
        )
        answer = connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert connection.recv(65_536) == b""
    assert server.audited()[-1]["status"] == 408


def is_over(connection: socket.socket) -> bool:
    """Whether the server ends a connection without an answer."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
def test_a_slow_head(server: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(listen, "HEAD_TIMEOUT_S", 0.3)
    with server.connect() as connection:
        connection.sendall(sent)
        started = time.monotonic()
        assert is_over(connection)
        assert time.monotonic() - started < 5


def test_a_slow_head_on_a_connection_that_was_used(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "HEAD_TIMEOUT_S", 0.3)
    with server.connect() as connection:
        for _ in range(2):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
            time.sleep(0.4)  # an idle connection is no slow one
        connection.sendall(b"GET /healthz HT")
        assert is_over(connection)


def test_a_client_that_does_not_read(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "WRITE_TIMEOUT_S", 0.3)
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with server.connect() as connection:
        try:
            for _ in range(2_000):
                connection.sendall(request)
        except OSError:
            return  # the server has let go
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            time.sleep(0.1)
            try:
                connection.sendall(request)
            except OSError:
                return
    pytest.fail("the server waits for a client that does not read")


def test_a_head_that_is_too_long(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")


def test_refusals_are_json_that_says_so(server: Running) -> None:
    answer = server.get("/v1/nothing")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert json.loads(answer.body)["status"] == 404


def test_one_client_does_not_keep_all_others_out(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "CONNECTIONS_PER_ADDRESS_MAX", 3)
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    held = [socket.create_connection(("127.0.0.1", server.port), 10, ("127.99.0.1", 0)) for _ in range(3)]
    for connection in held:
        connection.sendall(request)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")
    with socket.create_connection(("127.0.0.1", server.port), 10, ("127.99.0.1", 0)) as one_more:
        assert is_over(one_more)
    with socket.create_connection(("127.0.0.1", server.port), 10, ("127.99.0.2", 0)) as other:
        other.sendall(request)
        assert other.recv(65_536).startswith(b"HTTP/1.1 200 ")
    for connection in held:
        connection.close()
    deadline = time.monotonic() + 10
    while True:
        with socket.create_connection(("127.0.0.1", server.port), 10, ("127.99.0.1", 0)) as again:
            again.sendall(request)
            try:
                if again.recv(65_536).startswith(b"HTTP/1.1 200 "):
                    return
            except ConnectionResetError:
                pass
        assert time.monotonic() < deadline
        time.sleep(0.05)
