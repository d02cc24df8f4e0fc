"""Rows of benchmarks: when an aim is reached, how the table shows it, what is kept beside what."""

from __future__ import annotations

import importlib
import zlib
from pathlib import Path

import pytest

from bench.__main__ import BENCHES
from bench.near_duplicates import fingerprints, slots
from bench.quick_web import QuickMaker
from bench.rows import Row, Section, figure, markdown, plain, read, write
from gossamer.model.url import Url, parse
from gossamer.policy.duplicates import block_keys


def section(name: str, place: int, *rows: Row) -> Section:
    return Section(
        place=place, name=name, title=name.title(), command=f"python -m bench.{name}", date="2026-12-01",
        machine="a machine", busy=1.0, took_s=2.0, rows=rows,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("most", "least", "value", "holds"),
    [
        (None, None, 5.0, None), (5.0, None, 5.0, True), (5.0, None, 5.1, False), (None, 5.0, 5.0, True),
        (None, 5.0, 4.9, False), (6.0, 4.0, 5.0, True), (6.0, 4.0, 7.0, False),
        (0, None, 0.0, True), (0, None, 1.0, False),
    ],
)  # fmt: skip
def test_an_aim_is_reached_or_not(most: float | None, least: float | None, value: float, holds: bool | None) -> None:
    assert Row(name="a", value=value, most=most, least=least).holds is holds


def test_the_table_says_what_is_not_reached_and_why() -> None:
    one = Row(name="one", value=12_345.6, unit="/s", least=20_000, note="because")
    found = {"b": section("b", 2, Row(name="two", value=0.123456, unit="ms")), "a": section("a", 1, one)}
    text = markdown(found)
    assert "| one<br>because | at least 20,000 /s | 12,346 /s | **no** |" in text
    assert "| two | | 0.123 ms | |" in text
    assert text.index("**A**") < text.index("**B**"), "in the order of their places"
    assert "| `python -m bench.a` | 2026-12-01 | 1.00 | 2 s |" in text
    assert "one — because" in plain(found)
    assert "<br>" not in plain(found)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.5, "1,234"), (0.01234, "0.0123"), (99.96, "100"), (1.5e-7, "1.5e-07"), (12.0, "12")],
)
def test_figures_have_the_digits_that_mean_something(value: float, text: str) -> None:
    assert figure(value) == text


def test_a_benchmark_takes_the_place_of_its_own_results_only(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert read(path) == {}
    write(section("b", 2), path)
    write(section("a", 1, Row(name="old", value=1.0)), path)
    write(section("a", 1, Row(name="new", value=2.0)), path)
    kept = read(path)
    assert list(kept) == ["a", "b"]
    assert [row.name for row in kept["a"].rows] == ["new"]


def test_pieces_make_one_gzip_member_of_the_page() -> None:
    maker = QuickMaker(3, 8, 80, variants=True)
    plain_page, packed = maker.page("www.h00001-bench.example", maker.paths()[3])
    engine = zlib.decompressobj(31)
    assert engine.decompress(packed) == plain_page
    assert engine.eof
    assert not engine.unused_data
    assert 80_000 < len(plain_page) < 110_000
    assert len(packed) < len(plain_page) / 2
    assert maker.page("www.h00001-bench.example", maker.paths()[3]) == (plain_page, packed), "a function of its address"


def test_spellings_of_a_page_are_one_page() -> None:
    maker = QuickMaker(1, 8, 80, variants=True)
    hrefs = set()
    for path in maker.paths():
        page = maker.page("www.h00000-bench.example", path)[0].decode()
        hrefs |= {part.partition('"')[0] for part in page.split('href="/')[1:]}
    keys = set()
    for href in hrefs:
        url = parse(f"http://www.h00000-bench.example/{href}")
        assert isinstance(url, Url)
        keys.add(url.key)
    of_this_host = [href for href in hrefs if "article-" in href]
    assert len(of_this_host) == 2 * 8
    assert len({key for key in keys if "article-" in key}) == 8


def test_tables_are_filled_under_the_keys_that_filing_uses() -> None:
    simhashes = fingerprints(50)
    found = {(table, number): int(key) for table, keys in slots(simhashes) for number, key in enumerate(keys)}
    for number, simhash in enumerate(simhashes):
        for table, key in block_keys(int(simhash)):
            assert found[table, number] == int.from_bytes(key, "big")


@pytest.mark.parametrize("name", sorted(BENCHES))
def test_every_benchmark_of_the_table_can_be_run(name: str) -> None:
    module = importlib.import_module(f"bench.{name}")
    assert callable(module.main)
