"""Orders to a real crawl over its socket, judged by nginx's log: pause, seeds, scope, hosts, leases, stop."""

from __future__ import annotations

import asyncio
import itertools
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.adapters.signing import create_key
from gossamer.model.control import (
    AddSeeds,
    AddUrls,
    AnyAnswer,
    AnyCommand,
    Change,
    Changed,
    Complete,
    Completed,
    Done,
    Fetched,
    Host,
    Lease,
    LeasedUrl,
    Leases,
    Look,
    Looked,
    PatchHost,
    Pause,
    Resume,
    Stop,
    Taken,
)
from gossamer.surface.controlling import Crawl as Control
from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import Hit, read_log
from tests.support.signatures import public_of, verified

SIGNED = "$http_host\\t$http_signature_agent\\t$http_signature_input\\t$http_signature"
ONE, TWO = "one.orders.example", "two.orders.example"


@pytest.fixture
def port(nginx: Nginx, tmp_path: Path) -> int:
    number = free_port()
    for place, name in enumerate((ONE, TWO), 1):
        folder = write_site(tmp_path / name, chain(400))
        nginx.add(name, address=f"127.76.0.{place}", port=number, root=folder)
    nginx.http = f'log_format signed escape=none "{SIGNED}"; access_log {nginx.folder}/signed.log signed;'
    nginx.start()
    return number


def ask(crawl: Crawl, command: AnyCommand) -> AnyAnswer:
    return asyncio.run(Control(crawl.directory).ask(command))


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, f"not within {seconds} s"
        time.sleep(0.05)


def hits(nginx: Nginx, name: str, since: float = 0.0) -> list[Hit]:
    found = read_log(nginx.log) if nginx.log.exists() else []
    return [hit for hit in found if hit.host == name and hit.start >= since]


def snapshot(crawl: Crawl) -> Looked:
    found = ask(crawl, Look())
    assert isinstance(found, Looked), found
    return found


def test_a_running_crawl_obeys_and_remembers(nginx: Nginx, port: int, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(f"http://{ONE}:{port}/index.html", flags=("--scope", "host"))
    process = crawl.start()
    wait_for(lambda: len(hits(nginx, ONE)) > 5)
    assert isinstance(ask(crawl, Pause(reason="a drill", by="me")), Done)
    time.sleep(0.5)
    paused = time.time()
    time.sleep(1.5)
    assert hits(nginx, ONE, since=paused) == []
    assert snapshot(crawl).snapshot.state_detail == "by order by me: a drill"
    process.kill()
    process.wait()
    process = crawl.start()
    wait_for(lambda: (crawl.directory / "control.sock").exists() and isinstance(ask(crawl, Look()), Looked))
    time.sleep(1.0)
    assert hits(nginx, ONE, since=paused) == [], "a pause holds over a kill"

    taken = ask(crawl, AddSeeds(urls=(f"http://{TWO}:{port}/index.html",)))
    assert isinstance(taken, Taken)
    assert taken.taken == 1
    offered = ask(crawl, AddUrls(urls=(f"http://{TWO}:{port}/offered.html", "http://elsewhere.example/")))
    assert isinstance(offered, Taken)
    assert (offered.taken, list(offered.refused)) == (1, ["http://elsewhere.example/"])
    changed = ask(crawl, Change(exclude=("*/page2*",), by="me"))
    assert isinstance(changed, Changed)
    assert any("scope.exclude" in line for line in changed.changes)
    policy = ask(crawl, PatchHost(host=f"{TWO}:{port}", delay_s=0.7))
    assert isinstance(policy, Host)
    assert policy.policy.delay_source == "operator"
    resumed = time.time()
    assert isinstance(ask(crawl, Resume()), Done)
    wait_for(lambda: len(hits(nginx, TWO)) > 6)
    two = hits(nginx, TWO)
    assert all(after.start - before.end > 0.65 for before, after in itertools.pairwise(two))
    assert "/page2" not in " ".join(hit.target for hit in (*two, *hits(nginx, ONE, since=resumed)))
    assert isinstance(ask(crawl, Stop(reason="that is all")), Done)
    process.wait(60)
    assert "that is all" in crawl.output
    assert TWO in (crawl.directory / "gossamer.toml").read_text()
    assert crawl.ask("verify").code == 0


def test_an_external_fetcher_fills_the_same_archive_and_makes_the_only_page_requests(
    nginx: Nginx, port: int, make_crawl: MakeCrawl, tmp_path: Path
) -> None:
    """All of them signed: those of the crawl itself, for robots.txt, and those that are made by lease."""
    agent, key = "https://crawl.example.org/keys", create_key(tmp_path / "key.pem")
    identity = {"signing_key": str(tmp_path / "key.pem"), "signature_agent": agent}
    crawl = make_crawl(f"http://{ONE}:{port}/index.html", options={"fetch": {"external": True}, "identity": identity})
    process = crawl.start()
    wait_for((crawl.directory / "control.sock").exists)
    fetched: list[LeasedUrl] = []
    while len(fetched) < 6:
        answer = ask(crawl, Lease(worker="a test", count=4, wait_s=10.0))
        assert isinstance(answer, Leases), answer
        results = []
        for one in answer.leases:
            target = one.url.partition("//")[2].partition("/")[2]
            headers = {"Host": f"{one.host}", "User-Agent": "external", **dict(one.headers), "Accept-Encoding": ""}
            request = urllib.request.Request(f"http://{one.address}:{port}/{target}", headers=headers)
            with urllib.request.urlopen(request, timeout=one.timeout_s) as response:
                results.append(
                    Fetched(
                        lease=one.lease, status=response.status, headers=tuple(response.headers.items()),
                        body=response.read(), elapsed_s=0.01,
                    )
                )  # fmt: skip
        done = ask(crawl, Complete(worker="a test", results=tuple(results)))
        assert isinstance(done, Completed)
        assert not done.refused
        fetched += answer.leases
    ask(crawl, Stop())
    process.wait(60)
    seen = [hit.target for hit in hits(nginx, ONE)]
    assert sorted(seen) == sorted(["/robots.txt", *("/" + one.url.rpartition("/")[2] for one in fetched)])
    lines = [line.split("\t") for line in (nginx.folder / "signed.log").read_text().splitlines()]
    assert len(lines) == len(seen)
    for line in lines:
        fields = dict(zip(("host", "signature-agent", "signature-input", "signature"), line, strict=True))
        told = verified(fields, public_of(key.jwk.x))
        assert (told["agent"], told["keyid"]) == (f'"{agent}"', f'"{key.jwk.kid}"')
    page = crawl.ask("get", next(one.url for one in fetched if "page" in one.url))
    assert (page.code, "matter" in page.out) == (0, True)
    whole = crawl.ask("verify")
    assert whole.code == 0, whole.words
