"""The public case files on URLs: the WHATWG standard's own tests, groups of equal URLs, the public suffix list's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import ada_url
import pytest

from gossamer.model.legacy_query import percent_encode_query
from gossamer.model.url import Base, Url, parse, registered_domain, serialize, site_of

CASES = Path(__file__).parents[1] / "cases" / "url"


def load(name: str) -> list[dict[str, Any]]:
    with (CASES / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


WHATWG = load("whatwg.jsonl")
GROUPS = load("equal_groups.jsonl")
SUFFIXES = load("public_suffix.jsonl")
# The file leaves out the base of the two cases whose base is opaque; WPT's urltestdata.json has it.
OPAQUE_BASE = {"U0339": "about:blank", "U0340": "about:blank"}


def of(op: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in WHATWG if case["op"] == op]


def expected(case: dict[str, Any]) -> str | None:
    return None if case.get("error") else case["expected"]


def test_no_case_is_lost() -> None:
    ops = Counter(case["op"] for case in WHATWG)
    assert ops == {"whatwg-parse": 915, "host-to-ascii": 87, "resolve": 22, "query-percent-encode": 15}
    assert len(GROUPS) == 30
    assert sum(len(group["inputs"]) for group in GROUPS) == 93
    assert len(SUFFIXES) == 101


@pytest.mark.parametrize("case", [*of("whatwg-parse"), *of("resolve")])
def test_serialization(case: dict[str, Any]) -> None:
    base = case.get("base") or OPAQUE_BASE.get(case["id"])
    href = expected(case)
    assert serialize(case["input"], base) == href
    url = parse(case["input"], base)
    if base is None or serialize(base) is not None:  # a Base that is no URL still reads absolute links
        assert url == Base(base or "").parse(case["input"])
    if href is None or not href.startswith(("http://", "https://")):
        assert not isinstance(url, Url)
        return
    assert isinstance(url, Url)
    oracle = ada_url.URL(href)
    oracle.hash = oracle.username = oracle.password = ""
    assert url.wire == oracle.href.removesuffix("#")


@pytest.mark.parametrize("case", of("host-to-ascii"))
def test_host_to_ascii(case: dict[str, Any]) -> None:
    href = serialize(f"https://{case['input']}/x")
    assert (None if href is None else href[len("https://") : -len("/x")]) == expected(case)


@pytest.mark.parametrize("case", of("query-percent-encode"))
def test_query_percent_encode(case: dict[str, Any]) -> None:
    assert percent_encode_query(case["input"], case["encoding"]) == case["expected"]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["href"])
def test_equal_groups(group: dict[str, Any]) -> None:
    urls = [parse(given["input"], given["base"]) for given in group["inputs"]]
    assert all(isinstance(url, Url) for url in urls)
    assert {serialize(given["input"], given["base"]) for given in group["inputs"]} == {group["href"]}
    assert len(set(urls)) == 1


def to_ascii(name: str) -> str:
    return ".".join(label if label.isascii() else label.encode("idna").decode() for label in name.split("."))


@pytest.mark.parametrize("case", SUFFIXES, ids=lambda case: str(case["host"]))
def test_public_suffix(case: dict[str, Any]) -> None:
    host, domain = case["host"], case["registrable_domain"]
    if host is None:  # the list's tests ask for a null host; a text cannot be one
        assert registered_domain("") is None
    elif case.get("fn") == "PaidLevelDomain.getPLD":
        # That function answers with the host where there is no domain, and without the private section.
        private = {"xxx.de.com": "xxx.de.com", "www.xxx.de.com": "xxx.de.com", "myblog.blogspot.com": host}
        assert site_of(host) == private.get(host, domain)
    elif host == ".kawasaki.jp":  # getAssignedDomain answers with the bare suffix; the list's own rule says none
        assert registered_domain(host) is None
        assert site_of(host) == domain
    else:
        assert registered_domain(host) == (None if domain is None else to_ascii(domain))


def test_private_section_counts() -> None:
    assert site_of("alice.github.io") == "alice.github.io"
    assert site_of("github.io") == "github.io"
    assert site_of("a.b.example.co.uk") == "example.co.uk"
