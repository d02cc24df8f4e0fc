"""`get`, and what reaches a real terminal."""

from __future__ import annotations

import gzip
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.model.view import Visit
from gossamer.surface import cli
from tests.surface.fakes import FakeEngine, capture

ROOT = Path(__file__).parents[2]

BODY = "<p>Grüße</p>".encode()


@pytest.fixture
def stored(crawled: FakeEngine) -> FakeEngine:
    crawled.captures = {0: capture(gzip.compress(BODY), "gzip"), 1: capture(b"old")}
    crawled.visits = (
        Visit(time=1_767_312_000.4, status=200, segment="a.warc.gz", offset=0, length=9),
        Visit(time=1_767_225_600.4, status=200, segment="a.warc.gz", offset=1, length=9),
    )
    return crawled


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([], BODY),
        (["--headers"], b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + BODY),
        (["--at", "2026-01-01"], b"old"),
        (["--at", "20260101000000"], b"old"),
        (["--at", "2026-01-01T23:59:59Z"], b"old"),
        (["--at", "2026-01-02"], BODY),
        (["--at", "2026-01-02T01:00:00+01:00"], BODY),
    ],
)
def test_get(stored: FakeEngine, capfdbinary: pytest.CaptureFixture[bytes], flags: list[str], wanted: bytes) -> None:
    capfdbinary.readouterr()
    assert cli.run(["get", "example.com", *flags], stored) == 0
    assert capfdbinary.readouterr().out == wanted


def test_get_raw_into_a_file_and_lists(stored: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["get", "example.com", "--raw", "--output", "body.gz"], stored) == 0
    assert gzip.decompress((tmp_path / "body.gz").read_bytes()) == BODY
    capsys.readouterr()
    assert cli.run(["get", "example.com", "--list"], stored) == 0
    assert capsys.readouterr().out.count("a.warc.gz") == 2
    assert cli.run(["get", "example.com", "--list", "--json"], stored) == 0
    assert [visit["offset"] for visit in json.loads(capsys.readouterr().out)] == [0, 1]


@pytest.mark.parametrize(
    ("flags", "code", "named"),
    [
        (["--at", "yesterday"], 2, "yesterday"),
        (["--at", "2025-12-31"], 2, "the first is of 2026-01-01"),
        (["--output", "absent/x"], 2, "absent/x"),
    ],
)
def test_get_refuses(
    stored: FakeEngine, capsys: pytest.CaptureFixture[str], flags: list[str], code: int, named: str
) -> None:
    assert cli.run(["get", "example.com", *flags], stored) == code
    assert named in capsys.readouterr().err


def test_get_of_what_is_not_there(stored: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    stored.captures = {}
    assert cli.run(["get", "example.com"], stored) == 7
    stored.visits = ()
    assert cli.run(["get", "example.com"], stored) == 1
    assert "no stored copy" in capsys.readouterr().err


PROGRAM = """
import sys
from gossamer.model.view import Snapshot, StoredText, Visit
from gossamer.surface import cli
from tests.surface.fakes import FakeEngine, capture
from tests.surface.samples import hostile_snapshot, snapshot
engine = FakeEngine()
engine.shown = (snapshot(), hostile_snapshot())
engine.captures = {0: capture(b"a\\x1b]0;owned\\x07b\\tc\\r\\nnext\\x9b"), 1: capture(b"\\0\\1")}
engine.visits = tuple(
    Visit(time=2.0 - at, status=200, segment="a", offset=at, length=1, record="response", digest=f"sha1:{at}")
    for at in (int(sys.argv[1]), 5)
)
engine.texts = {0: StoredText(is_text=True, lines=("a\x1b]0;b",)), 5: StoredText(is_text=True, lines=("c\x9b31m",))}
sys.argv[1:2] = []
sys.exit(cli.run(sys.argv[1:], engine))
"""


def on_terminal(tmp_path: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the program with the fake engine on a pseudo-terminal."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment = {**kept, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | (env or {})
    environment["PYTHONPATH"] = f"{ROOT / 'src'}:{ROOT}"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env=environment,
    )
    os.close(theirs)
    out = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the other end is closed
            break
        out += part
        if not part:
            break
    os.close(ours)
    return process.wait(20), out.decode()


def test_the_live_view_on_a_real_terminal(tmp_path: Path) -> None:
    code, out = on_terminal(tmp_path, "0", "crawl", "https://example.com/")
    assert code == 0
    assert "\x1b[?25l" in out  # the cursor is hidden while it draws,
    assert out.rindex("\x1b[?25h") > out.rindex("\x1b[?25l")  # and shown again
    assert "Bound by" in out
    assert "\x1b]" not in out
    assert "\x9b" not in out
    assert "\u202e" not in out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminals_that_want_lines_get_lines(tmp_path: Path, env: dict[str, str]) -> None:
    code, out = on_terminal(tmp_path, "0", "crawl", "https://example.com/", env=env)
    assert code == 0
    assert "\x1b" not in out
    assert "12,345 pages | " in out


def test_get_on_a_terminal_is_escaped_and_refuses_bytes(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, "0", "crawl", "https://example.com/", "--quiet")[0] == 0
    code, out = on_terminal(tmp_path, "0", "get", "https://example.com/")
    assert (code, out) == (0, "a\\x1b]0;owned\\x07b    c\r\nnext\ufffd\r\n")
    code, out = on_terminal(tmp_path, "1", "get", "https://example.com/")
    assert code == 2
    assert "--output FILE" in out


def test_diff_on_a_terminal_is_coloured_and_escaped(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, "0", "crawl", "https://example.com/", "--quiet")[0] == 0
    code, out = on_terminal(tmp_path, "0", "diff", "https://example.com/", "--words")
    assert code == 0
    assert out.endswith("\x1b[36m@@ -1,1 +1,1 @@\x1b[0m\r\n~\x1b[31mc\\x9b31m\x1b[0m \x1b[32ma\\x1b]0;b\x1b[0m\r\n")
    code, out = on_terminal(tmp_path, "0", "diff", "https://example.com/", env={"NO_COLOR": "1"})
    assert code == 0
    assert out.endswith("@@ -1,1 +1,1 @@\r\n-c\\x9b31m\r\n+a\\x1b]0;b\r\n")


def test_an_html_report_on_a_terminal_goes_into_the_crawl(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, "0", "crawl", "https://example.com/", "--quiet")[0] == 0
    code, out = on_terminal(tmp_path, "0", "report", "--format", "html")
    assert (code, out) == (0, "written to crawl/reports/report.html\r\n")
    assert (tmp_path / "crawl" / "reports" / "report.html").read_text().startswith("<!doctype html>")
