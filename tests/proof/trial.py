"""Trying a claim: runs its tests or its command and says how often what was tried, and whether it holds."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import msgspec

from tests.proof.claims import ROOT, Claim

STATISTICS = "hypothesis-statistics-"  # how its pytest plug-in names what it adds to a report
FAILED_NAMED_MAX = 3


class Trial(msgspec.Struct, frozen=True):
    """What came of trying a claim."""

    holds: bool
    count: str  # how many times, in words
    result: str
    took_s: float
    date: str  # UTC, to the minute
    mark: str = ""  # of the claim as it was then; "": not kept


class Report(msgspec.Struct):
    """A test run's JUnit file, added up."""

    passed: int
    faults: tuple[str, ...]  # tests that failed or were skipped
    counted: Counter[str]  # "tests", "examples", and the properties that tests recorded


def read(path: Path) -> Report:
    """Add up a JUnit file."""
    root = ET.parse(path).getroot()
    counted: Counter[str] = Counter()
    cases = list(root.iter("testcase"))
    wrong = [
        str(case.get("name"))
        for case in cases
        if any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
    ]
    for item in root.iter("property"):
        name, value = str(item.get("name")), str(item.get("value"))
        if name.startswith(STATISTICS):
            counted["examples"] += examples(base64.b64decode(value).decode("utf-8", "replace"))
        elif re.fullmatch(r"\d+", value):
            counted[name] += int(value)
    counted["tests"] = len(cases) - len(wrong)
    return Report(counted["tests"], tuple(wrong), counted)


def examples(statistics: str) -> int:
    """How many examples Hypothesis says it tried."""
    return sum(map(int, re.findall(r"(\d+) (?:passing|failing)\b", statistics)))


def attempt(claim: Claim) -> Trial:
    """Try a claim now."""
    begun = time.monotonic()
    try:
        holds, count, result = _by_command(claim, again=True) if claim.command else _by_tests(claim)
    except (OSError, LookupError, TypeError, ValueError) as error:  # no figures, or not those that were promised
        holds, count, result = False, "–", f"could not be tried: {type(error).__name__}: {error}"
    return _trial(claim, holds, count, result, time.monotonic() - begun)


def look(claim: Claim) -> Trial | None:
    """What the figures say that a claim's command left the last time; None when it left none."""
    path = ROOT / claim.figures
    if not path.is_file():
        return None
    holds, count, result = _by_command(claim, again=False)
    trial = _trial(claim, holds, count, result, 0.0)
    return msgspec.structs.replace(trial, date=_date(path.stat().st_mtime))


def _trial(claim: Claim, holds: bool, count: str, result: str, took_s: float) -> Trial:
    return Trial(holds, count, result, round(took_s, 1), _date(time.time()), claim.mark)


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _by_tests(claim: Claim) -> tuple[bool, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", str(path)]
        code, _ = run([*command, *(str(Path("tests") / test) for test in claim.tests)], claim.minutes)
        report = read(path) if path.exists() else Report(0, ("no report",), Counter())
    count = ", ".join(f"{report.counted[name]:,} {name}" for name in claim.counts)
    missing = [name for name in claim.counts if not report.counted[name]]
    if report.faults:
        more = ", …" if len(report.faults) > FAILED_NAMED_MAX else ""
        return False, count, f"{len(report.faults)} failed: {', '.join(report.faults[:FAILED_NAMED_MAX])}{more}"
    if code != 0:
        return False, count, f"the test run ended with code {code}"
    return not missing, count, f"no {missing[0]} counted" if missing else "holds"


def _by_command(claim: Claim, *, again: bool) -> tuple[bool, str, str]:
    code, printed = run(list(claim.command), claim.minutes) if again else (0, b"")
    written = printed if claim.figures == "stdout" else (ROOT / claim.figures).read_bytes()
    figures: dict[str, Any] = json.loads(written)
    count = ", ".join(fill(text, figures) for text in claim.counts)
    less = [name for name, least in claim.least.items() if value(figures, name) < least]
    holds = code == 0 and not less and (not claim.verdict or value(figures, claim.verdict) is True)
    said = ["holds" if holds else "does not hold"]
    said += [f"ended with code {code}"] if code else []
    said += [f"{name} is {value(figures, name):g}, at least {claim.least[name]:g} is asked for" for name in less]
    said += [fill(claim.result, figures)] if claim.result else []
    return holds, count, "; ".join(said)


def value(figures: Any, name: str) -> Any:
    """The value under a name with dots; in a list, the part is the "key" of what is meant. Raises LookupError."""
    for part in name.split("."):
        table = {each["key"]: each for each in figures} if isinstance(figures, list) else figures
        figures = table[part]
    return figures


def fill(text: str, figures: Any) -> str:
    """`text` with each {name} or {name:format} replaced by its value."""

    def put(match: re.Match[str]) -> str:
        return format(value(figures, match[1]), match[2] or "")

    return re.sub(r"\{([\w.-]+)(?::([^{}]*))?\}", put, text)


def run(command: list[str], minutes: float) -> tuple[int, bytes]:
    """Run in the project's root in the long mode; (exit code, what it printed). What takes too long is killed: 124."""
    environment = os.environ | {"GOSSAMER_LONG": "1", "CI": "true", "NO_COLOR": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=minutes * 60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return 124, b""
    return process.returncode, printed
