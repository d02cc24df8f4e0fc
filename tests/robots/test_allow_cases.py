"""Every published case of Google's parser, RFC 9309 and the parsers that agree with them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from gossamer.policy.robots import judge_response, parse

CASES = Path(__file__).parent.parent / "cases" / "robots"


def read(name: str) -> list[dict[str, Any]]:
    with (CASES / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


ALLOW = read("allow.jsonl")
META = read("meta.jsonl")
STATUS = read("fetch_status.jsonl")

# No User-agent line precedes the Crawl-delay: RFC 9309 gives it no group (M018, M019 agree), rep-cpp gives it `*`.
META_OURS = {"M140": None}
META_BASE = "http://domain.com"


def target_of(url: str) -> str:
    """Path and query of a URL as it goes on the wire, without normalising it as a URL parser would."""
    rest = url.split("://", 1)[1] if "://" in url else url
    starts = [at for at in map(rest.find, "/?;") if at >= 0]
    if "://" in url:
        rest = rest[min(starts) :] if starts else "/"
    rest = rest.partition("#")[0]
    return rest if rest.startswith("/") else "/" + rest


def body_of(case: dict[str, Any]) -> bytes:
    return case["robots"].encode("utf-8", "surrogatepass") if "robots" in case else base64.b64decode(case["robots_b64"])


def test_every_case_is_here() -> None:
    assert len(ALLOW) == 2141
    assert len(META) == 152
    assert len(STATUS) == 33
    assert sum(case["field"] == "crawl_delay_s" for case in META) == 53
    assert sum(case["field"] == "sitemaps" for case in META) == 17


@pytest.mark.parametrize("case", ALLOW, ids=lambda case: case["id"])
def test_allow(case: dict[str, Any]) -> None:
    verdict = parse(body_of(case), case["agent"]).decide(target_of(case["url_raw"] or ""))
    assert verdict.allowed == case["allowed"], verdict


@pytest.mark.parametrize("case", [c for c in META if c["field"] == "crawl_delay_s"], ids=lambda case: case["id"])
def test_crawl_delay(case: dict[str, Any]) -> None:
    # A list of agents stands for one User-Agent header: the one in the middle is the crawler's name.
    agent = case["agent"][1] if isinstance(case["agent"], list) else case["agent"] or ""
    assert parse(body_of(case), agent).crawl_delay_s == META_OURS.get(case["id"], case["value"])


@pytest.mark.parametrize("case", [c for c in META if c["field"] == "sitemaps"], ids=lambda case: case["id"])
def test_sitemaps(case: dict[str, Any]) -> None:
    # We keep them as written and resolve them where they are fetched; crawler-commons resolves while parsing.
    found = [
        META_BASE + s if s.startswith("/") and case["id"] == "M085" else s for s in parse(body_of(case), "x").sitemaps
    ]
    assert found == case["value"]


def test_fields_that_are_not_ours() -> None:
    """No standard knows Visit-time, Request-rate and Host.

    A file applies to one authority because robots are kept per authority (not_applicable_url), and one token of ours is
    looked for, not a list of names (allowed_for_agent_list).
    """
    others = {case["field"] for case in META} - {"crawl_delay_s", "sitemaps"}
    assert others == {"request_rate", "visit_time", "preferred_host", "not_applicable_url", "allowed_for_agent_list"}


def judged(condition: dict[str, Any]) -> tuple[str, str]:
    status = condition.get("robots_status", 200)
    if "robots" in condition:
        status = 0
    if isinstance(status, str):
        status = 206
    html = b"<!DOCTYPE html><html><body>hello</body></html>"
    body = (
        html if "body" in condition else b"" if condition.get("body_bytes") == 0 else b"User-agent: *\nDisallow: /x\n"
    )
    return judge_response(status, condition.get("content_type", "text/plain"), body, "disallow")


@pytest.mark.parametrize("case", STATUS, ids=lambda case: case["id"])
def test_fetch_status(case: dict[str, Any]) -> None:
    verdict, _ = judged(case["condition"])
    expected = case["rfc9309_expected"]
    if case["id"] == "S29":
        assert verdict == "disallow"  # our policy for a body that is no robots file
    elif case["id"] == "S24":
        assert verdict == "allow"  # RFC 9309 2.3.1.2: MAY assume unavailable
    elif case["id"] == "S28":
        assert verdict == "rules"
        assert parse(b"", "x").decide("/").allowed
    elif expected.startswith("allow"):
        assert verdict == "allow"
    elif expected.startswith("disallow"):
        assert verdict == "disallow"
    else:
        # S25, S26: redirects that were followed; S30: the size limit; S31: the cache; S32: other 2xx.
        assert case["id"] in {"S25", "S26", "S30", "S31", "S32"}
        assert verdict == "rules"
