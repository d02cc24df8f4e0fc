"""One host's visits out of a log of many files, and a log that is followed while it grows and is rotated."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.surface.crawllog import CrawlLog, may_have, rotated
from gossamer.surface.hostlog import host_log
from gossamer.surface.logtail import Follower, tail

HOSTS = ("a.example", "b.example", "a.example:8080", "xa.example")


def event(number: int) -> FetchEvent:
    host = HOSTS[number % len(HOSTS)]
    detail = f'"host":"{HOSTS[0]}",' if number % 2 else ""  # as a hostile server would have it
    return FetchEvent(
        time=float(number), url=f"http://{host}/{number}", key="k", host=host, kind=Kind.PAGE, failure_detail=detail
    )


def written(folder: Path, count: int, rotate_bytes: int = 1 << 30) -> CrawlLog:
    log = CrawlLog(folder, rotate_bytes=rotate_bytes)
    for number in range(count):
        log.append(event(number))
        if number % 50 == 0:
            log.flush()
    log.flush()
    return log


@pytest.mark.parametrize("rotate_bytes", [1 << 30, 4_000], ids=["one-file", "many-files"])
def test_newest_first_and_only_that_host(tmp_path: Path, rotate_bytes: int) -> None:
    written(tmp_path, 400, rotate_bytes).close()
    found = host_log(tmp_path, "a.example", 10)
    assert [one.time for one in found.events] == [396.0 - 4 * n for n in range(10)]
    everything = host_log(tmp_path, "a.example", 1_000)
    assert [one.time for one in everything.events] == [396.0 - 4 * n for n in range(100)]
    assert everything.whole
    assert everything.since == 0.0
    assert host_log(tmp_path, "never.example", 10).events == ()


def test_files_without_a_line_of_the_host_are_not_read(tmp_path: Path) -> None:
    written(tmp_path, 400, 4_000).close()
    CrawlLog(tmp_path).close()  # compresses what the last rotation left
    log = CrawlLog(tmp_path, rotate_bytes=4_000)
    log.append(msgspec.structs.replace(event(400), url="http://once.example/", host="once.example"))
    for number in range(401, 600):
        log.append(event(number))
        log.flush()
    log.close()
    CrawlLog(tmp_path).close()
    having = [path for _, path in rotated(tmp_path) if may_have(path, "once.example")]
    assert len(having) == 1
    oldest = rotated(tmp_path)[0][1]
    for _, path in rotated(tmp_path):
        if path not in (*having, oldest):
            path.write_bytes(b"not to be opened")
    found = host_log(tmp_path, "once.example", 10)
    assert [one.url for one in found.events] == ["http://once.example/"]
    assert (found.whole, found.since) == (True, 0.0)


def test_it_says_how_far_it_looked(tmp_path: Path) -> None:
    written(tmp_path, 8_000).close()
    found = host_log(tmp_path, "a.example", 10_000, max_bytes=100_000)
    assert not found.whole
    assert found.events[0].time == 7_996.0
    assert 0 < found.since <= found.events[-1].time


def test_no_log_and_a_damaged_one(tmp_path: Path) -> None:
    assert host_log(tmp_path, "a.example", 10).events == ()
    log = written(tmp_path, 8)
    log.close()
    with (tmp_path / "crawl.jsonl").open("ab") as file:
        file.write(b'{"host":"a.example",\n{"time":1,"host":"a.exam')
    assert [one.time for one in host_log(tmp_path, "a.example", 10).events] == [4.0, 0.0]


def test_following_over_a_rotation_loses_nothing(tmp_path: Path) -> None:
    log = written(tmp_path, 10, rotate_bytes=3_000)
    follower = Follower(tmp_path)
    assert follower.take() == []
    seen: list[float] = []
    for number in range(10, 200):
        log.append(event(number))
        log.flush()
        if number % 7 == 0:
            seen += [one.time for one in follower.take()]
    log.close()
    for _ in range(30):
        seen += [one.time for one in follower.take()]
    follower.close()
    assert seen == [float(number) for number in range(10, 200)]


def test_following_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert follower.take() == []
    written(tmp_path, 3).close()
    assert [one.time for one in follower.take()] == [0.0, 1.0, 2.0]
    follower.close()


def test_the_tail_is_the_newest_lines_oldest_first(tmp_path: Path) -> None:
    assert tail(tmp_path, 5) == []
    written(tmp_path, 100).close()
    assert [one.time for one in tail(tmp_path, 5)] == [95.0, 96.0, 97.0, 98.0, 99.0]
