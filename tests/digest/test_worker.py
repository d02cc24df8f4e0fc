"""A full disk, seen from a worker: which pages fail, which are safe, and that none is answered without its record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.worker import Worker
from tests.digest.helpers import ANY, page, targets


def make_worker(tmp_path: Path, segment_bytes: int = 1 << 30) -> Worker:
    fd = os.memfd_create("progress")
    os.ftruncate(fd, frames.PROGRESS_BYTES)
    setup = frames.Setup(
        rules=ANY,
        directory=str(tmp_path / "archive"),
        prefix="T-0",
        segment_bytes=segment_bytes,
        software="test",
        user_agent="test",
        operator="",
        memory_max_bytes=1 << 20,
    )
    return Worker(setup, Hooks(), frames.Progress(fd))


def full(*_: object) -> int:
    raise OSError(28, "No space left on device")


def test_a_full_disk_fails_the_page_and_keeps_the_ones_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_worker(tmp_path)
    assert worker.take(page(1)) == []
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        [failed] = worker.take(page(2))
    assert (failed.pointer, failed.disk_full, failed.title) == (None, True, "")
    assert worker.take(page(3)) == []
    digests, may_go_on = worker.sync()
    assert may_go_on
    assert [found.title for found in digests] == ["Page 1", "Page 3"]
    worker.finish()
    assert targets(tmp_path / "archive") == ["http://example.org/1", "http://example.org/3"]


def test_a_failed_sync_fails_every_page_that_waited_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_worker(tmp_path)
    worker.take(page(1))
    worker.sync()
    worker.take(page(2))
    worker.take(page(3))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr(os, "fdatasync", full)
        digests, may_go_on = worker.sync()
    assert not may_go_on
    assert [(found.pointer, found.disk_full) for found in digests] == [(None, True), (None, True)]
    assert targets(tmp_path / "archive") == ["http://example.org/1"]


def test_a_rotation_that_fails_takes_no_page_along_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_worker(tmp_path, segment_bytes=1)
    worker.take(page(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr(os, "fdatasync", full)
        failed = worker.take(page(2))  # finishing the first segment fails, and with it page 1
    assert {found.id for found in failed} == {page(1).id, page(2).id}
    assert all(found.disk_full and found.pointer is None for found in failed)
    assert worker.unsynced == []


def test_pages_of_a_segment_that_was_finished_are_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_worker(tmp_path, segment_bytes=1)
    worker.take(page(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        failed = worker.take(page(2))  # the first segment is finished, the second can't be begun
    assert [found.id for found in failed] == [page(2).id]
    digests, _ = worker.sync()
    assert [found.title for found in digests] == ["Page 1"]
    assert digests[0].closed == (digests[0].pointer.segment,)  # type: ignore[union-attr]
