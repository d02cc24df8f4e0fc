"""Segments: names, rotation, exclusive ownership, durability and a disk that is full."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.adapters.warc import cdxj, files
from gossamer.adapters.warc import writer as writer_module
from gossamer.adapters.warc.check import iterate_segments
from gossamer.adapters.warc.reader import Reader
from gossamer.model.errors import ArchiveError, DiskFullError, StoreError
from gossamer.model.page import Pointer
from tests.support.warc import PREFIX, archive, by_warcio, make_job, make_writer, warcio_check


@contextmanager
def file_size_limit(limit_bytes: int) -> Iterator[None]:
    """No file of this process may grow past the limit: the kernel then writes in part and refuses, as a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_names_are_open_while_written_and_final_when_finished(tmp_path: Path) -> None:
    writer = make_writer(tmp_path / "archive")
    assert writer.end == 0
    assert not (tmp_path / "archive").exists()
    pointer = writer.write(make_job(), metadata={})
    assert pointer.segment == f"{PREFIX}-00000.warc.gz"
    opened = tmp_path / "archive" / f"{PREFIX}-00000.warc.gz.open"
    assert [path.name for path in opened.parent.iterdir()] == [opened.name]
    assert writer.end == opened.stat().st_size
    writer.sync()
    assert writer.closed == []
    writer.close()
    assert sorted(path.name for path in opened.parent.iterdir()) == [
        f"{PREFIX}-00000.warc.gz",
        f"{PREFIX}-00000.warc.gz.cdxj",
    ]
    assert writer.closed == [pointer.segment]
    assert writer.closed == []
    writer.close()


def test_segments_rotate_at_their_size_and_each_is_whole(tmp_path: Path) -> None:
    writer = make_writer(tmp_path, segment_bytes=4_000)
    jobs = [make_job(url=f"http://a.example/{n}", payload=os.urandom(900)) for n in range(10)]
    pointers = [writer.write(job, metadata={"n": str(n)}) for n, job in enumerate(jobs)]
    writer.close()
    names = sorted({pointer.segment for pointer in pointers})
    assert names == writer.closed == [f"{PREFIX}-{n:05d}.warc.gz" for n in range(len(names))]
    assert len(names) > 2
    warcio_check(*(tmp_path / name for name in names))
    assert all(by_warcio(tmp_path / name)[0].rec_type == "warcinfo" for name in names)
    reader = Reader(tmp_path)
    for job, pointer in zip(jobs, pointers, strict=True):
        assert reader.read(pointer).payload == job.payload
    assert all((tmp_path / name).stat().st_size < 4_000 + 3_000 for name in names)


def test_the_index_in_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_module, "SEGMENT_CAPTURES_MAX", 3)
    writer = make_writer(tmp_path)
    segments = [writer.write(make_job(), metadata={}).segment for _ in range(7)]
    writer.close()
    assert [segments.count(name) for name in dict.fromkeys(segments)] == [3, 3, 1]


def test_two_writers_never_share_a_file(tmp_path: Path) -> None:
    """The same prefix by accident: the second takes the next name, whether the first is still open or finished."""
    one, two = make_writer(tmp_path), make_writer(tmp_path)
    first, second = (writer.write(make_job(), metadata={}) for writer in (one, two))
    assert [first.segment[-13:], second.segment[-13:]] == ["00000.warc.gz", "00001.warc.gz"]
    for n in range(20):
        for writer in (one, two):
            writer.write(make_job(url=f"http://a.example/{n}"), metadata={})
    one.close()
    three = make_writer(tmp_path)
    assert three.write(make_job(), metadata={}).segment.endswith("00002.warc.gz")
    two.close()
    three.close()
    assert sum(not item.error for item in iterate_segments(tmp_path)) == 3 + 3 * (21 + 21 + 1)
    warcio_check(*sorted(tmp_path.glob("*.warc.gz")))


def test_a_segment_without_a_page_is_removed(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    with pytest.raises(ArchiveError):
        writer.write(make_job(url="http://a.example/" + "x" * 20_000), metadata={})
    writer.close()
    assert list(tmp_path.iterdir()) == []
    assert writer.closed == []


def test_full_disk_cuts_the_partial_page_off_and_the_writer_goes_on(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    first = writer.write(make_job(payload=os.urandom(5_000)), metadata={})
    writer.sync()
    end = writer.end
    path = tmp_path / (first.segment + ".open")
    with file_size_limit(end + 2_000), pytest.raises(DiskFullError, match="no room for the archive"):
        writer.write(make_job(payload=os.urandom(5_000)), metadata={})
    assert writer.end == path.stat().st_size == end
    with file_size_limit(end + 2_000):
        small = writer.write(make_job(payload=b"small"), metadata={})
        writer.sync()
    large = writer.write(make_job(payload=bytes(5_000)), metadata={})
    writer.close()
    warcio_check(tmp_path / first.segment)
    reader = Reader(tmp_path)
    assert [len(reader.read(pointer).payload) for pointer in (first, small, large)] == [5_000, 5, 5_000]
    assert sum(1 for _ in iterate_segments(tmp_path)) == 1 + 3 * 3
    assert len((tmp_path / (first.segment + ".cdxj")).read_bytes().splitlines()) == 3


def test_full_disk_at_the_first_page_leaves_no_file(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    with file_size_limit(100), pytest.raises(DiskFullError):
        writer.write(make_job(), metadata={})
    assert list(tmp_path.iterdir()) == []
    pointer = writer.write(make_job(), metadata={})
    writer.close()
    assert Reader(tmp_path).read(pointer).payload == b"<p>hello</p>"


def test_remains_of_a_write_that_could_not_be_cut_off_are_cut_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = make_writer(tmp_path)
    first = writer.write(make_job(), metadata={})
    end = writer.end
    real = os.ftruncate

    def refuse(fd: int, length: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "ftruncate", refuse)
    with file_size_limit(end + 500), pytest.raises(DiskFullError):
        writer.write(make_job(payload=os.urandom(5_000)), metadata={})
    assert (tmp_path / (first.segment + ".open")).stat().st_size == end + 500
    with pytest.raises(StoreError, match="cannot cut"):
        writer.close()
    monkeypatch.setattr(os, "ftruncate", real)
    writer.close()
    assert (tmp_path / first.segment).stat().st_size == end
    warcio_check(tmp_path / first.segment)


def test_a_failed_sync_takes_back_what_was_not_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = make_writer(tmp_path)
    first = writer.write(make_job(), metadata={})
    writer.sync()
    end = writer.end
    lost = writer.write(make_job(payload=b"lost"), metadata={})

    def refuse(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", refuse)
        with pytest.raises(DiskFullError):
            writer.sync()
    assert writer.end == end
    again = writer.write(make_job(payload=b"again"), metadata={})
    writer.close()
    assert again.offset == lost.offset == end
    reader = Reader(tmp_path)
    assert [reader.read(pointer).payload for pointer in (first, again)] == [b"<p>hello</p>", b"again"]
    assert len((tmp_path / (first.segment + ".cdxj")).read_bytes().splitlines()) == 2


def test_pointers_are_right_for_every_kind_of_record(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    response = writer.write(make_job(), metadata={})
    hidden = writer.write(make_job(), metadata={"reason": "noarchive"}, noarchive=True)
    writer.close()
    found = {item.pointer: item.record_type for item in iterate_segments(tmp_path)}
    assert found[response] == "response"
    assert found[hidden] == "metadata"
    assert isinstance(hidden, Pointer)
    assert len((tmp_path / (response.segment + ".cdxj")).read_bytes().splitlines()) == 1


def test_finishing_again_changes_nothing_that_is_finished(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    before = path.read_bytes()
    archive(tmp_path, make_job(payload=b"other"))
    assert path.read_bytes() == before


@pytest.mark.parametrize("step", ["index", "name", "directory"])
def test_a_rotation_that_failed_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    writer = make_writer(tmp_path, segment_bytes=1)
    pointers = [writer.write(make_job(), metadata={})]
    writer.sync()

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        where, name = {"index": (cdxj, "save"), "name": (Path, "rename"), "directory": (files, "sync_directory")}[step]
        patch.setattr(where, name, refuse)
        for _ in range(2):
            with pytest.raises(StoreError, match="Too many open files"):
                writer.write(make_job(), metadata={})
    pointers.append(writer.write(make_job(), metadata={}))
    writer.close()
    assert writer.closed == [pointer.segment for pointer in pointers]
    assert sorted(path.name for path in tmp_path.glob("*.warc.gz")) == sorted(p.segment for p in pointers)
    assert len(list(tmp_path.glob("*.warc.gz.cdxj"))) == 2
    reader = Reader(tmp_path)
    assert [reader.read(pointer).payload for pointer in pointers] == [b"<p>hello</p>"] * 2
