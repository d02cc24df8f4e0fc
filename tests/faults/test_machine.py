"""No descriptors, no network, no resolver, a wall clock that jumps: the crawl waits, says so, and blames no host."""

from __future__ import annotations

import asyncio
import errno
import json
import resource
import socket
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.adapters.clock import SystemClock
from gossamer.adapters.http.client import HttpClient
from gossamer.adapters.http.trouble import of_connect
from gossamer.api import Crawl as LibraryCrawl
from gossamer.model.page import Outcome, Request
from gossamer.surface import settings
from tests.dns.name_server import NameServer
from tests.faults.conftest import NAME, MakeCrawl, Site, whole
from tests.faults.test_signals import wait_for
from tests.support.crawl import Crawl, merged, toml
from tests.support.web import Web


def status(crawl: Crawl) -> dict[str, Any]:
    path = crawl.directory / "log" / "status.json"
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


def wait_for_state(crawl: Crawl, state: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while (found := status(crawl)).get("state") != state:
        assert crawl.started[-1].poll() is None, crawl.output[-3000:]
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def blames_nobody(crawl: Crawl) -> None:
    assert [event for event in crawl.events() if event.get("failure")] == []
    host = crawl.ask("report", "--format", "json")
    assert host.code == 0
    assert json.loads(host.out)["snapshot"].get("failures", {}) == {}


def test_no_descriptors_pauses_the_crawl_and_blames_no_host(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 60, closing=True)
    crawl = make_crawl(site.url)
    process = crawl.start()
    site.await_pages(crawl, 10)
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (16, before[1]))  # all below it are in use
    wait_for(lambda: "paused" in crawl.output or process.poll() is not None)
    time.sleep(1.5)  # its own looks at the disk and at its files go on meanwhile
    assert process.poll() is None, crawl.output[-3000:]
    assert "EMFILE" in crawl.output
    asked = len(site.asked())
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
    assert asked < len(site.targets)
    assert process.wait(90) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)


def test_no_descriptors_in_a_worker_pause_the_crawl_and_cost_no_page(web: Web, make_crawl: MakeCrawl) -> None:
    """They run out when it begins another segment."""
    site = Site(web, 150, page_bytes=40_000)
    crawl = make_crawl(site.url, options={"archive": {"segment_size": 1 << 20}})
    process = crawl.start()
    site.await_pages(crawl, 10)
    workers = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    limits = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in workers}
    for pid, (_, hard) in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, hard))  # it keeps the files it has
    found = wait_for_state(crawl, "paused")
    assert "Too many open files" in found["state_detail"], found
    assert found["bound"]["name"] == "network"
    assert len(site.asked()) < len(site.targets)
    for pid, before in limits.items():
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    assert process.wait(90) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)
    assert len(crawl.warcs()) > 1


def test_no_resolver_pauses_the_crawl_until_it_is_back(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 10)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"dns": {"hosts_file": "", "nameservers": [f"127.0.0.1:{port}"], "timeout": "500ms"}}
    crawl = make_crawl(site.url, options=options)
    process = crawl.start()
    found = wait_for_state(crawl, "paused")
    assert found["state_detail"]
    assert found["bound"]["name"] in {"network", "dns"}, found["bound"]
    time.sleep(2)
    assert process.poll() is None
    assert site.asked() == []
    table = {NAME: [(web.addresses[NAME], 60, "A")]}
    web.run(listen(NameServer(table), port))
    assert process.wait(60) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)


async def listen(server: NameServer, port: int) -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", port))


def test_no_network_pauses_the_crawl_until_it_is_back(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(web, 10)
    reached = HttpClient._reached
    refused: list[str] = []

    async def unplugged(self: HttpClient, request: Request) -> Any:
        if len(site.asked()) >= 4 and len(refused) < 3:
            refused.append(request.url)
            raise of_connect(OSError(errno.ENETUNREACH, "Network is unreachable"), request.address)
        return await reached(self, request)

    forgetting = HttpClient.fetch

    async def fetch(self: HttpClient, request: Request) -> Outcome:
        self._pool.clear()
        return await forgetting(self, request)

    monkeypatch.setattr(HttpClient, "_reached", unplugged)
    monkeypatch.setattr(HttpClient, "fetch", fetch)
    monkeypatch.setattr("gossamer.adapters.http.trouble.no_route", lambda _address: True)
    states: set[str] = set()

    async def run() -> dict[str, Any]:
        async with LibraryCrawl(load(web, tmp_path, site)) as crawl:
            async for _ in crawl:
                states.add(crawl.snapshot().state)
            return dict(crawl.snapshot().failures)

    failures = asyncio.run(run())
    assert len(refused) == 3
    assert failures == {}
    assert sorted(set(site.asked())) == site.targets
    assert len(site.asked()) == len(site.targets)


def load(web: Web, tmp_path: Path, site: Site) -> Any:
    crawl = Crawl(tmp_path / "library", [site.url])
    crawl.command()
    options = {"dns": {"hosts_file": str(web.hosts_file)}, "net": {"allow": ["127.0.0.0/8"]}, "workers": {"count": 1},
               "politeness": {"min_delay": "20ms", "start_jitter": 0, "response_factor": 0}}  # fmt: skip
    path = tmp_path / "library.toml"
    path.write_text(toml(merged(options)))
    config = settings.load(path, directory=str(crawl.directory))
    return msgspec.structs.replace(config, seeds=(site.url,))


@pytest.mark.parametrize("jump_s", [-86_400.0 * 3650, -1.0, 1.0, 86_400.0 * 3650])
def test_a_jump_of_the_wall_clock_is_not_seen(monkeypatch: pytest.MonkeyPatch, jump_s: float) -> None:
    clock = SystemClock()
    real = time.time
    before = clock.now()
    assert abs(before - real()) < 1
    monkeypatch.setattr(time, "time", lambda: real() + jump_s)
    after = clock.now()
    assert 0 <= after - before < 1
