"""Who we say we are: what is published, the page for site owners, and whether DNS bears it out (a real nameserver)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.signing import create_key
from gossamer.model.config import Config, Dns, Identity
from gossamer.surface import cli, settings
from gossamer.surface.identity import ADDRESSES_MAX, addresses_of, is_named, published
from gossamer.surface.signing import DIRECTORY_PATH, agent_of
from tests.dns.name_server import SILENT, NameServer, Records
from tests.reader.making import Made
from tests.serve.server import Running
from tests.support.signatures import directory_verified, public_of

IDENTITY = Identity(
    product="Testbot",
    contact="http://127.0.0.1:1/bot",
    ranges=("192.0.2.8/30", "2001:db8::1/128"),
    rdns="crawl.example.org",
)
NAMES: dict[str, Records | int] = {
    "8.2.0.192.in-addr.arpa": [("a8.crawl.example.org", 60, "PTR")],
    "9.2.0.192.in-addr.arpa": [("a9.crawl.example.org", 60, "PTR"), ("other.example", 60, "PTR")],
    "10.2.0.192.in-addr.arpa": [("evilcrawl.example.org", 60, "PTR")],
    "11.2.0.192.in-addr.arpa": SILENT,
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa": [("six.crawl.example.org", 60, "PTR")],
    "a8.crawl.example.org": [("192.0.2.8", 60, "A")],
    "a9.crawl.example.org": [("192.0.2.99", 60, "A")],
    "evilcrawl.example.org": [("192.0.2.10", 60, "A")],
    "six.crawl.example.org": [("2001:db8::1", 60, "AAAA")],
}


@pytest.fixture
def nameserver() -> Iterator[int]:
    """The port of an authority for NAMES, in a thread: commands have a loop of their own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def start() -> tuple[asyncio.BaseTransport, int]:
        transport, _ = await loop.create_datagram_endpoint(lambda: NameServer(dict(NAMES)), local_addr=("127.0.0.1", 0))
        return transport, transport.get_extra_info("sockname")[1]

    transport, port = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
    yield port
    loop.call_soon_threadsafe(transport.close)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


@pytest.fixture
def named(crawl: Made, tmp_path: Path, nameserver: int) -> Path:
    """A crawl with an identity, and that nameserver."""
    copy = crawl.copy(tmp_path / "crawl")
    dns = Dns(nameservers=(f"127.0.0.1:{nameserver}",), timeout_s=0.3)
    settings.save(msgspec.structs.replace(copy.config, identity=IDENTITY, dns=dns))
    return copy.directory


def test_what_is_published_and_the_page_are_for_everybody(serving: Callable[..., Running], named: Path) -> None:
    server = serving(named)
    for headers in ({}, {"Host": "bot.example.org"}):
        found = server.get("/.well-known/crawler-ip-ranges", role=None, headers=headers)
        assert found.json == {
            "ranges": ["192.0.2.8/30", "2001:db8::1/128"],
            "prefixes": [{"ipv4Prefix": "192.0.2.8/30"}, {"ipv6Prefix": "2001:db8::1/128"}],
            "userAgents": [found.json["userAgents"][0]],
            "verifyDoc": "http://127.0.0.1:1/bot",
            "reverseDns": ["crawl.example.org"],
        }
        assert found.json["userAgents"][0].startswith("Mozilla/5.0 (compatible; Testbot/")
        assert found.headers["cache-control"] == "public, max-age=3600"
        page = server.get("/bot", role=None, headers=headers).text
        for words in (
            "User-agent: Testbot",
            "192.0.2.8/30",
            ".crawl.example.org",
            "http://127.0.0.1:1/bot",
            "Crawl-delay",
        ):
            assert words in page, words


def test_a_page_for_each_identity_that_is_served(serving: Callable[..., Running], named: Path, crawl: Made) -> None:
    server = serving(crawl.directory, named.rename(named.parent / "named"))
    page = server.get("/bot", role=None).text
    assert page.count("<h2>") == 2
    assert len(server.get("/.well-known/crawler-ip-ranges", role=None).json["userAgents"]) == 2


def test_each_address_is_checked_both_ways(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = cli.run(["identity", "check", "--dir", str(named), "--json", "--published", "http://127.0.0.1:9/none"])
    found = {one["what"]: (one["mark"], one["text"]) for one in json.loads(capsys.readouterr().out)["findings"]}
    assert code == 7
    assert found["192.0.2.9"] == (
        "no", "is named a9.crawl.example.org, which does not lead back to it (A or AAAA)")  # fmt: skip
    assert found["192.0.2.10"] == ("no", "is named evilcrawl.example.org, which is not under crawl.example.org")
    assert found["2001:db8::1"] == ("ok", "is six.crawl.example.org, and six.crawl.example.org is 2001:db8::1")
    assert found["published"][0] == "no"
    assert {"192.0.2.8", "192.0.2.11"} & set(found) == set()  # a network's first and last address are nobody's


def test_single_addresses_and_silence(named: Path, capsys: pytest.CaptureFixture[str]) -> None:
    addresses = ["--address", "192.0.2.8", "--address", "192.0.2.11", "--address", "192.0.2.77"]
    assert cli.run(["identity", "check", "--dir", str(named), *addresses]) == 7
    lines = capsys.readouterr().out.splitlines()
    assert "ok    192.0.2.8: is a8.crawl.example.org, and a8.crawl.example.org is 192.0.2.8" in lines
    assert "no    192.0.2.11: has no name: it needs a PTR record" in lines
    assert "no    192.0.2.77: has no name: it needs a PTR record" in lines
    assert cli.run(["identity", "check", "--dir", str(named), "--address", "x"]) == 2


def test_the_published_file_against_the_configuration(
    serving: Callable[..., Running], named: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = serving(named)
    where = ["--published", f"{server.base}/.well-known/crawler-ip-ranges", "--address", "192.0.2.8"]
    assert cli.run(["identity", "check", "--dir", str(named), *where]) == 0, capsys.readouterr().out
    config = settings.load(named / "gossamer.toml", directory=str(named))
    fewer = msgspec.structs.replace(config.identity, ranges=("192.0.2.8/30", "198.51.100.0/24"))
    other = named.parent / "other"
    other.mkdir()
    settings.save(msgspec.structs.replace(config, identity=fewer, directory=str(other)))
    capsys.readouterr()
    assert cli.run(["identity", "check", "--dir", str(other), *where]) == 7
    lines = capsys.readouterr().out
    assert "lacks 198.51.100.0/24" in lines
    assert "has 2001:db8::1/128 besides" in lines
    assert cli.run(["identity", "show", "--dir", str(other)]) == 0
    assert json.loads(capsys.readouterr().out)["ranges"] == ["192.0.2.8/30", "198.51.100.0/24"]


def test_keys_are_published_and_signed_for_our_own_name_alone(
    serving: Callable[..., Running], named: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = named / "key.pem"
    assert cli.run(["identity", "key", str(path)]) == 0
    capsys.readouterr()
    later = create_key(named / "next.pem")
    path.write_bytes(path.read_bytes() + (named / "next.pem").read_bytes())
    config = settings.load(named / "gossamer.toml", directory=str(named))
    agent = f"https://keys.example.org{DIRECTORY_PATH}"
    identity = msgspec.structs.replace(config.identity, signing_key=str(path), signature_agent=agent)
    settings.save(msgspec.structs.replace(config, identity=identity))
    server = serving(named)
    answer = server.get(DIRECTORY_PATH, role=None, headers={"Host": "Keys.example.org:80"})
    assert answer.headers["content-type"] == "application/http-message-signatures-directory+json"
    keys = answer.json["keys"]
    assert [key["kid"] for key in keys][1] == later.jwk.kid
    assert {tuple(key) for key in keys} == {("kty", "crv", "kid", "x", "use")}
    digest = base64.b64encode(hashlib.sha256(answer.body).digest()).decode()
    assert answer.headers["content-digest"] == f"sha-256=:{digest}:"
    for number, key in enumerate(keys):
        told = directory_verified(answer.headers, "keys.example.org", public_of(key["x"]), f"binding{number}")
        assert told["keyid"] == f'"{key["kid"]}"'
        assert told["tag"] == '"http-message-signatures-directory"'
        assert int(told["expires"]) - int(told["created"]) == 86_400
        assert abs(int(told["created"]) - time.time()) < 60
    other = server.get(DIRECTORY_PATH, role=None, headers={"Host": "evil.example"})
    assert (other.status, other.json) == (200, answer.json)
    assert {"signature", "signature-input"} & other.headers.keys() == set()
    assert f"the keys are at <code>{agent}</code>" in server.get("/bot", role=None).text
    found = checked_keys(named, f"{server.base}{DIRECTORY_PATH}", capsys)
    assert (found["identity.signing_key"][0], found["keys"][0]) == ("ok", "ok")
    assert keys[0]["kid"] in found["identity.signing_key"][1]
    assert checked_keys(named, f"{server.base}/none", capsys)["keys"][0] == "no"
    path.chmod(0o644)
    assert server.get(DIRECTORY_PATH, role=None).status == 503, "who can read it could sign as we do"
    assert cli.run(["identity", "check", "--dir", str(named), "--keys", server.base]) == 4


def checked_keys(named: Path, where: str, capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    arguments = ["--address", "192.0.2.8", "--published", "http://127.0.0.1:9/none", "--keys", where, "--json"]
    assert cli.run(["identity", "check", "--dir", str(named), *arguments]) == 7
    return {one["what"]: (one["mark"], one["text"]) for one in json.loads(capsys.readouterr().out)["findings"]}


def test_without_a_key_there_is_no_directory(serving: Callable[..., Running], named: Path) -> None:
    answer = serving(named).get(DIRECTORY_PATH, role=None)
    assert (answer.status, answer.fault["error"]) == (404, "requests of these crawls are not signed")


def test_names_and_ranges() -> None:
    assert is_named("a.crawl.example.org", "crawl.example.org")
    assert is_named("crawl.example.org", "crawl.example.org")
    assert not is_named("evilcrawl.example.org", "crawl.example.org")
    assert len(list(addresses_of(["10.0.0.0/8"]))) == ADDRESSES_MAX
    assert list(addresses_of(["192.0.2.1/32", "192.0.2.4/31"])) == ["192.0.2.1", "192.0.2.4", "192.0.2.5"]
    assert published([Config()], "/bot").verifyDoc == "/bot"
    assert agent_of(Identity(contact="https://example.org/bot")) == f"https://example.org{DIRECTORY_PATH}"
    assert agent_of(Identity(contact="a@example.org")) == agent_of(Identity(contact="http://example.org/")) == ""


@pytest.mark.parametrize(("key", "value"), [("rdns", "Example.ORG"), ("rdns", "a b.example"), ("rdns", "nodots"),
                                            ("ranges", ["300.0.0.1"]), ("ranges", ["192.0.2.1/24"]),
                                            ("signing_key", "none.pem"), ("signature_agent", "http://a.example/"),
                                            ("signature_agent", 'https://a.example/"')])  # fmt: skip
def test_bad_values_are_refused(tmp_path: Path, key: str, value: object) -> None:
    from gossamer.model.errors import ConfigError

    path = tmp_path / "x.toml"
    path.write_text(f"[identity]\n{key} = {json.dumps(value)}\n")
    with pytest.raises(ConfigError, match=f"identity.{key}"):
        settings.load(path)
