"""A fake engine, alone and with a crawl that was made."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.surface import cli
from tests.surface.fakes import FakeEngine


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.chdir(tmp_path)
    return FakeEngine()


@pytest.fixture
def crawled(engine: FakeEngine) -> FakeEngine:
    assert cli.run(["crawl", "https://example.com/", "--quiet"], engine) == 0
    return engine
