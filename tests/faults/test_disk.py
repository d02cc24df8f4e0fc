"""No room for the state, the archive or the log: exit code 3, one line, and the same command goes on afterwards.

An archive that cannot be written for another reason: the same with exit code 5.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.model.errors import StoreError
from gossamer.surface.machine import check_disk
from tests.faults.conftest import MakeCrawl, Site, told, whole
from tests.faults.test_machine import blames_nobody
from tests.support.crawl import Crawl
from tests.support.hooks import put
from tests.support.web import Web

DISK_FULL = 3
STORE = 5
IN_FLIGHT_MAX = 10  # pages between their request and their commit when the fault comes
PARTS = ("state", "archive", "log")
MIB = 1 << 20
Volume = Callable[[Path, int], None]


@pytest.fixture
def volume() -> Iterator[Volume]:
    """Mounts a small file system of its own on a directory. Named before `make_crawl`, which looks at it at the end."""
    mounted: list[Path] = []

    def mount(path: Path, size_bytes: int) -> None:
        if os.geteuid() != 0:
            pytest.skip("mounting a small file system needs root")
        path.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "gossamer-test", str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
        mounted.append(path)

    yield mount
    for path in reversed(mounted):
        subprocess.run(["umount", "--lazy", str(path)], check=False)


def fill(folder: Path, leave_bytes: int = 0) -> Path:
    """Take what is left of a volume."""
    filler = folder / "filler"
    usage = os.statvfs(folder)
    fd = os.open(filler, os.O_WRONLY | os.O_CREAT)
    try:
        os.posix_fallocate(fd, 0, max(1, usage.f_bavail * usage.f_frsize - max(leave_bytes, MIB)))
        os.lseek(fd, 0, os.SEEK_END)
        while not leave_bytes:
            os.write(fd, b"\0" * 65536)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    finally:
        os.close(fd)
    return filler


@pytest.mark.parametrize("part", PARTS)
def test_full_volume_at_the_start(web: Web, volume: Volume, make_crawl: MakeCrawl, part: str) -> None:
    site = Site(web, 10)
    crawl = make_crawl(site.url)
    volume(crawl.directory / part, 40 * MIB)
    filler = fill(crawl.directory / part, 2 * MIB)
    result = crawl.run()
    assert result.code == DISK_FULL, result.words
    told(result.err, "disk full", part, "same command")
    assert site.asked() == []
    filler.unlink()
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)


@pytest.mark.parametrize("part", PARTS)
def test_volume_that_fills_up_while_crawling(web: Web, volume: Volume, make_crawl: MakeCrawl, part: str) -> None:
    site = Site(web, 150)
    crawl = make_crawl(site.url)
    volume(crawl.directory / part, 60 * MIB)
    crawl.start()
    site.await_pages(crawl, 20)
    filler = fill(crawl.directory / part)
    assert crawl.started[-1].wait(30) == DISK_FULL, crawl.output[-3000:]
    told(crawl.output, part if "disk full" in crawl.output else "no room")
    checked = crawl.ask("verify")
    assert checked.code == 0, checked.words[-3000:]
    again = crawl.run()
    assert again.code == DISK_FULL, "still no room"
    told(again.err, "disk full", part)
    filler.unlink()
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=IN_FLIGHT_MAX)


def limit_files(crawl: Crawl, size_bytes: int, *, workers: bool) -> None:
    """No file of the program, or of its workers, may grow beyond a size: writes fail as they do on a full disk."""
    process = crawl.started[-1].pid
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    assert children
    for number in map(int, children) if workers else [process]:
        _, hard = resource.prlimit(number, resource.RLIMIT_FSIZE)
        resource.prlimit(number, resource.RLIMIT_FSIZE, (size_bytes, hard))


@pytest.mark.parametrize("part", ["state", "archive"])
def test_writes_that_fail_in_the_middle(web: Web, make_crawl: MakeCrawl, part: str) -> None:
    site = Site(web, 150)
    crawl = make_crawl(site.url)
    crawl.start("--quiet")
    site.await_pages(crawl, 30)
    largest = {"state": "*.log", "archive": "*.open"}[part]
    size = max(path.stat().st_size for path in (crawl.directory / part).glob(largest))
    limit_files(crawl, size, workers=part == "archive")
    assert crawl.started[-1].wait(30) == DISK_FULL, crawl.output[-3000:]
    told(crawl.output, "no room")
    checked = crawl.ask("verify")
    assert checked.code == 0, checked.words[-3000:]
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=IN_FLIGHT_MAX)


@pytest.mark.parametrize("size_kib", [64, *(pytest.param(size, marks=pytest.mark.long) for size in (256, 1024))])
def test_a_quota_that_is_reached_again_and_again(web: Web, make_crawl: MakeCrawl, size_kib: int) -> None:
    """Little by little more room: each start gets a little further, none loses anything."""
    site = Site(web, 60)
    crawl = make_crawl(site.url)
    crawl.start()
    site.await_pages(crawl, 5)
    for step in range(1, 4):
        limit_files(crawl, step * size_kib * 1024, workers=True)
        code = crawl.started[-1].wait(60)
        assert code in (0, DISK_FULL), crawl.output[-3000:]
        checked = crawl.ask("verify")
        assert checked.code == 0, checked.words[-3000:]
        if code == 0:
            break
        crawl.start()
        seen = len(site.asked())
        site.await_pages(crawl, seen + 1)
    else:
        assert crawl.started[-1].wait(60) == 0, crawl.output[-3000:]
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=3 * IN_FLIGHT_MAX)


# Workers that cannot write from the moment on when a file is there.
BREAKING = """
import os
from pathlib import Path

def breaking(page):
    if Path({flag!r}).exists():
        def refuse(*_):
            raise OSError({code}, os.strerror({code}))
        os.pwrite = refuse
"""


@pytest.mark.parametrize("code", [errno.EIO, errno.EROFS])
def test_an_archive_that_breaks_while_crawling(
    web: Web, make_crawl: MakeCrawl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """A page that cannot be archived for such a reason is nobody's fault, and no other is asked for."""
    flag, packages = tmp_path / "broken", tmp_path / "packages"
    put(
        packages,
        "breaking",
        BREAKING.format(flag=str(flag), code=code),
        {"gossamer.digest": "breaking = MODULE:breaking"},
    )
    known = (str(packages), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
    site = Site(web, 150)
    crawl = make_crawl(site.url)
    process = crawl.start("--quiet")
    site.await_pages(crawl, 20)
    flag.touch()
    assert process.wait(30) == STORE, crawl.output[-3000:]
    told(crawl.output, str(crawl.archive), os.strerror(code), "same command")
    assert len(site.asked()) < len(site.targets)
    again = crawl.run()
    assert again.code == STORE, "still broken"
    told(again.err, os.strerror(code))
    assert len(site.asked()) < len(site.targets)
    flag.unlink()
    checked = crawl.ask("verify")
    assert checked.code == 0, checked.words[-3000:]
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=2 * IN_FLIGHT_MAX)


def test_a_read_only_volume_at_the_start(web: Web, volume: Volume, make_crawl: MakeCrawl) -> None:
    site = Site(web, 10)
    crawl = make_crawl(site.url)
    volume(crawl.archive, 60 * MIB)
    subprocess.run(["mount", "-o", "remount,ro", str(crawl.archive)], check=True)
    result = crawl.run()
    assert result.code == STORE, result.words
    told(result.err, str(crawl.archive), "cannot be written", "same command")
    assert site.asked() == []
    subprocess.run(["mount", "-o", "remount,rw", str(crawl.archive)], check=True)
    assert crawl.run().code == 0
    blames_nobody(crawl)
    whole(crawl, site, refetched_max=0)


@pytest.mark.parametrize("part", PARTS)
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    for name in PARTS:
        (tmp_path / name).mkdir()
    check_disk(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, *_, **__: Path(path).name != part)
    with pytest.raises(StoreError, match=f"/{part} cannot be written .* same command goes on"):
        check_disk(tmp_path)


def test_a_disk_that_answers_no_question_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "statvfs", fail)
    with pytest.raises(StoreError, match="/state: Input/output error"):
        check_disk(tmp_path)
