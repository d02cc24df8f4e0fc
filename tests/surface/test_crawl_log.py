"""The crawl log survives a crash at any byte, rotation and readers beside the writer."""

from __future__ import annotations

import errno
import gzip
import json
import os
import time
from pathlib import Path

import msgspec
import pytest

from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.surface import crawllog
from gossamer.surface.crawllog import CURRENT, CrawlLog, rotated
from gossamer.surface.hostevidence import evidence_lines, evidence_of
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
    log = CrawlLog(tmp_path, rotate_bytes=1_000, files_max=3, kept_s=0.0)
    for number in range(20):
        log.append(numbered(number))
        log.flush()
    log.close()
    last = CrawlLog(tmp_path, files_max=3, kept_s=0.0)
    last.close()
    assert len(rotated(tmp_path)) == len(list(tmp_path.glob("*.hosts"))) == 3
    assert urls(tmp_path)[-1] == "19"


def test_no_file_is_deleted_before_its_ninetieth_day(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=1_000, files_max=3)
    for number in range(20):
        log.append(numbered(number))
        log.flush()
    log.close()
    CrawlLog(tmp_path, files_max=3).close()
    count = len(rotated(tmp_path))
    assert count > 5
    CrawlLog(tmp_path, files_max=3, now=lambda: time.time() + 89 * 86_400).close()
    assert len(rotated(tmp_path)) == count
    CrawlLog(tmp_path, files_max=3, now=lambda: time.time() + 91 * 86_400).close()
    assert len(rotated(tmp_path)) == 3


def test_one_host_is_read_without_reading_files_that_have_none_of_its_lines(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path, rotate_bytes=3_000)
    hosts = ["a.example", "aa.example", "a.example:8080", "b.example"]
    for number in range(80):
        host = hosts[number % 4] if number < 40 else "b.example"
        log.append(msgspec.structs.replace(numbered(number), host=host))
        log.flush()
    log.close()
    CrawlLog(tmp_path).close()
    files = [path for _, path in rotated(tmp_path)]
    having = [path for path in files if crawllog.may_have(path, "a.example")]
    assert 1 <= len(having) < len(files) / 2 + 2
    for path in set(files) - set(having):
        path.write_bytes(b"not to be opened")
    events = read_events(tmp_path, damaged=pytest.fail, host="a.example")
    assert [found.url.rpartition("/")[2] for found in events] == [
        str(number) for number in range(40) if number % 4 in (0, 2)
    ]
    for path in tmp_path.glob("*.hosts"):
        path.write_bytes(b"damaged")
    assert all(crawllog.may_have(path, "a.example") for path in files)


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
    assert [path.name for path in sorted(tmp_path.glob("crawl-*.jsonl*"))] == [
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


def test_the_evidence_about_a_host_is_counted_from_its_lines() -> None:
    def at(second: float, **changes: object) -> FetchEvent:
        return event(started=second, time=second + 1, elapsed_ms=500.0, url=f"https://example.com/{second}", **changes)

    visits = [
        at(86_400.0 * 20_000, kind=Kind.ROBOTS), at(86_400.0 * 20_000 + 2, wire_bytes=1_000, robots="line 4: Allow: /"),
        at(86_400.0 * 20_000 + 9, status=429), at(86_400.0 * 20_001, status=0, failure="timeout"),
        at(86_400.0 * 20_000 + 4.5, host="example.com:8080"), at(86_400.0 * 20_000 + 5.2, host="example.com:8080"),
        event(started=0.0, status=0, reason="robots-disallowed"),
    ]  # fmt: skip
    found = evidence_of("example.com", [visits[number] for number in (5, 0, 3, 6, 1, 4, 2)])
    assert (found.requests, found.busiest_minute, found.robots_fetched, found.asked_to_wait) == (6, 5, 1, 1)
    assert found.gap_min_s == pytest.approx(0.2), "ports of a name are hosts of their own: only their own gaps count"
    assert (found.first, found.last) == (86_400.0 * 20_000, 86_400.0 * 20_001)
    assert [(day.day, day.requests) for day in found.days] == [("2024-10-04", 5), ("2024-10-05", 1)]
    assert (found.failures, found.refused) == ({"timeout": 1}, {"robots-disallowed": 1})
    assert any("shortest 200 ms" in line for line in evidence_lines(found))
    assert found.allowed == {"line 4: Allow: /": 1}
    assert "  allowed   1 request by robots.txt: line 4: Allow: /" in evidence_lines(found)
    assert evidence_lines(evidence_of("b.example", [])) == ["b.example: the crawl log has no line of it"]
