"""`gossamer serve` and `gossamer token` as commands: what is refused before anything listens, and TLS by files."""

from __future__ import annotations

import json
import ssl
import urllib.request
from pathlib import Path

import pytest
import trustme

from gossamer.serve.listen import parse_address
from gossamer.surface import cli
from tests.reader.making import Made
from tests.support.serving import Serving


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:80", "127.0.0.1", 80),
        (":8080", "0.0.0.0", 8080),
        ("[::1]:1", "::1", 1),
        ("localhost:0", "127.0.0.1", 0),
    ],
)
def test_addresses(text: str, host: str, port: int) -> None:
    found = parse_address(text)
    assert (found.host, found.port) == (host, port)
    assert found.is_loopback == (host != "0.0.0.0")


BAD = [
    (["--listen", "8080"], "--listen 8080 is not allowed; it must be an address and a port"),
    (["--listen", "127.0.0.1:99999"], "is not allowed"),
    (["--listen", "example.com:80"], "is not allowed"),
    (["--listen", ":0"], "holds no token: make one first (gossamer token create NAME --role read)"),
    (["--listen", "192.0.2.1:80"], "holds no token"),
    (["--listen", "[::]:80"], "holds no token"),
    (["--name", "a b"], "--name a b is not allowed"),
    (["--name", "a.example:80"], "it must be a host name without a port"),
    (["--tls-cert", "x.pem"], "--tls-cert and --tls-key go together"),
    (["--tls-cert", "x.pem", "--tls-key", "y.pem"], "there is no such file"),
]


@pytest.mark.parametrize(("flags", "words"), BAD, ids=lambda value: str(value)[:30])
def test_what_is_refused_before_anything_listens(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    home = tmp_path / "home"
    assert cli.run(["serve", str(crawl.directory), "--home", str(home), *flags]) == 2
    assert words in capsys.readouterr().err
    assert not home.exists()


def test_directories_that_cannot_be_served(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["serve", str(tmp_path), "--home", str(tmp_path / "home")]) == 2
    assert "no crawl there" in capsys.readouterr().err
    twice = [str(crawl.directory), str(crawl.directory)]
    assert cli.run(["serve", *twice, "--home", str(tmp_path / "home")]) == 2
    assert "served already" in capsys.readouterr().err


def test_a_key_that_does_not_go_with_its_certificate(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = trustme.CA()
    authority.issue_cert("127.0.0.1").cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    authority.issue_cert("127.0.0.1").private_key_pem.write_to_path(tmp_path / "key.pem")
    files = ["--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem")]
    assert cli.run(["serve", str(crawl.directory), "--home", str(tmp_path / "home"), *files]) == 2
    assert "is no use with that key" in capsys.readouterr().err


def test_tokens_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path)]
    assert cli.run(["token", "create", "anna", "--role", "operate", "--valid", "30d", *home]) == 0
    secret = capsys.readouterr().out.strip()
    assert secret.startswith("gsm_")
    assert cli.run(["token", "create", "anna", "--role", "god", *home]) == 2
    assert cli.run(["token", "create", "bob", "--role", "read", "--valid", "soon", *home]) == 2
    assert "--valid soon is not allowed" in capsys.readouterr().err
    assert cli.run(["token", "list", *home]) == 0
    listed = capsys.readouterr().out
    assert "anna" in listed
    assert "operate" in listed
    assert secret not in listed
    assert cli.run(["token", "revoke", "anna", *home]) == 0
    assert cli.run(["token", "revoke", "anna", *home]) == 2
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [(line["what"], line["result"]) for line in lines] == [
        ("token create anna", "role operate, valid for 30d"),
        ("token revoke anna", "revoked"),
    ]
    assert secret not in (tmp_path / "audit.jsonl").read_text()


def test_tls_by_files_at_every_address(crawl: Made, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(tmp_path / "both.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    files = ("--listen", ":0", "--tls-cert", str(tmp_path / "both.pem"), "--tls-key", str(tmp_path / "both.pem"))
    with Serving(tmp_path / "home", crawl.directory, flags=files) as server:
        assert server.base.startswith("https://0.0.0.0:")
        port = server.base.rpartition(":")[2]
        request = urllib.request.Request(
            f"https://127.0.0.1:{port}/v1/crawls", headers={"Authorization": f"Bearer {server.tokens['read']}"}
        )
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            assert json.loads(answer.read())["crawls"][0]["name"] == "crawl"
        assert server.end() == 0
