"""A crawl that ends badly says so in its status file at once: nobody takes it for running until the file is old."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.model.config import Config
from gossamer.model.errors import DiskFullError
from gossamer.surface import cli
from gossamer.surface.engine import LiveView
from gossamer.surface.offline import running_snapshot
from gossamer.surface.statusfile import read_status
from tests.surface.fakes import FakeEngine


class Failing(FakeEngine):
    """Runs, and ends by an error."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.failure = error

    def run_crawl(self, config: Config, view: LiveView) -> int:
        super().run_crawl(config, view)
        raise self.failure


def test_a_full_disk_is_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engine = Failing(DiskFullError("disk full: 1 KiB is left"))
    for flag in ("--quiet", "--plain"):
        assert cli.run(["crawl", "https://example.com/", flag], engine) == 3
        log = Path("crawl") / "log"
        assert running_snapshot(log) is None
        found = read_status(log)
        assert found is not None
        assert (found[0].state, found[0].state_detail) == ("stopped", "disk full: 1 KiB is left")


def test_so_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZeroDivisionError):
        cli.run(["crawl", "https://example.com/", "--quiet"], Failing(ZeroDivisionError("x")))
    found = read_status(Path("crawl") / "log")
    assert found is not None
    assert found[0].state_detail == "an error in gossamer itself: ZeroDivisionError('x')"
