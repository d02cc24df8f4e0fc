"""`gossamer simulate`: a small web for days, judged; one seed, one log; what the judges see when something is wrong."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console

from gossamer.core.turn import Turn
from gossamer.model.limits import LEVELS
from gossamer.model.page import Kind, Outcome
from gossamer.sim.make import chain, config, farm, names, roots
from gossamer.sim.month import Month, Plan, simulate
from gossamer.sim.onlooker import Choices, Onlooker, Wait, level_bound
from gossamer.sim.rates import RUNS, Rate, measure
from gossamer.sim.run import Run
from gossamer.sim.verdicts import judge, judge_rates
from gossamer.surface import cli
from gossamer.surface.simtext import SimulationView

ROOT = Path(__file__).parents[2]
SMALL = Plan(hosts=200, urls=2_500, days=3.0)
TINY = Plan(hosts=40, urls=400, days=0.5)
TELL = """
import sys, msgspec
from gossamer.sim.month import Plan, simulate
sys.stdout.buffer.write(msgspec.json.encode(simulate(msgspec.json.decode(sys.argv[1], type=Plan))))
"""


@pytest.fixture(scope="module")
def month() -> Month:
    return simulate(SMALL)


def told(plan: Plan, hash_seed: str) -> dict[str, Any]:
    """What comes of a simulation in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", TELL, msgspec.json.encode(plan).decode()],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=True,
        timeout=100,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_small_web_for_days_keeps_every_promise(month: Month) -> None:
    claims = judge(month)
    assert [claim for claim in claims if not claim.holds] == []
    keys = {claim.key.rstrip("0123456789") for claim in claims}
    assert keys == {
        "politeness", "robots", "site-budget", "state", "memory", "records", "level-starvation", "host-starvation",
        "host-first", "important-first", "coverage-", "copies", "copies-mistaken", "traps", "freshness",
    }  # fmt: skip
    assert month.turns > 3_000
    assert month.coverage.wanted == month.coverage.fetched > 2_000
    assert month.totals.exact > 50
    assert month.totals.near > 5
    assert month.coverage.recognised > 50
    assert len(month.freshness) == 10
    fresh = [point.fresh for point in month.freshness]
    assert fresh == sorted(fresh, reverse=True)  # nothing is visited again so soon
    assert set(month.trapped) == {"calendar", "deep", "loop"} == set(month.trap_hosts)
    assert month.choices.count > 500
    audit = month.audit
    assert (audit.recounts, audit.rows, audit.records) == (1, month.totals.urls, month.totals.records)
    assert audit.rows > audit.fetched > 2_000
    assert audit.looks > month.turns // 50


def test_one_seed_is_one_log_in_any_process(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    first = told(msgspec.structs.replace(TINY, log=str(log)), "1")
    second = told(TINY, "4711")
    other = simulate(msgspec.structs.replace(TINY, seed=2))
    assert first["log_sha256"] == hashlib.sha256(log.read_bytes()).hexdigest()
    assert first["log_lines"] == len(log.read_bytes().splitlines()) > 300
    first["plan"]["log"] = ""
    assert first == second
    assert other.log_sha256 != first["log_sha256"]


@pytest.mark.parametrize(("hosts", "slots"), [pytest.param(*RUNS[0], marks=pytest.mark.long), *RUNS[1:]])
def test_pages_a_second_are_hosts_over_period(hosts: int, slots: int) -> None:
    rate = measure(hosts, slots)
    assert rate.measured == pytest.approx(hosts / 1.2, rel=0.001)
    assert all(claim.holds for claim in judge_rates([rate]))
    assert not any(claim.holds for claim in judge_rates([msgspec.structs.replace(rate, measured=rate.measured * 0.97)]))


# -- the judges --------------------------------------------------------------------------------------------------------


def broken(month: Month, **fields: object) -> set[str]:
    """Keys of the claims that fail when some figures are others."""
    return {claim.key for claim in judge(msgspec.structs.replace(month, **fields)) if not claim.holds}


def test_every_claim_can_fail(month: Month) -> None:
    assert broken(month) == set()
    assert broken(month, impolite=1) == {"politeness"}
    assert broken(month, disobedient=1) == {"robots"}
    assert broken(month, site_pages_max=10_001) == {"site-budget"}
    for wrong, keys in (
        ({"miscounted": 1}, {"state"}), ({"past_bounds": 1}, {"memory"}), ({"unrecorded": 1}, {"records"}),
        ({"recounts": 0}, {"state", "records"}), ({"looks": 0}, {"memory"}),
    ):  # fmt: skip
        assert broken(month, audit=msgspec.structs.replace(month.audit, **wrong)) == keys
    assert broken(month, host_wait=Wait(100.0, 99.0, "h")) == {"host-starvation"}
    assert broken(month, first_wait=Wait(100.0, 99.0, "h")) == {"host-first"}
    waits = list(month.level_waits)
    waits[3] = level_bound(3, month.turns) + 1
    assert broken(month, level_waits=waits) == {"level-starvation"}
    assert broken(month, choices=Choices(1_000, 100, 400.0, 240.0)) == {"important-first"}
    assert broken(month, trapped_max=401) == {"traps"}
    depths = {**month.coverage.depths}
    depths[1] = msgspec.structs.replace(depths[1], fetched=depths[1].wanted * 98 // 100)
    assert broken(month, coverage=msgspec.structs.replace(month.coverage, depths=depths)) == {"coverage-1"}
    cover = month.coverage
    assert broken(month, coverage=msgspec.structs.replace(cover, recognised=cover.alike * 98 // 100)) == {"copies"}
    assert broken(month, coverage=msgspec.structs.replace(cover, mistaken=1)) == {"copies-mistaken"}
    points = [msgspec.structs.replace(point, poisson_fresh=point.poisson_expected - 0.15) for point in month.freshness]
    assert broken(month, freshness=points) == {"freshness"}


def test_the_onlooker_sees_who_is_impolite_or_disobedient() -> None:
    listed = names(2)
    run = Run(farm(listed, chain), config(), roots(listed))
    onlooker = Onlooker(run.partition)
    run.go(10.0)
    assert (onlooker.impolite, onlooker.disobedient) == (0, 0)
    assert onlooker.turns == len(run.begun) > 10
    now = run.clock.now() + 100.0
    turn = Turn(
        id=10**6, host="new.example", lane="9.9.9.9", kind=Kind.PAGE, url="http://new.example/", key="example,new)/",
        scheme="http", name="new.example", port=80, target="/", address="9.9.9.9", started=now,
    )  # fmt: skip
    onlooker.sent(turn, now)
    assert (onlooker.impolite, onlooker.disobedient) == (0, 1)  # no robots.txt was read
    onlooker.sent(msgspec.structs.replace(turn, host="other.example"), now)
    assert onlooker.impolite == 1  # beside another on one lane
    onlooker.arrived(turn, Outcome(status=200, started=now, elapsed_s=0.5), b"", now + 0.5)
    onlooker.sent(turn, now + 1.0)
    assert onlooker.impolite == 2  # half a second after the last
    assert len(onlooker.faults) == 6


def test_bounds_of_waiting() -> None:
    assert level_bound(0, 10**6) < level_bound(1, 10**6) < level_bound(LEVELS - 1, 10**6) < 10_000
    assert level_bound(LEVELS, 10**6) == level_bound(0, 10**6)
    wait = Wait()
    for seconds, bound_s in ((50.0, 100.0), (60.0, 1_000.0), (55.0, 100.0)):
        wait.note(seconds, bound_s, f"{seconds}")
    assert (wait.seconds, wait.bound_s, wait.host, wait.count, wait.total_s) == (55.0, 100.0, "55.0", 3, 165.0)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--hosts", "0"], "--hosts 0: a whole number from 1 to 1,000,000 is allowed, such as 5000, 20k or 1M"),
        (["--hosts", "many"], "--hosts many: a whole number from"),
        (["--hosts", "20k", "--urls", "19,999"], "--urls 19,999: a whole number from 20,000 to"),
        (["--days", "nan"], "--days nan: a number of days from 0.01 to 366 is allowed, such as 30 or 0.5"),
        (["--revisit", "0.01"], "--revisit 0.01: a number of days from"),
        (["--seed", "-1"], "--seed -1: a whole number from 0 to"),
        (["--slots", "1.5"], "--slots 1.5: a whole number from 1 to"),
        (["--hosts", "5\x1b[31m"], "--hosts 5\\x1b[31m: a whole number"),
        (["--log", "/nowhere/log", "--hosts", "5", "--urls", "5"], "--log /nowhere/log: cannot be written"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["simulate", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gossamer: " + said)
    assert err.count("\n") == 1


def test_a_claim_that_fails_is_the_exit_code(
    month: Month, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.sim.month.simulate", lambda _plan, _progress: month)
    monkeypatch.setattr("gossamer.sim.rates.measure_all", lambda: [Rate(800, 10_000, 666.7, 666.0)])
    assert cli.run(["simulate", "--quiet"]) == 0
    assert "every claim holds" in capsys.readouterr().out
    bad = msgspec.structs.replace(month, impolite=2, faults=["host h is asked \x1b[31m too soon"])
    monkeypatch.setattr("gossamer.sim.month.simulate", lambda _plan, _progress: bad)
    assert cli.run(["simulate", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert "1 claim failed" in out
    assert "FAILED  impolite requests" in out
    assert "host h is asked \\x1b[31m too soon" in out
    assert cli.run(["simulate", "--quiet", "--json"]) == 1
    assert [c["key"] for c in json.loads(capsys.readouterr().out)["claims"] if not c["holds"]] == ["politeness"]
    wrong = msgspec.structs.replace(month, audit=msgspec.structs.replace(month.audit, miscounted=3))
    monkeypatch.setattr("gossamer.sim.month.simulate", lambda _plan, _progress: wrong)
    assert cli.run(["simulate", "--quiet"]) == 1
    out = capsys.readouterr().out
    assert re.search(rf"FAILED  state: faults of {month.audit.rows:,} URLs, counted anew 1× +0 +3\s", out)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(month: Month, columns: int) -> None:
    claims = [*judge_rates([Rate(*run, run[0] / 1.2, run[0] / 1.2) for run in RUNS]), *judge(month)]
    sink = io.StringIO()
    Console(file=sink, width=columns, highlight=False, markup=False, emoji=False).print(
        SimulationView(month, claims, 12.0)
    )
    lines = sink.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= columns
    if columns >= 80:
        start = next(at for at, line in enumerate(lines) if line.lstrip().startswith("claim")) + 1
        assert all(line.startswith(("ok", "FAILED")) for line in lines[start : start + len(claims)])  # one line each
