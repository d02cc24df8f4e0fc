"""Stored copies: which there are, in which order, and what a revisit gives back."""

from __future__ import annotations

import gzip
import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core import ending
from gossamer.core.changes import decode_url, encode
from gossamer.model.config import Refresh
from gossamer.model.errors import ArchiveError, ConfigError, StoreError
from gossamer.model.page import Pointer
from gossamer.model.record import Cf
from gossamer.model.view import Visit
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface import captures as module
from gossamer.surface.captures import index_lines
from gossamer.surface.getting import decoded
from gossamer.surface.reader import Reader
from tests.reader.making import NOARCHIVE, START, Made, html, plain_config, site

SEED = "https://a.example/"
DAILY = Refresh(interval_s=86_400.0)
DAY_S = 86_400.0


def pointer(visit: Visit) -> Pointer:
    return Pointer(visit.segment, visit.offset, visit.length)


def crawl(tmp_path: Path, page: Callable[[str], Answer], runs: int, **options: int) -> Made:
    web = SimWeb({"a.example": SimHost(address="1.1.1.1", page=page)})
    made = Made(tmp_path / "crawl", plain_config((SEED,), refresh=DAILY), web, **options)
    for _ in range(runs):
        made.run(due=True)
        made.wait(2 * DAY_S)
    return made


def versions() -> Callable[[str], Answer]:
    numbers = itertools.count()
    return lambda _target: html(f"version {next(numbers)}")


def test_versions_come_newest_first_and_each_can_be_read(tmp_path: Path) -> None:
    reader = crawl(tmp_path, versions(), 4).reader()
    found = reader.captures(SEED)
    assert [reader.read(pointer(visit)).payload for visit in found] == [b"version %d" % n for n in (3, 2, 1, 0)]
    assert [visit.time for visit in found] == sorted((visit.time for visit in found), reverse=True)
    assert {visit.media_type for visit in found} == {"text/html"}
    assert {visit.bytes for visit in found} == {9}
    assert len({visit.digest for visit in found}) == 4
    assert not any(visit.revisit for visit in found)
    assert reader.captures("HTTPS://a.EXAMPLE:443/?utm_source=x") == found


def test_what_was_never_fetched_has_no_copies(tmp_path: Path) -> None:
    reader = crawl(tmp_path, versions(), 1).reader()
    assert list(reader.captures(SEED + "other")) == []
    assert list(reader.captures("mailto:a@a.example")) == []
    with pytest.raises(ArchiveError, match="no such segment"):
        reader.read(Pointer("none.warc.gz", 0, 10))


def test_a_copy_gives_back_the_payload_of_its_original(tmp_path: Path) -> None:
    pages = {"/": html("home", SEED + "1", SEED + "2"), "/1": html("same text"), "/2": html("same text")}
    reader = crawl(tmp_path, site(pages), 1).reader()
    (visit,) = reader.captures(SEED + "2")
    assert visit.revisit
    assert visit.bytes == 0
    capture = reader.read(pointer(visit))
    assert (capture.record_type, capture.url, capture.payload) == ("revisit", SEED + "2", b"same text")
    assert capture.digest_ok is True


class Conditional:
    """A page that is compressed and answers conditional requests, as a simulated server cannot see them, by count."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, _target: str) -> Answer:
        self.asked += 1
        if self.asked > 1:
            return Answer(status=304, headers=(("etag", '"1"'), ("date", "later")), body=b"")
        headers = (("etag", '"1"'), ("content-type", "text/html"), ("content-encoding", "gzip"), ("date", "first"))
        return Answer(headers=headers, body=gzip.compress(b"the page", mtime=0))


def test_not_modified_gives_back_the_earlier_payload_with_its_coding(tmp_path: Path) -> None:
    reader = crawl(tmp_path, Conditional(), 3).reader()
    found = reader.captures(SEED)
    assert [visit.status for visit in found] == [304, 304, 200]
    assert [visit.revisit for visit in found] == [True, True, False]
    capture = reader.read(pointer(found[0]))
    assert (capture.status, capture.record_type) == (304, "revisit")
    assert decoded(capture) == b"the page"
    assert ("date", "later") in capture.headers
    assert ("date", "first") not in capture.headers


def test_not_modified_finds_its_original_when_the_payload_index_does_not_know_it(tmp_path: Path) -> None:
    made = crawl(tmp_path, Conditional(), 2)

    def forget(store: RocksStore) -> None:
        store.write([(Cf.PAYLOAD, key, None) for key, _ in store.scan(Cf.PAYLOAD, b"", None, 100)])

    made.change(forget)
    reader = made.reader()
    assert decoded(reader.read(pointer(reader.captures(SEED)[0]))) == b"the page"

    def forget_history(store: RocksStore) -> None:
        row = decode_url(store.get(Cf.URL, b"example,a)/") or b"")
        store.write([(Cf.URL, b"example,a)/", encode(msgspec.structs.replace(row, history=())))])

    visit = reader.captures(SEED)[0]
    reader.close()
    made.change(forget_history)
    assert decoded(made.reader().read(pointer(visit))) == b"the page"  # by the index beside the segment


def test_an_original_that_is_lost_leaves_the_revisit_as_it_is(tmp_path: Path) -> None:
    made = crawl(tmp_path, Conditional(), 2)
    found = made.reader().captures(SEED)
    (made.directory / "archive" / found[1].segment).unlink()
    capture = made.reader().read(pointer(found[0]))
    assert capture.payload == b""
    assert capture.status == 304
    listed = made.reader().captures(SEED)
    assert [(visit.status, visit.bytes, visit.digest) for visit in listed][1] == (200, 0, "")


def test_noarchive_lists_that_it_was_visited(tmp_path: Path) -> None:
    reader = crawl(tmp_path, lambda _: html("secret", title=NOARCHIVE), 1).reader()
    (visit,) = reader.captures(SEED)
    assert (visit.status, visit.media_type, visit.bytes) == (200, "", 0)
    assert START < visit.time < START + 10  # after robots.txt and its gap
    assert reader.read(pointer(visit)).record_type == "metadata"


def test_versions_older_than_the_row_remembers_come_from_the_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "HISTORY_MAX", 2)
    monkeypatch.setattr(module, "HISTORY_MAX", 2)
    reader = crawl(tmp_path, versions(), 6).reader()
    found = reader.captures(SEED)
    assert [reader.read(pointer(visit)).payload for visit in found] == [b"version %d" % n for n in range(5, -1, -1)]
    assert {visit.status for visit in found} == {200}
    monkeypatch.setattr(module, "INDEXED_MAX", 1)
    assert len(reader.captures(SEED)) <= 4


@given(
    st.lists(st.tuples(st.text("abc", max_size=3), st.integers(0, 9)), max_size=40),
    st.text("abc", max_size=3),
)
@settings(deadline=None, max_examples=60)
def test_bisection_finds_what_reading_all_lines_finds(entries: list[tuple[str, int]], wanted: str) -> None:
    lines = sorted(f"{key} {number} {{}}".encode() for key, number in entries)
    prefix = wanted.encode() + b" "
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(line + b"\n" for line in lines))
        file.flush()
        assert list(index_lines(Path(file.name), prefix)) == [line for line in lines if line.startswith(prefix)]


def test_damaged_index_lines_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "HISTORY_MAX", 2)
    monkeypatch.setattr(module, "HISTORY_MAX", 2)
    made = crawl(tmp_path, versions(), 5)
    for index in (made.directory / "archive").glob("*.cdxj"):
        index.write_bytes(b"a line of no index\n" + b"example,a)/ 2026 {broken\n" + index.read_bytes())
    assert len(made.reader().captures(SEED)) == 5
    assert list(index_lines(tmp_path / "none.cdxj", b"x")) == []


def test_a_reader_needs_a_crawl(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        Reader(tmp_path)
    (tmp_path / "gossamer.toml").write_text(f'seeds = ["{SEED}"]\n')
    with pytest.raises(StoreError, match="no crawl state"):
        Reader(tmp_path)
