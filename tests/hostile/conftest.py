"""A web of misbehaving hosts, and crawls of it with short deadlines by the real program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawl import Crawl, Result
from tests.support.evidence import making
from tests.support.web import Web

TOTAL_S, CONNECT_S, FIRST_BYTE_S = 6.0, 1.0, 4.0
MAX_BODY = 1 << 20
HURRIED: dict[str, dict[str, Any]] = {
    "fetch": {
        "total_timeout": f"{TOTAL_S}s",
        "connect_timeout": f"{CONNECT_S}s",
        "first_byte_timeout": f"{FIRST_BYTE_S}s",
        "max_body": MAX_BODY,
        "retries": 0,
    },
    "politeness": {"min_delay": "5ms", "start_jitter": 0},
}
SETTLE_S = 20.0  # for starting, the workers' last pages and closing, on a busy machine

MakeCrawl = Callable[..., Crawl]


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    """Nothing is served yet."""
    servers = Web(tmp_path)
    yield servers
    servers.close()


@pytest.fixture
def make_crawl(web: Web, tmp_path: Path) -> Iterator[MakeCrawl]:
    """Makes crawls of what `web` serves; whatever of them still runs at the end of the test is ended."""
    yield from making(tmp_path, web.hosts_file, HURRIED)


def sound(crawl: Crawl, result: Result, codes: tuple[int, ...] = (0,)) -> None:
    """What must hold after every crawl, whatever it met."""
    assert result.code in codes, result.words[-3000:]
    assert "Traceback" not in result.words, result.words[-3000:]
    assert "\x1b" not in result.words
    assert not list(crawl.archive.rglob("*.open"))
    checked = crawl.ask("verify")
    assert checked.code == 0, checked.words[-3000:]
