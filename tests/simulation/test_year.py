"""`gossamer simulate year`: a small web keeps every bar; the accounts are right; every claim can fail."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from gossamer.adapters.warc import records
from gossamer.model.page import Job, Kind, Original
from gossamer.sim.web import Answer
from gossamer.sim.worldpage import page_of
from gossamer.sim.year import Plan, Year, simulate
from gossamer.sim.yearbook import Visits
from gossamer.sim.yearbytes import Account, Stored
from gossamer.sim.yearpage import live
from gossamer.sim.yearverdict import judge
from gossamer.sim.yearworld import LIVING, YearWorld, page_bytes
from gossamer.surface.yearchart import chart
from gossamer.surface.yeartext import YearView
from tests.support.warc import make_job

pytestmark = pytest.mark.timeout(600)  # fifteen seconds of CPU, on a machine that may be busy

SMALL = Plan(hosts=40, urls=3_000, days=60.0, budget_per_day=60)
TINY = Plan(hosts=12, urls=300, days=14.0, budget_per_day=10)


@pytest.fixture(scope="module")
def year() -> Year:
    return simulate(SMALL)


@pytest.fixture(scope="module")
def tiny() -> list[bytes]:
    return [msgspec.json.encode(simulate(msgspec.structs.replace(TINY, seed=seed))) for seed in (1, 1, 2)]


def test_a_small_web_for_two_months_keeps_every_bar(year: Year) -> None:
    assert [claim for claim in judge(year) if not claim.holds] == []
    keys = {claim.key for claim in judge(year)}
    assert keys == {"politeness", "robots", "state", "memory", "records", "duplicates", "vain", "gone", "budget"}
    assert year.turns > year.visits.refreshes > 1_000
    assert (year.audit.recounts, year.audit.rows) == (3, year.totals.urls), "after 28 days, 56 and at the end"
    assert year.audit.records == year.totals.records > year.audit.fetched > 1_000
    assert year.audit.looks > year.turns // 50
    assert [round(week.day) for week in year.weeks] == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    last = year.weeks[-1].state
    assert last.held > 0.9 * last.live
    assert last.born_held > 0.5 * last.born > 100
    assert year.totals.exact > 100
    assert year.totals.near > 50
    assert year.totals.moved > 50
    assert year.totals.promoted > 0
    assert year.totals.hints["followed"] > 20
    assert year.stored.near > 0  # there are copies that differ in bytes: the share is no nought by chance


def test_weeks_add_up(year: Year) -> None:
    for name in Visits.__struct_fields__:
        assert sum(getattr(week.visits, name) for week in year.weeks) == getattr(year.visits, name)
    for name in Stored.__struct_fields__:
        assert sum(getattr(week.stored, name) for week in year.weeks) == getattr(year.stored, name)
        assert sum(getattr(kind, name) for kind in year.kinds.values()) == getattr(year.stored, name)
    assert year.stored.records == year.totals.records


def test_every_claim_can_fail(year: Year) -> None:
    def broken(**fields: object) -> set[str]:
        return {claim.key for claim in judge(msgspec.structs.replace(year, **fields)) if not claim.holds}

    def weeks(**fields: float) -> list[object]:
        return [
            msgspec.structs.replace(week, state=msgspec.structs.replace(week.state, **fields)) for week in year.weeks
        ]

    assert broken() == set()
    assert broken(stored=Stored(full=1_000, again=50)) == {"duplicates"}
    assert broken(weeks=weeks(fresh=0.1), max_interval_days=15.0) >= {"fresh"}
    assert broken(weeks=weeks(fresh=0.9), max_interval_days=15.0) <= {"gone", "used", "budget"}
    idle = [msgspec.structs.replace(week, visits=Visits(refreshes=350)) for week in year.weeks]
    assert "used" in broken(weeks=idle, max_interval_days=15.0)
    assert broken(weeks=weeks(unnoticed_days=98.0)) == {"gone"}
    busy = [msgspec.structs.replace(week, visits=Visits(refreshes=600, vain=350)) for week in year.weeks]
    assert broken(weeks=busy) == {"vain", "budget"}
    assert broken(impolite=1) == {"politeness"}
    assert broken(disobedient=1) == {"robots"}
    for name, key in (("miscounted", "state"), ("past_bounds", "memory"), ("unrecorded", "records")):
        assert broken(audit=msgspec.structs.replace(year.audit, **{name: 1})) == {key}


def test_one_seed_is_one_year(tiny: list[bytes]) -> None:
    first, second, other = tiny
    assert first == second != other


# -- accounts --------------------------------------------------------------------------------------------------------


def page_job(**fields: object) -> Job:
    return msgspec.structs.replace(make_job(), kind=Kind.PAGE, status=200, **fields)


def test_bytes_are_what_the_archive_writes() -> None:
    one, other = b"one".ljust(1_000), b"other".ljust(1_000)
    first = Original("http://a.example/", 1.0, "sha1:ONE")
    cases = [
        (page_job(key="a", payload=one, payload_digest="sha1:ONE"), "text", "full"),
        (page_job(key="b", payload=one, payload_digest="sha1:ONE", original=first, revisit="identical"), "text", ""),
        (page_job(key="c", payload=other, payload_digest="sha1:OTHER"), "text", "near"),
        (page_job(key="a", payload=b"", payload_digest="", original=first, revisit="not-modified"), "text", ""),
        (page_job(key="a", payload=one + b".", payload_digest="sha1:THIRD"), "text", "again"),
        (page_job(key="d", payload=one, payload_digest="sha1:ONE"), "text", "exact"),
        (page_job(key="e", payload=b"new".ljust(1_000), payload_digest="sha1:NEW"), "new text", "full"),
    ]
    account = Account()
    for job, text, expected in cases:
        before = msgspec.structs.replace(account.total)
        account.note(job, Answer(title=text))
        done = account.total.since(before)
        record = records.page(job, {})[0]
        assert done.full == (len(job.payload) if record.kind == "response" else 0)
        assert done.revisits == (record.kind == "revisit")
        assert record.kind == "response" or job.payload[:100] not in record.data or not job.payload
        counted = {name for name in ("exact", "near", "again") if getattr(done, name)}
        assert counted == ({expected} & {"exact", "near", "again"})
    assert account.total.duplicates == 1_000 + 1_001 + 1_000
    assert account.total.spared == 1_000


def test_pages_live_as_they_were_drawn() -> None:
    world = YearWorld(1, 100, 5_000)
    ends, born, changes, sizes = [], 0, 0, []
    for host in world.all:
        for number in range(host.size):
            page = page_of(host, number)
            if page.kind not in LIVING:
                continue
            life = live(host, page, world.days)
            assert list(life.changes) == sorted(life.changes)
            assert life.version(-1.0) == 0
            assert life.version(math.inf) == len(life.changes)
            assert life.ends > life.born
            ends.append(life.end)
            born += life.born > 0
            changes += len(life.changes)
            sizes.append(page_bytes(page))
    assert {end: round(ends.count(end) / len(ends), 2) for end in set(ends)} == {
        "": 0.88, "missing": 0.06, "gone": 0.03, "moved": 0.03,
    }  # fmt: skip
    assert 0.15 < born / len(ends) < 0.2
    assert 10 < changes / len(ends) < 40
    assert 15_000 < sorted(sizes)[len(sizes) // 2] < 25_000
    assert 0 < sum(world.dies(host) < world.days for host in world.all) < 10


# -- shown -----------------------------------------------------------------------------------------------------------


def test_the_view_and_the_chart(year: Year) -> None:
    claims = judge(year)
    for width in (80, 110):
        text = io.StringIO()
        Console(file=text, width=width, color_system=None).print(YearView(year, claims, 1.0))
        shown = text.getvalue()
        assert "every claim holds" in shown
        assert max(map(len, shown.splitlines())) <= width
    drawn = ET.fromstring(chart(year))
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert len(lines) == 10
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert len(points) == len(year.weeks)
        assert all(0 <= x <= 860 and 0 <= y <= 770 for x, y in points)


def test_the_command_says_json_and_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    gossamer = [sys.executable, "-m", "gossamer", "simulate", "year"]
    size = ["--hosts", "12", "--urls", "300", "--days", "14", "--budget", "10"]
    done = subprocess.run(
        [*gossamer, *size, "--json", "--quiet", "--chart", str(tmp_path / "year.svg")],
        capture_output=True, timeout=100, check=False,
    )  # fmt: skip
    told = json.loads(done.stdout)
    assert done.returncode == (0 if all(claim["holds"] for claim in told["claims"]) else 1)
    assert len(told["year"]["weeks"]) == 2
    assert (tmp_path / "year.svg").read_text().startswith("<svg")
    for wrong in (["--policy", "best"], ["--days", "1"], ["--budget", "0"], ["--chart", str(tmp_path / "no" / "x")]):
        refused = subprocess.run([*gossamer, *size, "--quiet", *wrong], capture_output=True, timeout=100, check=False)
        assert refused.returncode == 2
        assert wrong[0].encode() in refused.stderr
