"""`gossamer rank` on a crawl on disk: what it reads, what it writes, what it refuses, and where it shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.adapters.linklog import LinkLog
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.votes import importance
from gossamer.model.config import Identity, Scope
from gossamer.model.record import HostRow
from gossamer.sim.check import host_rows
from gossamer.sim.web import SimHost, SimWeb
from gossamer.surface import cli
from gossamer.surface.rankjob import rank_crawl
from gossamer.surface.rankrow import last_summary
from tests.reader.making import Made, html, plain_config, site

LEAVES = [f"leaf{number}.example" for number in range(6)]
HUB, LONE = "hub.example", "lone.example"
EVERYBODY = (HUB, LONE, *LEAVES)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Six sites lead to a hub, one to a lone site; the hub and the lone site lead nowhere."""
    pages = {name: html(name, f"http://{HUB}/", f"http://{HUB}/a/b") for name in LEAVES}
    pages[LEAVES[0]] = html(LEAVES[0], f"http://{HUB}/", f"http://{LONE}/")
    pages |= {HUB: html("hub"), LONE: html("lone")}
    hosts = {name: SimHost(address=f"20.0.0.{n}", page=site({"/": pages[name]})) for n, name in enumerate(EVERYBODY)}
    config = plain_config(
        tuple(f"http://{name}/" for name in LEAVES),
        scope=Scope(mode="any"),
        identity=Identity(contact="https://example.org/bot"),
    )
    made = Made(tmp_path_factory.mktemp("rank") / "crawl", config, SimWeb(hosts))
    made.run()
    log = LinkLog(made.directory / "archive")
    [segment] = made.segments()
    for name in LEAVES:
        log.note(segment.name, name, [HUB, *([LONE] if name == LEAVES[0] else [])], 0.0)
    log.flush()
    return made


@pytest.fixture
def made(template: Made, tmp_path: Path) -> Made:
    return template.copy(tmp_path / "crawl")


def rows(made: Made) -> dict[str, HostRow]:
    store = RocksStore(made.directory / "state", read_only=True)
    try:
        return dict(host_rows(store))
    finally:
        store.close()


def test_while_crawling_the_votes_of_sites_are_counted(made: Made) -> None:
    found = {host: importance(row) for host, row in rows(made).items()}
    assert found[HUB] > found[LONE] > 0
    assert [found[leaf] for leaf in LEAVES] == [0.0] * len(LEAVES)


@pytest.mark.parametrize("method", ["pagerank", "harmonic"])
def test_every_ledger_gets_its_importance_and_keeps_the_rest(made: Made, method: str) -> None:
    before = rows(made)
    summary = rank_crawl(made.directory, method, 5.0)  # type: ignore[arg-type]
    after = rows(made)
    assert summary.written == len(EVERYBODY) == len(after)
    assert (summary.hosts, summary.sites, summary.links, summary.pages) == (8, 8, 7, 6)
    assert [top.host for top in summary.top][:2] == [HUB, LONE]
    assert {row.ranked for row in after.values()} == {5.0}
    assert importance(after[HUB]) > importance(after[LONE]) > importance(after[LEAVES[0]]) == 0.0
    for host, row in after.items():
        row.rank, row.ranked = before[host].rank, before[host].ranked
    assert after == before
    store = RocksStore(made.directory / "state", read_only=True)
    assert last_summary(store) == summary
    store.close()


def test_a_ranked_crawl_is_sound(made: Made) -> None:
    before = cli.run(["verify", "--dir", str(made.directory)])
    rank_crawl(made.directory, "pagerank", 5.0)
    assert cli.run(["verify", "--dir", str(made.directory)]) == before == 0


def test_the_crawl_goes_on_with_what_was_found(made: Made) -> None:
    rank_crawl(made.directory, "pagerank", 5.0)
    made.run()
    assert rows(made)[HUB].rank is not None


def test_a_running_crawl_is_not_disturbed(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    store = RocksStore(made.directory / "state")
    try:
        assert cli.run(["rank", "--dir", str(made.directory)]) == 5
    finally:
        store.close()
    assert "in use by another process: wait for it or stop it" in capsys.readouterr().err
    assert {row.rank for row in rows(made).values()} == {None}


def test_no_crawl_is_a_usage_error_and_nothing_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rank", "--dir", str(tmp_path / "none")]) == 2
    assert "no crawl there" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_what_the_command_says(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rank", "--dir", str(made.directory)]) == 0
    said = capsys.readouterr().out
    assert "ranked     8 hosts of 8 sites by PageRank" in said
    assert "links      7 between hosts of different sites, on 6 pages" in said
    assert said.index(HUB) < said.index(LONE)
    assert cli.run(["rank", "--dir", str(made.directory), "--method", "harmonic", "--json"]) == 0
    read = json.loads(capsys.readouterr().out)
    assert (read["method"], read["top"][0]["host"], read["exact"]) == ("harmonic", HUB, True)


def test_without_links_it_says_so(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (made.directory / "links").iterdir():
        path.unlink()
    assert cli.run(["rank", "--dir", str(made.directory)]) == 0
    assert "every host has importance 0" in capsys.readouterr().out


def test_report_and_explain_show_it(made: Made) -> None:
    def told(url: str) -> str:
        with_reader = made.reader()
        steps = {step.name: step for step in with_reader.explain(url).steps}
        with_reader.close()
        return dict(steps["host"].facts).get("importance", "")

    assert told(f"http://{HUB}/") == "0.29 of 1, by the votes of about 6 other sites"
    assert told(f"http://{LEAVES[0]}/") == ""
    rank_crawl(made.directory, "pagerank", 1_767_225_600.0)
    assert told(f"http://{HUB}/").endswith("of 1, ranked 2026-01-01 00:00:00Z (gossamer rank)")
    reader = made.reader()
    report = reader.report()
    reader.close()
    assert [view.host for view in report.important] == [HUB, LONE]
    assert report.importance_from.startswith("by pagerank of 2026-01-01")
