"""The proof itself: its claims name tests that exist, its verdicts come from what ran, its page tells all of it."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.hostile.test_rows import rows
from tests.proof import trial
from tests.proof.claims import ROOT, Claim, claims, faults, runs
from tests.proof.page import page
from tests.proof.trial import Trial, attempt, examples, fill, look, read

TESTS = ROOT / "tests"
OF_TESTS = [claim for claim in claims() if claim.tests]


def exists(test: str) -> bool:
    """Whether a test, a file of tests or a folder of them is there."""
    file, _, name = test.partition("::")
    path = TESTS / file
    return path.is_dir() or (
        path.is_file() and (not name or bool(re.search(rf"^(async )?def {name}\(", path.read_text(), re.MULTILINE)))
    )


def test_every_claim_names_tests_that_are_there() -> None:
    assert len(OF_TESTS) > 20
    assert [(claim.name, test) for claim in OF_TESTS for test in claim.tests if not exists(test)] == []


def test_every_fault_is_held_by_a_test_that_is_there() -> None:
    assert len(faults()) > 20
    assert [fault.what for fault in faults() if not exists(fault.test)] == []


def test_every_test_that_is_named_is_run_by_a_claim() -> None:
    """By `make proof`: a test that only has to be there could fail, and the page would not say so."""
    named = {fault.test for fault in faults()} | {test for _, tests in rows() for test in tests}
    assert len(named) > 150
    assert sorted(test for test in named if not any(runs(claim, test) for claim in OF_TESTS)) == []


def test_a_claim_runs_its_files_its_folders_and_its_single_tests_alone() -> None:
    tests = ("a", "b/test_b.py", "c/test_c.py::test_one")
    claim = Claim(name="x", section="s", claim="c", how="h", counts=("tests",), tests=tests)
    for test in (*tests, "a/test_a.py", "a/test_a.py::test_one", "b/test_b.py::test_one"):
        assert runs(claim, test), test
    for test in ("ab/test_a.py", "b/test_bb.py", "b/test_c.py::test_one", "c/test_c.py", "c/test_c.py::test_one_more"):
        assert not runs(claim, test), test


@pytest.mark.parametrize("entry", ['tests = ["x.py"]\ncommand = ["x"]', "", 'tests = ["x.py"]\nsurprise = 1'])
def test_a_wrong_entry_is_refused(tmp_path: Path, entry: str) -> None:
    file = tmp_path / "claims.toml"
    file.write_text(f'[[claim]]\nname = "a"\nsection = "s"\nclaim = "c"\nhow = "h"\ncounts = ["tests"]\n{entry}\n')
    with pytest.raises(ValueError, match=r"needs counts and either|surprise"):
        claims(file)


SAID = base64.b64encode(b"  - 100 passing, 1 failing, and 3 invalid test cases").decode()
REPORT = f"""<testsuites><testsuite tests="4">
<properties><property name="hypothesis-statistics-a" value="{SAID}"/></properties>
<testcase name="a"/><testcase name="b"><properties><property name="kills" value="7"/>
<property name="why" value="text"/></properties></testcase><testcase name="c"><failure/></testcase>
<testcase name="d"><skipped/></testcase></testsuite></testsuites>"""


def test_a_report_is_added_up(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    report = read(path)
    assert (report.passed, report.faults) == (2, ("c", "d")), "a skipped test shows nothing"
    assert report.counted == {"tests": 2, "examples": 101, "kills": 7}
    assert examples("- 3 passing examples, 0 failing examples\n - 20 passing, 0 failing") == 23


def claim_of(code: str, folder: Path, counts: tuple[str, ...]) -> Claim:
    (folder / "test_it.py").write_text(code)
    return Claim(name="x", section="s", claim="c", how="h", counts=counts, tests=(str(folder / "test_it.py"),))


GOOD = """
from hypothesis import given, strategies
import pytest
@given(strategies.integers())
def test_one(n): pass
def test_two(record_property): record_property("kills", 3)
@pytest.mark.long
def test_three(): pass
"""


@pytest.mark.parametrize(
    ("code", "counts", "holds", "result"),
    [
        (GOOD, ("tests", "kills", "examples"), True, "holds"),
        (GOOD, ("tests", "drills"), False, "no drills counted"),
        ("def test_a(): assert False", ("tests",), False, "1 failed: test_a"),
        ("import pytest\n@pytest.mark.skip\ndef test_a(): pass", ("tests",), False, "1 failed: test_a"),
        ("", ("tests",), False, "the test run ended with code 5"),
    ],
)
def test_tests_decide(tmp_path: Path, code: str, counts: tuple[str, ...], holds: bool, result: str) -> None:
    tried = attempt(claim_of(code, tmp_path, counts))
    assert (tried.holds, tried.result) == (holds, result)
    if holds:
        assert re.fullmatch(r"3 tests, 3 kills, \d+ examples", tried.count), tried.count


def by_command(code: str, **fields: Any) -> Claim:
    given = {"counts": ("{n} things",), "verdict": "ok.now", "result": "{rates.b.is:.1f} pages/s"} | fields
    return Claim(name="x", section="s", claim="c", how="h", command=(sys.executable, "-c", code), **given)


@pytest.mark.parametrize(
    ("figures", "code", "holds", "result"),
    [
        (
            {"n": 5, "rates": [{"key": "a"}, {"key": "b", "is": 2.25}], "ok": {"now": True}},
            0,
            True,
            "holds; 2.2 pages/s",
        ),
        (
            {"n": 5, "rates": [{"key": "a"}, {"key": "b", "is": 2.25}], "ok": {"now": False}},
            0,
            False,
            "does not hold; 2.2 pages/s",
        ),
        (
            {"n": 5, "rates": [{"key": "b", "is": 2}], "ok": {"now": True}},
            3,
            False,
            "does not hold; ended with code 3; 2.0 pages/s",
        ),
        ({"n": 5, "ok": {"now": True}}, 0, False, "could not be tried: KeyError: 'rates'"),
    ],
)
def test_figures_decide(figures: dict[str, Any], code: int, holds: bool, result: str) -> None:
    tried = attempt(by_command(f"print({json.dumps(json.dumps(figures))}); raise SystemExit({code})"))
    assert (tried.holds, tried.result) == (holds, result)


def test_what_takes_too_long_is_ended() -> None:
    tried = attempt(by_command("import time; time.sleep(60)", minutes=0.01))
    assert not tried.holds
    assert tried.took_s < 20


def test_figures_of_the_last_time_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "ROOT", tmp_path)
    claim = by_command("raise SystemExit(1)", figures="soak.json", verdict="ok", result="", alone=True)
    assert look(claim) is None
    (tmp_path / "soak.json").write_text('{"n": 1234567, "ok": true}')
    found = look(claim)
    assert found is not None
    assert (found.holds, found.count) == (True, "1234567 things")
    assert fill("{n:,}", {"n": 1234567}) == "1,234,567"


def test_a_soak_that_was_shorter_than_an_hour_shows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "ROOT", tmp_path)
    claim = next(claim for claim in claims() if claim.name == "soak")
    path = tmp_path / claim.figures
    path.parent.mkdir()
    for seconds, holds in ((600.0, False), (3_500.0, False), (3_598.0, True), (3_600.0, True), (7_200.0, True)):
        figures = {"holds": True, "duration_s": seconds, "pages": 1, "hosts": 1, "verify": "", "manners": {"short": 0}}
        path.write_text(json.dumps(figures))
        found = look(claim)
        assert found is not None
        assert found.holds is holds, found
        assert ("at least" in found.result) is not holds
    path.write_text(json.dumps(figures | {"holds": False}))
    found = look(claim)
    assert found is not None
    assert not found.holds


def test_a_result_counts_for_the_claim_that_was_tried() -> None:
    claim = by_command("", verdict="")
    same = msgspec.structs.replace(claim, how="otherwise", minutes=90.0, result="")
    assert same.mark == claim.mark
    for changed in ({"claim": "c and more"}, {"command": ("true",)}, {"verdict": "ok"}):
        other = msgspec.structs.replace(claim, **changed)
        tried = Trial(True, "7 things", "holds; 3.0 pages/s", 30.0, "2026-01-01 00:00", claim.mark)
        assert "**1 of 1 claims hold.**" in page([claim], {"x": tried}, (), "")
        text = page([other], {"x": tried}, (), "")
        assert "**0 of 1 claims hold.**" in text
        assert "not tried yet since the claim was changed (before: holds; 3.0 pages/s)" in text
        assert "**1 of 1 claims hold.**" in page([other], {"x": msgspec.structs.replace(tried, mark="")}, (), "")


def test_the_page_tells_what_held_what_did_not_and_what_was_not_tried() -> None:
    known = claims()[:3]
    trials = {
        known[0].name: Trial(True, "7 tests", "holds", 30.0, "2026-01-01 00:00"),
        known[1].name: Trial(False, "1 tests", "1 failed: a | b", 30.0, "2026-01-02 00:00"),
    }
    text = page(known, trials, faults(), "two cores.")
    assert "**1 of 3 claims hold.** Tried between 2026-01-01 00:00 and 2026-01-02 00:00 UTC, 1 minutes" in text
    for claim in known:
        assert f"| `make proof CLAIM={claim.name}` |" in text
        assert claim.words in text
    assert "| **1 failed: a \\| b** |" in text
    assert text.count("not tried yet") == 1
    assert f"found {len(faults())} faults" in text
