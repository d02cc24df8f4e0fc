"""Range sets, lanes, networks, and the tables read from files."""

from __future__ import annotations

import gzip
import ipaddress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters.networks import load_as_table, load_cdn
from gossamer.model.errors import ConfigError
from gossamer.policy.networks import RangeSet, lane_id, net_id, number_of, parse_as_lines

TSV = (
    "1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUDFLARENET\n"
    "1.0.1.0\t1.0.3.255\t0\tNone\tNot routed\n"
    "1.0.4.0\t1.0.7.255\t38803\tAU\tGTELECOM\n"
    "2001:200::\t2001:200:ffff:ffff:ffff:ffff:ffff:ffff\t2500\tJP\tWIDE-BB\n"
)


def test_ranges_from_lines() -> None:
    ranges = RangeSet.from_lines(
        ["# top", "", "192.0.2.0/25 # half", "192.0.2.128/25", "2001:db8::/32", "::/96"], "list"
    )
    assert len(ranges) == 3  # the two halves touch; 255.255.255.255 and :: do not
    for inside in ("192.0.2.0", "192.0.2.255", "2001:db8:ffff::1", "::5"):
        assert inside in ranges
    for outside in ("192.0.1.255", "192.0.3.0", "2001:db9::", "255.255.255.255", "nonsense", ""):
        assert outside not in ranges


def test_a_bad_line_is_named() -> None:
    with pytest.raises(ConfigError, match=r"list, line 3: '192\.0\.2\.0/40' is not an address range"):
        RangeSet.from_lines(["1.2.3.4", "", "192.0.2.0/40"], "list")


@given(
    st.lists(st.tuples(st.ip_addresses(v=4), st.integers(0, 32)), max_size=20),
    st.lists(st.tuples(st.ip_addresses(v=6), st.integers(0, 128)), max_size=20),
    st.lists(st.ip_addresses(), max_size=10),
)
@settings(deadline=None, max_examples=150)
def test_membership_is_that_of_the_standard_library(v4: list, v6: list, probes: list) -> None:  # type: ignore[type-arg]
    networks = [ipaddress.ip_network((address, bits), strict=False) for address, bits in v4 + v6]
    ranges = RangeSet.from_lines(map(str, networks), "x")
    for address in [*probes, *(n.network_address for n in networks), *(n.broadcast_address for n in networks)]:
        assert (str(address) in ranges) == any(address in network for network in networks)


def test_lane() -> None:
    cdn = RangeSet.from_lines(["104.16.0.0/13"], "x")
    assert lane_id("a.example", "104.16.1.1", cdn) == "a.example|104.16.1.1"
    assert lane_id("a.example", "198.41.0.4", cdn) == "198.41.0.4"
    assert lane_id("a.example", "198.41.0.4", cdn) == lane_id("b.example", "198.41.0.4", cdn)


@pytest.mark.parametrize(
    ("address", "net"),
    [
        ("1.2.3.4", "1.2.3.0/24"),
        ("255.255.255.255", "255.255.255.0/24"),
        ("2001:db8:1:2::3", "2001:db8:1::/48"),
        ("::1", "::/48"),
        ("junk", "junk"),
    ],
)
def test_net(address: str, net: str) -> None:
    assert net_id(address) == net


def test_as_table() -> None:
    table = parse_as_lines(TSV.splitlines(), "table")
    assert len(table) == 3
    assert table.lookup("1.0.0.0") == 13335
    assert table.lookup("1.0.0.255") == 13335
    assert table.lookup("1.0.2.1") is None  # announced by nobody
    assert table.lookup("1.0.8.0") is None
    assert table.lookup("0.255.255.255") is None
    assert table.lookup("2001:200:8000::1") == 2500
    assert table.lookup("2001:201::") is None
    assert table.lookup("junk") is None
    assert parse_as_lines(["16777216\t16777471\tAS13335"], "x").lookup("1.0.0.9") == 13335


@pytest.mark.parametrize(
    "line",
    ["1.0.0.0 1.0.0.255 13335", "1.0.0.0\t1.0.0.255", "1.0.0.9\t1.0.0.1\t5", "x\t1.0.0.1\t5", "1.0.0.0\t1.0.0.255\tx",
     "1.0.0.0\t::1\t5", "1.0.0.0\t1.0.0.255\t99999999999", "99999999999\t99999999999\t1"],
)  # fmt: skip
def test_a_bad_as_line_is_named(line: str) -> None:
    with pytest.raises(ConfigError, match=r"^table, line 2: expected FIRST<tab>LAST<tab>AS, found "):
        parse_as_lines(["# comment", line], "table")


def test_as_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "t.tsv", tmp_path / "t.tsv.gz"
    plain.write_text(TSV)
    packed.write_bytes(gzip.compress(TSV.encode()))
    for path in (plain, packed):
        assert load_as_table(str(path)).lookup("1.0.5.1") == 38803


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.tsv", None),
        ("empty.tsv", b""),
        ("cut.gz", gzip.compress(TSV.encode())[:-9]),
        ("broken.gz", b"\x1f\x8b\x08" + b"junk" * 20),
        ("binary.tsv", bytes(range(128, 256))),
        ("endless.tsv", b"1" * 100_000),
        ("junk.mmdb", b"junk"),
        ("missing.mmdb", None),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load_as_table(str(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def mmdb(kind: str) -> bytes:
    """A MaxMind database (format 2.0) of one bit: 128.0.0.0/1 belongs to AS 64500. Written by its specification."""

    def text(value: str) -> bytes:
        return bytes([2 << 5 | len(value)]) + value.encode()

    def number(value: int, kind_bits: int) -> bytes:
        body = value.to_bytes((value.bit_length() + 7) // 8, "big")
        return (bytes([kind_bits << 5 | len(body)]) if kind_bits < 8 else bytes([len(body), kind_bits - 7])) + body

    tree = (1).to_bytes(3, "big") + (1 + 16).to_bytes(3, "big")  # left: nothing, right: first byte of the data
    data = bytes([7 << 5 | 1]) + text("autonomous_system_number") + number(64500, 6)
    meta = {
        "binary_format_major_version": number(2, 5),
        "binary_format_minor_version": number(0, 5),
        "build_epoch": number(1_700_000_000, 9),
        "database_type": text(kind),
        "description": bytes([7 << 5]),
        "ip_version": number(4, 5),
        "languages": bytes([0, 4]),
        "node_count": number(1, 6),
        "record_size": number(24, 5),
    }
    body = bytes([7 << 5 | len(meta)]) + b"".join(text(key) + value for key, value in meta.items())
    return tree + b"\0" * 16 + data + b"\xab\xcd\xefMaxMind.com" + body


def test_mmdb(tmp_path: Path) -> None:
    pytest.importorskip("maxminddb")
    path = tmp_path / "asn.mmdb"
    path.write_bytes(mmdb("Test-ASN"))
    table = load_as_table(str(path))
    assert table.lookup("200.1.2.3") == 64500
    assert table.lookup("1.2.3.4") is None
    assert table.lookup("2001:db8::1") is None  # an IPv4 database
    assert table.lookup("junk") is None
    path.write_bytes(mmdb("Test-City"))
    with pytest.raises(ConfigError, match="not of AS numbers"):
        load_as_table(str(path))


def test_bundled_cdn_list() -> None:
    cdn = load_cdn()
    assert len(cdn) > 100
    for inside in ("104.16.132.229", "151.101.1.140", "13.32.0.1", "2606:4700::1", "2a04:4e42::1", "23.32.1.1"):
        assert inside in cdn
    for outside in ("8.8.8.8", "9.9.9.9", "127.0.0.1", "198.41.0.4", "2001:4860:4860::8888"):
        assert outside not in cdn


def test_cdn_list_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "cdn.txt"
    path.write_text("# mine\n127.0.9.0/24\n")
    assert "127.0.9.1" in load_cdn(str(path))
    assert "104.16.1.1" not in load_cdn(str(path))
    path.write_text("127.0.9.0/24\nnot a range\n")
    with pytest.raises(ConfigError, match=r"cdn\.txt, line 2: 'not a range'"):
        load_cdn(str(path))


def test_numbers_are_unique_across_versions() -> None:
    assert number_of("0.0.0.1") != number_of("::1")
    assert number_of("fe80::1%eth0") is None
