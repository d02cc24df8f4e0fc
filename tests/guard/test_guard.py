"""Special addresses in every disguise."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.errors import ConfigError
from gossamer.model.url import Url, name_of, parse
from gossamer.policy.guard import forbidden, parse_networks

NOTHING = parse_networks(())

FORBIDDEN = {
    "0.0.0.0": "this network (0.0.0.0/8)",
    "0.1.2.3": "this network (0.0.0.0/8)",
    "10.0.0.1": "private (10.0.0.0/8)",
    "10.255.255.255": "private (10.0.0.0/8)",
    "100.64.0.1": "shared address space (100.64.0.0/10)",
    "100.127.255.255": "shared address space (100.64.0.0/10)",
    "127.0.0.1": "loopback (127.0.0.0/8)",
    "127.255.255.254": "loopback (127.0.0.0/8)",
    "169.254.169.254": "link-local (169.254.0.0/16)",
    "172.16.0.1": "private (172.16.0.0/12)",
    "172.31.255.255": "private (172.16.0.0/12)",
    "192.0.0.8": "protocol assignments (192.0.0.0/24)",
    "192.0.2.1": "documentation (192.0.2.0/24)",
    "192.31.196.1": "AS112 (192.31.196.0/24)",
    "192.52.193.1": "AMT relay (192.52.193.0/24)",
    "192.88.99.1": "6to4 relay (192.88.99.0/24)",
    "192.168.1.1": "private (192.168.0.0/16)",
    "192.175.48.1": "AS112 (192.175.48.0/24)",
    "198.18.0.1": "benchmarking (198.18.0.0/15)",
    "198.19.255.255": "benchmarking (198.18.0.0/15)",
    "198.51.100.7": "documentation (198.51.100.0/24)",
    "203.0.113.7": "documentation (203.0.113.0/24)",
    "224.0.0.1": "multicast (224.0.0.0/4)",
    "239.255.255.255": "multicast (224.0.0.0/4)",
    "240.0.0.1": "reserved (240.0.0.0/4)",
    "255.255.255.255": "reserved (240.0.0.0/4)",
    "::": "unspecified (::/128)",
    "::1": "loopback (::1/128)",
    "0:0:0:0:0:0:0:1": "loopback (::1/128)",
    "::10.0.0.1": "IPv4-compatible (::/96)",
    "::8.8.8.8": "IPv4-compatible (::/96)",
    "::ffff:10.0.0.1": "IPv4-mapped (::ffff:0:0/96)",
    "::ffff:8.8.8.8": "IPv4-mapped (::ffff:0:0/96)",
    "::ffff:7f00:1": "IPv4-mapped (::ffff:0:0/96)",
    "64:ff9b::10.0.0.1": "an address that carries private (10.0.0.0/8)",
    "64:ff9b::a9fe:a9fe": "an address that carries link-local (169.254.0.0/16)",
    "64:ff9b:1::8.8.8.8": "local NAT64 (64:ff9b:1::/48)",
    "100::1": "discard-only (100::/64)",
    "2001::1": "Teredo (2001::/32)",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2": "Teredo (2001::/32)",
    "2001:2::1": "protocol assignments (2001::/23)",
    "2001:10::1": "protocol assignments (2001::/23)",
    "2001:db8::1": "documentation (2001:db8::/32)",
    "2002:7f00:1::": "6to4 (2002::/16)",
    "2620:4f:8000::1": "AS112 (2620:4f:8000::/48)",
    "3fff::1": "documentation (3fff::/20)",
    "5f00::1": "segment routing (5f00::/16)",
    "fc00::1": "unique local (fc00::/7)",
    "fd12:3456::1": "unique local (fc00::/7)",
    "fe80::1": "link-local (fe80::/10)",
    "febf::1": "link-local (fe80::/10)",
    "fec0::1": "site-local (fec0::/10)",
    "ff02::1": "multicast (ff00::/8)",
    "4000::1": "outside global unicast (2000::/3)",
    "1::1": "outside global unicast (2000::/3)",
    "fe80::1%eth0": "not an IP address",
    "2606:4700::1%1": "not an IP address",
    "": "not an IP address",
    "localhost": "not an IP address",
    "127.1": "not an IP address",
    "010.0.0.1": "not an IP address",
    "0x7f000001": "not an IP address",
    "8.8.8.8 ": "not an IP address",
    "8.8.8.8\0": "not an IP address",
    "1" * 100_000: "not an IP address",
}
PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "64:ff9b::8.8.8.8",
]


@pytest.mark.parametrize(("address", "phrase"), FORBIDDEN.items(), ids=lambda value: value[:40])
def test_forbidden(address: str, phrase: str) -> None:
    assert forbidden(address, NOTHING) == phrase


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert forbidden(address, NOTHING) is None


def test_allow_lifts_exactly_what_it_names() -> None:
    allow = parse_networks(["127.0.0.0/8", " 10.1.2.3 ", "fd00::/8"])
    assert forbidden("127.0.0.9", allow) is None
    assert forbidden("10.1.2.3", allow) is None
    assert forbidden("fd00::1", allow) is None
    assert forbidden("10.1.2.4", allow) is not None
    assert forbidden("::1", allow) is not None
    assert forbidden("::ffff:127.0.0.1", allow) == "IPv4-mapped (::ffff:0:0/96)"
    assert forbidden("64:ff9b::127.0.0.1", allow) is None


@pytest.mark.parametrize(
    ("address", "outer"),
    [
        ("::ffff:10.0.0.1", "::ffff:0:0/96"),
        ("::10.0.0.1", "::/96"),
        ("64:ff9b:1::10.0.0.1", "64:ff9b:1::/48"),
        ("2002:a00:1::1", "2002::/16"),
        ("2001:0:808:808::f5ff:fffe", "2001::/32"),  # client 10.0.0.1, inverted
        ("2001:0:a00:1::f7f7:f7f7", "2001::/32"),  # server 10.0.0.1
    ],
)
def test_the_address_inside_is_judged_too(address: str, outer: str) -> None:
    assert forbidden(address, parse_networks([outer])) == "an address that carries private (10.0.0.0/8)"
    assert forbidden(address, parse_networks([outer, "10.0.0.0/8"])) is None


def test_loopback_of_ipv6_is_allowed_by_its_own_name_alone() -> None:
    assert forbidden("::1", parse_networks(["::1"])) is None
    assert forbidden("::1", parse_networks(["127.0.0.0/8", "0.0.0.0/8"])) is not None
    assert forbidden("::7f00:1", parse_networks(["::/96"])) == "an address that carries loopback (127.0.0.0/8)"


@pytest.mark.parametrize("bad", ["10.0.0.0/33", "10.0.0.1/8", "intranet", "", "fe80::1%eth0", "1" * 9999, "0x7f.1"])
def test_a_bad_range_is_named(bad: str) -> None:
    with pytest.raises(ConfigError, match=r"net\.allow: ") as caught:
        parse_networks(["127.0.0.0/8", bad])
    assert repr(bad[:80]) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        "2130706433", "0x7f000001", "017700000001", "0x7f.1", "127.1", "0177.0.0.1", "127.0.0.1.", "127.0.0.1",
        "１２７.0.0.1", "%31%32%37.0.0.1", "127。0。0。1",
    ],
)  # fmt: skip
def test_hosts_in_disguise_come_out_of_url_parsing_as_addresses(host: str) -> None:
    url = parse(f"http://{host}/")
    assert isinstance(url, Url)
    assert forbidden(name_of(url.host), NOTHING) == "loopback (127.0.0.0/8)"


@given(st.ip_addresses(v=4))
@settings(deadline=None, max_examples=500)
def test_agrees_with_the_standard_library_on_ipv4(address: ipaddress.IPv4Address) -> None:
    if forbidden(str(address), NOTHING) is None:
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=6))
@settings(deadline=None, max_examples=500)
def test_agrees_with_the_standard_library_on_ipv6(address: ipaddress.IPv6Address) -> None:
    if forbidden(str(address), NOTHING) is None:
        assert address.is_global or address in ipaddress.ip_network("64:ff9b::/96")
        assert not address.is_multicast
        assert not address.is_reserved or address in ipaddress.ip_network("64:ff9b::/96")


@given(st.text(max_size=30))
@settings(deadline=None, max_examples=300)
def test_nothing_raises_and_what_is_no_address_is_forbidden(text: str) -> None:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        assert forbidden(text, NOTHING) == "not an IP address"
