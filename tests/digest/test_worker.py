"""A full or broken disk, seen from a worker: which pages fail, which are safe; none is answered without its record."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.worker import Worker, _metadata
from gossamer.model.page import Digest
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
    assert (failed.pointer, failed.unwritten, failed.title) == (None, "full", "")
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
    assert [(found.pointer, found.unwritten) for found in digests] == [(None, "full"), (None, "full")]
    assert targets(tmp_path / "archive") == ["http://example.org/1"]


def test_a_rotation_that_fails_takes_no_page_along_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = make_worker(tmp_path, segment_bytes=1)
    worker.take(page(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr(os, "fdatasync", full)
        failed = worker.take(page(2))  # finishing the first segment fails, and with it page 1
    assert {found.id for found in failed} == {page(1).id, page(2).id}
    assert all(found.unwritten == "full" and found.pointer is None for found in failed)
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


def failing(code: int) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize(
    ("code", "unwritten"),
    [
        (errno.EROFS, "broken"),
        (errno.EIO, "broken"),
        (errno.ESTALE, "broken"),
        (errno.EACCES, "broken"),
        (errno.EMFILE, "lacking"),
        (errno.ENFILE, "lacking"),
        (errno.ENOMEM, "lacking"),
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "full"),
    ],
)
@pytest.mark.parametrize("call", ["open", "pwrite", "fdatasync"])
def test_whatever_keeps_a_worker_from_writing_is_no_pages_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, unwritten: str
) -> None:
    worker = make_worker(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(code))
        failed = worker.take(page(1)) or worker.sync()[0]
    assert [(found.pointer, found.unwritten) for found in failed] == [(None, unwritten)]
    assert os.strerror(code) in failed[0].error
    assert worker.take(page(2)) == []
    assert [found.title for found in worker.sync()[0]] == ["Page 2"]


def test_what_cannot_be_removed_either_does_not_end_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that an error has made read-only: what was begun stays there, and the page's worker lives."""
    worker = make_worker(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing(errno.EIO))
        patch.setattr(os, "unlink", failing(errno.EROFS))
        [failed] = worker.take(page(1))
    assert (failed.pointer, failed.unwritten) == (None, "broken")


def test_a_page_that_cannot_be_recorded_fails_by_itself(tmp_path: Path) -> None:
    worker = make_worker(tmp_path)
    [failed] = worker.take(msgspec.structs.replace(page(1), url="http://example.org/" + "x" * 20_000))
    assert (failed.pointer, failed.unwritten) == (None, "")
    assert failed.error.startswith("archive: URL of ")


@pytest.mark.parametrize("synced", [0, 1])
@pytest.mark.parametrize("how", ["removed", "replaced", "folder moved"])
def test_a_segment_taken_away_while_it_is_written_is_noticed(tmp_path: Path, how: str, synced: int) -> None:
    """What is written to a file that nobody finds again is not archived, whatever the system says."""
    worker = make_worker(tmp_path)
    for number in range(synced):
        worker.take(page(number))
        worker.sync()
    worker.take(page(9))
    [path] = (tmp_path / "archive").glob("*.open")
    if how == "folder moved":
        path.parent.rename(tmp_path / "elsewhere")
    else:
        path.unlink()
    if how == "replaced":
        path.touch()
    digests, may_go_on = worker.sync()
    assert not may_go_on
    assert [(found.pointer, found.unwritten) for found in digests] == [(None, "broken")]


def test_what_a_parser_cannot_open_costs_no_page_its_parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module of a rare charset, with no descriptor left: the page is done again, not archived without its links."""
    worker = make_worker(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("gossamer.adapters.digest.worker.parse", failing(errno.EMFILE))
        [failed] = worker.take(page(1))
    assert (failed.id, failed.pointer, failed.unwritten) == (page(1).id, None, "lacking")
    assert worker.take(page(1)) == []
    assert [found.title for found in worker.sync()[0]] == ["Page 1"]


def test_of_a_page_that_is_not_to_be_kept_nothing_is_that_hooks_took() -> None:
    for noarchive, kept in ((False, {"words": "3"}), (True, {})):
        made = Digest(id=1, pointer=None, charset="utf-8", extra={"words": "3", "charset": "x"}, noarchive=noarchive)
        assert _metadata(made) == {"charset": "utf-8", "language": "", "digest-error": "", **kept}
