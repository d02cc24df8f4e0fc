"""The long mode itself, for a moment: it counts, and it notices what breaks an oracle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz import search
from tests.fuzz.harness import SUFFIX

ROOT = Path(__file__).parents[2]


def test_a_search_counts_what_it_did(tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="the fuzzer has no wheel for this platform")
    figures = tmp_path / "proof" / "fuzz.json"
    command = [sys.executable, "-m", "tests.fuzz.search", "--seconds", "2", "--json", str(figures), "headers"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(figures.read_text())
    assert found["holds"] is True
    assert found["targets"] == 1
    assert found["executions"] == found["each"]["headers"]["executions"] > 100
    assert found["edges"] > 50


def test_an_input_that_breaks_an_oracle_is_kept_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for the guided process that leaves an input as libFuzzer does."""

    def child(name: str, seconds: float, corpora: list[Path], flags: list[str]) -> str:
        artifacts = Path(flags[0].partition("=")[2])
        (artifacts / "crash-1").write_bytes(b"\0\0\0\0bad")
        return "#9\tpulse  cov: 5 ft: 7 corp\n === Uncaught Python exception: ===\nstat::number_of_executed_units: 12\n"

    monkeypatch.setattr(search, "CORPORA", tmp_path)
    monkeypatch.setattr(search, "_child", child)
    found = search.search("headers", 1, keep=True)
    assert (found["executions"], found["edges"], found["features"]) == (12, 5, 7)
    (kept,) = (tmp_path / "headers").glob("finding-*" + SUFFIX)
    assert found["findings"] == [kept.name]
    assert kept.read_bytes() == b"\0\0\0\0bad"
    assert search.summary({"headers": found})["holds"] is False


def test_a_search_that_died_is_an_error_and_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "CORPORA", tmp_path)
    monkeypatch.setattr(search, "_child", lambda *_: "ModuleNotFoundError: atheris")
    with pytest.raises(RuntimeError, match="headers: the search ended without a result"):
        search.search("headers", 1, keep=False)
