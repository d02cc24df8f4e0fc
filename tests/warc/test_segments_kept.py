"""Segments as commits see them: forgotten when all of them is committed, cut back when their writer is gone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gossamer.adapters.segments import Segments
from gossamer.model.errors import DiskFullError, GossamerError, StoreError
from gossamer.model.page import Pointer
from tests.support.warc import PREFIX, by_warcio, make_job, make_writer, warcio_check

NAME = f"{PREFIX}-00000.warc.gz"


class Writers:
    """What the pool of workers tells."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.abandoned: dict[str, int] = {}


def nothing(name: str, damage: str) -> None:
    """Told of what is missing, where nothing is."""
    raise AssertionError(f"{name}: {damage}")


def written(directory: Path, pages: int = 3, *, close: bool = False) -> list[int]:
    """A segment with pages; its length after each. Its writer is finished, or gone without a word."""
    writer = make_writer(directory)
    ends = []
    for number in range(pages):
        pointer = writer.write(make_job(url=f"http://a.example/{number}", payload=b"page %d" % number), metadata={})
        assert isinstance(pointer, Pointer)
        ends.append(writer.end)
    writer.sync()
    if close:
        writer.close()
    else:
        segment = writer._segment
        assert segment is not None
        os.close(segment.fd)
    return ends


def urls(path: Path) -> list[str]:
    return [line.split(b" ")[0].decode() for line in path.with_name(path.name + ".cdxj").read_bytes().splitlines()]


def test_a_start_cuts_back_to_what_was_committed_and_forgets(tmp_path: Path) -> None:
    ends = written(tmp_path)
    committed = {NAME: ends[1]}
    report = Segments(tmp_path, committed, frozenset({NAME}), nothing).recover()
    assert report.finished == (NAME,)
    assert report.cut == {NAME: ends[2] - ends[1]}
    assert committed == {}
    final = tmp_path / NAME
    assert final.stat().st_size == ends[1]
    assert len(urls(final)) == 2
    warcio_check(final)


def test_a_finished_segment_is_forgotten_only_when_all_of_it_is_committed(tmp_path: Path) -> None:
    ends = written(tmp_path, close=True)
    committed = {NAME: ends[1], "other.warc.gz": 5}
    segments, writers = Segments(tmp_path, committed, frozenset({NAME}), nothing), Writers()
    writers.closed.append(NAME)
    assert segments.tend(writers) is False
    assert writers.closed == []
    assert committed[NAME] == ends[1]
    committed[NAME] = ends[2]
    assert segments.tend(writers) is True
    assert committed == {"other.warc.gz": 5}
    assert (segments.count, segments.bytes) == (1, ends[2])
    assert segments.tend(writers) is False


def test_the_segment_of_a_dead_worker_waits_for_its_commits_then_is_finished(tmp_path: Path) -> None:
    """Pages it had answered for are still on their way to their commits."""
    ends = written(tmp_path)
    committed = {NAME: ends[0]}
    segments, writers = Segments(tmp_path, committed, frozenset({NAME}), nothing), Writers()
    writers.abandoned[NAME] = ends[1]  # answered for two pages, died in the third
    assert segments.tend(writers) is False
    assert (tmp_path / (NAME + ".open")).stat().st_size == ends[2]
    committed[NAME] = ends[1]
    assert segments.tend(writers) is True
    assert writers.abandoned == {}
    assert committed == {}
    assert (tmp_path / NAME).stat().st_size == ends[1]
    assert len(by_warcio(tmp_path / NAME)) == 1 + 2 * 3  # warcinfo; response, request, metadata
    warcio_check(tmp_path / NAME)


def test_a_dead_worker_that_answered_for_nothing_leaves_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    segments, writers = Segments(tmp_path, {}, frozenset(), nothing), Writers()
    writers.abandoned[NAME] = 0
    assert segments.tend(writers) is True
    assert list(tmp_path.glob("*.warc.gz*")) == []


def test_a_closed_segment_that_held_no_visit_is_forgotten(tmp_path: Path) -> None:
    committed = {"gone.warc.gz": 0}
    segments, writers = Segments(tmp_path, committed, frozenset({NAME}), nothing), Writers()
    writers.closed.append("gone.warc.gz")
    assert segments.tend(writers) is True
    assert committed == {}


def test_a_segment_that_no_commit_refers_to_is_put_aside_at_a_start(tmp_path: Path) -> None:
    """Finished, and the process was killed before any page of it was committed."""
    written(tmp_path, close=True)
    other = written(tmp_path / "kept", close=True)
    (tmp_path / "kept" / NAME).rename(tmp_path / NAME.replace("00000", "00001"))
    Segments(tmp_path, {}, frozenset({NAME.replace("00000", "00001")}), nothing).recover()
    assert not (tmp_path / NAME).exists()
    assert (tmp_path / (NAME + ".orphan")).exists()
    assert (tmp_path / NAME.replace("00000", "00001")).stat().st_size == other[-1]


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.EROFS, StoreError), (errno.EIO, StoreError), (errno.ENOSPC, DiskFullError)]
)
def test_a_disk_that_fails_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[GossamerError]
) -> None:
    ends = written(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    segments = Segments(tmp_path, {NAME: ends[1]}, frozenset({NAME}), nothing)
    workers = Writers()
    workers.abandoned[NAME] = ends[1]
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        patch.setattr(os, "unlink", fail)
        for work in (
            segments.recover,
            lambda: segments.tend(workers),
            Segments(tmp_path, {}, frozenset(), nothing).recover,
        ):
            with pytest.raises(kind, match=os.strerror(code)):
                work()
    assert segments.recover().finished == (NAME,)


def test_what_is_missing_is_told_at_a_start_and_while_a_crawl_runs(tmp_path: Path) -> None:
    """Its rows cannot know, and what was committed of it is forgotten at the same time."""
    told: dict[str, str] = {}
    ends = written(tmp_path / "start")
    os.truncate(tmp_path / "start" / (NAME + ".open"), ends[1] + 5)
    committed = {NAME: ends[2], "gone.warc.gz": 7}
    Segments(tmp_path / "start", committed, frozenset({NAME}), told.__setitem__).recover()
    assert told == {
        NAME: f"{ends[1] + 5} bytes are left of {ends[2]} committed",
        "gone.warc.gz": "missing: 7 bytes were committed",
    }
    assert committed == {}
    assert (tmp_path / "start" / NAME).stat().st_size == ends[1]
    told.clear()
    written(tmp_path / "dead")
    os.truncate(tmp_path / "dead" / (NAME + ".open"), ends[0])
    committed = {NAME: ends[1], "gone.warc.gz": 7}
    segments, writers = Segments(tmp_path / "dead", committed, frozenset({NAME}), told.__setitem__), Writers()
    writers.abandoned[NAME] = ends[1]
    writers.closed.append("gone.warc.gz")
    assert segments.tend(writers) is True
    assert told == {
        NAME: f"{ends[0]} bytes are left of {ends[1]} committed",
        "gone.warc.gz": "missing: 7 bytes were committed",
    }
    assert committed == {}
