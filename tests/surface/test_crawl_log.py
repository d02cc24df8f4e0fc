"""The crawl log survives a crash at any byte, rotation and readers beside the writer."""

from __future__ import annotations

import errno
import gzip
import json
import os
from pathlib import Path

import pytest

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.event import FetchEvent
from gossamer.surface import crawllog
from gossamer.surface.crawllog import CURRENT, CrawlLog, rotated
from gossamer.surface.logreader import read_events
from tests.surface.samples import HOSTILE, event


def numbered(number: int) -> FetchEvent:
    return event(url=f"https://example.com/{number}")


def urls(directory: Path) -> list[str]:
    return [found.url.rpartition("/")[2] for found in read_events(directory)]


def test_events_come_back_as_they_went(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path / "log")
    sent = [numbered(0), event(title=HOSTILE, failure_detail=HOSTILE), event(status=0, failure="timeout", pointer=None)]
    for one in sent:
        log.append(one)
    assert list(read_events(tmp_path / "log")) == []  # nothing was flushed
    log.flush()
    assert list(read_events(tmp_path / "log")) == sent
    log.close()
    lines = (tmp_path / "log" / CURRENT).read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["page"] * 3


def test_lone_surrogates_are_replaced_not_raised(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path)
    log.append(event(title="a\ud800b"))
    log.close()
    assert [found.title for found in read_events(tmp_path)] == ["a\ufffdb"]


def test_a_torn_last_line_is_cut_at_every_byte(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path)
    for number in range(3):
        log.append(numbered(number))
    log.close()
    path = tmp_path / CURRENT
    whole = path.read_bytes()
    third = whole.rfind(b"\n", 0, -1) + 1
    for length in range(third, len(whole)):
        path.write_bytes(whole[:length])
        reopened = CrawlLog(tmp_path)
        assert reopened.cut_bytes == length - third
        reopened.append(numbered(9))
        reopened.close()
        assert urls(tmp_path) == ["0", "1", "9"]


def test_a_log_that_is_one_torn_line_longer_than_the_search_step(tmp_path: Path) -> None:
    (tmp_path / CURRENT).write_bytes(b"x" * (3 * crawllog.BUFFER_BYTES))
    log = CrawlLog(tmp_path)
    assert log.cut_bytes == 3 * crawllog.BUFFER_BYTES
    log.append(numbered(1))
    log.close()
    assert urls(tmp_path) == ["1"]


def test_rotation_compresses_and_keeps_the_order(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=2_000)
    for number in range(50):
        log.append(numbered(number))
        log.flush()
    log.close()
    CrawlLog(tmp_path).close()  # compresses what the last rotation left
    files = rotated(tmp_path)
    assert len(files) > 5
    assert all(path.suffix == ".gz" for _, path in files)
    assert urls(tmp_path) == [str(number) for number in range(50)]


def test_old_files_are_deleted_and_counted(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=1_000, files_max=3)
    for number in range(20):
        log.append(numbered(number))
        log.flush()
    log.close()
    last = CrawlLog(tmp_path, files_max=3)
    last.close()
    assert len(rotated(tmp_path)) == 3
    assert urls(tmp_path)[-1] == "19"


def test_a_rotation_cut_short_is_finished(tmp_path: Path) -> None:
    line = (json.dumps({"time": 1, "url": "u/7", "key": "k", "host": "h", "kind": "page"}) + "\n").encode()
    (tmp_path / "crawl-000001.jsonl").write_bytes(line)
    (tmp_path / "crawl-000001.part").write_bytes(b"half a gzip")
    (tmp_path / "crawl-000002.jsonl").write_bytes(line)  # compressed, and not yet deleted
    (tmp_path / "crawl-000002.jsonl.gz").write_bytes(gzip.compress(line))
    CrawlLog(tmp_path).close()
    assert urls(tmp_path) == ["7", "7"]
    assert not list(tmp_path.glob("*.part"))
    CrawlLog(tmp_path).close()
    assert [path.name for path in sorted(tmp_path.glob("crawl-*"))] == [
        "crawl-000001.jsonl.gz",
        "crawl-000002.jsonl.gz",
    ]


def test_a_full_disk_loses_nothing_and_resumes_in_the_middle_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = CrawlLog(tmp_path)
    log.append(numbered(1))
    real = os.write
    room = [100]

    def write(fd: int, data: bytes) -> int:
        if room[0] == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        count = real(fd, bytes(data[: room[0]]))
        room[0] -= count
        return count

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(DiskFullError, match="no room"):
        log.flush()
    room[0] = 1_000_000
    log.append(numbered(2))
    log.close()
    assert urls(tmp_path) == ["1", "2"]


def test_a_log_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a file")
    with pytest.raises(StoreError):
        CrawlLog(tmp_path / "log")


def test_damaged_lines_are_told_and_skipped(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path)
    log.append(numbered(1))
    log.append(numbered(2))
    log.close()
    path = tmp_path / CURRENT
    path.write_bytes(b"{}\n" + b"\xff\n" + b"9" * (3 * 2**20) + b"\n" + path.read_bytes() + b'{"torn')
    (tmp_path / "crawl-000001.jsonl.gz").write_bytes(gzip.compress(b"x\n" * 1000)[:-10])
    told: list[str] = []
    found = [one.url[-1] for one in read_events(tmp_path, damaged=told.append)]
    assert found == ["1", "2"]
    assert [text.partition(" ")[0] for text in told if text.startswith(CURRENT)] == [
        f"{CURRENT}:1:",
        f"{CURRENT}:2:",
        f"{CURRENT}:3:",
        f"{CURRENT}:6:",
    ]
    assert any(text.startswith("crawl-000001.jsonl.gz") for text in told)


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert urls(tmp_path / "absent") == []


def test_following_sees_new_lines_halves_and_rotations(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=3_000)
    log.append(numbered(0))
    log.flush()
    waits = [0]

    def wait(seconds: float) -> None:
        waits[0] += 1
        number = waits[0]
        if number == 1:  # half a line, then the rest
            data = crawllog.encode(numbered(1))
            with (tmp_path / CURRENT).open("ab") as file:
                file.write(data[:40])
        elif number == 2:
            data = crawllog.encode(numbered(1))
            with (tmp_path / CURRENT).open("ab") as file:
                file.write(data[40:] + b"\n")
        elif number < 20:
            log.append(numbered(number))
            log.flush()
        else:
            raise KeyboardInterrupt

    seen: list[str] = []
    following = (one.url.rpartition("/")[2] for one in read_events(tmp_path, wait=wait))
    with pytest.raises(KeyboardInterrupt):
        seen.extend(following)
    log.close()
    assert rotated(tmp_path)  # it did rotate on the way
    assert seen == ["0", "1", *(str(number) for number in range(3, 20))]
