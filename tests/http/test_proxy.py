"""Requests through proxies: a real forwarding proxy of each kind, written here, that keeps what it was told."""

from __future__ import annotations

import asyncio
import ipaddress
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
import uvloop

from gossamer.adapters.http.proxy import parse_proxy
from gossamer.model.errors import ConfigError
from gossamer.model.page import Failure, Outcome
from tests.http.raw_server import Handler, Peer, answers, make_client, make_request, serve

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


async def _relay(peer: Peer, host: str, port: int) -> None:
    reader, writer = await asyncio.open_connection(host, port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)
        sink.close()

    await asyncio.gather(pump(peer.reader, writer), pump(reader, peer.writer))


async def http_proxy(peer: Peer) -> None:
    """CONNECT, or one absolute-form request."""
    head = await peer.request()
    method, target, _ = head.split(b" ", 2)
    if method == b"CONNECT":
        host, _, port = target.decode().rpartition(":")
        await peer.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await _relay(peer, host.strip("[]"), int(port))
    else:
        await peer.send(HELLO)


def socks5_proxy(log: list[object]) -> Handler:
    """SOCKS5 with user and password when the client offers them."""

    async def handle(peer: Peer) -> None:
        _, count = await peer.reader.readexactly(2)
        methods = await peer.reader.readexactly(count)
        if 2 in methods:
            await peer.send(b"\x05\x02")
            _, length = await peer.reader.readexactly(2)
            user = await peer.reader.readexactly(length)
            password = await peer.reader.readexactly((await peer.reader.readexactly(1))[0])
            log.append((user, password))
            await peer.send(b"\x01\x00" if password == b"s3:cret" else b"\x01\x01")
        else:
            await peer.send(b"\x05\x00")
        _, _, _, kind = await peer.reader.readexactly(4)
        address = str(ipaddress.ip_address(await peer.reader.readexactly(4 if kind == 1 else 16)))
        port = int.from_bytes(await peer.reader.readexactly(2), "big")
        log.append((kind, address))
        await peer.send(b"\x05\x00\x00\x03\x04host\x00\x50")
        await _relay(peer, address, port)

    return handle


async def through(kind: str, handler: Handler, user: str = "", **changes: object) -> tuple[Outcome, list[bytes]]:
    async with serve(handler) as proxy, serve(answers(HELLO, HELLO)) as target:
        client = make_client(proxy=f"{kind}://{user}127.0.0.1:{proxy.port}")
        outcome = await client.fetch(make_request(target.port, **changes))
        await client.close()
        return outcome, proxy.requests


def test_plain_http_goes_in_absolute_form_and_credentials_stay_out_of_the_record() -> None:
    outcome, requests = uvloop.run(through("http", http_proxy, "me:s3%3Acret@", target="/x?y"))
    assert outcome.payload == b"hello"
    line, _, rest = requests[0].partition(b"\r\n")
    assert line.startswith(b"GET http://host.example:")
    assert line.endswith(b"/x?y HTTP/1.1")
    assert b"\r\nProxy-Authorization: Basic bWU6czM6Y3JldA==\r\n" in b"\r\n" + rest
    assert b"Proxy-Authorization" not in outcome.request_bytes
    assert outcome.request_bytes.startswith(line)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_https_goes_through_connect_to_the_vetted_address(tmp_path: Path) -> None:
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=host.example -keyout k.pem -out c.pem"
    subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "c.pem", tmp_path / "k.pem")

    async def run() -> tuple[list[Outcome], list[bytes], int]:
        async with serve(http_proxy) as proxy, serve(answers(HELLO, HELLO), tls=context) as target:
            client = make_client(proxy=f"http://127.0.0.1:{proxy.port}")
            outcomes = [await client.fetch(make_request(target.port, scheme="https")) for _ in range(2)]
            await client.close()
            return outcomes, proxy.requests, target.port

    outcomes, requests, port = uvloop.run(run())
    assert [outcome.payload for outcome in outcomes] == [b"hello", b"hello"]
    assert [outcome.reused for outcome in outcomes] == [False, True]
    assert {request.split(b"\r\n", 1)[0] for request in requests} == {f"CONNECT 127.0.0.1:{port} HTTP/1.1".encode()}
    assert outcomes[0].request_bytes.startswith(b"GET / HTTP/1.1\r\nHost: host.example:")


@pytest.mark.parametrize("user", ["", "me:s3%3Acret@"])
def test_socks5_names_the_vetted_address(user: str) -> None:
    log: list[object] = []
    outcome, _ = uvloop.run(through("socks5", socks5_proxy(log), user))
    assert outcome.payload == b"hello"
    assert outcome.request_bytes.startswith(b"GET / HTTP/1.1\r\nHost: host.example:")
    assert log == [*([(b"me", b"s3:cret")] if user else []), (1, "127.0.0.1")]


def test_address_of_the_target_is_vetted_through_a_proxy_too() -> None:
    outcome, requests = uvloop.run(through("http", http_proxy, address="10.0.0.1"))
    assert (outcome.failure, requests) == (Failure.ADDRESS, [])


@pytest.mark.parametrize(
    ("scheme", "speech"),
    [
        ("http", b"HTTP/1.1 403 Forbidden\r\n\r\n"),
        ("http", b"garbage\r\n\r\n"),
        ("http", b"HTTP/1.1 200 OK\r\n\r\nearly bytes"),
        ("http", b""),
        ("socks5", b"\x05\x00\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"),
        ("socks5", b"\x05"),
    ],
)
def test_proxy_that_refuses_or_talks_nonsense(scheme: str, speech: bytes) -> None:
    async def handle(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(speech)

    outcome, _ = uvloop.run(through(scheme, handle, scheme="https"))
    assert outcome.failure is Failure.PROXY
    assert outcome.failure_detail


@pytest.mark.parametrize(
    ("kind", "scheme", "speech"),
    [
        ("http", "http", b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"),
        ("http", "https", b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"),
        ("socks5", "http", b"\x05\xff"),
        ("socks5", "http", b"\x04\x00"),
        ("socks5", "https", b"\x05\x02"),
    ],
)
def test_proxy_that_does_not_let_us_in_is_no_fault_of_the_host(kind: str, scheme: str, speech: bytes) -> None:
    async def handle(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(speech)

    outcome, _ = uvloop.run(through(kind, handle, scheme=scheme))
    assert outcome.failure is Failure.OURS
    assert outcome.failure_detail


def test_proxy_that_is_not_there() -> None:
    async def run() -> Outcome:
        async with serve(http_proxy) as gone:
            port = gone.port
        return await make_client(proxy=f"http://127.0.0.1:{port}").fetch(make_request(80))

    outcome = uvloop.run(run())
    assert outcome.failure is Failure.OURS
    assert "ECONNREFUSED" in outcome.failure_detail


@pytest.mark.parametrize(
    "text", ["ftp://a:1", "http://", "a:80", "http://a:99999", "http://a/path", "socks5://" + "u" * 300 + ":p@a"]
)
def test_bad_proxy_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.proxy"):
        parse_proxy(text)


def test_default_ports() -> None:
    assert parse_proxy("") is None
    for text, port in (("http://p.example", 8080), ("socks5://p.example", 1080), ("http://[::1]:3128/", 3128)):
        proxy = parse_proxy(text)
        assert proxy is not None
        assert proxy.port == port
