"""Every published sitemap and feed case of crawler-commons and Scrapy.

Where their expectations depend on settings, ours is one policy: any host may be listed (each entry is judged by scope
afterwards), any namespace is read, an external entity stands for nothing, what precedes a fault is kept, and an empty
location is no entry.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gossamer.adapters.digest.sitemap import parse_sitemap, types_of_sitemap

CASES = Path(__file__).parent.parent / "cases" / "sitemap"
ALL = [json.loads(line) for line in (CASES / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
KINDS = {"XML": "urlset", "INDEX": "index", "RSS": "feed", "ATOM": "feed", "TEXT": "text", "sitemapindex": "index"}

# Case -> (URLs we read, why theirs differ)
OURS: dict[str, tuple[list[str], str]] = {
    "SM009": (
        ["http://cs.harding.edu/fmccown/sitemaps/something.html"],
        "read before the fault; theirs is all or nothing",
    ),
    "SM025": (["http://www.example.com/"], "their strict location rule; SM026 is the same file without it"),
    "SM033": (["http://www.example.com/visit-here"], "their DOCTYPE ban; SM004 is the same file without it"),
    "SM037": (["http://www.example.com/1", "http://www.example.com/2"], "their strict namespaces; SM038 without"),
    "SM055": (
        [f"http://www.example.com/{name}/" for name in ("mobile-friendly-1", "mobile-friendly-2", "no-mobile")],
        "their strict host rule",
    ),
    "SM074": (["http://127.0.0.1:43079/text"], "Scrapy reports the empty location too"),
}
FAULTY = {"SM008", "SM009", "SM019", "SM021", "SM067", "SM075"}  # an error is named, whatever was read


def unix(text: str | None) -> float | None:
    if not text:
        return None
    if text[:3].isalpha():  # java.util.Date: "Fri Oct 01 18:23:17 UTC 2004"
        return datetime.strptime(text, "%a %b %d %H:%M:%S UTC %Y").replace(tzinfo=UTC).timestamp()
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def test_every_case_is_here() -> None:
    assert len(ALL) == 77
    assert len(list((CASES / "files").iterdir())) == 58
    assert Counter(case["type"] for case in ALL)["TEXT"] == 9


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    body = (CASES / "files" / case["file"]).read_bytes()
    url = case["sitemap_url"] or "http://www.example.com/sitemap.xml"
    result = parse_sitemap(body, url, case["content_type"] or "")
    read = [entry[0].partition("#")[0] for entry in result.entries] + result.children
    expected = [entry["url"] for entry in case["entries"]]
    assert read == (OURS[case["id"]][0] if case["id"] in OURS else expected)
    assert bool(result.error) == (case["id"] in FAULTY), result.error
    assert types_of_sitemap(url, case["content_type"] or "", body[:4096]) == result.kind
    if case["count"]:
        assert result.kind == KINDS.get(case["type"], case["type"])
    if case["id"] not in OURS and result.kind != "index":
        for entry, wanted in zip(result.entries, case["entries"], strict=True):
            assert entry[1] == unix(wanted.get("lastmod"))
            assert entry[2] == wanted.get("changefreq", "").lower()
            assert entry[3] == (
                float(wanted["priority"]) if "priority" in wanted and entry[3] is not None else entry[3]
            )
            if entry[3] is None:
                assert wanted.get("priority", 0.5) == 0.5  # the protocol's default, which we leave unsaid
