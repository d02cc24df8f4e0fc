"""No port without a suite: the map in `conftest` names each of them, and the file where its suite is."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

from gossamer import ports

HERE = Path(__file__).parent


def protocols() -> set[str]:
    """Every Protocol that a module of `gossamer.ports` defines."""
    found = set()
    for info in pkgutil.iter_modules(ports.__path__):
        module: Any = importlib.import_module(f"gossamer.ports.{info.name}")
        mine = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
        found |= {value.__name__ for value in mine if getattr(value, "_is_protocol", False)}
    return found


def test_every_port_has_a_suite_that_is_there() -> None:
    lines = (HERE / "conftest.py").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][2:]
    suites = {row[0]: row[1] for row in rows}
    assert suites.keys() == protocols()
    assert [suite for suite in suites.values() if not (HERE / f"{suite}.py").is_file()] == []
    assert len(suites) == 7
