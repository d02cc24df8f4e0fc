"""The network of this machine goes away and comes back: a network of the tests' own, so that it can be taken down."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.core.connectivity import NO_NETWORK
from tests.dns.name_server import NameServer
from tests.faults.conftest import NAME, MakeCrawl, Site, whole
from tests.faults.test_machine import blames_nobody, listen, status, wait_for_state
from tests.faults.test_signals import wait_for
from tests.support.crawl import merged
from tests.support.web import Web, pages

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP = 0x8913, 0x8914, 0x8916, 0x891C, 1
SIOCADDRT, SIOCDELRT, RTF_UP = 0x890B, 0x890C, 1
FETCH = {"fetch": {"total_timeout": "3s", "connect_timeout": "1s", "first_byte_timeout": "2s"}}


def switch(*, up: bool) -> None:
    """Give this thread's loopback network its address, and with it its route, or take both away."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        got = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh22x", b"lo", 0))
        flags = struct.unpack("16sh22x", got)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))
        address = socket.inet_aton("127.0.0.1" if up else "0.0.0.0")
        fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack("16sHH4s16x", b"lo", socket.AF_INET, 0, address))


def swallow(*, on: bool) -> None:
    """Keep the route to the servers' addresses and drop what is sent to them, as behind a dead gateway; or no more.

    They are no addresses of this machine then: the route sends packets out by the loopback device, whence they come
    back and are nobody's.
    """
    device = ctypes.create_string_buffer(b"lo")
    route = struct.pack(
        "@L16s16s16sHhLPhPLLH",  # struct rtentry of linux/route.h
        0, _inet("127.91.0.0"), _inet("0.0.0.0"), _inet("255.255.0.0"), RTF_UP, 0, 0, 0, 0, ctypes.addressof(device),
        0, 0, 0,
    )  # fmt: skip
    mask = _inet("255.255.255.255" if on else "255.0.0.0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        if not on:
            fcntl.ioctl(any_socket, SIOCDELRT, route)
        fcntl.ioctl(any_socket, SIOCSIFNETMASK, struct.pack("16s16s8x", b"lo", mask))
        if on:
            fcntl.ioctl(any_socket, SIOCADDRT, route)


def _inet(address: str) -> bytes:
    """`struct sockaddr_in`."""
    return struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


@pytest.fixture
def network() -> Iterator[None]:
    """A network of its own for this thread, and for the threads and processes it starts."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    if libc.unshare(CLONE_NEWNET) != 0:
        os.close(before)
        pytest.skip(f"a network of its own is not permitted here: {os.strerror(ctypes.get_errno())}")
    try:
        switch(up=True)
        yield
    finally:
        assert libc.setns(before, CLONE_NEWNET) == 0
        os.close(before)


@pytest.fixture
def web(network: None, tmp_path: Path) -> Iterator[Web]:
    servers = Web(tmp_path, "127.91")
    yield servers
    servers.close()


@pytest.mark.parametrize("closing", [False, True], ids=["connections kept", "connections new"])
def test_a_network_that_goes_away_pauses_the_crawl_until_it_is_back(
    web: Web, make_crawl: MakeCrawl, closing: bool
) -> None:
    site = Site(web, 60, closing=closing)
    crawl = make_crawl(site.url, options=FETCH)
    process = crawl.start()
    site.await_pages(crawl, 10)
    switch(up=False)
    found = wait_for_state(crawl, "paused")
    assert "no route from here" in found["state_detail"], found
    assert found["bound"]["name"] == "network"
    asked = len(site.asked())
    time.sleep(5)
    assert process.poll() is None, crawl.output[-3000:]
    assert status(crawl)["state"] == "paused"
    assert len(site.asked()) == asked < len(site.targets)
    switch(up=True)
    assert process.wait(90) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=2)  # what was on its way


def test_a_resolver_that_goes_away_in_the_middle_pauses_what_needs_it(web: Web, make_crawl: MakeCrawl) -> None:
    """Names that are known are fetched on; the others wait, and nobody is given up."""
    sites = [Site(web, 20)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = web.addresses[NAME]
    server = NameServer({NAME: [(address, 1, "A")]})
    web.run(listen(server, port))
    dns = {"hosts_file": "", "nameservers": [f"127.0.0.1:{port}"], "timeout": "500ms", "ttl_min": "1s", "ttl_max": "1s"}
    crawl = make_crawl(sites[0].url, options={"dns": dns, "politeness": {"min_delay": "200ms"}})
    process = crawl.start()
    sites[0].await_pages(crawl, 5)
    assert server._transport is not None
    server._transport.close()
    found = wait_for_state(crawl, "paused")
    assert found["state_detail"]
    time.sleep(3)
    assert process.poll() is None
    assert len(sites[0].asked()) < len(sites[0].targets)
    web.run(listen(NameServer({NAME: [(address, 1, "A")]}), port))
    assert process.wait(90) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, sites[0], refetched_max=0)


def test_a_network_that_is_gone_behind_standing_routes_pauses_the_crawl(web: Web, make_crawl: MakeCrawl) -> None:
    """All servers are silent at once. What each missed first counts against it; nothing is lost."""
    names, paths = [f"s{number}.example" for number in range(14)], [f"/page{number}" for number in range(20)]
    links = " ".join(f'<a href="{path}">{path}</a>' for path in paths)
    seeds = [web.add(name, pages({"/": links} | {path: path for path in paths})) + "/" for name in names]
    crawl = make_crawl(*seeds, options=merged(FETCH, {"politeness": {"min_delay": "300ms"}}))
    process = crawl.start()
    wait_for(lambda: all(len(web.targets(name)) > 4 for name in names) or process.poll() is not None)
    swallow(on=True)
    found = wait_for_state(crawl, "paused")
    assert found["state_detail"] == NO_NETWORK
    assert found["bound"]["name"] == "network"
    time.sleep(5)
    assert process.poll() is None, crawl.output[-3000:]
    assert status(crawl)["state"] == "paused"
    swallow(on=False)
    assert process.wait(90) == 0, crawl.output[-3000:]
    events = [event for event in crawl.events() if event["kind"] == "page"]
    failed = Counter(event["host"] for event in events if event.get("failure"))
    assert set(failed.values()) <= {1}
    fetched = Counter(event["url"] for event in events if event.get("status") == 200)
    assert len(fetched) == len(names) * (1 + len(paths))
    assert set(fetched.values()) == {1}
