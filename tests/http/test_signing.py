"""Signed requests as a receiving server verifies them: from the bytes that came over the socket and our public key."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gossamer.adapters.signing import (
    Signer,
    SigningKey,
    authority_of,
    create_key,
    directory_headers,
    load_keys,
    request_headers,
)
from gossamer.core.turn import Turn
from gossamer.model.config import Config
from gossamer.model.errors import ConfigError
from gossamer.model.page import Kind, Outcome
from gossamer.stage.fetch import SIGNATURE_S, FetchStage
from tests.http.raw_server import Peer, make_client, serve
from tests.support.signatures import verified

AGENT = "https://crawl.example.org/.well-known/http-message-signatures-directory"
# The Ed25519 key of RFC 9421, appendix B.1.4, and the vectors of draft-ietf-webbotauth-httpsig-protocol, appendix E.2.
VECTOR_KEY = SigningKey(
    Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU="))
)
KEY_ID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
NONCE = "n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="
REQUEST = "RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg=="
DIGEST = "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"
DIRECTORY = "l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg=="


def test_the_published_vectors() -> None:
    assert VECTOR_KEY.jwk.kid == KEY_ID
    agent = "https://signature-agent.test"
    made = dict(request_headers(VECTOR_KEY, agent, "example.com", 1735689600, 4889289600, NONCE, ("sig2", "agent2")))
    assert made["Signature-Agent"] == 'agent2="https://signature-agent.test"'
    assert made["Signature"] == f"sig2=:{REQUEST}:"
    made = dict(directory_headers(VECTOR_KEY, "binding", "signature-agent.test", DIGEST, 1735689600, 4889289600))
    assert made["Signature"] == f"binding=:{DIRECTORY}:"


def fields_of(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")[1:-2]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def turn(name: str, port: int, target: str) -> Turn:
    return Turn(
        id=1, host=f"{name}:{port}", lane="l", kind=Kind.PAGE, url=f"http://{name}:{port}{target}", key="k",
        scheme="http", name=name, port=port, target=target, address="127.0.0.1", started=1_700_000_000.25,
    )  # fmt: skip


def asked(sign: Any) -> tuple[list[bytes], list[Outcome], int]:
    """Two requests at two names of one server, as a redirect leads from the one to the other."""

    async def answer(peer: Peer) -> None:
        while await peer.request():
            await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def run() -> tuple[list[bytes], list[Outcome], int]:
        async with serve(answer) as server:
            client = make_client()
            stage = FetchStage(Config(), client, lambda body, *_: body, sign)
            outcomes = [(await stage.fetch(turn(name, server.port, "/x?y")))[0] for name in ("a.example", "b.example")]
            await client.close()
            return server.requests, outcomes, server.port

    return asyncio.run(run())


def test_each_request_is_signed_for_where_it_goes(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    heads, outcomes, port = asked(Signer((SigningKey(key),), AGENT).request)
    told = [verified(fields_of(head), key.public_key()) for head in heads]
    assert [one["host"] for one in told] == [f"a.example:{port}", f"b.example:{port}"]
    for one in told:
        assert one["agent"] == f'"{AGENT}"'
        assert (one["alg"], one["tag"]) == ('"ed25519"', '"web-bot-auth"')
        assert one["keyid"] == f'"{SigningKey(key).jwk.kid}"'
        assert (int(one["created"]), int(one["expires"])) == (1_700_000_000, 1_700_000_030 + int(SIGNATURE_S))
    assert told[0]["nonce"] != told[1]["nonce"]
    with pytest.raises(InvalidSignature):
        verified(fields_of(heads[0].replace(b"a.example", b"c.example")), key.public_key())
    assert [outcome.request_bytes for outcome in outcomes] == heads, "archived as it was sent"


def test_without_a_key_nothing_of_it_is_sent() -> None:
    heads, _, _ = asked(None)
    assert [head for head in heads if b"signature" in head.lower()] == []


@pytest.mark.parametrize(("scheme", "host", "authority"), [
    ("https", "Example.ORG", "example.org"), ("https", "example.org:443", "example.org"),
    ("http", "example.org:80", "example.org"), ("https", "example.org:80", "example.org:80"),
    ("http", "[::1]:8080", "[::1]:8080"),
])  # fmt: skip
def test_authorities(scheme: str, host: str, authority: str) -> None:
    assert authority_of(scheme, host) == authority


def test_a_key_file_is_its_owners_alone_and_may_hold_the_next_key(tmp_path: Path) -> None:
    path, other = tmp_path / "key.pem", tmp_path / "next.pem"
    made, later = create_key(path), create_key(other)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [key.jwk for key in load_keys(path)] == [made.jwk]
    with pytest.raises(ConfigError, match="is there already"):
        create_key(path)
    with pytest.raises(ConfigError, match="cannot be written"):
        create_key(tmp_path / "none" / "key.pem")
    path.write_bytes(other.read_bytes() + path.read_bytes())
    assert [key.jwk for key in load_keys(path)] == [later.jwk, made.jwk]
    path.chmod(0o640)
    with pytest.raises(ConfigError, match=r"can be read by others \(mode 640\); allowed is 600"):
        load_keys(path)


def pem(key: Any) -> bytes:
    made: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return made


@pytest.mark.parametrize("data", [
    b"", b"x", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
    pem(generate_private_key(SECP256R1())), pem(Ed25519PrivateKey.generate()) + b" " * 70_000,
], ids=["nothing", "no PEM", "no key", "another kind", "too long"])  # fmt: skip
def test_what_is_no_key_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="holds no such key; allowed: Ed25519 keys in PEM"):
        load_keys(path)
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_keys(path)
