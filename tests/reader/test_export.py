"""Exports of crawls on disk, judged by warcio and FastWARC, and by the archive that they were made from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.adapters.exclusions import Exclusions
from gossamer.adapters.warc import files, members, visits
from gossamer.adapters.warc.surt import surt
from gossamer.model.config import Refresh
from gossamer.model.control import TakeDown, Takedowns
from gossamer.model.errors import ArchiveError, WithheldError
from gossamer.model.takedown import Target
from gossamer.policy.selection import Selection, check_status, places_of, selects
from gossamer.sim.web import SimHost, SimWeb
from gossamer.surface import cli, hashfile
from gossamer.surface.exportrun import Export
from gossamer.surface.hashfile import HashFile, missing, places
from gossamer.surface.takedownlist import TakedownList
from tests.reader.making import NOARCHIVE, START, Made, html, plain_config, site
from tests.reader.test_captures import Conditional

A, B = "https://a.example/", "https://b.example/"
SAME = "the same text " * 30
DAY_S = 86_400.0
RUNS = 3


def web() -> SimWeb:
    conditional = Conditional()
    first = site(
        {
            "/": html("home", A + "same", *(A + str(n) for n in range(5)), A + "hidden", A + "gone", A + "c", B),
            **{f"/{n}": html(f"page {n} " * 20) for n in range(5)},
            "/same": html(SAME),
            "/hidden": html("not kept", title=NOARCHIVE),
        }
    )
    second = {"/": html("second", B + "text", B + "other", B + "same"), "/same": html(SAME)}
    second["/text"] = html("plain", headers=(("content-type", "text/plain; charset=utf-8"),))
    one = SimHost(address="1.1.1.1", page=lambda target: conditional(target) if target == "/c" else first(target))
    return SimWeb({"a.example": one, "b.example": SimHost(address="1.1.1.2", page=site(second))})


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Three days of two hosts: pages, revisits within a host and across, 304s, a 404, a page not to be kept."""
    config = plain_config((A, B), refresh=Refresh(interval_s=DAY_S))
    crawl = Made(tmp_path_factory.mktemp("export") / "crawl", config, web(), segment_bytes=4_000)
    for _ in range(RUNS):
        crawl.run(due=True)
        crawl.wait(2 * DAY_S)
    return crawl


@pytest.fixture
def crawl(made: Made, tmp_path: Path) -> Made:
    return made.copy(tmp_path / "crawl")


def records(folder: Path) -> Iterator[tuple[dict[str, str], bytes]]:
    """Every record but warcinfo, as warcio reads it, digests checked."""
    for path in sorted(folder.glob("*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                body = record.content_stream().read()
                if record.rec_type != "warcinfo":
                    yield dict(record.rec_headers.headers), body


def raw(folder: Path) -> Counter[bytes]:
    """Every record but warcinfo, as it stands in the files."""
    found: Counter[bytes] = Counter()
    for path in files.segments(folder):
        with path.open("rb") as file:
            found.update(part for visit in visits.walk(file.fileno()) for part in visit.parts)
    return found


def exported(crawl: Made, target: Path, *arguments: str, capsys: Any) -> dict[str, Any]:
    assert cli.run(["export", str(target), "--dir", str(crawl.directory), "--json", *arguments]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert not list(target.parent.glob("*.part"))
    names = {path.name for path in target.iterdir()}
    assert names == {name + more for name in (path.name for path in target.glob("*.gz")) for more in ("", ".cdxj")}
    lines = [line for path in target.glob("*.cdxj") for line in path.read_text().splitlines()]
    assert found["files"] == len(names) / 2
    fast = 0
    for path in sorted(target.glob("*.warc.gz")):
        with path.open("rb") as stream:
            fast += (
                sum(record.verify_block_digest() for record in FastIterator(stream, parse_http=False)) - 1
            )  # warcinfo
    told = list(records(target))
    assert len(told) == fast == found["records"]
    main = [one for one, _ in told if one["WARC-Type"] in ("response", "revisit")]
    assert len(lines) == len([one for one in main if not is_304(one)])
    if not found["unresolved"]:
        assert dangling(main) == []
    return found


def dangling(main: list[dict[str, str]]) -> list[dict[str, str]]:
    """Revisits that refer to no response, by URL, date and payload, that is among these records."""
    there = {(one["WARC-Target-URI"], one["WARC-Date"], digest(one)) for one in main if one["WARC-Type"] == "response"}
    return [
        one
        for one in main
        if one["WARC-Type"] == "revisit"
        and (one["WARC-Refers-To-Target-URI"], one["WARC-Refers-To-Date"], digest(one)) not in there
    ]


def is_304(header: dict[str, str]) -> bool:
    return header.get("WARC-Profile", "").endswith("server-not-modified")


def alone(folder: Path) -> int:
    """Visits of which only that is kept that they were."""
    said = [one for one, body in records(folder) if one["WARC-Type"] == "metadata" and b"noarchive: true" in body]
    assert said
    return len(said)


def digest(header: dict[str, str]) -> str:
    return header.get("WARC-Payload-Digest") or header["X-Entity-Digest"]


def targets(folder: Path) -> Counter[str]:
    kept = (one for one, _ in records(folder) if one["WARC-Type"] in ("response", "revisit", "metadata"))
    return Counter(one["WARC-Target-URI"] for one in kept if one["WARC-Type"] != "metadata")


def take_down(crawl: Made, kind: Any, value: str) -> None:
    answer = TakedownList(crawl.directory).do(TakeDown(target=Target(kind, value), reason="x"), 1.0, running=False)
    assert isinstance(answer, Takedowns)


def test_everything_is_copied_as_it_stands(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = crawl.directory / "archive"
    assert len(crawl.segments()) > 3
    report = exported(crawl, tmp_path / "all", capsys=capsys)
    assert raw(tmp_path / "all") == raw(archive)
    kinds = Counter(one["WARC-Type"] for one, _ in records(archive))
    assert kinds["revisit"] > 10
    assert report["visits"] == kinds["response"] + kinds["revisit"] + alone(archive)
    assert [report[name] for name in ("not_selected", "withheld", "referred", "in_full", "unresolved")] == [0] * 5
    small = Export(archive, tmp_path / "small", Selection(), segment_bytes=3_000, agent="x").run("")
    assert small.files > 3
    assert raw(tmp_path / "small") == raw(archive)


def test_what_revisits_refer_to_comes_along(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = exported(crawl, tmp_path / "b", "--host", "b.example", capsys=capsys)
    assert report["referred"] == 1, "the first capture of the text that both hosts have"
    found = targets(tmp_path / "b")
    assert {url for url in found if not url.startswith(B)} == {A + "same"}
    assert found[A + "same"] == 1
    whole = targets(crawl.directory / "archive")
    assert {url: count for url, count in found.items() if url.startswith(B)} == {
        url: count for url, count in whole.items() if url.startswith(B)
    }
    later = exported(crawl, tmp_path / "later", "--since", "2026-01-02", "--prefix", A + "c", capsys=capsys)
    assert (later["visits"], later["referred"]) == (RUNS, 1), "two 304s and what they confirm"
    assert later["not_selected"] + later["visits"] - later["referred"] > 20


def test_what_is_taken_down_is_left_out(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take_down(crawl, "host", "a.example")
    report = exported(crawl, tmp_path / "kept", capsys=capsys)
    assert report["withheld"] > 10
    assert {url for url in targets(tmp_path / "kept") if not url.startswith(B)} == set()
    assert report["in_full"] > 0
    bodies = [body for one, body in records(tmp_path / "kept")
              if one["WARC-Type"] == "response" and one["WARC-Target-URI"] == B + "same"]  # fmt: skip
    assert bodies.count(SAME.encode()) == report["in_full"]
    nothing = exported(crawl, tmp_path / "nothing", "--site", "a.example", capsys=capsys)
    assert (nothing["visits"], nothing["files"]) == (0, 0)


SELECTIONS: list[tuple[tuple[str, ...], Any]] = [
    (("--status", "404"), lambda one: one["status"] == 404),
    (("--status", "2xx", "--status", "404"), lambda one: one["status"] // 100 == 2 or one["status"] == 404),
    (("--type", "text/plain"), lambda one: one["type"] == "text/plain"),
    (("--type", "text/"), lambda one: one["type"].startswith("text/")),
    (("--until", "2026-01-01"), lambda one: one["date"] < "2026-01-02"),
    (("--since", "2026-01-02", "--until", "2026-01-04"), lambda one: "2026-01-02" <= one["date"] < "2026-01-05"),
    (("--pattern", "*/same"), lambda one: one["url"].endswith("/same")),
    (("--site", "b.example", "--status", "200"), lambda one: one["url"].startswith(B) and one["status"] == 200),
]


@pytest.mark.parametrize(("arguments", "wanted"), SELECTIONS, ids=range(len(SELECTIONS)))
def test_selections(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], wanted: Any
) -> None:
    expected: Counter[str] = Counter()
    for path in crawl.segments():
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if record.rec_type in ("response", "revisit"):
                    head = record.http_headers
                    one = {
                        "status": int(head.get_statuscode()),
                        "type": (head.get_header("content-type") or "").partition(";")[0],
                        "date": record.rec_headers.get_header("WARC-Date"),
                        "url": record.rec_headers.get_header("WARC-Target-URI"),
                    }
                    expected[record.rec_headers.get_header("WARC-Record-ID")] += bool(wanted(one))
    report = exported(crawl, tmp_path / "some", *arguments, capsys=capsys)
    found = {
        one["WARC-Record-ID"] for one, _ in records(tmp_path / "some") if one["WARC-Type"] in ("response", "revisit")
    }
    chosen = {name for name, count in expected.items() if count}
    assert chosen
    assert chosen <= found
    assert len(found - chosen) == report["referred"]


@pytest.mark.parametrize(("arguments", "said"), [
    (("--status", "700"), "--status 700 is not allowed; it must be a status such as 200"),
    (("--status", "2x"), "--status 2x is not allowed"),
    (("--type", "html"), "--type html is not allowed"),
    (("--site", "co.uk"), "--site co.uk is not allowed (co.uk is a public suffix"),
    (("--host", "a b"), "--host a b is not allowed"),
    (("--pattern", "*"), "--pattern * is not allowed (it matches every address, or nearly); it must be a pattern"),
    (("--since", "yesterday"), '--since "yesterday" is not a time'),
    (("--since", "2026-01-03", "--until", "2026-01-02"), "--since 2026-01-03 is after --until 2026-01-02"),
    (("--segment-size", "1B"), "--segment-size 1B is not allowed; it must be a size from 1MiB"),
])  # fmt: skip
def test_bad_input_is_named_and_nothing_is_made(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    assert cli.run(["export", str(tmp_path / "x"), "--dir", str(crawl.directory), *arguments]) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


def test_a_folder_that_is_there_is_left_alone(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "half.part").mkdir()
    for name, said in (
        ("there", "is there"),
        ("half", "what an export left that was cut short"),
        ("no/x", "no folder"),
    ):
        assert cli.run(["export", str(tmp_path / name), "--dir", str(crawl.directory)]) == 2
        assert said in capsys.readouterr().err
    assert cli.run(["export", str(tmp_path / "x"), "--dir", str(tmp_path / "none")]) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawl", "half.part", "there"]


def test_damage_ends_it_with_a_name_and_leaves_nothing(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = crawl.segments()[1]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert cli.run(["export", str(tmp_path / "x"), "--dir", str(crawl.directory)]) == 7
    assert path.name in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


def test_a_takedown_that_comes_meanwhile_ends_it(crawl: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Export(crawl.directory / "archive", tmp_path / "x", Selection(), segment_bytes=1 << 30, agent="x")
    refer = run._refer
    monkeypatch.setattr(run, "_refer", lambda: (refer(), take_down(crawl, "host", "a.example")))
    with pytest.raises(WithheldError, match=r"taken down meanwhile: td-.*; nothing is exported, run it again"):
        run.run("")
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


def test_lost_originals_and_open_segments_are_told(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = crawl.segments()[-1]
    last.rename(last.with_name(last.name + files.OPEN))
    next(path for path in crawl.segments() if any(A + "same" in line for line in index_of(path))).unlink()
    report = exported(crawl, tmp_path / "x", "--host", "b.example", capsys=capsys)
    main = [one for one, _ in records(tmp_path / "x") if one["WARC-Type"] in ("response", "revisit")]
    there = {(surt(one["WARC-Target-URI"]), digest(one)) for one in main if one["WARC-Type"] == "response"}
    asked = {(surt(one["WARC-Refers-To-Target-URI"]), digest(one)) for one in main if one["WARC-Type"] == "revisit"}
    assert A + "same" not in targets(tmp_path / "x")
    assert (report["open_segments"], report["unresolved"]) == (1, len(asked - there))
    assert report["unresolved"] >= 1


def test_purged_records_are_told(crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take_down(crawl, "host", "b.example")
    assert cli.run(["purge", "--yes", "--dir", str(crawl.directory)]) == 0
    assert cli.run(["export", str(tmp_path / "x"), "--dir", str(crawl.directory)]) == 0
    assert "left out: purged" in capsys.readouterr().out
    assert [url for url in targets(tmp_path / "x") if url.startswith(B)] == []


def index_of(path: Path) -> list[str]:
    index = path.with_name(path.name + ".cdxj")
    return [line for line in index.read_text().splitlines() if "warc/revisit" not in line] if index.exists() else []


def test_a_list_that_cannot_be_read_exports_nothing(crawl: Made, tmp_path: Path) -> None:
    Exclusions(crawl.directory / "archive").edit(lambda before: before)
    (crawl.directory / "archive" / "exclusions.json").write_bytes(b"{")
    assert cli.run(["export", str(tmp_path / "x"), "--dir", str(crawl.directory)]) == 5
    assert [path.name for path in tmp_path.iterdir()] == ["crawl"]


def test_a_visit_is_its_records_and_no_more(crawl: Made) -> None:
    for path in crawl.segments():
        with path.open("rb") as file:
            found = list(visits.walk(file.fileno()))
            parts = [part for visit in found for part in visit.parts]
            assert parts == [path.read_bytes()[m.offset : m.offset + m.length] for m in members.walk(file.fileno())][1:]
        assert all(len(visit.parts) == (1 if visit.kind == "metadata" else 3) for visit in found)


HASHES = st.lists(st.integers(0, 30) | st.integers(0, 2**64 - 1), max_size=60)


@given(HASHES, HASHES)
def test_hashes_on_disk_are_sets(wanted: list[int], given_: list[int]) -> None:
    import tempfile
    from unittest.mock import patch

    with tempfile.TemporaryDirectory() as folder, patch.object(hashfile, "AT_ONCE", 7):
        one, two, three = (HashFile(Path(folder) / name) for name in ("one", "two", "three"))
        for value in wanted:
            one.add(value)
        for value in given_:
            two.add(value)
        missing(one.sorted(), two.sorted(), three)
        assert three.sorted().tolist() == sorted(set(wanted) - set(given_))
        among = np.array(sorted(given_), np.uint64)
        found = places(np.array(wanted, np.uint64), among)
        assert [place >= 0 for place in found] == [value in given_ for value in wanted]


def test_what_a_selection_is() -> None:
    chosen = Selection(places=places_of([Target("host", "a.example")]), since=START, until=START + 1)
    assert selects(chosen, A, START + 1.9, 200, "text/html")
    assert not selects(chosen, A, START + 2.0, 200, "text/html")
    assert not selects(chosen, B, START, 200, "text/html")
    assert not selects(chosen, "no url", START, 200, "text/html")
    assert selects(Selection(), "no url", 0.0, 0, "")
    texts = ("100", "599", "2xx", "099", "20", "2000", "xxx", "٢٠٠", "")
    assert [text for text in texts if check_status(text) is None] == ["100", "599", "2xx"]


def test_a_record_that_is_gone_is_an_error(crawl: Made, tmp_path: Path) -> None:
    for path in crawl.directory.glob("archive/*.cdxj"):
        path.write_text(path.read_text().replace('"offset":"', '"offset":"x'))
    chosen = Selection(places=places_of([Target("host", "b.example")]))
    run = Export(crawl.directory / "archive", tmp_path / "x", chosen, segment_bytes=1 << 30, agent="x")
    with pytest.raises(ArchiveError, match="damaged line"):
        run.run("")
