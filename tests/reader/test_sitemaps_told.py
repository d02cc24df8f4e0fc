"""What `explain` says of sitemaps: that what they are asked for counts, not their name, and when no more are taken."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.model.limits import SITEMAP_INDEX_DEPTH_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.model.view import Explanation
from gossamer.sim.web import Answer, SimHost, SimWeb
from tests.reader.making import Made, html, plain_config

SEED = "https://a.example/"
MAP = "a/a/a/a/a/map.xml.gz"  # no page would be asked for by such a name
NAMED = "sitemaps that its host has named"


def facts(found: Explanation, name: str) -> dict[str, str]:
    return dict(next(step.facts for step in found.steps if step.name == name))


def test_sitemaps_are_told_by_what_they_are_asked_for_and_by_their_bounds(tmp_path: Path) -> None:
    rules = Answer(body=f"Sitemap: /{MAP}\n".encode(), headers=(("content-type", "text/plain"),))
    host = SimHost(address="1.1.1.1", robots=rules, page=lambda target: html(f"page {target}"))
    made = Made(tmp_path / "crawl", plain_config((SEED,)), SimWeb({"a.example": host}))
    made.run()
    made.wait(1_000.0)
    reader = made.reader()
    asked = reader.explain(SEED + MAP)
    assert asked.verdict.startswith("fetched with status 200 ")
    assert {step.mark for step in asked.steps} <= {"ok", "note"}
    assert facts(asked, "budgets")[NAMED] == "1 of 1,000"
    assert "sitemaps below it" not in facts(asked, "outcome")
    reader.close()

    def to_the_bounds(store: RocksStore) -> None:
        key = f"example,a)/{MAP}".encode()
        row = msgspec.msgpack.decode(store.get(Cf.URL, key) or b"", type=UrlRow)
        ledger = msgspec.msgpack.decode(store.get(Cf.HOST, b"a.example") or b"", type=HostRow)
        row.depth, ledger.sitemaps = SITEMAP_INDEX_DEPTH_MAX, SITEMAPS_PER_HOST_MAX
        store.write([(Cf.URL, key, encode(row)), (Cf.HOST, b"a.example", encode(ledger))])

    made.change(to_the_bounds)
    reader = made.reader()
    assert (
        facts(reader.explain(SEED + MAP), "outcome")["sitemaps below it"] == "none is asked for (sitemap-index-depth)"
    )
    never = facts(reader.explain(SEED + "another.xml"), "budgets")
    assert never[NAMED] == "1,000 of 1,000; more are refused (sitemaps-per-host)"
    reader.close()
