"""The audit log: only appended to, never lost, never flooded."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gossamer.model.errors import ConfigError
from gossamer.serve.audit import REFUSED_PER_MINUTE_MAX, TEXT_MAX_CHARS, AuditLog, Entry


def entry(number: int = 0, **more: object) -> Entry:
    return Entry(time="2026-01-01T00:00:00Z", id=str(number), step="done", **more)  # type: ignore[arg-type]


def lines(log: AuditLog) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.path.read_text().splitlines()]


def test_what_is_there_stays(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    log.write(entry(1))
    log.close()
    again = AuditLog(tmp_path)
    again.write(entry(2, request="x" * 10_000))
    again.close()
    assert [line["id"] for line in lines(again)] == ["1", "2"]
    assert len(str(lines(again)[1]["request"])) == TEXT_MAX_CHARS
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o600


def test_a_torn_line_stays_and_the_next_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_bytes(b'{"time":"2026","id":"to')
    log = AuditLog(tmp_path)
    log.write(entry(2))
    log.close()
    torn, whole = log.path.read_bytes().splitlines()
    assert torn == b'{"time":"2026","id":"to'
    assert json.loads(whole)["id"] == "2"


def test_every_line_is_on_the_disk_before_write_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(tmp_path)
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda _: synced.append(len(lines(log))))
    log.write(entry(1))
    log.write(entry(2))
    assert synced == [1, 2]


def test_many_threads_and_two_processes_worth_of_writers_tear_no_line(tmp_path: Path) -> None:
    first, second = AuditLog(tmp_path), AuditLog(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: (first, second)[number % 2].write(entry(number, request="y" * 500)), range(100)))
    assert sorted(int(str(line["id"])) for line in lines(first)) == list(range(100))


def test_a_flood_of_refusals_is_counted(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    for number in range(REFUSED_PER_MINUTE_MAX + 40):
        log.refused(entry(number), 600.0 + number / 100)
    assert len(lines(log)) == REFUSED_PER_MINUTE_MAX
    log.refused(entry(999), 661.0)
    assert [line.get("result", line["id"]) for line in lines(log)[-2:]] == [
        "40 more refused attempts in a minute before",
        "999",
    ]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        AuditLog(tmp_path)
    full = AuditLog(tmp_path / "home")
    os.dup2(os.open("/dev/full", os.O_WRONLY), full._file)
    with pytest.raises(OSError, match="No space left"):
        full.write(entry())
