"""No memory for the main process: it pauses while it still can; taken away at once, it dies and loses nothing."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from gossamer.surface import cli
from gossamer.surface.memory import MEMORY_FREE_AGAIN_BYTES, MEMORY_FREE_MIN_BYTES, Memory
from tests.faults.conftest import MakeCrawl, Site, told, whole
from tests.faults.test_machine import blames_nobody, status, wait_for_state
from tests.support.web import Web
from tests.surface.fakes import FakeEngine

IN_FLIGHT_MAX = 10
MIB = 1 << 20
LIMITS = {"address space": (resource.RLIMIT_AS, 0), "data": (resource.RLIMIT_DATA, 5)}


def squeeze(pid: int, limit: str, room_bytes: int) -> None:
    """Leave a running process so much more memory than it has."""
    kind, field = LIMITS[limit]
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[field])
    hard = resource.prlimit(pid, kind)[1]
    resource.prlimit(pid, kind, (pages * resource.getpagesize() + room_bytes, hard))


def release(pid: int, limit: str) -> None:
    kind, _ = LIMITS[limit]
    resource.prlimit(pid, kind, (resource.RLIM_INFINITY, resource.prlimit(pid, kind)[1]))


@pytest.mark.parametrize("limit", LIMITS)
def test_little_memory_pauses_the_crawl_until_there_is_more(web: Web, make_crawl: MakeCrawl, limit: str) -> None:
    site = Site(web, 150)
    crawl = make_crawl(site.url)
    process = crawl.start()
    site.await_pages(crawl, 10)
    squeeze(process.pid, limit, MEMORY_FREE_MIN_BYTES // 2)
    found = wait_for_state(crawl, "paused")
    assert "of memory are left (limit of " in found["state_detail"], found
    assert found["bound"]["name"] == "memory"
    assert "paused" in crawl.output
    time.sleep(1.0)
    asked = len(site.asked())
    time.sleep(1.5)
    assert process.poll() is None, crawl.output[-3000:]
    assert len(site.asked()) == asked < len(site.targets), "nothing is fetched meanwhile"
    assert status(crawl)["state"] == "paused"
    release(process.pid, limit)
    assert process.wait(60) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)


@pytest.mark.parametrize("limit", LIMITS)
def test_memory_that_is_gone_at_once_costs_no_page(web: Web, make_crawl: MakeCrawl, limit: str) -> None:
    """An allocation that fails inside the store's engine ends the process where it is, as a kill does."""
    site = Site(web, 150)
    crawl = make_crawl(site.url)
    for seen in (20, 60):
        process = crawl.start()
        site.await_pages(crawl, seen)
        squeeze(process.pid, limit, 0)
        deadline = time.monotonic() + 10
        while process.poll() is None and status(crawl).get("state") != "paused":
            assert time.monotonic() < deadline, crawl.output[-3000:]
            time.sleep(0.02)
        crawl.end()
        checked = crawl.ask("verify")
        assert checked.code == 0, checked.words[-3000:]
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=2 * IN_FLIGHT_MAX)


def test_short_stays_short_until_there_is_clearly_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    between = (MEMORY_FREE_MIN_BYTES + MEMORY_FREE_AGAIN_BYTES) // 2
    told_for = []
    for left in (between, MEMORY_FREE_MIN_BYTES - 1, between, MEMORY_FREE_AGAIN_BYTES, between):
        monkeypatch.setattr(memory, "_left", lambda left=left: [(left, "test")])
        told_for.append(bool(memory.lacking()))
    assert told_for == [False, True, True, False, False]


def test_a_control_group_counts_without_its_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    monkeypatch.setattr(memory, "_group", tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text(f"{90 * MIB}\n")
    (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {20 * MIB}\nactive_file 7\n")
    assert "control group" not in {name for _, name in memory._left()}
    (tmp_path / "memory.max").write_text(f"{100 * MIB}\n")
    assert (30 * MIB, "control group") in memory._left()
    assert memory.lacking() == "30 MiB of memory are left (control group), at least 48 needed"


def test_an_allocation_that_fails_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Engine(FakeEngine):
        def run_crawl(self, *arguments: object) -> int:
            raise MemoryError

    code = cli.run(["crawl", "http://one.example/", "--dir", str(tmp_path / "crawl")], Engine())
    assert code == 8
    told(capsys.readouterr().err, "out of memory", "same command")
