"""Segments whose writer died, at any byte."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.adapters.warc import members, recover
from gossamer.adapters.warc.check import iterate_segments
from gossamer.adapters.warc.reader import Reader
from gossamer.model.errors import ArchiveError
from tests.support.warc import PREFIX, archive, by_warcio, make_job, make_writer, warcio_check

NAME = f"{PREFIX}-00000.warc.gz"


def abandoned(directory: Path, pages: int = 3) -> tuple[Path, list[int]]:
    """An open segment whose writer is gone, and its length after warcinfo and after each page."""
    writer = make_writer(directory)
    ends = []
    for n in range(pages):
        pointer = writer.write(make_job(url=f"http://a.example/{n}", payload=b"page %d" % n), metadata={})
        if not n:
            ends.append(pointer.offset)
        ends.append(writer.end)
    writer.sync()
    segment = writer._segment
    assert segment is not None
    os.close(segment.fd)
    return directory / (NAME + ".open"), ends


def test_cut_at_every_byte_recovers_to_whole_members(tmp_path: Path) -> None:
    """The last gzip member cut off at stop: whatever byte the file ends at, what is left is whole records."""
    path, ends = abandoned(tmp_path / "whole", pages=2)
    data = path.read_bytes()
    fd = os.open(path, os.O_RDONLY)
    member_ends = [member.offset + member.length for member in members.walk(fd)]
    os.close(fd)
    assert member_ends[-1] == len(data)
    assert len(member_ends) == 7
    work = tmp_path / "work"
    work.mkdir()
    copy = work / path.name
    for size in range(ends[1] - 1, len(data) + 1):
        copy.write_bytes(data[:size])
        expected = max(end for end in member_ends if end <= size)
        assert recover.last_whole_member(copy) == expected
        if size % 29 == 0 or size in member_ends:
            assert recover.cut(copy, expected) == size - expected
            final = recover.finalize(copy)
            assert final is not None
            assert len(by_warcio(final)) == member_ends.index(expected) + 1
            assert not copy.exists()
            final.unlink()


def test_every_committed_length_is_restored(tmp_path: Path) -> None:
    path, ends = abandoned(tmp_path / "whole")
    data = path.read_bytes()
    for page in (1, 2, 3):
        directory = tmp_path / str(page)
        directory.mkdir()
        (directory / path.name).write_bytes(data + b"torn tail")
        report = recover.recover_directory(directory, {NAME: ends[page]})
        assert report.finished == (NAME,)
        assert report.cut == {NAME: len(data) + 9 - ends[page]}
        assert not report.removed
        assert not report.damaged
        assert (directory / NAME).read_bytes() == data[: ends[page]]
        assert len((directory / (NAME + ".cdxj")).read_bytes().splitlines()) == page
        warcio_check(directory / NAME)


def test_what_was_never_committed_is_removed(tmp_path: Path) -> None:
    path, ends = abandoned(tmp_path)
    info_only = tmp_path / f"{PREFIX}-00001.warc.gz.open"
    info_only.write_bytes(path.read_bytes()[: ends[0]])
    zero = tmp_path / f"{PREFIX}-00002.warc.gz.open"
    zero.write_bytes(b"")
    (tmp_path / (NAME + ".cdxj.new")).write_bytes(b"half an ind")
    report = recover.recover_directory(tmp_path, {info_only.name.removesuffix(".open"): ends[0]})
    assert len(report.removed) == 3
    assert not report.finished
    assert list(tmp_path.iterdir()) == []


def test_a_finished_segment_loses_the_page_that_was_not_committed(tmp_path: Path) -> None:
    """A segment is renamed when the next page comes; the crash may come before its last page is committed."""
    writer = make_writer(tmp_path)
    first = writer.write(make_job(), metadata={})
    committed = writer.end
    writer.write(make_job(url="http://a.example/lost"), metadata={})
    writer.close()
    foreign = tmp_path / "OTHER-00000.warc.gz"
    foreign.write_bytes(b"not of this crawl")
    report = recover.recover_directory(tmp_path, {first.segment: committed})
    path = tmp_path / first.segment
    assert path.stat().st_size == committed
    assert set(report.cut) == {first.segment}
    assert b"lost" not in (tmp_path / (first.segment + ".cdxj")).read_bytes()
    warcio_check(path)
    assert foreign.read_bytes() == b"not of this crawl"
    again = recover.recover_directory(tmp_path, {first.segment: committed})
    assert again == recover.Report()


def test_a_missing_index_is_made_again(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    index = tmp_path / (path.name + ".cdxj")
    before = index.read_bytes()
    index.unlink()
    recover.recover_directory(tmp_path, {path.name: path.stat().st_size})
    assert index.read_bytes() == before


def test_damage_inside_the_committed_length_is_reported_and_kept(tmp_path: Path) -> None:
    path, ends = abandoned(tmp_path)
    data = bytearray(path.read_bytes())
    data[ends[1] + 40] ^= 0xFF
    path.write_bytes(data)
    report = recover.recover_directory(tmp_path, {NAME: ends[3]})
    assert f"record at byte {ends[1]}" in report.damaged[NAME]
    assert (tmp_path / NAME).read_bytes() == data


def test_a_segment_shorter_than_committed_is_reported_and_cut_to_whole_records(tmp_path: Path) -> None:
    path, ends = abandoned(tmp_path)
    os.truncate(path, ends[2] + 5)
    report = recover.recover_directory(tmp_path, {NAME: ends[3]})
    assert "bytes are left" in report.damaged[NAME]
    assert (tmp_path / NAME).stat().st_size == ends[2]
    warcio_check(tmp_path / NAME)


def test_a_missing_segment_is_reported(tmp_path: Path) -> None:
    report = recover.recover_directory(tmp_path, {NAME: 100, "OTHER.warc.gz": 0})
    assert report.damaged == {NAME: "missing: 100 bytes were committed"}
    assert recover.recover_segment(tmp_path / (NAME + ".open"), None) == recover.Outcome()


def test_a_segment_that_was_finished_in_between_is_found_under_its_final_name(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    size_bytes = path.stat().st_size
    outcome = recover.recover_segment(path.with_name(path.name + ".open"), size_bytes)
    assert outcome == recover.Outcome()
    assert path.stat().st_size == size_bytes


def test_a_segment_in_use_is_left_alone(tmp_path: Path) -> None:
    """Two processes on one archive: recovery of the one must not touch what the other is writing."""
    writer = make_writer(tmp_path)
    writer.write(make_job(), metadata={})
    path = tmp_path / (NAME + ".open")
    before = path.read_bytes()
    with pytest.raises(ArchiveError, match="being written by another process"):
        recover.recover_directory(tmp_path, {})
    with pytest.raises(ArchiveError, match="being written by another process"):
        recover.cut(path, 10)
    assert path.read_bytes() == before
    writer.close()


def test_finishing_never_overwrites(tmp_path: Path) -> None:
    path, ends = abandoned(tmp_path)
    (tmp_path / NAME).write_bytes(b"already here")
    with pytest.raises(ArchiveError, match="exists"):
        recover.finalize(path)
    assert (tmp_path / NAME).read_bytes() == b"already here"
    with pytest.raises(ArchiveError, match="were committed"):
        recover.cut(path, ends[-1] + 1)


def test_a_writer_killed_while_it_writes_leaves_every_synced_page(tmp_path: Path) -> None:
    """A real process, a real SIGKILL: what it had reported as durable is there and valid."""
    script = (
        "import sys; from pathlib import Path; from tests.support.warc import make_job, make_writer\n"
        "import os\n"
        "w = make_writer(Path(sys.argv[1]))\n"
        "n = 0\n"
        "while True:\n"
        "    w.write(make_job(url=f'http://a.example/{n}', payload=os.urandom(3000)), metadata={})\n"
        "    if n % 5 == 4: w.sync(); print(w.end, flush=True)\n"
        "    n += 1\n"
    )
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        committed = 0
        for _ in range(8):
            committed = int(process.stdout.readline())
        process.kill()
    report = recover.recover_directory(tmp_path, {NAME: committed})
    assert report.finished == (NAME,)
    assert not report.damaged
    warcio_check(tmp_path / NAME)
    found = list(iterate_segments(tmp_path))
    assert not [item for item in found if item.error]
    pages = [item for item in found if item.record_type == "response"]
    assert len(pages) == 40
    reader = Reader(tmp_path)
    assert all(reader.read(item.pointer).digest_ok for item in pages)
