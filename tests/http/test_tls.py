"""TLS against real servers with certificates of our own making."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gossamer.adapters.http.tls import Mode, TlsStore, Trust, iana_name
from gossamer.model.page import Failure, Outcome
from tests.http.raw_server import RUNNERS, FixedClock, Peer, answers, make_client, make_request, serve, until

HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate (and its key in the same file) for three names and an address."""
    folder = tmp_path_factory.mktemp("tls")
    names = "DNS:host.example,DNS:under_score.example,DNS:other.example,IP:127.0.0.1"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=host.example -keyout key.pem -out cert.pem"
    subprocess.run(
        [*command.split(), "-addext", f"subjectAltName={names}"], cwd=folder, check=True, capture_output=True
    )
    pair = folder / "pair.pem"
    pair.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return pair


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the certificate one of the system's."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def server_context(certificate: Path, names: list[str | None] | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    if names is not None:
        context.sni_callback = lambda _socket, name, _context: names.append(name)
    return context


def old_context(certificate: Path) -> ssl.SSLContext:
    """A server that has only TLS 1.0 and a cipher of its time."""
    context = server_context(certificate)
    context.set_ciphers("AES128-SHA:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1
    return context


async def fetch(context: ssl.SSLContext, count: int = 1, **changes: Any) -> tuple[list[Outcome], int]:
    options = changes.pop("client", {})
    async with serve(answers(*[HELLO] * count), tls=context) as server:
        client = make_client(**options)
        outcomes = [await client.fetch(make_request(server.port, scheme="https", **changes)) for _ in range(count)]
        await client.close()
        return outcomes, server.connections


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("runner", RUNNERS)
def test_verified_connection_is_recorded_and_reused(certificate: Path, runner: str) -> None:
    outcomes, connections = RUNNERS[runner](fetch(server_context(certificate), 3, client={"verify_tls": True}))
    assert connections == 1
    assert [outcome.payload for outcome in outcomes] == [b"hello"] * 3
    assert [outcome.reused for outcome in outcomes] == [False, True, True]
    for outcome in outcomes:
        assert (outcome.tls_version, outcome.tls_error) == ("TLSv1.3", "")
        assert outcome.tls_cipher.startswith("TLS_AES_")
        assert outcome.wire_bytes > len(HELLO)


@pytest.mark.parametrize("runner", RUNNERS)
def test_certificate_that_does_not_verify_is_recorded_and_let_pass(certificate: Path, runner: str) -> None:
    (outcome,), connections = RUNNERS[runner](fetch(server_context(certificate)))
    assert (outcome.failure, outcome.payload, outcome.tls_version) == (None, b"hello", "TLSv1.3")
    assert "self-signed certificate" in outcome.tls_error
    assert connections == 1  # the first went no further than its handshake, and asyncio counts whole ones


def test_certificate_that_does_not_verify_is_a_failure_when_policy_says_so(certificate: Path) -> None:
    (outcome,), connections = uvloop.run(fetch(server_context(certificate), client={"verify_tls": True}))
    assert (outcome.failure, outcome.request_bytes) == (Failure.TLS, b"")
    assert "self-signed certificate" in outcome.failure_detail
    assert connections == 0


@pytest.mark.usefixtures("trusted")
def test_certificate_of_another_name_is_recorded(certificate: Path) -> None:
    (outcome,), _ = uvloop.run(fetch(server_context(certificate), name="wrong.example"))
    assert outcome.payload == b"hello"
    assert "wrong.example" in outcome.tls_error


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(
    ("name", "sni"),
    [
        ("host.example", "host.example"),
        ("host.example.", "host.example"),
        ("127.0.0.1", None),  # RFC 6066 section 3: no addresses
    ],
)
def test_connecting_to_an_address_keeps_the_name_in_sni(certificate: Path, name: str, sni: str | None) -> None:
    names: list[str | None] = []
    (outcome,), _ = uvloop.run(fetch(server_context(certificate, names), name=name, client={"verify_tls": True}))
    assert (outcome.payload, outcome.tls_error) == (b"hello", "")
    assert names == [sni]


@pytest.mark.usefixtures("trusted")
def test_host_with_underscore_gets_its_name_in_sni(certificate: Path) -> None:
    names: list[str | None] = []
    context = server_context(certificate, names)
    (outcome,), _ = uvloop.run(fetch(context, name="under_score.example", client={"verify_tls": True}))
    assert (outcome.payload, names) == (b"hello", ["under_score.example"])


@pytest.mark.parametrize("name", ["x" * 64 + ".example", "a..example", "\x00", "hg--69.example"])
def test_name_that_cannot_be_in_a_certificate_never_raises(certificate: Path, name: str) -> None:
    (outcome,), _ = uvloop.run(fetch(server_context(certificate), name=name))
    assert outcome.failure in (Failure.TLS, Failure.PROTOCOL, None)


def test_old_server_gets_a_lenient_handshake_which_is_remembered(certificate: Path) -> None:
    async def run() -> tuple[list[Outcome], int]:
        async def handle(peer: Peer) -> None:
            await peer.request()
            await peer.send(HELLO)

        async with serve(handle, tls=old_context(certificate)) as server:
            client = make_client()
            outcomes = [await client.fetch(make_request(server.port, scheme="https")) for _ in range(3)]
            trust = client._tls.trust("host.example", server.port)
            assert (trust.mode, bool(trust.error)) == (Mode(lenient=True, verify=False), True)
            return outcomes, server.connections

    outcomes, _ = uvloop.run(run())
    for outcome in outcomes:
        assert (outcome.failure, outcome.payload) == (None, b"hello"), outcome.failure_detail
        assert (outcome.tls_version, outcome.tls_cipher) == ("TLSv1", "TLS_RSA_WITH_AES_128_CBC_SHA")
        assert "self-signed" in outcome.tls_error


@pytest.mark.usefixtures("trusted")
def test_lenient_handshake_still_verifies(certificate: Path) -> None:
    (outcome,), _ = uvloop.run(fetch(old_context(certificate), client={"verify_tls": True}))
    assert (outcome.payload, outcome.tls_version, outcome.tls_error) == (b"hello", "TLSv1", "")


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n"])
def test_sessions_are_resumed_on_new_connections(certificate: Path, head: bytes) -> None:
    resumed: list[bool] = []

    async def handle(peer: Peer) -> None:
        resumed.append(peer.writer.get_extra_info("ssl_object").session_reused)
        await peer.request()
        await peer.send(head + b"Content-Length: 5\r\n\r\nhello")

    async def run() -> None:
        async with serve(handle, tls=server_context(certificate)) as server:
            client = make_client()
            for _ in range(3):
                assert (await client.fetch(make_request(server.port, scheme="https"))).payload == b"hello"
                await until(lambda: not len(client._pool))

    asyncio.run(run())
    assert resumed == [False, True, True]


@pytest.mark.parametrize(
    "speech", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP here", b"\x15\x03\x01\x00\x02\x02\x28"]
)
def test_server_that_speaks_no_tls(speech: bytes) -> None:
    async def handle(peer: Peer) -> None:
        await peer.reader.read(100)
        await peer.send(speech)

    async def run() -> Outcome:
        async with serve(handle) as server:
            return await make_client().fetch(make_request(server.port, scheme="https"))

    outcome = uvloop.run(run())
    assert outcome.failure is Failure.TLS
    assert outcome.failure_detail
    assert outcome.elapsed_s < 2


def test_handshake_that_never_ends_meets_the_connect_deadline() -> None:
    async def handle(peer: Peer) -> None:
        await peer.drip(b"\x16\x03\x03\x40\x00" + b"\x00" * 1000, 0.01)

    async def run() -> Outcome:
        async with serve(handle) as server:
            return await make_client().fetch(make_request(server.port, scheme="https", connect_timeout_s=0.3))

    outcome = uvloop.run(run())
    assert outcome.failure is Failure.CONNECT_TIMEOUT
    assert outcome.elapsed_s < 1.5


@pytest.mark.usefixtures("trusted")
def test_body_that_ends_without_a_close_alert(certificate: Path) -> None:
    async def handle(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000)

    async def run() -> Outcome:
        async with serve(handle, tls=server_context(certificate)) as server:
            return await make_client().fetch(make_request(server.port, scheme="https"))

    outcome = uvloop.run(run())
    assert (len(outcome.payload), outcome.truncated) == (100_000, "")


def test_what_is_remembered_of_hosts_is_bounded_and_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.adapters.http.tls.TLS_HOSTS_MAX", 2)
    clock = FixedClock()
    store = TlsStore(clock, must_verify=False)
    trust = Trust(Mode(lenient=True, verify=False), "old")
    for name in ("a", "b", "c"):
        store.learn(name, 443, trust)
    assert [store.trust(name, 443) == trust for name in ("a", "b", "c")] == [False, True, True]
    store.learn("b", 443, Trust())
    assert store.trust("b", 443) == Trust()
    clock.time += 2 * 86_400
    assert store.trust("c", 443) == Trust()


def test_cipher_names_are_those_of_iana() -> None:
    listed = subprocess.run(
        ["openssl", "ciphers", "-stdname", "ALL:COMPLEMENTOFALL:!PSK:!SRP:@SECLEVEL=0"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    pairs = [(line.split()[0], line.split()[2]) for line in listed]
    assert len(pairs) > 60
    assert [iana_name(own) for _, own in pairs] == [iana for iana, _ in pairs]


def test_no_fetch_waits_for_the_trusted_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TlsStore(FixedClock(), must_verify=False)
    store.prepare()
    monkeypatch.setattr(ssl, "create_default_context", None)  # reads them: 20 ms
    monkeypatch.setattr(ssl, "SSLContext", None)
    for lenient in (False, True):
        for verify in (True, False):
            assert not store.open("host.example", 443, Mode(lenient=lenient, verify=verify)).closed
