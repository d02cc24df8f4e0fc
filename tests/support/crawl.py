"""Runs the real command line against real servers: a configuration file, a process, its outcome and its cost."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gossamer.surface import cli

CRAWL_TIMEOUT_S = 240.0
SURROUNDINGS = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}  # environment in which commands print
# A browser would not notice; a test of 1,000 pages would.
QUICK: dict[str, dict[str, Any]] = {
    "net": {"allow": ["127.0.0.0/8"]},
    "politeness": {"min_delay": "100ms", "response_factor": 0, "start_jitter": "50ms", "net_rate": 0, "as_rate": 0},
    "dns": {"timeout": "1s"},
    "workers": {"count": 1},
}


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str
    elapsed_s: float
    cpu_s: float  # user and system time of the whole tree

    @property
    def words(self) -> str:
        """Everything it printed."""
        return self.out + self.err


def toml(tables: dict[str, dict[str, Any]]) -> str:
    """A configuration file. JSON's strings, numbers, booleans and arrays are TOML's as well."""
    parts = []
    for name, table in tables.items():
        parts.append(f"[{name}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items()))
    return "\n".join(parts)


def merged(*layers: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Tables laid over one another, key by key."""
    result: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, table in layer.items():
            result[name] = result.get(name, {}) | table
    return result


def program() -> list[str]:
    """The command as installed beside this Python, or the module."""
    installed = Path(sys.executable).with_name("gossamer")
    return [str(installed)] if installed.exists() else [sys.executable, "-m", "gossamer"]


@dataclass
class Crawl:
    """A crawl's directory and the command that begins or resumes it."""

    folder: Path
    seeds: Sequence[str]
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    flags: Sequence[str] = ()
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    is_spoilt: bool = False  # the test has damaged its state: nothing is to be read from it

    @property
    def directory(self) -> Path:
        """What `--dir` names."""
        return self.folder / "crawl"

    @property
    def archive(self) -> Path:
        """Where the WARC files are."""
        return self.directory / "archive"

    def command(self, *more: str) -> list[str]:
        """The command line of the crawl; the same every time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = self.folder / "settings.toml"
        settings.write_text(toml(merged(QUICK, self.options)))
        place = ["--dir", str(self.directory), "--config", str(settings)]
        return [*program(), "crawl", *self.seeds, *place, *self.flags, *more]

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Begin or resume, in a process group of its own; what it prints goes to `output`."""
        command = self.command(*more)
        with (self.folder / "output").open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        self.started.append(process)
        return process

    def end(self) -> None:
        """Kill what `start` began and is still there."""
        for process in self.started:
            end_group(process, signal.SIGKILL)
            process.wait()
        self.started.clear()

    @property
    def output(self) -> str:
        """What processes begun by `start` printed so far."""
        return (self.folder / "output").read_text("utf-8", "replace")

    def run(self, *more: str, timeout_s: float = CRAWL_TIMEOUT_S) -> Result:
        """Begin or resume and wait for the end."""
        return run(self.command(*more), timeout_s=timeout_s)

    def ask(self, name: str, *arguments: str) -> Result:
        """Another command on the same directory (status, report, explain, get, verify, log), run in this process: to
        start an interpreter for each question took more time than the answers.
        """
        return here([name, *arguments, "--dir", str(self.directory)])

    def ask_apart(self, name: str, *arguments: str, timeout_s: float = 60.0) -> Result:
        """The same by the installed program, in a process of its own."""
        return run([*program(), name, *arguments, "--dir", str(self.directory)], timeout_s=timeout_s)

    def events(self) -> list[dict[str, Any]]:
        """The crawl log, parsed."""
        result = self.ask("log", "--format", "json")
        assert result.code == 0, result.words
        return [json.loads(line) for line in result.out.splitlines()]

    def warcs(self) -> list[Path]:
        """All segments."""
        return sorted(self.archive.rglob("*.warc.gz"))


def run(command: Sequence[str], *, timeout_s: float = CRAWL_TIMEOUT_S) -> Result:
    """Run a command to its end. Its whole group is ended when it takes too long, and AssertionError is raised."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | SURROUNDINGS,
    )
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        end_group(process, signal.SIGKILL)
        out, err = process.communicate()
        words = (out + err).decode("utf-8", "replace")[-3000:]
        raise AssertionError(f"{command[:3]} did not end within {timeout_s} s: {words}") from None
    finally:
        if process.poll() is None:  # the test itself was given up
            end_group(process, signal.SIGKILL)
            process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    elapsed_s = time.monotonic() - started
    return Result(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), elapsed_s, cpu_s)


def here(arguments: Sequence[str]) -> Result:
    """Run a command by the program's own front door, in this process."""
    raw_out, raw_err = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(raw, "utf-8", write_through=True) for raw in (raw_out, raw_err))
    started, before = time.monotonic(), time.process_time()
    with (
        patch.object(sys, "argv", ["gossamer", *arguments]),
        patch.dict(os.environ, SURROUNDINGS),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = cli.main()
    said, told = (raw.getvalue().decode("utf-8", "replace") for raw in (raw_out, raw_err))
    return Result(code, said, told, time.monotonic() - started, time.process_time() - before)


def end_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process begun by us and to all it began."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return
