"""What decides whether a run of the tests counts: failures, errors, nothing run, and skips where none are allowed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "closing.py"
SUITE = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'


@pytest.mark.parametrize(
    ("suites", "ci", "line", "code"),
    [
        ([(5, 0, 0, 0), (2, 0, 0, 0)], "true", "7 passed, 0 failed, 0 skipped", 0),
        ([(5, 1, 0, 0), (2, 0, 0, 0)], "", "6 passed, 1 failed, 0 skipped", 1),
        ([(5, 0, 1, 0)], "", "4 passed, 1 failed, 0 skipped", 1),
        ([(5, 0, 0, 2)], "", "3 passed, 0 failed, 2 skipped", 0),
        ([(5, 0, 0, 2)], "true", "3 passed, 0 failed, 2 skipped", 1),
        ([(0, 0, 0, 0)], "true", "0 passed, 0 failed, 0 skipped", 1),
        ([], "", "0 passed, 0 failed, 0 skipped", 1),
    ],
)
def test_closing(tmp_path: Path, suites: list[tuple[int, ...]], ci: str, line: str, code: int) -> None:
    for number, counts in enumerate(suites):
        (tmp_path / f"{number}.xml").write_text(SUITE.format(*counts))
    ended = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False, env={"CI": ci}
    )
    assert (ended.stdout.strip(), ended.returncode) == (line, code)
