"""Reports and snapshots of crawls that the real core made: every figure against what the simulated servers saw."""

from __future__ import annotations

import math
import os
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import encode
from gossamer.core.counters import load_totals
from gossamer.model.config import Limits
from gossamer.model.page import Failure
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.model.view import Bound, BoundName, Notice, Slice, Snapshot
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface import reportdata
from gossamer.surface.reportdata import HOSTS_SHOWN, latency_steps, rank
from gossamer.surface.reporthtml import report_html
from gossamer.surface.reporttext import render_report
from gossamer.surface.timeline import SLICES_MAX, Steps
from tests.reader.making import ArchivedRun, Made, html, plain_config, site

SEEDS = ("https://a.example/", "https://b.example/", "https://slow.example/", "https://dead.example/")


def web() -> SimWeb:
    pages = {"/": html("home", *(f"https://a.example/{n}" for n in range(12)))}
    pages |= {f"/{n}": html(f"page {n // 3}") for n in range(12)}  # groups of three copies
    return SimWeb({
        "a.example": SimHost(address="1.1.1.1", page=site(pages)),
        "b.example": SimHost(address="1.1.1.2", page=site({"/": html("b", "https://b.example/none")})),
        "slow.example": SimHost(address="1.1.1.3", page=lambda _: Answer(seconds=7.0, body=b"slow")),
        "dead.example": SimHost(
            address="1.1.1.4", robots=Answer(failure=Failure.CONNECT), page=lambda _: Answer(failure=Failure.CONNECT)
        ),
    })  # fmt: skip


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, ArchivedRun]:
    made = Made(tmp_path_factory.mktemp("report") / "crawl", plain_config(SEEDS, limits=Limits(bytes=10**6)), web())
    run = made.run(400.0)
    return made, run


def test_the_report_tells_what_happened(crawled: tuple[Made, ArchivedRun]) -> None:
    made, run = crawled
    reader = made.reader()
    data = reader.report()
    pages = [e for e in run.events if e.status and e.kind == "page"]
    assert data.snapshot.pages == len(pages) == 16
    assert data.hosts_total == 4
    assert data.hosts[0].host == "a.example"
    assert data.slowest[0].host == "slow.example"
    assert data.failing[0].host == "dead.example"
    assert {host.host for host in data.hosts} == {"a.example", "b.example", "slow.example", "dead.example"}
    assert sum(data.depths.values()) == len(pages)
    assert data.depths == {0: 3, 1: 13}
    assert data.media_types["text/html"][0] == len(pages)
    assert data.languages == {"en": len(pages)}
    assert data.scope == "site (a.example, b.example, dead.example and 1 more)"
    assert data.seeds == SEEDS
    assert sum(count for _, count in data.response_ms) == len([e for e in run.events if e.status])
    assert data.response_ms[-1][0] == math.inf
    assert sum(step.pages for step in data.timeline) == len(pages)
    assert sum(step.failures for step in data.timeline) == len([e for e in run.events if e.failure]) > 0
    assert sum(step.bytes for step in data.timeline) == sum(e.wire_bytes for e in run.events)
    assert len(data.timeline) <= SLICES_MAX
    reader.close()


def test_copies_are_grouped_by_their_original(crawled: tuple[Made, ArchivedRun]) -> None:
    groups = crawled[0].reader().report().duplicates
    assert [(group.copies, group.kind) for group in groups] == [(2, "exact")] * 4
    assert len({group.original for group in groups}) == 4
    assert all(group.original.startswith("https://a.example/") and group.example != group.original for group in groups)


def test_hosts_come_in_order_with_their_reasons(crawled: tuple[Made, ArchivedRun]) -> None:
    made, _ = crawled
    views = list(made.reader().hosts())
    assert [view.host for view in views] == ["a.example", "b.example", "dead.example", "slow.example"]
    by_name = {view.host: view for view in views}
    assert (by_name["a.example"].state, by_name["a.example"].robots) == ("idle", "allow: 404")
    assert by_name["a.example"].duplicates == 8
    assert by_name["a.example"].statuses == {"200": 13, "404": 2}  # robots.txt, and a made-up page to learn its 404
    dead = by_name["dead.example"]
    assert dead.state in {"parked", "resting"}
    assert dead.pending == 1
    assert dead.why
    assert dead.robots == "disallow: unreachable: connect"


def test_both_forms_of_a_report_render(crawled: tuple[Made, ArchivedRun]) -> None:
    data = crawled[0].reader().report()
    from rich.console import Console

    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: PTH123, SIM115
    console.print(render_report(data))
    text = console.export_text()
    assert "slow.example" in text
    assert "a.example" in report_html(data)


def test_a_stored_snapshot_agrees_with_the_counters(crawled: tuple[Made, ArchivedRun]) -> None:
    made, run = crawled
    shot = made.reader().snapshot()
    totals = load_totals(RocksStore(made.directory / "state", read_only=True))
    assert (shot.pages, shot.visits, shot.bytes) == (totals.pages, totals.visits, totals.bytes)
    assert shot.hosts_known == 4
    assert shot.queued == sum(shot.queue_by_level) == 1
    assert shot.statuses == totals.statuses
    assert shot.duplicates_exact == 8
    assert shot.segments == 1
    assert shot.archive_bytes == sum(path.stat().st_size for path in made.segments()) > 0
    assert [(budget.name, budget.limit) for budget in shot.budgets] == [("bytes", 10**6)]
    assert shot.state == "interrupted"  # work is left and the last run left no word
    assert list(shot.seed_failures) == ["https://dead.example/"]
    assert run.partition.context.counters.totals.urls == shot.urls_known


def put_status(made: Made, snapshot: Snapshot, age_s: float = 0.0) -> None:
    path = made.directory / "log" / "status.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.encode(snapshot))
    stamp = path.stat().st_mtime - age_s
    os.utime(path, (stamp, stamp))


def test_the_last_word_of_a_run_is_taken_up(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config(SEEDS[:1]), web())
    made.run()
    notice = Notice(1.0, "warning", "look")
    for state in ("finished", "interrupted", "stopped"):
        put_status(made, Snapshot(state=state, state_detail="as it said", rate_average=2.5, notices=(notice,)))
        shot = made.reader().snapshot()
        assert (shot.state, shot.state_detail, shot.rate_average) == (state, "as it said", 2.5)
        assert shot.notices == (notice,)
        assert shot.pages == 13
    (made.directory / "log" / "status.json").unlink()
    assert made.reader().snapshot().state == "finished"


def test_a_running_crawl_speaks_for_itself(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config(SEEDS[:1]), web())
    made.run(6.0)
    now = Snapshot(state="crawling", pages=77, bound=Bound(BoundName.HOSTS, "only 1 host has work"))
    put_status(made, now)
    assert made.reader().snapshot().pages == 77
    assert made.reader().report().snapshot.bound.sentence == "only 1 host has work"
    assert made.reader(at=made.clock.now() + 60).explain("https://a.example/7").verdict.endswith("in this level")
    put_status(made, now, age_s=100.0)
    shot = made.reader().snapshot()
    assert (shot.state, shot.pages < 77) == ("interrupted", True)


def test_reading_goes_on_while_the_store_is_written(tmp_path: Path) -> None:
    made = Made(tmp_path / "crawl", plain_config(SEEDS[:1]), web())
    made.run(6.0)
    owner = RocksStore(made.directory / "state")
    reader = made.reader()
    before = reader.report().snapshot.urls_known
    owner.write([(Cf.URL, b"zz)/", encode(UrlRow(url="https://zz/", host="zz")))])
    assert reader.report().snapshot.urls_known == before
    reader.close()
    owner.close()


def test_ranking_is_bounded_and_total() -> None:
    rows = [
        HostRow(
            host=f"h{n:04d}",
            site="s",
            fetched=n % 100,
            response_s=(n % 7) / 10,
            failed=n % 3,
            parked="x" if n % 50 == 1 else "",
        )
        for n in range(1_000)
    ]
    board = rank(rows)
    assert board.total == 1_000
    assert len(board.most) == len(board.slowest) == len(board.failing) == HOSTS_SHOWN
    expected = sorted((row for row in rows if row.fetched or row.failed), key=lambda row: (-row.fetched, row.host))
    assert [row.host for row in board.most] == [row.host for row in expected[:HOSTS_SHOWN]]
    assert [bool(row.parked) for row in board.failing[:20]] == [True] * 20
    assert [row.response_s for row in board.slowest] == sorted((row.response_s for row in board.slowest), reverse=True)


def test_latency_steps_have_no_holes() -> None:
    assert latency_steps({}) == ()
    assert latency_steps({4: 2, 32: 1}) == ((4.0, 2), (8.0, 0), (16.0, 0), (32.0, 1), (math.inf, 0))
    steps = latency_steps({16_384: 1, 65_536: 3, 131_072: 1})
    assert steps == ((16_384.0, 1), (32_768.0, 0), (math.inf, 4))


def test_steps_double_instead_of_growing() -> None:
    steps = Steps()
    for second in range(10_000):
        steps.add(1_000_000.0 + second, 1, second % 2, 10)
    slices = steps.slices()
    assert steps.width_s == 32.0
    assert len(slices) <= SLICES_MAX
    assert sum(step.pages for step in slices) == 10_000
    assert sum(step.failures for step in slices) == 5_000
    assert sum(step.bytes for step in slices) == 100_000
    assert [b.start - a.start for a, b in pairwise(slices)] == [32.0] * (len(slices) - 1)
    gap = Steps()
    gap.add(0.0, 1, 0, 0)
    gap.add(90 * 86_400.0, 1, 0, 0)  # three months later
    gap.add(5.0, 0, 0, 7)  # the clock was set back
    assert len(gap.slices()) <= SLICES_MAX
    assert sum(step.pages for step in gap.slices()) == 2
    assert Steps().slices() == ()
    assert gap.slices()[0] == Slice(0.0, 1, 0, 7)


def test_many_groups_of_copies_are_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reportdata, "GROUPS_TRACKED", 20)
    store = RocksStore(tmp_path / "state")
    rows = [("big", n) for n in range(50)] + [(f"small{n}", n) for n in range(100)]
    store.write(
        (Cf.URL, f"k{place:04d}".encode(), encode(
            UrlRow(url=f"https://{place}/", host="h", state=State.FETCHED, duplicate_of=original, duplicate_kind="near")
        ))
        for place, (original, _) in enumerate(rows)
    )  # fmt: skip
    groups = reportdata.duplicate_groups(store, lambda _row: None)
    assert (groups[0].original, groups[0].copies, groups[0].kind, groups[0].example) == (
        "big",
        50,
        "near",
        "https://0/",
    )
    assert len(groups) <= 21
    store.close()
