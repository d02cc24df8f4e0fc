"""The commands with a fake engine: what they accept, what they refuse, what they print, how they exit."""

from __future__ import annotations

import gzip
import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.view import Problem, Snapshot, Visit
from gossamer.surface import cli
from gossamer.surface.crawllog import CrawlLog
from gossamer.surface.statusfile import StatusFile
from tests.surface.fakes import FakeEngine, capture
from tests.surface.samples import HOSTILE, event, snapshot

ROOT = Path(__file__).parents[2]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.chdir(tmp_path)
    return FakeEngine()


@pytest.fixture
def crawled(engine: FakeEngine) -> FakeEngine:
    assert cli.run(["crawl", "https://example.com/", "--quiet"], engine) == 0
    return engine


def test_flags_files_and_seeds_make_the_configuration(engine: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# mine\nhttps://b.example/ \n\nc.example\n", encoding="utf-8-sig")
    (tmp_path / "c.toml").write_text("[limits]\npages = 5\ndepth = 2\n")
    flags = "--seeds seeds.txt --config c.toml --pages 7 --duration 1h30m --scope host --contact me@a.example".split()
    assert cli.run(["crawl", "https://a.example/#top", *flags, "--user-agent-product", "Mine"], engine) == 0
    config = engine.configs[0]
    assert config.seeds == ("https://a.example/", "https://b.example/", "https://c.example/")
    assert (config.limits.pages, config.limits.depth, config.limits.duration_s) == (7, 2, 5400.0)
    assert (config.scope.mode, config.identity.contact, config.identity.product) == ("host", "me@a.example", "Mine")
    assert config.directory == "crawl"


def test_a_seed_without_scheme_is_said(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", "example.com/a"], engine) == 0
    assert "example.com/a is read as https://example.com/a" in capsys.readouterr().err


def test_the_same_command_resumes_and_changes_are_said(crawled: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["crawl", "https://example.com/", "--pages", "9"], crawled) == 0
    assert cli.run(["crawl", "https://example.com/"], crawled) == 0
    assert cli.run(["crawl"], crawled) == 0
    assert [config.limits.pages for config in crawled.configs] == [None, 9, 9, 9]
    capsys.readouterr()
    assert cli.run(["crawl", "https://new.example/", "--pages", "none", "--scope", "host"], crawled) == 0
    told = capsys.readouterr().err
    assert "resuming the crawl in crawl" in told
    assert "seeds: 1 new" in told
    assert 'scope.mode: "site" -> "host"' in told
    assert 'limits.pages: 9 -> "none"' in told
    assert crawled.configs[-1].seeds == ("https://example.com/", "https://new.example/")


def test_a_configuration_file_replaces_the_stored_one(crawled: FakeEngine, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[fetch]\nretries = 1\n")
    assert cli.run(["crawl", "--pages", "3", "--config", "c.toml"], crawled) == 0
    assert cli.run(["crawl", "--config", "c.toml"], crawled) == 0
    assert crawled.configs[-1].limits.pages is None
    assert crawled.configs[-1].fetch.retries == 1
    assert crawled.configs[-1].seeds == ("https://example.com/",)


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["ftp://example.com/"], 2, ['"ftp://example.com/"', "http or https"]),
        (["http://"], 2, ['"http://"', "not a valid URL"]),
        (["mailto:a@b.example"], 2, ["mailto:a@b.example", "neither http nor https"]),
        (["galaxy"], 2, ["galaxy", "one word", "https://galaxy/"]),
        (["https://a.example/" + "x" * 3000], 2, ["longer than 2083 bytes"]),
        (["https://a.example/\x1b]0;x\x07 b", "http://[::"], 2, ["http://[::"]),
        (["\udcff.example"], 2, ["UTF-8"]),
        ([], 2, ["no seeds"]),
        (["https://a.example/", "--scope", "galaxy"], 2, ['--scope "galaxy"', '"site"']),
        (["https://a.example/", "--pages", "many"], 2, ['--pages "many"', "whole number"]),
        (["https://a.example/", "--pages", "-5"], 2, ["--pages -5", "from 1"]),
        (["https://a.example/", "--pages", "9" * 30], 2, ["--pages", "whole number"]),
        (["https://a.example/", "--depth", "1.5"], 2, ["--depth", "1.5"]),
        (["https://a.example/", "--duration", "soon"], 2, ["--duration", "soon", "2h"]),
        (["https://a.example/", "--contact", "call me"], 2, ["--contact", "call me"]),
        (["https://a.example/", "--user-agent-product", "x/1"], 2, ["--user-agent-product", "x/1"]),
        (["https://a.example/", "--frobnicate"], 2, ["--frobnicate"]),
        (["https://a.example/", "--seeds", "absent.txt"], 2, ["absent.txt"]),
        (["https://a.example/", "--seeds", "."], 2, ["cannot be read"]),
        (["https://a.example/", "--seeds", "bytes.txt"], 2, ["bytes.txt", "UTF-8"]),
        (["https://a.example/", "--seeds", "bad.txt"], 2, ["bad.txt:2", "bad.txt:4", "nope://x"]),
        (["https://a.example/", "--config", "absent.toml"], 4, ["absent.toml"]),
        (["https://a.example/", "--scope", "any"], 4, ["identity.contact", "--contact"]),
        (["https://a.example/", "--dir", "bad.txt"], 2, ["bad.txt", "directory"]),
    ],
)
def test_bad_input_is_named_and_nothing_is_created(
    engine: FakeEngine,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    named: list[str],
) -> None:
    (tmp_path / "bad.txt").write_text("https://ok.example/\nnope://x\n# fine\nhttp://\n")
    (tmp_path / "bytes.txt").write_bytes(b"https://a.example/\xff\n")
    before = sorted(tmp_path.rglob("*"))
    assert cli.run(["crawl", *arguments], engine) == code
    captured = capsys.readouterr()
    assert [word for word in named if word not in captured.err] == []
    assert captured.out == ""
    assert all(line.startswith("gossamer: ") and line.isprintable() for line in captured.err.splitlines())
    assert engine.configs == []
    assert sorted(tmp_path.rglob("*")) == before


def test_many_bad_seeds_are_counted(engine: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.txt").write_text("ftp://x.example/\n" * 50)
    assert cli.run(["crawl", "--seeds", "bad.txt"], engine) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21
    assert lines[-1] == "gossamer: and 30 more bad seeds"


@pytest.mark.parametrize(
    "command", [[], ["--help"], ["crawl", "--help"], ["get", "--help"], ["--version"], ["version"]]
)
def test_help_and_version(engine: FakeEngine, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert cli.run(command, engine) in {0, 2}
    assert "gossamer" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["frobnicate"], ["explain"], ["get"], ["report", "--format", "pdf"], ["log", "--x"]]
)
def test_usage_errors(crawled: FakeEngine, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    capsys.readouterr()
    assert cli.run(command, crawled) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("gossamer: ")
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("error", [StoreError("state: in use by process 7"), DiskFullError("crawl: no room")])
def test_errors_of_the_engine_are_one_line(
    crawled: FakeEngine, capsys: pytest.CaptureFixture[str], error: StoreError | DiskFullError
) -> None:
    crawled.error = error
    capsys.readouterr()
    for command in (["crawl"], ["report"], ["explain", "https://example.com/"], ["verify"]):
        assert cli.run(command, crawled) == error.exit_code
        assert capsys.readouterr().err.splitlines()[-1] == f"gossamer: {error}"


@pytest.mark.parametrize(
    "command", [["status"], ["report"], ["explain", "a.example"], ["get", "a.example"], ["verify"], ["log"]]
)
def test_no_crawl_there(engine: FakeEngine, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert cli.run([*command, "--dir", "elsewhere"], engine) == 2
    assert "elsewhere: no crawl there" in capsys.readouterr().err


def test_unreachable_seeds_are_reported(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.code = 6
    engine.shown = (Snapshot(state="finished", seed_failures={"https://dead.example/": "dns: " + HOSTILE}),)
    assert cli.run(["crawl", "https://dead.example/"], engine) == 6
    told = capsys.readouterr().err
    assert "seed https://dead.example/: dns: \\x1b" in told
    assert "nothing was fetched" in told


def test_plain_progress_and_summary(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.shown = (
        snapshot(),
        msgspec.structs.replace(snapshot(), state="finished", state_detail="page budget reached"),
    )
    assert cli.run(["crawl", "https://example.com/"], engine) == 0
    out = capsys.readouterr().out
    assert "12,345 pages | 41.2/s" in out
    assert "finished: page budget reached" in out
    assert "gossamer report --dir crawl" in out


def test_status(crawled: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.run(["status"], crawled) == 0
    out = capsys.readouterr().out
    assert "bound by   host-diversity: 34 of 412" in out
    assert "12,345" in out
    assert cli.run(["status", "--json"], crawled) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 12_345
    assert crawled.closed == 2


def test_status_of_a_running_crawl(crawled: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    StatusFile(tmp_path / "crawl" / "log").show(Snapshot(state="crawling", pages=77))
    crawled.error = StoreError("in use by another process")
    capsys.readouterr()
    assert cli.run(["status", "--json"], crawled) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 77
    old = tmp_path / "crawl" / "log" / "status.json"
    os.utime(old, (1, 1))
    assert cli.run(["status"], crawled) == 5
    old.write_text("{}")
    (tmp_path / "crawl" / "log" / "status.json").write_bytes(b"\xff")
    assert cli.run(["status"], crawled) == 5


@pytest.mark.parametrize(
    ("form", "wanted"), [("text", "Slowest hosts"), ("json", '"slowest"'), ("html", "<!doctype html>")]
)
def test_reports(
    crawled: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, wanted: str
) -> None:
    crawled.hostile = True
    capsys.readouterr()
    assert cli.run(["report", "--format", form], crawled) == 0
    out = capsys.readouterr().out
    assert wanted in out
    assert all(line.isprintable() for line in out.split("\n"))
    assert cli.run(["report", "--format", form, "--output", "r.out"], crawled) == 0
    assert wanted in (tmp_path / "r.out").read_text()
    assert cli.run(["report", "--format", form, "--output", "absent/r.out"], crawled) == 2


def test_explain(crawled: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.run(["explain", "example.com/a"], crawled) == 0
    assert "canonical form" in capsys.readouterr().out
    assert crawled.asked == ["https://example.com/a"]
    assert cli.run(["explain", "https://example.com/a", "--json"], crawled) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["name"] == "canonical form"


def test_verify(crawled: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.run(["verify"], crawled) == 0
    assert "3 rows and 9 records in 1 WARC file (4.00 KiB) checked: no problem found" in capsys.readouterr().out
    crawled.problems = (Problem(kind="digest-differs", what="https://a.example/" + HOSTILE, text="sha1:A, not sha1:B"),)
    assert cli.run(["verify"], crawled) == 7
    out = capsys.readouterr().out
    assert "digest-differs: https://a.example/\\x1b" in out
    assert "1 problem" in out
    assert cli.run(["verify", "--json"], crawled) == 7
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["problems"] == 1


def test_log(crawled: FakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = CrawlLog(tmp_path / "crawl" / "log")
    log.append(event(title=HOSTILE))
    log.append(event(host="other.example"))
    log.close()
    capsys.readouterr()
    assert cli.run(["log"], crawled) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["host"] for line in lines] == ["example.com", "other.example"]
    assert json.loads(lines[0])["title"] == HOSTILE
    assert all(line.isprintable() for line in lines)
    assert cli.run(["log", "--format", "heritrix", "--host", "Other.Example"], crawled) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


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
from gossamer.model.view import Snapshot, Visit
from gossamer.surface import cli
from tests.surface.fakes import FakeEngine, capture
from tests.surface.samples import hostile_snapshot, snapshot
engine = FakeEngine()
engine.shown = (snapshot(), hostile_snapshot())
engine.captures = {0: capture(b"a\\x1b]0;owned\\x07b\\tc\\r\\nnext\\x9b"), 1: capture(b"\\0\\1")}
engine.visits = (Visit(time=1.0, status=200, segment="a", offset=int(sys.argv[1]), length=1),)
sys.argv[1:2] = []
sys.exit(cli.run(sys.argv[1:], engine))
"""


def on_terminal(tmp_path: Path, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run the program with the fake engine on a pseudo-terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | (env or {})
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


def test_an_html_report_on_a_terminal_goes_into_the_crawl(tmp_path: Path) -> None:
    assert on_terminal(tmp_path, "0", "crawl", "https://example.com/", "--quiet")[0] == 0
    code, out = on_terminal(tmp_path, "0", "report", "--format", "html")
    assert (code, out) == (0, "written to crawl/reports/report.html\r\n")
    assert (tmp_path / "crawl" / "reports" / "report.html").read_text().startswith("<!doctype html>")
