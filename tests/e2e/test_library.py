"""A crawl inside a program: what it is shown of pages, leaving early, and hooks of installed distributions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from warcio.archiveiterator import ArchiveIterator

import gossamer
from gossamer.model.config import Archive, Limits, Politeness, Scope
from gossamer.model.errors import GossamerError, UsageError
from gossamer.surface import settings
from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import QUICK, Crawl, merged, toml
from tests.support.nginx import Nginx, free_port

NAME = "library.example"
HOOKS = """
def scope(url, via, depth):
    return False if url.endswith("page3.html") else None

def links(page, links):
    raise RuntimeError("no links for me")

def more(page):
    if page.url.endswith("page1.html"):
        raise KeyError("no value for me")
    hostile = "one\\r\\nvia: http://evil.example/\\r\\n\\r\\ntwo"
    return {"words": str(len(page.text.split())), "depth": "99", "note": hostile}

def sink(page):
    with open(LOG, "a") as log:
        print(page.url, file=log)
    if page.url.endswith("page2.html"):
        raise SystemExit(9)
"""


@pytest.fixture
def configured(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> tuple[gossamer.Config, Crawl]:
    """The configuration of a crawl of eleven pages, and the same crawl for the command line."""
    port = free_port()
    nginx.add(NAME, address="127.73.4.1", port=port, root=write_site(tmp_path / "site", chain(10)))
    nginx.start()
    crawl = make_crawl(f"http://{NAME}:{port}/index.html")
    crawl.folder.mkdir(parents=True)
    path = crawl.folder / "library.toml"
    path.write_text(f"seeds = {json.dumps(list(crawl.seeds))}\n" + toml(merged(QUICK, crawl.options)))
    return settings.load(path, directory=str(crawl.directory)), crawl


async def visit(config: gossamer.Config, see: Callable[[gossamer.Page], bool]) -> None:
    async with gossamer.Crawl(config) as crawl:
        async for page in crawl:
            if not see(page):
                break


def metadata_of(crawl: Crawl) -> dict[str, list[str]]:
    """What the WARC metadata record of each URL says, line by line; by the last part of the URL."""
    found: dict[str, list[str]] = {}
    for path in crawl.warcs():
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                if record.rec_type == "metadata":
                    name = record.rec_headers.get_header("WARC-Target-URI").rpartition("/")[2]
                    found[name] = record.content_stream().read().decode().split("\r\n")
    return found


def test_every_page_is_shown_whole(configured: tuple[gossamer.Config, Crawl]) -> None:
    config, crawl = configured
    pages: dict[str, gossamer.Page] = {}
    asyncio.run(visit(config, lambda page: pages.setdefault(page.url, page) is page))
    assert len(pages) == 11
    page = pages[crawl.seeds[0].replace("index", "page7")]
    assert (page.status, page.verdict, page.title) == (200, "new", "page7.html")
    assert dict(page.headers)["content-type"].startswith("text/html")
    assert b"matter259" in page.body
    assert len(page.raw) == page.event.payload_bytes > 0
    assert page.text.startswith("Page 7 is about matter259")
    assert len(pages[crawl.seeds[0]].links) == 10
    records = metadata_of(crawl)
    assert f"via: {crawl.seeds[0]}" in records["page7.html"]
    unreferred = {name for name, lines in records.items() if not any(line.startswith("via:") for line in lines)}
    assert unreferred == {"index.html", "robots.txt"}, "seeds, and what is asked for of our own accord"
    assert crawl.ask("status").out.startswith("finished: nothing is left to fetch")
    assert [path.name for path in crawl.archive.iterdir() if path.name.endswith(".open")] == []
    assert crawl.ask("verify").code == 0


def test_why_a_seed_brought_no_page_is_told_when_the_crawl_is_over(tmp_path: Path) -> None:
    seed = "http://127.77.0.1:9/"
    config = gossamer.Config(seeds=(seed,), directory=str(tmp_path / "crawl"))

    async def crawl() -> list[dict[str, str]]:
        async with gossamer.Crawl(config) as crawl:
            assert [page.url async for page in crawl] == []
            inside = crawl.snapshot()
        assert crawl.snapshot().state == "finished"
        return [inside.seed_failures, crawl.snapshot().seed_failures]

    why = "address-forbidden: 127.77.0.1 is loopback (127.0.0.0/8), which net.allow does not allow"
    assert asyncio.run(crawl()) == [{seed: why}, {seed: why}]


def test_leaving_early_keeps_everything_and_the_command_line_goes_on(configured: tuple[gossamer.Config, Crawl]) -> None:
    config, crawl = configured
    seen: list[str] = []

    def three(page: gossamer.Page) -> bool:
        seen.append(page.url)
        return len(seen) < 3

    asyncio.run(visit(config, three))
    assert len(seen) == 3
    assert crawl.ask("status").out.startswith("interrupted: its program has left it")
    assert crawl.run().code == 0
    fetched = [event["url"] for event in crawl.events() if event["kind"] == "page"]
    assert len(fetched) == len(set(fetched)) == 11
    assert crawl.ask("verify").code == 0


def test_hooks_take_part_and_one_that_raises_costs_a_recorded_error(
    configured: tuple[gossamer.Config, Crawl], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, crawl = configured
    site, log = tmp_path / "site-packages", tmp_path / "sink"
    info = site / "library_hooks-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "library_hooks.py").write_text(f"LOG = {str(log)!r}\n{HOOKS}")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: library_hooks\nVersion: 1.0\n")
    points = {"scope": "scope", "links": "links", "digest": "more", "sinks": "sink"}
    (info / "entry_points.txt").write_text(
        "".join(f"[gossamer.{group}]\nmine = library_hooks:{name}\n" for group, name in points.items())
    )
    monkeypatch.syspath_prepend(str(site))
    pages: dict[str, gossamer.Page] = {}
    asyncio.run(visit(config, lambda page: pages.setdefault(page.url.rpartition("/")[2], page) is page))
    assert set(pages) == {"index.html", *(f"page{n}.html" for n in range(10) if n != 3)}
    assert len(log.read_text().split()) >= len(pages)
    assert int(pages["page7.html"].extra["words"]) > 30
    lines = metadata_of(crawl)["page7.html"]
    assert {f"words: {pages['page7.html'].extra['words']}", "note: one  via: http://evil.example/    two"} <= set(lines)
    ours = [line for line in lines if line.lower().startswith(("depth:", "via:"))]
    assert ours == [f"via: {crawl.seeds[0]}", "depth: 1"]
    assert pages["page1.html"].extra == {}
    assert "mine: KeyError" in pages["page1.html"].event.error
    assert "mine: RuntimeError" in pages["index.html"].event.error
    errors = json.loads(crawl.ask("report", "--format", "json").out)["errors"]
    assert errors == {"hook:mine": 2, "sink:mine": 1}


def test_every_loop_over_a_crawl_ends_with_it(configured: tuple[gossamer.Config, Crawl]) -> None:
    config, _ = configured

    async def loops() -> list[int]:
        async with gossamer.Crawl(config) as crawl:

            async def count() -> int:
                return len([page async for page in crawl])

            async with asyncio.timeout(60):
                return [*await asyncio.gather(count(), count()), await count()]

    first, second, late = asyncio.run(loops())
    assert (first + second, late) == (11, 0)


def test_a_crawl_is_entered_before_it_is_read_and_only_once(configured: tuple[gossamer.Config, Crawl]) -> None:
    config, _ = configured

    async def misuse() -> list[str]:
        crawl, said = gossamer.Crawl(config), []

        async def read() -> None:
            async with asyncio.timeout(20):
                assert [page async for page in crawl] == []

        async def enter() -> None:
            async with crawl:
                crawl.stop()

        for act in (read, enter, enter):
            try:
                await act()
            except UsageError as error:
                said.append(str(error))
        return said

    before, again = asyncio.run(misuse())
    assert "async with" in before
    assert "once" in again


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": ()}, "needs seeds"),
        ({"seeds": ("mailto:a@b.example",)}, 'bad seed "mailto:a@b.example"'),
        ({"politeness": Politeness(min_delay_s=-1.0)}, "politeness.min_delay_s = -1.0 is not allowed"),
        ({"politeness": Politeness(min_delay_s=9.0, max_delay_s=2.0)}, "is more than politeness.max_delay"),
        ({"archive": Archive(segment_bytes=1)}, "archive.segment_bytes = 1 is not allowed"),
        ({"scope": Scope(mode="everything")}, "scope.mode"),  # type: ignore[arg-type]
        ({"limits": Limits(pages="many")}, "limits.pages"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_configuration_is_named_and_nothing_is_made(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    folder = tmp_path / "none"
    config = gossamer.Config(seeds=("https://example.com/",), directory=str(folder))

    async def enter() -> None:
        async with gossamer.Crawl(msgspec.structs.replace(config, **change)):
            pytest.fail("it was entered")

    with pytest.raises(GossamerError) as caught:
        asyncio.run(enter())
    assert words in str(caught.value)
    assert not folder.exists()
