"""Who is let in, and what is written down of those who are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gossamer.serve.app import endpoints
from gossamer.serve.tokens import TokenBook
from gossamer.surface.signing import DIRECTORY_PATH
from tests.serve.fakes import FakeControl
from tests.serve.server import Running

PATHS = [(one.method, one.path.replace("{host}", "a.example").replace("{id}", "td-1"), one.role) for one in endpoints()]


def test_there_are_endpoints_to_try() -> None:
    assert len(PATHS) == 27
    assert sum(role is None for _, _, role in PATHS) == 4


@pytest.mark.parametrize(("method", "path", "role"), PATHS, ids=str)
def test_every_endpoint_asks_who_asks(server: Running, control: FakeControl, method: str, path: str, role: Any) -> None:
    bare = server.ask(method, path, role=None)
    if role is None:
        assert bare.status == (404 if path == DIRECTORY_PATH else 200), "this crawl has no key to publish"
        return
    assert bare.status == 401
    assert bare.headers["www-authenticate"].startswith("Bearer")
    wrong = server.ask(method, path, role=None, headers={"Authorization": "Bearer gsm_wrong"})
    assert wrong.status == 401
    basic = server.ask(method, path, role=None, headers={"Authorization": "Basic YTpi"})
    assert basic.status == 401
    cookie = server.ask(method, path, role=None, headers={"Cookie": "gossamer_session=x"})
    assert cookie.status == 401
    tried = {"read": ["operate", "admin"], "operate": ["admin"], "admin": []}
    for mine, too_much in tried.items():
        if role.value in too_much:
            refused = server.ask(method, path, role=mine)
            assert refused.status == 403
            assert role.value in refused.fault["allowed"]
    assert control.asked == []
    steps = [(line["step"], line["status"], line["what"]) for line in server.audited()]
    assert steps[:2] == [("refused", 401, f"{method} {path.split('?', maxsplit=1)[0]}")] * 2
    assert {step for step, _, _ in steps} == {"refused"}


def test_a_revoked_token_is_refused_at_once(serving: Callable[..., Running]) -> None:
    server = serving()
    assert server.get("/v1/crawls", role="operate").status == 200
    TokenBook(server.home).revoke("operate")
    assert server.get("/v1/crawls", role="operate").status == 401


def test_tokens_that_cannot_be_read_let_nobody_in(serving: Callable[..., Running]) -> None:
    server = serving()
    (server.home / "tokens.json").write_text("broken")
    answer = server.get("/v1/crawls")
    assert answer.status == 503
    assert "nobody is let in" in answer.fault["error"]


def test_without_tokens_who_is_here_may_look_and_change_nothing(
    serving: Callable[..., Running], control: FakeControl
) -> None:
    server = serving(is_open=True)
    assert server.get("/v1/status").status == 200
    refused = server.post("/v1/pause", {})
    assert refused.status == 403
    assert "gossamer token create" in refused.fault["allowed"]
    assert control.asked == []
    assert server.audited()[-1]["status"] == 403


HOSTS = {
    "localhost": 200,
    "127.0.0.1:99": 200,
    "[::1]:8780": 200,
    "Crawl.Example": 200,
    "crawl.example:443": 200,
    "evil.example": 421,
    "127.0.0.1.evil.example": 421,
    "localhost.evil.example": 421,
    "": 421,
}


def test_another_site_s_name_is_refused(serving: Callable[..., Running]) -> None:
    server = serving(is_open=True, names=("crawl.example",))
    for path in ("/v1/crawls", "/"):
        assert {host: server.get(path, headers={"Host": host}).status for host in HOSTS} == HOSTS, path
    assert {server.get("/healthz", headers={"Host": host}).status for host in HOSTS} == {200}
