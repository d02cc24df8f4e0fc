"""A well-behaved site for crawls whose own machine fails, and how to see that nothing was lost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.raw_server import Peer
from tests.support.crawl import Crawl
from tests.support.evidence import making
from tests.support.web import HTML, Reply, Web, pages, reply

CALM: dict[str, dict[str, Any]] = {"politeness": {"min_delay": "20ms", "start_jitter": 0}}
MakeCrawl = Callable[..., Crawl]
NAME = "calm.example"


class Site:
    """`count` pages of incompressible text, all linked from the first."""

    def __init__(self, web: Web, count: int, page_bytes: int = 20_000, *, closing: bool = False) -> None:
        """`closing`: every response ends its connection."""
        chance = random.Random(7)
        links = " ".join(f'<a href="/page{n}">{n}</a>' for n in range(count))
        table: dict[str, Reply] = {
            f"/page{n}": f"<title>{n}</title><p>{words(chance, page_bytes)}" for n in range(count)
        }
        table["/"] = links
        self._web = web
        self.targets = sorted(table)
        if closing:
            table = {target: _last(str(text)) for target, text in table.items()}
        self.url = web.add(NAME, pages(table)) + "/"

    def asked(self) -> list[str]:
        """Pages asked for so far, in order."""
        return [target for target in self._web.targets(NAME) if target != "/robots.txt"]

    def await_pages(self, crawl: Crawl, count: int) -> None:
        """Until so many pages were asked for by a crawl that still runs."""
        deadline = time.monotonic() + 40
        while len(self.asked()) < count:
            assert crawl.started[-1].poll() is None, crawl.output[-3000:]
            assert time.monotonic() < deadline, f"the crawl stands still: {crawl.output[-3000:]}"
            time.sleep(0.01)


def _last(text: str) -> Reply:
    async def act(peer: Peer) -> None:
        await peer.send(reply(text, headers=HTML + b"Connection: close\r\n"))

    return act


def words(chance: random.Random, count: int) -> str:
    """Text that hardly compresses, of about `count` characters."""
    return " ".join(f"{chance.getrandbits(48):x}" for _ in range(count // 13))


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    servers = Web(tmp_path, "127.91")
    yield servers
    servers.close()


@pytest.fixture
def make_crawl(web: Web, tmp_path: Path) -> Iterator[MakeCrawl]:
    """Makes crawls of what `web` serves; whatever of them still runs at the end of the test is ended."""
    yield from making(tmp_path, web.hosts_file, CALM)


def told(text: str, *parts: str) -> None:
    """The last line that begins with the program's name says all of it, and nothing looks like a crash."""
    assert "Traceback" not in text, text[-3000:]
    lines = [line for line in text.splitlines() if line.startswith("gossamer: ")]
    assert lines, text[-3000:]
    assert [part for part in parts if part.lower() not in lines[-1].lower()] == [], lines


def whole(crawl: Crawl, site: Site, *, refetched_max: int) -> None:
    """Every page of the site was fetched and stored once, but for those that were on their way when the fault came."""
    checked = crawl.ask("verify")
    assert checked.code == 0, checked.words[-3000:]
    fetched = [event["url"] for event in crawl.events() if event["kind"] == "page" and event.get("status") == 200]
    assert len(set(fetched)) == len(site.targets)
    assert len(fetched) == len(set(fetched)), "each is in the crawl log once"
    assert sorted(set(site.asked())) == site.targets
    assert len(site.asked()) - len(site.targets) <= refetched_max, "fetched again without need"
