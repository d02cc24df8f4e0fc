"""Reports: everything is shown, everything is escaped, the page needs nothing but itself."""

from __future__ import annotations

import io
import json
import math
from html.parser import HTMLParser

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, RenderableType

from gossamer.model.view import ReportData
from gossamer.surface.charts import Bar, Column, bars, columns
from gossamer.surface.explainview import render_explanation
from gossamer.surface.jsontext import json_text
from gossamer.surface.reporthtml import report_html
from gossamer.surface.reporttext import histogram_labels, render_report
from tests.surface.samples import HOSTILE, empty_report, explanation, report

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Balance of tags, what is loaded, and the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [str(value) for name, value in attrs if name in {"src", "href", "srcset", "action", "data"}]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(data: ReportData) -> Page:
    page = Page()
    page.feed(report_html(data))
    page.close()
    assert page.open == []
    return page


@pytest.mark.parametrize("data", [report(), report(hostile=True), empty_report()])
def test_the_page_is_whole_and_needs_nothing(data: ReportData) -> None:
    page = page_of(data)
    assert page.loads == []
    assert "script" not in page.tags
    assert "url(" not in report_html(data)
    assert "default-src 'none'" in report_html(data)


def test_the_page_shows_what_a_report_has() -> None:
    page = page_of(report())
    for wanted in (
        "12,345",
        "Bound by host-diversity.",
        "Pages over time",
        "Statuses and failures",
        "scope-outside",
        "120,411",
        "application/pdf",
        "Response time",
        "to 25 ms",
        "over 5.0 s",
        "Queue by level",
        "Pages by depth",
        "host0.example",
        "Slowest hosts",
        "Hosts in trouble",
        "8 timeouts in a row",
        "Copies, largest groups first",
        "digest-timeout",
        "asks for Crawl-delay 900 s",
    ):
        assert wanted in page.text
    assert page.tags.count("svg") > 20


def test_hostile_text_is_text() -> None:
    data = report(hostile=True)
    html = report_html(data)
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert all(line.isprintable() for line in html.split("\n"))
    assert page_of(data).text.count("<script>alert(1)</script>") > 30


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec=None), max_size=50), st.integers(0, 10**12))
def test_charts_escape_labels(label: str, value: int) -> None:
    for chart in (bars([Bar(label, value)]), columns([Column(label, value, 1, label)])):
        page = Page()
        page.feed(chart)
        page.close()
        assert set(page.tags) <= {"div", "span", "svg", "rect", "line", "g", "title"}
        assert chart.isprintable()


def test_charts_of_nothing_are_left_out() -> None:
    assert bars([]) == columns([]) == bars([Bar("x", 0)]) == columns([Column("x", 0)]) == ""


def test_a_long_timeline_is_merged_not_cut() -> None:
    data = report()
    long = ReportData(snapshot=data.snapshot, timeline=data.timeline * 10, slice_s=60.0)
    html = report_html(long)
    assert html.count("<g>") < 200
    assert "6 m 00 s a column" in html


def printed(what: RenderableType, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, highlight=False, markup=False, emoji=False).print(what)
    return out.getvalue().split("\n")


@pytest.mark.parametrize("width", [40, 60, 80, 140])
@pytest.mark.parametrize("data", [report(), report(hostile=True), empty_report()])
def test_text_reports_fit_and_are_printable(data: ReportData, width: int) -> None:
    lines = printed(render_report(data), width)
    assert all(len(line) <= width for line in lines)
    assert all(line.isprintable() for line in lines)


def test_the_text_report_shows_what_a_report_has() -> None:
    text = "\n".join(printed(render_report(report()), 80))
    for wanted in ("Refused, by reason", "scope-outside", "Slowest hosts", "Hosts in trouble", "Depth", "and 5 more"):
        assert wanted in text


@pytest.mark.parametrize("data", [report(), report(hostile=True), empty_report()])
def test_json_reports_read_back(data: ReportData) -> None:
    read = json.loads(json_text(data))
    assert set(read) == set(ReportData.__struct_fields__)
    assert read["snapshot"]["pages"] == data.snapshot.pages


def test_histogram_labels() -> None:
    assert histogram_labels(((25.0, 1), (1000.0, 2), (math.inf, 3))) == [
        ("to 25 ms", 1),
        ("to 1.0 s", 2),
        ("over 1.0 s", 3),
    ]


@pytest.mark.parametrize("width", [50, 100])
@pytest.mark.parametrize("hostile", [False, True])
def test_explanations_name_each_step(width: int, hostile: bool) -> None:
    lines = printed(render_explanation(explanation(hostile=hostile)), width)
    assert all(line.isprintable() and len(line) <= width for line in lines)
    text = "\n".join(lines)
    for wanted in ("canonical form", "utm_source", "robots.txt", "Allow: /a", "place 3", "304", "2026-01-02 00:00:00Z"):
        assert wanted in text
    assert (HOSTILE[:5] in text) is False


def test_columns_shorter_than_a_minute_are_told_apart() -> None:
    data = report()
    start = 1_700_000_000.0
    short = [msgspec.structs.replace(part, start=start + n) for n, part in enumerate(data.timeline[:4])]
    page = report_html(msgspec.structs.replace(data, timeline=tuple(short), slice_s=1.0))
    assert "22:13:20" in page
    assert "22:13:23" in page
