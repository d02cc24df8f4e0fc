"""The dashboard without a browser: sessions, who may send what, and that nothing from the web is obeyed."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from gossamer.model.control import PatchHost, Pause, Refused, Resume, Stop, TakeDown
from gossamer.model.takedown import Target
from gossamer.serve import streams
from gossamer.serve.tokens import TokenBook
from tests.reader.making import Made
from tests.serve.fakes import FakeControl
from tests.serve.server import Answer, Running

PAGES = ("/", "/hosts", "/host?host=a.example", "/url", "/url?url=https%3A%2F%2Fa.example%2F", "/takedowns", "/doctor")
SAME = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def send(server: Running, path: str, fields: dict[str, str], cookie: str = "", **headers: str) -> Answer:
    """A form, as a browser sends it from our own page."""
    sent = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": server.base,
        "Cookie": f"gossamer_session={cookie}",
        **SAME,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return server.ask("POST", path, raw=urlencode(fields).encode(), role=None, headers=sent)


def log_in(server: Running, role: str) -> str:
    answer = send(server, "/login", {"token": server.tokens[role]})
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    for flag in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"):
        assert flag in cookie
    assert "Secure" not in cookie  # it came over http, which only loopback does without a token
    return cookie.partition("=")[2].partition(";")[0]


def look(server: Running, path: str, cookie: str = "", **headers: str) -> Answer:
    sent = {"Cookie": f"gossamer_session={cookie}", **{name.replace("_", "-"): v for name, v in headers.items()}}
    return server.get(path, role=None, headers=sent)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_wants_a_session_and_has_its_headers(server: Running, path: str) -> None:
    stranger = look(server, path)
    assert stranger.status == 401
    assert 'type="password"' in stranger.text
    assert "a.example" not in stranger.text.replace("host=a.example", "").replace("a.example%2F", "")
    bearer = server.get(path, role="admin")
    assert bearer.status == 401  # tokens are for programs
    page = look(server, path, log_in(server, "read"))
    assert page.status == 200, page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert page.headers["cache-control"] == "no-store"
    assert " style=" not in page.text
    assert " onclick" not in page.text
    assert "<script>" not in page.text
    assert "Log out" in page.text


def test_without_tokens_pages_are_open_and_have_no_forms(serving: Callable[..., Running]) -> None:
    server = serving(is_open=True)
    for path in PAGES:
        page = look(server, path)
        assert page.status == 200
        assert 'method="post"' not in page.text
    refused = send(server, "/do/pause", {"reason": "x"})
    assert refused.status == 403


def test_forms_do_what_the_api_does(server: Running, control: FakeControl) -> None:
    cookie = log_in(server, "admin")
    for path, fields, command, back in (
        ("/do/pause", {"reason": "a call"}, Pause(reason="a call", by="admin"), "/"),
        ("/do/resume", {}, Resume(by="admin"), "/"),
        ("/do/stop", {"reason": "enough", "sure": "on"}, Stop(reason="enough", by="admin"), "/"),
        ("/do/takedown", {"scope": "host", "value": " a.example ", "reason": "asked", "ticket": ""},
         TakeDown(target=Target("host", "a.example"), reason="asked", by="admin"), "/takedowns"),
        ("/do/host", {"host": "a.example", "delay_s": "2.5", "park_s": "", "budget": "", "reset": "on"},
         PatchHost(host="a.example", delay_s=2.5, reset=True, by="admin"), "/host?host=a.example"),
    ):  # fmt: skip
        answer = send(server, path, fields, cookie)
        assert (answer.status, answer.headers.get("location")) == (303, back), answer.text
        assert control.last == command
        assert 'role="status"' in look(server, back, cookie).text
    assert [line["step"] for line in server.audited()] == ["asked", "done"] * 5
    assert {line["who"] for line in server.audited()} == {"admin"}


def test_forms_that_are_wrong_are_told_so(server: Running, control: FakeControl) -> None:
    cookie = log_in(server, "operate")
    answer = send(server, "/do/host", {"host": "a.example", "delay_s": "soon"}, cookie)
    assert answer.status == 422
    assert "body.delay_s" in answer.text
    assert "a number from 0 to 86,400 or null" in answer.text
    assert send(server, "/do/stop", {}, cookie).status == 403
    assert send(server, "/do/nothing", {}, cookie).status == 404
    assert control.asked == []
    control.refusal = Refused(code="conflict", message="it is paused <b>already</b>")
    answer = send(server, "/do/pause", {}, cookie)
    assert answer.status == 409
    assert "&lt;b&gt;already" in answer.text
    assert [line["status"] for line in server.audited() if line["step"] == "refused"] == [422, 403, 409]


CROSS = [
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null", "Sec_Fetch_Site": ""},
    {"Origin": "null", "Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "cross-site", "Origin": "https://evil.example"},
]


@pytest.mark.parametrize("headers", CROSS, ids=str)
def test_what_another_site_sends_is_refused(server: Running, control: FakeControl, headers: dict[str, str]) -> None:
    cookie = log_in(server, "admin")
    assert send(server, "/do/pause", {}, cookie, **headers).status == 403
    assert send(server, "/login", {"token": server.tokens["admin"]}, **headers).status == 403
    assert send(server, "/logout", {}, cookie, **headers).status == 403
    assert look(server, "/", cookie, Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image", **headers).status == 403
    assert look(server, "/events?page=/", cookie, Sec_Fetch_Mode="cors", **headers).status == 403
    assert control.asked == []
    assert look(server, "/", cookie).status == 200  # still logged in


def test_a_form_that_does_not_say_where_it_is_from_is_refused(server: Running, control: FakeControl) -> None:
    cookie = log_in(server, "admin")
    bare = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": f"gossamer_session={cookie}"}
    assert server.ask("POST", "/do/pause", raw=b"reason=x", role=None, headers=bare).status == 403
    assert control.asked == []


def test_following_a_link_to_us_is_allowed(server: Running) -> None:
    headers = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert look(server, "/", log_in(server, "read"), **headers).status == 200
    framed = headers | {"Sec_Fetch_Dest": "iframe"}
    assert look(server, "/", log_in(server, "read"), **framed).status == 403


def test_sessions_end(serving: Callable[..., Running]) -> None:
    server = serving()
    first, second = log_in(server, "read"), log_in(server, "operate")
    assert first != second
    out = send(server, "/logout", {}, first)
    assert out.headers["location"] == "/login"
    assert look(server, "/", first).status == 401
    TokenBook(server.home).revoke("operate")
    assert look(server, "/", second).status == 401
    assert look(server, "/", "guess").status == 401


@pytest.mark.parametrize("where", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_logging_in_leads_nowhere_else(server: Running, where: str) -> None:
    answer = send(server, "/login", {"token": server.tokens["read"], "next": where})
    assert answer.headers["location"] == "/"


def test_a_wrong_token_is_refused_and_written_down(server: Running) -> None:
    answer = send(server, "/login", {"token": "gsm_wrong"})
    assert answer.status == 401
    assert "not known, revoked or expired" in answer.text
    assert "gsm_wrong" not in answer.text + str(server.audited())
    assert server.audited()[-1]["what"] == "POST /login"


def test_nothing_from_the_web_is_obeyed(server: Running) -> None:
    cookie = log_in(server, "read")
    hostile = "http://a.example/<script>alert(1)</script>\"'>&\u202e\x1b[31m"
    page = look(server, "/url?" + urlencode({"url": hostile}), cookie)
    assert page.status == 200
    assert "<script>alert" not in page.text
    assert "\u202e" not in page.text
    assert "\x1b" not in page.text
    page = look(server, "/hosts?" + urlencode({"after": '"><script>x'}), cookie)
    assert "<script>x" not in page.text
    assert look(server, "/hosts?" + urlencode({"state": "<b>"}), cookie).status == 422
    assert look(server, "/host?host=never.example", cookie).status == 404
    assert look(server, "/static/../pages.py", cookie).status == 404
    assert look(server, "/static/%2e%2e%2fpages.py", cookie).status == 404


def test_the_stream_sends_what_has_changed(server: Running) -> None:
    cookie = log_in(server, "read")
    assert look(server, "/events?page=/nowhere", cookie).status == 404
    head = server.ask("HEAD", "/events?page=/", role=None, headers={"Cookie": f"gossamer_session={cookie}"})
    assert (head.status, head.body) == (200, b"")
    assert look(server, "/events?page=/").status == 401
    request = f"GET /events?page=%2F HTTP/1.1\r\nHost: localhost\r\nCookie: gossamer_session={cookie}\r\n\r\n"
    with server.connect() as connection:
        connection.sendall(request.encode())
        data = b""
        while data.count(b"\n\n") < 3:
            part = connection.recv(65_536)
            assert part
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"text/event-stream" in head
    assert body.count(b'"tiles":') == 1  # the crawl does not run: nothing changes
    assert b": nothing new" in body


def test_several_crawls_are_told_apart(serving: Callable[..., Running], crawl: Made, tmp_path: Path) -> None:
    other = crawl.copy(tmp_path / "other")
    server = serving(crawl.directory, other.directory, is_open=True)
    assert "<h1>crawl</h1>" in look(server, "/").text
    assert look(server, "/?crawl=third").status == 404
    page = look(server, "/hosts?crawl=other").text
    assert 'href="/host?host=a.example&amp;crawl=other"' in page
    assert 'href="/doctor?crawl=other"' in page
    assert 'href="/hosts?crawl=crawl"' in page


def test_what_is_typed_is_found(server: Running) -> None:
    cookie = log_in(server, "read")
    for asked, where in (
        ("A.example", "/host?host=a.example"),
        (" b.example ", "/host?host=b.example"),
        ("never.example", "/url?url=never.example"),
        ("https://a.example/p/1", "/url?url=https%3A%2F%2Fa.example%2Fp%2F1"),
        ("//evil.example", "/url?url=%2F%2Fevil.example"),
        ("", "/url?url="),
    ):
        answer = look(server, f"/find?{urlencode({'q': asked})}", cookie)
        assert (answer.status, answer.headers["location"]) == (303, where)
    assert look(server, "/find?q=a.example").status == 401


def test_hosts_in_order_of_what_they_have_most_of(server: Running) -> None:
    cookie = log_in(server, "read")
    names = [look(server, f"/hosts?sort={sort}", cookie).text for sort in ("name", "queued", "fetched", "response")]
    for page in names:
        assert page.index(">a.example</a>") < page.index(">b.example</a>")  # it has more of everything
    assert ">a.example</a>" not in look(server, "/hosts?sort=queued&state=parked", cookie).text
    refused = look(server, "/hosts?sort=age", cookie)
    assert refused.status == 422
    assert "name, queued, fetched" in refused.text


def test_known_urls_that_begin_alike(server: Running) -> None:
    cookie = log_in(server, "read")
    page = look(server, "/url?url=a.example/p/2*", cookie).text
    found = [part.partition("<")[0] for part in page.split('">https://a.example/p/')[1:]]
    assert found == ["2", *(str(number) for number in range(20, 30))]
    assert "None." in look(server, "/url?url=https://never.example/*", cookie).text
    assert look(server, "/url?url=ftp://a.example/*", cookie).status == 422


def test_the_story_of_a_host_has_its_rules(server: Running) -> None:
    page = look(server, "/host?host=a.example", log_in(server, "operate")).text
    assert "<li>Disallow: /none</li>" in page
    assert "no rule against it" in page
    assert "Requests over time" in page
    assert 'name="scope" value="host"' in page
    chosen = look(server, "/takedowns?scope=prefix&value=https%3A%2F%2Fa.example%2Fp", log_in(server, "operate")).text
    assert '<option value="prefix" selected>' in chosen
    assert 'value="https://a.example/p"' in chosen


def test_times_in_forms_have_units_and_orders_can_be_taken_back(server: Running, control: FakeControl) -> None:
    cookie = log_in(server, "operate")
    orders: list[tuple[dict[str, str], dict[str, Any]]] = [
        ({"delay_s": "1m30s", "park_s": "2h", "reason": "they asked"},
         {"delay_s": 90.0, "park_s": 7_200.0, "park_reason": "they asked"}),
        ({"undo": "park_s"}, {"park_s": None}),
        ({"undo": "delay_s"}, {"delay_s": None}),
        ({"undo": "budget"}, {"budget": None}),
    ]  # fmt: skip
    for fields, changes in orders:
        assert send(server, "/do/host", {"host": "a.example", **fields}, cookie).status == 303
        assert control.last == PatchHost(host="a.example", by="operate", **changes)
    for undo in ("by", "host", "nothing"):
        assert send(server, "/do/host", {"host": "a.example", "undo": undo}, cookie).status == 422


def test_a_refusal_leads_back_to_where_somebody_was(server: Running) -> None:
    cookie = log_in(server, "read")
    for came, back in (
        (f"{server.base}/hosts?state=parked", "/hosts?state=parked"),
        ("https://evil.example/hosts", "/"),
        (f"{server.base}//evil.example", "/"),
        (f"{server.base}/\\evil.example", "/"),
        ("http://[", "/"),
    ):
        page = look(server, "/host?host=never.example", cookie, Referer=came)
        assert page.status == 404
        assert f'<a href="{back}">Back</a>' in page.text
        assert 'aria-label="Pages"' in page.text


@pytest.mark.parametrize("name", ["Origin", "Host", "Referer"])
def test_addresses_that_are_none_in_headers(server: Running, name: str) -> None:
    for value in ("http://[", "[", "http://[::1", "//", "\u2100.example".encode().decode("latin-1")):
        for path in ("/", "/login", "/v1/status", "/nowhere"):
            answer = server.get(path, role=None, headers={name: value})
            assert answer.status in (200, 400, 401, 403, 404, 421), (path, value, answer.status)


def test_nobody_keeps_the_others_from_looking(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STREAMS_PER_VISITOR_MAX", 2)
    mine, other = log_in(server, "read"), log_in(server, "operate")

    with ExitStack() as stack:

        def opened(cookie: str) -> tuple[socket.socket, bytes]:
            connection = stack.enter_context(server.connect())
            head = f"GET /events?page=/ HTTP/1.1\r\nHost: localhost\r\nCookie: gossamer_session={cookie}\r\n\r\n"
            connection.sendall(head.encode())
            data = connection.recv(65_536)
            while data.startswith(b"HTTP/1.1 200 ") and b"data: " not in data:
                data += connection.recv(65_536)
            return connection, data[:12]

        held = [opened(mine) for _ in range(2)]
        assert [status for _, status in held] == [b"HTTP/1.1 200"] * 2
        assert opened(mine)[1] == b"HTTP/1.1 503"
        assert opened(other)[1] == b"HTTP/1.1 200"
        held[0][0].close()
        deadline = time.monotonic() + 10
        while opened(mine)[1] != b"HTTP/1.1 200":
            assert time.monotonic() < deadline
            time.sleep(0.1)
