"""Each change: what is asked of the crawl, what is answered, what is written down."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from gossamer.model.control import (
    AddSeeds,
    AddUrls,
    AnyCommand,
    Change,
    Complete,
    Fetched,
    Lease,
    LiftTakedown,
    ListTakedowns,
    PatchHost,
    Pause,
    Refused,
    Resume,
    Stop,
    TakeDown,
    Tell,
)
from gossamer.model.takedown import Target
from tests.serve.fakes import FakeControl
from tests.serve.server import Running

CHANGES: list[tuple[str, str, Any, int, AnyCommand, str]] = [
    ("POST", "/v1/seeds", {"urls": ["https://a.example/"], "priority": "normal"}, 202,
     AddSeeds(urls=("https://a.example/",), level=3, by="admin"), "1 taken, 1 known, 1 refused"),
    ("POST", "/v1/takedown", {"scope": "host", "value": "a.example", "reason": "asked", "ticket": "T-1"}, 202,
     TakeDown(target=Target("host", "a.example"), reason="asked", ticket="T-1", by="admin"), "td-1: confirmed at "),
    ("DELETE", "/v1/takedown/td-1", {"reason": "settled"}, 202,
     LiftTakedown(id="td-1", reason="settled", by="admin"), "confirmed at "),
    ("POST", "/v1/frontier/urls", {"urls": [{"url": "https://a.example/x"}]}, 202,
     AddUrls(urls=("https://a.example/x",), level=3, by="admin"), "1 taken"),
    ("PATCH", "/v1/hosts/A.Example", {"delay_s": 5, "budget": None}, 200,
     PatchHost(host="a.example", delay_s=5.0, budget=None, by="admin"), "gap 7 s (operator)"),
    ("POST", "/v1/indexnow", {"key": "abcdefgh", "urlList": ["https://a.example/"], "host": "a.example"}, 202,
     Tell(key="abcdefgh", urls=("https://a.example/",)), "1 taken"),
    ("POST", "/v1/pause", {"reason": "a call"}, 200, Pause(reason="a call", by="admin"), "as you say"),
    ("POST", "/v1/resume", {}, 200, Resume(by="admin"), "as you say"),
    ("POST", "/v1/stop", {"at_once": True}, 200, Stop(at_once=True, by="admin"), "as you say"),
    ("PATCH", "/v1/limits", {"pages": 5, "duration_s": None}, 200,
     Change(pages=5, duration_s=None, by="admin"), "limits.pages: none -> 5"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "body", "status", "command", "result"), CHANGES, ids=lambda v: str(v)[:30])
def test_a_change_is_asked_for_done_and_written_down(
    server: Running,
    control: FakeControl,
    method: str,
    path: str,
    body: Any,
    status: int,
    command: AnyCommand,
    result: str,
) -> None:
    answer = server.ask(method, path, body)
    assert answer.status == status, answer.text
    assert control.asked == [command]
    asked, done = server.audited()
    assert (asked["step"], done["step"]) == ("asked", "done")
    assert asked["id"] == done["id"]
    assert (asked["who"], asked["role"], asked["address"]) == ("admin", "admin", "127.0.0.1")
    assert asked["what"] == f"{method} {path}"
    assert asked["crawl"] == "crawl"
    assert asked["request"]
    assert done["status"] == status
    assert done["result"].startswith(result)


def test_takedowns_are_told_with_their_steps(server: Running, control: FakeControl) -> None:
    made = server.post("/v1/takedown", {"scope": "site", "value": "a.example", "reason": "x"}, role="operate")
    assert made.headers["location"] == "/v1/takedown/td-1"
    told = server.get("/v1/takedown/td-1", role="read").json
    assert told["confirmed"] is True
    assert [step["name"] for step in told["takedown"]["steps"]] == ["recorded", "confirmed"]
    assert control.last == ListTakedowns(id="td-1")
    assert len(server.get("/v1/takedown", role="read").json["takedowns"]) == 1


def test_leases(server: Running, control: FakeControl) -> None:
    answer = server.get("/v1/frontier/lease?worker_id=w1&n=5", role="operate")
    (lease,) = answer.json
    assert {name: lease[name] for name in ("url", "host", "ip")} == {
        "url": "http://a.example/",
        "host": "a.example",
        "ip": "192.0.2.1",
    }
    assert lease["lease_expires_at"] > 0
    assert control.last == Lease(worker="w1", count=5)
    control.nothing_to_lease = True
    empty = server.get("/v1/frontier/lease?worker_id=w1", role="operate")
    assert (empty.status, empty.body) == (204, b"")
    assert int(empty.headers["retry-after"]) >= 1
    done = server.post(
        "/v1/frontier/complete", {"worker_id": "w1", "results": [{"lease": "secret", "status": 200, "body": "aGk="}]}
    )
    assert done.status == 200
    assert control.last == Complete(worker="w1", results=(Fetched(lease="secret", status=200, body=b"hi"),))
    assert server.audited() == []  # what fetchers do all the time is in the crawl log


@pytest.mark.parametrize(
    ("code", "status"),
    [("bad-value", 422), ("not-found", 404), ("conflict", 409), ("gone", 410), ("busy", 503), ("not-running", 409),
     ("failed", 500)],
)  # fmt: skip
def test_what_the_crawl_refuses(server: Running, control: FakeControl, code: Any, status: int) -> None:
    control.refusal = Refused(
        code=code, message="not so", field="target", value="*", allowed="less than all", retry_after_s=2.5
    )
    answer = server.post("/v1/takedown", {"scope": "pattern", "value": "*", "reason": "x"})
    assert answer.status == status
    assert answer.fault == {"error": "not so", "field": "body.value", "value": "*", "allowed": "less than all"}
    assert answer.headers["retry-after"] == "3"
    asked, refused = server.audited()
    assert (asked["step"], refused["step"], refused["status"]) == ("asked", "refused", status)
    assert refused["result"] == "not so: body.value: *"


@pytest.mark.parametrize(("method", "path", "body", "field", "named"), [
    ("GET", "/v1/takedown/td-0", None, "id", "path.id"),
    ("DELETE", "/v1/takedown/td-0", {}, "id", "path.id"),
    ("PATCH", "/v1/hosts/never.example", {"delay_s": 1}, "host", "path.host"),
    ("PATCH", "/v1/hosts/a.example", {"delay_s": 1}, "delay_s", "body.delay_s"),
    ("GET", "/v1/frontier/lease?worker_id=w", None, "count", "query.n"),
    ("POST", "/v1/indexnow", {"key": "abcdefgh", "urlList": ["x"]}, "urls", "body.urlList"),
    ("POST", "/v1/pause", {}, "", ""),
])  # fmt: skip
def test_a_refusal_names_the_field_as_the_request_has_it(
    server: Running, control: FakeControl, method: str, path: str, body: Any, field: str, named: str
) -> None:
    control.refusal = Refused(code="bad-value", message="not so", field=field)
    answer = server.ask(method, path, body)
    assert (answer.status, answer.fault.get("field", "")) == (422, named)


def test_a_fault_of_ours_is_told_and_written_down(server: Running, control: FakeControl) -> None:
    control.error = RuntimeError("secret words")
    answer = server.post("/v1/pause", {})
    assert answer.status == 500
    assert "secret words" not in answer.text
    assert [line["step"] for line in server.audited()] == ["asked", "refused"]


def test_what_cannot_be_written_down_is_not_done(serving: Callable[..., Running], control: FakeControl) -> None:
    server = serving()
    os.dup2(os.open("/dev/full", os.O_WRONLY), server.audit._file)
    answer = server.post("/v1/pause", {})
    assert answer.status == 503
    assert "nothing was changed" in answer.fault["error"]
    assert control.asked == []
