"""The resolver against a nameserver on the loopback address."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters import dns
from gossamer.adapters.dns import DnsResolver
from gossamer.model.config import Dns
from gossamer.model.errors import ConfigError
from gossamer.model.page import Resolution
from tests.dns.name_server import NOERROR, REFUSED, SERVFAIL, SILENT, NameServer, Records, name_server

NOW = 1_700_000_000.0
RUNNERS: dict[str, Any] = {"asyncio": asyncio.run, "uvloop": uvloop.run}


class FixedClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> float:
        return self.time


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return uvloop.run(coroutine)


async def resolve(table: dict[str, Records | int], *names: str, **options: Any) -> tuple[list[Resolution], NameServer]:
    """Answers for names, one after the other."""
    async with name_server(table) as (server, address):
        server.root = options.pop("root", server.root)
        resolver = DnsResolver(Dns(nameservers=(address,), **{"timeout_s": 0.6, **options}), FixedClock())
        found = [await resolver.resolve(name) for name in names]
        await resolver.close()
        return found, server


@pytest.mark.parametrize("runner", RUNNERS)
def test_addresses_are_cached_and_ipv6_is_not_asked_for_when_there_is_ipv4(runner: str) -> None:
    table: dict[str, Records | int] = {"a.example": [("192.0.2.1", 600, "A"), ("192.0.2.2", 900, "A")]}
    found, server = RUNNERS[runner](resolve(table, "a.example", "A.Example.", "a.example"))
    assert [each.addresses for each in found] == [("192.0.2.1", "192.0.2.2")] * 3
    assert found[0].expires == NOW + 600
    assert server.asked == {("a.example", "A"): 1}


def test_ipv6_when_there_is_no_ipv4() -> None:
    found, server = run(resolve({"six.example": [("2001:db8::1", 600, "AAAA")]}, "six.example"))
    assert found[0].addresses == ("2001:db8::1",)
    assert server.asked == {("six.example", "A"): 1, ("six.example", "AAAA"): 1}


def test_cname_chain() -> None:
    table: dict[str, Records | int] = {
        "www.example": [("edge.example", 5000, "CNAME")],
        "edge.example": [("pop.example", 400, "CNAME")],
        "pop.example": [("192.0.2.7", 9000, "A")],
    }
    found, _ = run(resolve(table, "www.example"))
    assert (found[0].addresses, found[0].expires) == (("192.0.2.7",), NOW + 400)


@pytest.mark.parametrize(("ttl_s", "kept_s"), [(0, 300), (299, 300), (301, 301), (86_401, 86_400), (2**31 - 1, 86_400)])
def test_ttl_is_clamped(ttl_s: int, kept_s: int) -> None:
    found, _ = run(resolve({"a.example": [("192.0.2.1", ttl_s, "A")]}, "a.example"))
    assert found[0].expires == NOW + kept_s


def test_address_zero_is_passed_on_for_the_guard_to_refuse() -> None:
    found, _ = run(resolve({"a.example": [("0.0.0.0", 600, "A")]}, "a.example"))
    assert found[0].addresses == ("0.0.0.0",)


def test_failed_lookup_is_not_cached_for_ever() -> None:
    async def steps() -> list[str]:
        table: dict[str, Records | int] = {}
        async with name_server(table) as (server, address):
            clock = FixedClock()
            resolver = DnsResolver(Dns(nameservers=(address,)), clock)
            seen = [(await resolver.resolve("late.example")).error]
            table["late.example"] = [("192.0.2.9", 600, "A")]
            clock.time += 299
            seen.append((await resolver.resolve("late.example")).error)
            assert server.asked["late.example", "A"] == 1
            clock.time += 2
            seen.append((await resolver.resolve("late.example")).error)
            await resolver.close()
            return seen

    assert run(steps()) == ["nxdomain", "nxdomain", ""]


@pytest.mark.parametrize(
    ("answer", "error", "kept_s"),
    [([], "no address", 300), (SERVFAIL, "servfail", 5), (3, "nxdomain", 300), (REFUSED, "refused", 5)],
)
def test_answers_without_an_address_are_the_names_affair(answer: Records | int, error: str, kept_s: int) -> None:
    found, _ = run(resolve({"a.example": answer}, "a.example"))
    assert (found[0].addresses, found[0].error, found[0].ours) == ((), error, False)
    assert found[0].expires == NOW + kept_s


def test_name_whose_nameservers_are_silent_is_told_from_a_dead_resolver() -> None:
    found, server = run(resolve({"lame.example": SILENT}, "lame.example"))
    assert (found[0].error, found[0].ours) == ("timeout", False)
    assert server.asked["", "NS"] == 1
    found, server = run(resolve({"lame.example": SILENT}, "lame.example", "lame.example", root=SILENT))
    assert [(each.error, each.ours) for each in found] == [("timeout", True)] * 2
    assert server.asked["lame.example", "A"] >= 2  # our own fault is not cached


@pytest.mark.parametrize(("code", "error"), [(REFUSED, "refused"), (SERVFAIL, "servfail")])
def test_resolver_that_answers_so_to_everybody_is_our_own_fault(code: int, error: str) -> None:
    """A caching resolver says SERVFAIL when the network behind it is gone."""
    found, server = run(resolve({"a.example": code}, "a.example", "a.example", root=code))
    assert [(each.error, each.ours) for each in found] == [(error, True)] * 2
    assert {each.expires for each in found} == {NOW}  # it is not kept
    assert server.asked["", "NS"] >= 2


def test_that_the_root_answered_once_is_not_kept_for_an_hour() -> None:
    async def ask() -> list[bool]:
        table: dict[str, Records | int] = {"one.example": SERVFAIL, "two.example": SERVFAIL}
        table[""] = [("a.root.example", 518_400, "NS")]
        async with name_server(table) as (_, address):
            resolver = DnsResolver(Dns(nameservers=(address,), timeout_s=0.6), FixedClock())
            found = [(await resolver.resolve("one.example")).ours]
            table[""] = SERVFAIL
            found.append((await resolver.resolve("two.example")).ours)
            await resolver.close()
            return found

    assert run(ask()) == [False, True]


def test_addresses_are_marked_that_a_nameserver_has_just_given(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.2 file.example\n")
    names = ("a.example", "a.example", "file.example", "127.0.0.1", "localhost", "none.example")
    table: dict[str, Records | int] = {"a.example": [("192.0.2.1", 600, "A")]}
    found, _ = run(resolve(table, *names, hosts_file=str(hosts)))
    assert [each.asked for each in found] == [True, False, False, False, False, False]


def test_no_resolver_at_the_address_is_our_own_fault() -> None:
    async def ask() -> Resolution:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        resolver = DnsResolver(Dns(nameservers=(f"127.0.0.1:{port}",), timeout_s=0.6), FixedClock())
        found = await resolver.resolve("a.example")
        await resolver.close()
        return found

    found = run(ask())
    assert (found.addresses, found.ours) == ((), True)
    assert found.error in {"nameserver unreachable", "timeout"}


def test_second_nameserver_is_asked_when_the_first_is_silent() -> None:
    async def ask() -> Resolution:
        async with (
            name_server({"a.example": SILENT}) as (_, silent),
            name_server({"a.example": [("192.0.2.1", 600, "A")]}) as (_, good),
        ):
            resolver = DnsResolver(Dns(nameservers=(silent, good), timeout_s=3.0), FixedClock())
            found = await resolver.resolve("a.example")
            await resolver.close()
            return found

    assert run(ask()).addresses == ("192.0.2.1",)


def test_one_query_in_flight_for_each_name_and_waiters_may_give_up() -> None:
    async def ask() -> tuple[list[Resolution], int]:
        async with name_server({"a.example": [("192.0.2.1", 600, "A")]}) as (server, address):
            server.delay_s = 0.05
            resolver = DnsResolver(Dns(nameservers=(address,)), FixedClock())
            tasks = [asyncio.create_task(resolver.resolve("a.example")) for _ in range(20)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            found = await asyncio.gather(*tasks[1:])
            await resolver.close()
            return found, server.asked["a.example", "A"]

    found, asked = run(ask())
    assert {each.addresses for each in found} == {("192.0.2.1",)}
    assert asked == 1


def test_many_names_at_once_do_not_stall_the_loop() -> None:
    async def ask() -> tuple[int, bool, float]:
        table: dict[str, Records | int] = {f"h{place}.example": [("192.0.2.1", 600, "A")] for place in range(600)}
        table["slow.example"] = SILENT
        async with name_server(table) as (_, address):
            resolver = DnsResolver(Dns(nameservers=(address,), timeout_s=20), FixedClock())
            slow = asyncio.create_task(resolver.resolve("slow.example"))
            begun_s = time.process_time()
            found = await asyncio.gather(*[resolver.resolve(name) for name in table if name != "slow.example"])
            cpu_s = time.process_time() - begun_s
            waits = not slow.done()  # for 20 s: nobody waited for it
            slow.cancel()
            await resolver.close()
            return sum(bool(each.addresses) for each in found), waits, cpu_s

    good, waits, cpu_s = run(ask())
    assert (good, waits) == (600, True)
    assert cpu_s < 1.2  # the nameserver's share included; by the clock others may have the core


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("127.0.0.1", ("127.0.0.1",)),
        ("[2001:db8::1]", ("2001:db8::1",)),
        ("::1", ("::1",)),
        ("localhost", ("127.0.0.1",)),
        ("a.localhost", ("127.0.0.1",)),
    ],
)
def test_names_that_need_no_query(name: str, addresses: tuple[str, ...]) -> None:
    found, server = run(resolve({}, name))
    assert (found[0].addresses, found[0].error) == (addresses, "")
    assert not server.asked


@pytest.mark.parametrize("name", ["wodnik_forum.example", "hg--69.example", "-a-.example", "under_score"])
def test_odd_names_resolve(name: str) -> None:
    found, _ = run(resolve({name: [("192.0.2.1", 600, "A")]}, name))
    assert found[0].addresses == ("192.0.2.1",)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "a..example",
        "x" * 64 + ".example",
        "a." * 127 + "example",
        "caf\xe9.example",
        "a\0b",
        "\ud800",
        "a\\.b",
    ],
)
def test_impossible_names_never_raise_and_are_never_asked(name: str) -> None:
    found, server = run(resolve({}, name))
    assert (found[0].addresses, found[0].error, found[0].ours) == ((), "not a host name", False)
    assert not server.asked


def test_no_text_raises() -> None:
    async def check() -> None:
        async with name_server({}) as (server, address):
            server.default = NOERROR
            resolver = DnsResolver(Dns(nameservers=(address,), timeout_s=1.0), FixedClock())
            loop = asyncio.get_running_loop()
            names: list[str] = []

            @given(st.text(max_size=80))
            def collect(name: str) -> None:
                names.append(name)

            collect()
            assert loop.is_running()
            for name in names:
                assert isinstance(await resolver.resolve(name), Resolution)
            await resolver.close()

    run(check())


def test_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dns, "DNS_CACHE_MAX", 3)
    # TTL 0: c-ares has a cache of its own, which holds what it may
    table: dict[str, Records | int] = {f"h{place}.example": [("192.0.2.1", 0, "A")] for place in range(5)}
    _, server = run(resolve(table, *table, "h4.example", "h0.example"))
    assert server.asked["h4.example", "A"] == 1
    assert server.asked["h0.example", "A"] == 2


def test_number_of_addresses_is_bounded() -> None:
    table: dict[str, Records | int] = {"a.example": [(f"192.0.2.{place}", 600, "A") for place in range(24)]}
    found, _ = run(resolve(table, "a.example"))
    assert len(found[0].addresses) == 16


def test_hosts_file_wins_over_dns(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("# names\n127.0.0.2  one.example One2.example # more\n\n::1 six.example\n127.0.0.3 one.example\n")
    table: dict[str, Records | int] = {"one.example": [("192.0.2.1", 600, "A")]}
    found, server = run(resolve(table, "ONE.example", "one2.example", "six.example", hosts_file=str(hosts)))
    assert [each.addresses for each in found] == [("127.0.0.2", "127.0.0.3"), ("127.0.0.2",), ("::1",)]
    assert not server.asked


@pytest.mark.parametrize("text", ["nonsense one.example", "300.1.1.1 a"])
def test_bad_hosts_file_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 a\n" + text)
    with pytest.raises(ConfigError, match=r"hosts:2"):
        DnsResolver(Dns(hosts_file=str(hosts)), FixedClock())
    with pytest.raises(ConfigError, match="No such file"):
        DnsResolver(Dns(hosts_file=str(tmp_path / "missing")), FixedClock())


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.0.0.1:0", "127.0.0.1:x", "127.0.0.1:99999", "[::1]53x", "1.2.3"]
)
def test_bad_nameserver_is_named(text: str) -> None:
    with pytest.raises(ConfigError, match=r"dns\.nameservers"):
        DnsResolver(Dns(nameservers=(text,)), FixedClock())


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("127.0.0.1", "127.0.0.1:53"),
        ("127.0.0.1:5353", "127.0.0.1:5353"),
        ("::1", "[::1]:53"),
        ("[::1]:5353", "[::1]:5353"),
        ("[::1]", "[::1]:53"),
    ],
)
def test_forms_of_a_nameserver(text: str, server: str) -> None:
    assert dns.server_address(text) == server
