"""Purging segments: what goes is gone, what stays is where it was, and a kill at any moment leaves a whole archive."""

from __future__ import annotations

import io
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.adapters.warc import cdxj, files, members, parse, purge
from gossamer.adapters.warc.check import iterate_segment
from gossamer.adapters.warc.reader import Reader
from gossamer.adapters.warc.recover import recover_directory
from gossamer.adapters.warc.writer import SegmentWriter
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Pointer
from tests.support.warc import DATE, make_job

NOW = DATE + 1_000
WHY = "td-20260101-00000000"
URLS = [f"http://{'taken' if number % 3 else 'kept'}.example/{number}" for number in range(24)]


def archive(directory: Path) -> tuple[Path, list[Pointer]]:
    writer = SegmentWriter(
        directory, "GOSSAMER-T", segment_bytes=1 << 30, software="t", user_agent="u", clock=lambda: DATE
    )
    pointers = [
        writer.write(make_job(url=url, payload=f"<p>secret of {url}".encode() + os.urandom(99 * number)), metadata={})
        for number, url in enumerate(URLS)
    ]
    writer.close()
    return directory / pointers[0].segment, pointers


def taken(url: str, _offset: int) -> bool:
    return "taken" in url


LENGTHS = st.integers(263, 700) | st.integers(700, 10**6) | st.integers(65_000, 66_500) | st.integers(130_000, 132_500)


@given(length=LENGTHS)
def test_a_tombstone_has_the_length_it_must_have_and_is_one_record(length: int) -> None:
    made = purge.tombstone(length, WHY, NOW)
    assert len(made) == length
    data = members.unpack(made)
    assert zlib.decompress(made, 31) == data, "zlib reads it too"
    record = parse.record(data)
    assert (record.get("warc-type"), record.get(purge.PURGED_FIELD.lower())) == ("metadata", WHY)


def test_what_is_too_short_for_a_tombstone_is_refused_not_shifted() -> None:
    with pytest.raises(ArchiveError):
        purge.tombstone(200, WHY, NOW)


def test_what_goes_is_gone_and_what_stays_is_where_it_was(tmp_path: Path) -> None:
    path, pointers = archive(tmp_path)
    size, reader = path.stat().st_size, Reader(tmp_path)
    before = {url: reader.read(pointer) for url, pointer in zip(URLS, pointers, strict=True)}
    done = purge.purge_segment(path, taken, WHY, NOW)
    assert (done.visits, done.kept_visits, done.records, done.index_lines) == (16, 8, 48, 16)
    assert path.stat().st_size == size
    after = Reader(tmp_path)
    for url, pointer in zip(URLS, pointers, strict=True):
        if "kept" in url:
            assert after.read(pointer) == before[url]
        else:
            assert not _has_record(after, pointer), "only where a gap begins there is a record, which says so"
    text = b"".join(member.data for member in members.walk(os.open(path, os.O_RDONLY)))
    assert b"taken.example" not in text
    assert text.count(b"kept.example") > 8
    index = (tmp_path / (path.name + cdxj.SUFFIX)).read_bytes()
    assert index.count(b"\n") == 8
    assert b"taken" not in index
    assert index == b"".join(sorted(cdxj.scan(path).lines)), "the index is what a reading of the segment makes"
    assert [checked.error for checked in iterate_segment(path) if checked.error] == []


def _has_record(reader: Reader, pointer: Pointer) -> bool:
    try:
        return reader.read(pointer).record_type != "metadata"
    except ArchiveError:
        return False


def test_others_read_it(tmp_path: Path) -> None:
    path, _ = archive(tmp_path)
    purge.purge_segment(path, taken, WHY, NOW)
    with path.open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), len(record.content_stream().read()))
            for record in ArchiveIterator(file, check_digests="raise")
        ]
    assert {url for _, url, _ in records if url} == {url for url in URLS if "kept" in url}
    assert sum(kind == "response" for kind, _, _ in records) == 8
    assert io.BytesIO(path.read_bytes()).getbuffer().nbytes == path.stat().st_size


def test_again_it_changes_nothing(tmp_path: Path) -> None:
    path, _ = archive(tmp_path)
    purge.purge_segment(path, taken, WHY, NOW)
    whole = path.read_bytes()
    done = purge.purge_segment(path, taken, WHY, NOW + 5)
    assert (done.records, done.kept_visits, done.index_lines) == (0, 8, 0)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("step", range(6))
def test_a_kill_between_any_two_steps_leaves_a_whole_archive_and_the_next_run_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    path, _ = archive(tmp_path)
    calls = 0

    class KilledError(BaseException):
        pass

    def counting(name: str) -> None:
        real = getattr(os, name)

        def counted(*arguments: object) -> object:
            nonlocal calls
            calls += 1
            if calls > step:
                raise KilledError
            return real(*arguments)

        monkeypatch.setattr(os, name, counted)

    counting("fsync")
    counting("replace")
    try:
        purge.purge_segment(path, taken, WHY, NOW)
    except KilledError:
        pass
    monkeypatch.undo()
    assert [checked.error for checked in iterate_segment(path) if checked.error] == []
    recover_directory(tmp_path, {})
    assert list(tmp_path.glob(f"*{files.PURGING}")) == [], "a draft holds what was to go"
    purge.purge_segment(path, taken, WHY, NOW)
    assert b"taken" not in b"".join(member.data for member in members.walk(os.open(path, os.O_RDONLY)))
    assert b"taken" not in (tmp_path / (path.name + cdxj.SUFFIX)).read_bytes()


def test_a_damaged_segment_is_not_touched(tmp_path: Path) -> None:
    path, pointers = archive(tmp_path)
    data = bytearray(path.read_bytes())
    data[pointers[20].offset + 40] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ArchiveError):
        purge.purge_segment(path, taken, WHY, NOW)
    assert path.read_bytes() == bytes(data)
