"""A crawl on disk, a control that remembers, and a server over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reader.damage import SEED, web
from tests.reader.making import Made, plain_config
from tests.serve.fakes import FakeControl
from tests.serve.server import Running


@pytest.fixture(scope="session")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Interrupted on its way: some pages are fetched, some queued."""
    made = Made(tmp_path_factory.mktemp("serve") / "crawl", plain_config((SEED, "https://b.example/")), web())
    made.run(50.0)
    return made


@pytest.fixture(scope="session")
def _control() -> FakeControl:
    return FakeControl()


@pytest.fixture
def control(_control: FakeControl) -> FakeControl:
    _control.__init__()  # type: ignore[misc]
    return _control


@pytest.fixture
def serving(crawl: Made, control: FakeControl, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts servers of the test's own; ends them."""
    started: list[Running] = []

    def start(*directories: Path, **more: Any) -> Running:
        running = Running(list(directories) or [crawl.directory], control, tmp_path / f"home{len(started)}", **more)
        started.append(running)
        return running

    yield start
    for running in started:
        running.end()


@pytest.fixture(scope="session")
def _shared(crawl: Made, _control: FakeControl, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running([crawl.directory], _control, tmp_path_factory.mktemp("home"))
    yield running
    running.end()


@pytest.fixture
def server(_shared: Running, control: FakeControl) -> Running:
    """With a token for each role; one for all tests that leave it as it is."""
    _shared.forget()
    return _shared
