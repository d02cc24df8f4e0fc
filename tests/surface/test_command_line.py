"""The commands with a fake engine: what they accept, what they refuse, what they print, how they exit."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.view import Problem, Snapshot
from gossamer.surface import cli
from gossamer.surface.crawllog import CrawlLog
from gossamer.surface.statusfile import StatusFile
from tests.surface.fakes import FakeEngine
from tests.surface.samples import HOSTILE, event, snapshot

ROOT = Path(__file__).parents[2]


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


def test_seeds_that_brought_nothing_are_reported_although_others_did(
    engine: FakeEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.shown = (Snapshot(state="finished", pages=3, seed_failures={"https://dead.example/": "dns-failed: x"}),)
    assert cli.run(["crawl", "https://dead.example/", "https://example.com/"], engine) == 0
    told = capsys.readouterr().err
    assert "seed https://dead.example/: dns-failed: x" in told
    assert "nothing was fetched" not in told


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


def test_notices_are_told_at_once_and_in_the_summary(engine: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    told = "error: digest worker 1 took longer than 30 s on https://big.example/all.html"
    for flag, at_once in (("--quiet", "err"), ("--plain", "out")):
        assert cli.run(["crawl", "https://example.com/", flag], engine) == 0
        said = capsys.readouterr()
        assert told in getattr(said, at_once).partition(" | ")[0]
        assert told in said.out.partition("\nnext ")[0].splitlines()[-1]


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


@pytest.mark.parametrize(
    ("directory", "says"),
    [
        ("file", "there is a file of that name; a directory is needed"),
        ("file/below/it", "file is a file; a directory is needed"),
        ("locked/crawl", "locked may not be written to"),
    ],
)
def test_a_directory_that_cannot_be_is_named(
    engine: FakeEngine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    directory: str,
    says: str,
) -> None:
    Path("file").touch()
    Path("locked").mkdir()
    allowed = os.access  # root may write anywhere: what others are told is told by hand
    monkeypatch.setattr(os, "access", lambda path, mode: path.name != "locked" and allowed(path, mode))
    assert cli.run(["crawl", "https://example.com/", "--dir", directory], engine) == 2
    assert capsys.readouterr().err == f"gossamer: --dir {directory}: {says}\n"
    assert engine.configs == []
