"""Fixtures that every area shares. What serves an area alone lives in that area's conftest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.manual import find_manual
from tests.support.nginx import Nginx, nginx_path

LONG = os.environ.get("GOSSAMER_LONG", "") not in {"", "0"}  # the proof: also what takes minutes, and more of the rest


def examples(count: int) -> int:
    """How many examples of a costly property are tried: all in the long mode, else a third."""
    return count if LONG else -(-count // 3)


settings.register_profile(
    "gossamer", deadline=None, max_examples=examples(100), suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("gossamer")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `long` to the proof. They are deselected, not skipped: a skip is something that is missing."""
    long = [] if LONG else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of fact files."""
    return Path(__file__).parent / "cases"


@pytest.fixture
def nginx(tmp_path: Path) -> Iterator[Nginx]:
    """A private nginx with nothing to serve yet: add sites, then start it. Its log is the witness of politeness."""
    if nginx_path() is None:
        pytest.skip("nginx is not installed (Debian: nginx-light)")
    server = Nginx(tmp_path / "nginx")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def manual() -> Path:
    """The HTML tree of a packaged manual."""
    found = find_manual()
    if found is None:
        pytest.skip("no packaged manual is installed (Debian: postgresql-doc)")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    return found
