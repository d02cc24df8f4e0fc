"""A crawl on disk that each test may damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reader.damage import SEED, web
from tests.reader.making import Made, plain_config


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Made:
    config = plain_config((SEED, "https://b.example/"))
    made = Made(tmp_path_factory.mktemp("verify") / "crawl", config, web(), segment_bytes=6_000)
    made.run(50.0)
    return made


@pytest.fixture
def crawl(template: Made, tmp_path: Path) -> Made:
    """Interrupted on its way: some pages are fetched, some queued. Several small segments."""
    return template.copy(tmp_path / "crawl")
