"""A store that is in use, newer than the program or damaged: exit code 5, one line that says so, nothing changed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rocksdict import Options

from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.record import SCHEMA_VERSION, Cf
from tests.faults.conftest import CALM, MakeCrawl, Site, told
from tests.support.crawl import Crawl, merged
from tests.support.web import Web

STORE = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl with rows in its tables and more to do. Never changed: tests damage copies of it."""
    folder = tmp_path_factory.mktemp("made")
    servers = Web(folder, "127.92")
    options = merged(CALM, {"dns": {"hosts_file": str(servers.hosts_file)}})
    crawl = Crawl(folder, (Site(servers, 40).url,), options, ("--pages", "20"))
    assert crawl.run().code == 0
    store = RocksStore(crawl.directory / "state")
    store._db.flush()  # rows in sorted tables, not in the write-ahead log alone
    for cf in Cf:
        store._cf[cf].flush()
    store.close()
    yield crawl
    servers.close()


@pytest.fixture
def crawled(made: Crawl, tmp_path: Path) -> Crawl:
    """A copy of that crawl, to be damaged."""
    crawl = Crawl(tmp_path, made.seeds, made.options, made.flags)
    shutil.copytree(made.directory, crawl.directory)
    return crawl


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but RocksDB's own diary and lock."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith("LOG") and path.name != "LOCK"
    }


def newest(crawl: Crawl, pattern: str) -> Path:
    return max((crawl.directory / "state").glob(pattern), key=lambda path: (path.stat().st_size, path.name))


def cut(pattern: str) -> Callable[[Crawl], None]:
    def damage(crawl: Crawl) -> None:
        path = newest(crawl, pattern)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def flip(pattern: str) -> Callable[[Crawl], None]:
    def damage(crawl: Crawl) -> None:
        for path in (crawl.directory / "state").glob(pattern):
            data = bytearray(path.read_bytes())
            middle = len(data) // 3
            data[middle : middle + 64] = bytes(value ^ 0xFF for value in data[middle : middle + 64])
            path.write_bytes(data)

    return damage


def remove(pattern: str) -> Callable[[Crawl], None]:
    def damage(crawl: Crawl) -> None:
        newest(crawl, pattern).unlink()

    return damage


def empty(pattern: str) -> Callable[[Crawl], None]:
    def damage(crawl: Crawl) -> None:
        newest(crawl, pattern).write_bytes(b"")

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(empty("CURRENT"), id="CURRENT empty"),
        pytest.param(remove("CURRENT"), id="CURRENT missing"),
        pytest.param(cut("MANIFEST-*"), id="MANIFEST cut"),
        pytest.param(empty("MANIFEST-*"), id="MANIFEST empty"),
        pytest.param(remove("MANIFEST-*"), id="MANIFEST missing"),
        pytest.param(flip("MANIFEST-*"), id="MANIFEST flipped"),
        pytest.param(cut("*.sst"), id="table cut"),
        pytest.param(remove("*.sst"), id="table missing"),
        pytest.param(flip("*.sst"), id="tables flipped"),
    ],
)
def test_damage_is_told_and_nothing_is_changed(crawled: Crawl, damage: Callable[[Crawl], None]) -> None:
    assert list((crawled.directory / "state").glob("*.sst"))
    damage(crawled)
    before = contents(crawled.directory)
    for result in (crawled.run("--pages", "30"), crawled.ask("verify"), crawled.ask("report")):
        assert "Traceback" not in result.words, result.words
        assert result.code == STORE, result.words
        told(result.err, "state")
    after = contents(crawled.directory)
    assert sorted(after) == sorted(before)
    assert [name for name in before if before[name] != after[name]] == []


def test_store_of_a_newer_schema_is_left_alone(crawled: Crawl) -> None:
    store = RocksStore(crawled.directory / "state")
    store.write([(Cf.META, b"schema", str(SCHEMA_VERSION + 1).encode())])
    store.close()
    before = contents(crawled.directory)
    for result in (crawled.run("--pages", "30"), crawled.ask("verify")):
        assert result.code == STORE, result.words
        told(result.err, "newer version", str(SCHEMA_VERSION + 1))
    after = contents(crawled.directory)
    outside = [name for name in before if not name.startswith("state")]
    assert {name: after[name] for name in outside} == {name: before[name] for name in outside}
    assert {name for name in after if name.endswith(".sst")} >= {name for name in before if name.endswith(".sst")}


def test_store_with_parts_that_this_program_does_not_know_is_left_alone(crawled: Crawl) -> None:
    store = RocksStore(crawled.directory / "state")
    store._db.create_column_family("invented-later", Options(raw_mode=True))
    store.close()
    before = contents(crawled.directory)
    result = crawled.run("--pages", "30")
    assert result.code == STORE, result.words
    told(result.err, "newer version")
    assert contents(crawled.directory) == before


def test_store_in_use_is_left_alone(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 250)
    crawl = make_crawl(site.url)
    owner = crawl.start()
    site.await_pages(crawl, 10)
    kept = {name: data for name, data in contents(crawl.directory).items() if name.startswith("gossamer")}
    second = crawl.run("--pages", "3")
    assert second.code == STORE, second.words
    told(second.err, "in use")
    now = contents(crawl.directory)
    assert {name: now[name] for name in kept} == kept
    assert owner.wait(60) == 0, crawl.output
    assert crawl.ask("verify").code == 0


def test_state_that_cannot_be_written_to_is_told(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 3)
    crawl = make_crawl(site.url)
    crawl.directory.mkdir(parents=True)
    (crawl.directory / "state").write_text("a file where a directory belongs")
    result = crawl.run()
    assert result.code == STORE, result.words
    told(result.err, "state")
    shutil.rmtree(crawl.directory)
    assert crawl.run().code == 0
