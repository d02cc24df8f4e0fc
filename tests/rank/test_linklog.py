"""The link log: what is read is what was noted, whatever happened to the writer, the file or the disk."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters import linklog
from gossamer.adapters.linklog import BATCH_PAGES, BATCH_S, LinkLog
from gossamer.adapters.linkread import read_links
from gossamer.adapters.warc.recover import recover_segment
from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX, LINK_LOG_PAIRS_MAX

NAME = "T-00000.warc.gz"
NOW = 1_790_000_000.0


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    directory = tmp_path / "archive"
    directory.mkdir()
    (directory / NAME).write_bytes(b"")
    return directory


def counted(archive: Path, name: str = NAME) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for batch in linklog.read(linklog.log_path(archive / name)):
        for source, target, pages in zip(batch.sources, batch.targets, batch.pages, strict=True):
            found[batch.hosts[source], batch.hosts[target]] += pages
    return found


_HOSTS = st.sampled_from(["a.example", "b.example", "b.example:8080", "ü.example", "[::1]"])


@settings(deadline=None, max_examples=50)
@given(pages=st.lists(st.tuples(_HOSTS, st.lists(_HOSTS, unique=True, max_size=4)), max_size=30))
def test_what_is_noted_is_read(tmp_path_factory: pytest.TempPathFactory, pages: list[tuple[str, list[str]]]) -> None:
    archive = tmp_path_factory.mktemp("crawl") / "archive"
    log = LinkLog(archive)
    for number, (source, targets) in enumerate(pages):
        log.note(NAME, source, targets, NOW + number * 7)
    log.flush()
    assert counted(archive) == Counter((source, target) for source, targets in pages for target in targets)
    assert sum(batch.noted for batch in linklog.read(linklog.log_path(archive / NAME))) == len(pages)


def test_batches_are_bounded_by_pages_pairs_and_time(archive: Path) -> None:
    log = LinkLog(archive)
    for _ in range(BATCH_PAGES):
        log.note(NAME, "a.example", ["b.example"], NOW)
    assert counted(archive) == {("a.example", "b.example"): BATCH_PAGES}
    for number in range(LINK_LOG_PAIRS_MAX // 100):
        log.note(NAME, f"s{number}.example", [f"t{target}.example" for target in range(100)], NOW)
    assert len(counted(archive)) == 1 + LINK_LOG_PAIRS_MAX
    log.note(NAME, "c.example", ["d.example"], NOW)
    log.note(NAME, "c.example", ["d.example"], NOW + BATCH_S)
    assert counted(archive)["c.example", "d.example"] == 2


def test_a_page_that_leads_everywhere_is_cut_and_that_is_counted(archive: Path) -> None:
    log = LinkLog(archive)
    log.note(NAME, "a.example", [f"t{number}.example" for number in range(LINK_HOSTS_PER_PAGE_MAX + 5)], NOW)
    log.flush()
    [batch] = linklog.read(linklog.log_path(archive / NAME))
    assert (len(batch.pages), batch.cut) == (LINK_HOSTS_PER_PAGE_MAX, 5)
    assert read_links(archive).left_out == 5


def test_each_segment_has_its_own(archive: Path) -> None:
    log = LinkLog(archive)
    log.note(NAME, "a.example", ["b.example"], NOW)
    log.note("T-00001.warc.gz", "c.example", ["d.example"], NOW)
    log.flush()
    assert counted(archive) == {("a.example", "b.example"): 1}
    assert counted(archive, "T-00001.warc.gz") == {("c.example", "d.example"): 1}
    assert [path.name for path in archive.iterdir()] == [NAME]  # nothing of it lies among the segments
    assert read_links(archive).pages == 1  # the second has no segment: it belongs to nothing


def three_frames(archive: Path) -> tuple[Path, list[int]]:
    log, ends = LinkLog(archive), []
    path = linklog.log_path(archive / NAME)
    for number in range(3):
        log.note(NAME, "a.example", [f"t{number}.example"], NOW)
        log.flush()
        ends.append(path.stat().st_size)
    return path, ends


def test_a_log_cut_anywhere_is_read_up_to_its_last_whole_frame(archive: Path) -> None:
    path, ends = three_frames(archive)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        left = sum(length >= end for end in ends)
        assert len(list(linklog.read(path))) == left
        linklog.cut(archive / (NAME + ".open"))
        assert path.stat().st_size == max((end for end in ends if end <= length), default=0)


def test_damage_anywhere_ends_it_and_never_raises(archive: Path) -> None:
    path, ends = three_frames(archive)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes((whole[at] ^ 0x55,)) + whole[at + 1 :])
        assert len(list(linklog.read(path))) == sum(at >= end for end in ends)


@pytest.mark.parametrize(
    "batch",
    [
        linklog.Batch(["a"], [0], [1], [1]),
        linklog.Batch(["a", "b"], [0], [-1], [1]),
        linklog.Batch(["a", "b"], [0, 1], [1], [1]),
        linklog.Batch(["a", "b"], [0], [1], [0]),
        linklog.Batch(["a", "b"], [0], [1], [2**31]),
    ],
)
def test_numbers_that_mean_nothing_are_damage(archive: Path, batch: linklog.Batch) -> None:
    path = linklog.log_path(archive / NAME)
    path.parent.mkdir()
    path.write_bytes(linklog._frame(batch))
    assert list(linklog.read(path)) == []


def test_a_full_disk_costs_the_batch_and_is_told_by_the_next(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = LinkLog(archive)
    log.note(NAME, "a.example", ["b.example"], NOW)
    log.flush()
    before = linklog.log_path(archive / NAME).read_bytes()
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))  # the disk takes five bytes more
        log.note(NAME, "a.example", ["c.example"], NOW)
        log.flush()
    assert linklog.log_path(archive / NAME).read_bytes() == before
    log.note(NAME, "a.example", ["d.example"], NOW)
    log.flush()
    assert set(counted(archive)) == {("a.example", "b.example"), ("a.example", "d.example")}
    assert read_links(archive).left_out == 1


def test_a_removed_segment_takes_its_log_along(archive: Path) -> None:
    log = LinkLog(archive)
    log.note("T-00001.warc.gz", "a.example", ["b.example"], NOW)
    log.flush()
    segment = archive / "T-00001.warc.gz.open"
    segment.write_bytes(b"never committed")
    path = linklog.log_path(segment)
    assert path.exists()
    assert recover_segment(segment, None).removed
    assert not path.exists()
