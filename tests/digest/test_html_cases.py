"""Links, base URLs, refreshes and robots elements: the public cases, and where our policy differs from their tools'."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gossamer.adapters.digest import charset
from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.links import resolve_base
from gossamer.model.page import Digest
from gossamer.model.url import Url, serialize
from tests.digest.helpers import as_bytes, cases, digest, links

LINKS = cases("html/links.jsonl")
BASES = cases("html/base_url.jsonl")
REFRESHES = cases("html/meta_refresh.jsonl")
ROBOTS = cases("html/meta_robots.jsonl")


def numbered(*spans: int | tuple[int, int]) -> frozenset[str]:
    found: set[int] = set()
    for span in spans:
        found |= {span} if isinstance(span, int) else set(range(span[0], span[1] + 1))
    return frozenset(f"H{number:03d}" for number in found)


# Where we return fewer links than the case's tool, and why. In each of them the rest must be equal.
POLICY = {
    "rel=nofollow is honoured": numbered(12, 46, 47),
    "images, video and their srcset are not pages": numbered(64, 72, 73, 90, 93, 106, 107, 112, (114, 115), 117, 119),
    "data-* attributes mean what a script says": numbered(37, 38, (108, 111), 113, 116, 118),
    "nothing is guessed from scripts, comments or plug-in parameters": numbered(101, (103, 105)),
    "forms are not sent": numbered(68),
    "style sheets and XML are not searched for links": numbered((120, 125)),
    "only http and https are fetched": numbered(49),
    "one page has one canonical URL": numbered(50, 52, 54),
    "options of that tool: other elements, attributes, code": numbered(27, 30, 36, (40, 43)),
    "its extension says that it is an image": numbered(26),
}
FEWER = frozenset().union(*POLICY.values())


def read(case: dict[str, Any]) -> Digest:
    label = case.get("encoding") or "utf-8"
    name = charset.resolve_label(label)
    assert name is not None
    if "html_b64" in case:
        body = base64.b64decode(case["html_b64"])
    else:
        body = case["html"].encode(charset.codec_of(name), "xmlcharrefreplace")
    return digest(body, url=case["base_url"], content_type=f"text/html; charset={name}", key="")


def expected(case: dict[str, Any]) -> list[str]:
    """As we write them: serialised, without fragments, each once."""
    plain = [(serialize(link) or link).partition("#")[0] for link in case["expected_links"]]
    return list(dict.fromkeys(plain))


def test_no_case_is_lost() -> None:
    assert [len(LINKS), len(BASES), len(REFRESHES), len(ROBOTS)] == [126, 20, 29, 23]
    assert {why: len(ids) for why, ids in POLICY.items()} == {
        "rel=nofollow is honoured": 3,
        "images, video and their srcset are not pages": 12,
        "data-* attributes mean what a script says": 9,
        "nothing is guessed from scripts, comments or plug-in parameters": 4,
        "forms are not sent": 1,
        "style sheets and XML are not searched for links": 6,
        "only http and https are fetched": 1,
        "one page has one canonical URL": 3,
        "options of that tool: other elements, attributes, code": 7,
        "its extension says that it is an image": 1,
    }
    assert len(FEWER) == 47


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in LINKS if case["id"] not in FEWER])
def test_links(case: dict[str, Any]) -> None:
    """79 cases hold: exactly where the case says exactly, at least where it filters what we keep or only samples."""
    got, want = links(read(case)), expected(case)
    filters = {key for key, value in (case.get("options") or {}).items() if key != "form_action" and value != "href"}
    if case["match"].startswith("exact") and not filters:
        assert sorted(got) == sorted(want)
        hosts = [serialize(link) or "" for link in want]
        assert [link for link in got if link in hosts] == got
    else:
        assert set(want) <= set(got)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in LINKS if case["id"] in FEWER])
def test_links_where_our_policy_is_to_take_fewer(case: dict[str, Any]) -> None:
    got, want = links(read(case)), expected(case)
    assert set(want) - set(got)
    ours = numbered(27, 26, 50, 52, 54, 36)  # here something else is returned than the case's tool would
    assert case["id"] in ours or set(got) <= set(want)


def test_what_else_is_returned_under_our_policy() -> None:
    by_id = {case["id"]: case for case in LINKS}
    assert links(read(by_id["H027"])) == ["http://example.org/about.html"]
    assert links(read(by_id["H026"])) == ["http://example.org/page.html"]
    assert links(read(by_id["H036"])) == ["http://example.com/sample1.html", "http://example.com/sample2.html"]
    assert links(read(by_id["H050"])) == ["https://example.com/a", "https://example.com/b?a=1&b=2"]
    assert links(read(by_id["H054"])) == ["https://example.com/p?b=2&a=1"]
    assert links(read(by_id["H092"])) == []  # four forms, three of them GET


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in BASES])
def test_base_url(case: dict[str, Any]) -> None:
    """First base element with an href; in comments, scripts and noscript there is none."""
    label = case["encoding"]
    document = as_bytes(case["base_url"]).decode()
    if isinstance(case["html"], dict):
        html = as_bytes(case["html"]).decode("latin-1" if label else "utf-8")
    else:
        html = case["html"]
    found = resolve_base(
        scan(parse_html(html), html).base, document, charset.resolve_label(label or "utf-8") or "utf-8"
    )
    here = found.parse(".") if case["expected_base"].endswith("/") else found.parse("")
    if not case["expected_base"]:
        assert not isinstance(here, Url)
    else:
        assert isinstance(here, Url)
        assert here.wire == serialize(case["expected_base"])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in REFRESHES])
def test_meta_refresh(case: dict[str, Any]) -> None:
    """The target is a link. Refreshes in scripts and noscript don't count: two cases ask a tool to count them."""
    html = as_bytes(case["html"])
    encoding = "utf-8"
    try:
        html.decode()
    except UnicodeDecodeError:
        encoding = "iso-8859-1"
    got = links(digest(html, url=case["base_url"], content_type=f"text/html; charset={encoding}", key=""))
    counts_hidden = case.get("options") == {"ignore_tags": []}
    if case["expected_url"] is None or counts_hidden:
        assert got == []
    else:
        assert got == [serialize(case["expected_url"])]


def test_two_refreshes_are_for_tools_that_read_noscript() -> None:
    assert sum(case.get("options") == {"ignore_tags": []} for case in REFRESHES) == 2


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in ROBOTS])
def test_meta_robots(case: dict[str, Any]) -> None:
    """`nocache` of these cases is the HTTP pragma, which concerns caches, not archives."""
    tags = tuple(("x-robots-tag", value) for value in case["headers"].get("X-Robots-Tag", []))
    headers = (("content-type", "text/html; charset=utf-8"), *tags)
    got = digest(case["html"], url="http://www.nutch.org/", headers=headers)
    assert (got.noindex, got.nofollow) == (case["noindex"], case["nofollow"])
    if "expected_links" in case:
        assert links(got) == case["expected_links"]
