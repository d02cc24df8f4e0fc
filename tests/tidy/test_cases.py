"""Fact files are whole: a case that got lost would otherwise be a test that silently stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "cases"
COUNTS = {
    "robots/allow.jsonl": 2141,
    "robots/meta.jsonl": 152,
    "robots/fetch_status.jsonl": 33,
    "url/whatwg.jsonl": 1039,
    "url/equal_groups.jsonl": 30,
    "url/public_suffix.jsonl": 101,
    "duplicates/pairs.jsonl": 496,
    "html/links.jsonl": 126,
    "html/base_url.jsonl": 20,
    "html/meta_refresh.jsonl": 29,
    "html/meta_robots.jsonl": 23,
    "html/encoding.jsonl": 230,
    "sitemap/cases.jsonl": 77,
    "http/raw_cases.jsonl": 143,
    "http/redirects.jsonl": 22,
    "warc/files.jsonl": 76,
}


@pytest.mark.parametrize("name", COUNTS)
def test_every_case_is_there(name: str) -> None:
    lines = (CASES / name).read_text("utf-8").splitlines()
    assert len(lines) == COUNTS[name]
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_every_file_is_known() -> None:
    assert {str(path.relative_to(CASES)) for path in CASES.rglob("*.jsonl")} == set(COUNTS)


@pytest.mark.parametrize(("folder", "count"), [("http/raw", 143), ("sitemap/files", 58), ("warc/files", 76)])
def test_every_input_file_is_there(folder: str, count: int) -> None:
    assert len([path for path in (CASES / folder).rglob("*") if path.is_file()]) == count
