"""Every symptom in README.md has tests that exist."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

TESTS = Path(__file__).parents[1]
SYMPTOMS = 59


def rows() -> list[tuple[str, list[str]]]:
    lines = (TESTS / "hostile" / "README.md").read_text().splitlines()
    cells = [line.strip("| ").rpartition(" | ") for line in lines if line.startswith("|")]
    return [(symptom, re.findall(r"`([^`]+)`", tests)) for symptom, _, tests in cells if "`" in tests]


def test_every_symptom_has_tests_and_every_test_is_there(record_property: Callable[[str, object], None]) -> None:
    found = rows()
    record_property("symptoms", len(found))
    assert len(found) == SYMPTOMS
    missing = []
    for symptom, named in found:
        assert named, symptom
        for test in named:
            file, _, name = test.partition("::")
            path = TESTS / file
            if not path.is_file() or not re.search(rf"^(async )?def {name}\(", path.read_text(), re.MULTILINE):
                missing.append(test)
    assert missing == []
