"""Webs that the end-to-end tests crawl, served by a real nginx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawl import Crawl
from tests.support.evidence import forbidden_hits, state_faults
from tests.support.manual import Spread, reachable, spread
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import by_host, read_log, short_gaps

HOSTS = 50

MakeCrawl = Callable[..., Crawl]


@pytest.fixture(scope="session")
def manual_web(manual: Path, tmp_path_factory: pytest.TempPathFactory) -> Spread:
    """The packaged manual, spread over fifty hosts."""
    hosts = tuple(f"h{number:02}.manual.example" for number in range(HOSTS))
    return spread(manual, tmp_path_factory.mktemp("manual"), hosts, free_port())


@pytest.fixture(scope="session")
def manual_pages(manual_web: Spread) -> frozenset[str]:
    """What a crawl of the manual must fetch."""
    pages = frozenset(reachable(manual_web))
    assert len(pages) >= 1_000
    return pages


@pytest.fixture
def manual_server(nginx: Nginx, manual_web: Spread) -> Nginx:
    """The manual, served: each host on an address of its own."""
    for number, host in enumerate(manual_web.hosts, 1):
        nginx.add(host, address=f"127.71.0.{number}", port=manual_web.port, root=manual_web.folder / host)
    nginx.start()
    return nginx


@pytest.fixture
def make_crawl(nginx: Nginx, tmp_path: Path) -> Iterator[MakeCrawl]:
    """Makes crawls of what `nginx` serves; whatever of them still runs at the end of the test is ended."""

    def make(*seeds: str, options: dict[str, dict[str, Any]] | None = None, flags: tuple[str, ...] = ()) -> Crawl:
        tables = {"dns": {"hosts_file": str(nginx.hosts_file)}, **(options or {})}
        crawl = Crawl(tmp_path / f"run{len(made)}", seeds, tables, flags)
        made.append(crawl)
        return crawl

    made: list[Crawl] = []
    yield make
    for crawl in made:
        crawl.end()
    # Whatever the test was about, and however its crawls ended:
    assert [fault for crawl in made if not crawl.is_spoilt for fault in state_faults(crawl)] == []
    if nginx.log.exists():
        hits = read_log(nginx.log)
        assert short_gaps(hits, 0.0, by_host) == []
        assert forbidden_hits(hits, rules_of(nginx)) == []


def rules_of(nginx: Nginx) -> dict[str, bytes]:
    """What the hosts with a robots.txt of their own say in it."""
    files = {name: site.root / "robots.txt" for site in nginx.sites if site.root for name in site.names}
    return {name: path.read_bytes() for name, path in files.items() if path.exists()}


def write_site(folder: Path, pages: dict[str, str], robots: str = "") -> Path:
    """A small document root: page names and the bodies they have, and a robots.txt when there is one."""
    folder.mkdir(parents=True)
    for name, body in pages.items():
        (folder / name).write_text(f"<!DOCTYPE html><title>{name}</title><body>{body}</body>")
    if robots:
        (folder / "robots.txt").write_text(robots)
    return folder


def chain(count: int) -> dict[str, str]:
    """An index that links to `count` pages of different words."""
    links = " ".join(f'<a href="page{n}.html">page {n}</a>' for n in range(count))
    texts = {
        f"page{n}.html": f"Page {n} is about {' '.join(f'matter{n * 37 + k}' for k in range(30))}."
        for n in range(count)
    }
    return {"index.html": links, **texts}
