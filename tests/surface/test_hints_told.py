"""Hosts whose word on changes misleads are named, with what is wrong with it."""

from __future__ import annotations

from rich.console import Console

from gossamer.model.record import HintRecord, HostRow, PingRecord, State, UrlRow
from gossamer.model.view import ReportData
from gossamer.surface.hostview import hint_words, host_view
from gossamer.surface.reportdata import rank
from gossamer.surface.reporthtml import report_html
from gossamer.surface.reporttext import render_report
from gossamer.surface.waiting import WaitingPages


def host(name: str, record: HintRecord | None) -> HostRow:
    return HostRow(host=name, site=name, hints=record)


def test_who_misleads_is_named_the_worst_first() -> None:
    rows = [
        host("a.example", None),
        host("b.example", HintRecord(tried=40.0, borne=38.0)),
        host("c.example", HintRecord(absurd=3)),
        host("d.example", HintRecord(tried=12.0, borne=3.0, doubted=900)),
    ]
    found = rank(rows).misleading
    assert [row.host for row in found] == ["d.example", "c.example"]
    assert hint_words(rows[1]) == ""
    data = ReportData(misleading=tuple(host_view(row, 0.0, running=False) for row in found), hints={"doubted": 900})
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(render_report(data))
    assert "since 25% of those tried were borne out" in report_html(data)
    text = capture.get()
    assert "d.example  900 not believed, since 25% of those tried were borne out" in text
    assert "c.example  3 dates that can be no page's" in text


def test_what_is_due_and_waits_is_told_by_age_level_and_host() -> None:
    waiting = WaitingPages(now=100_000.0)
    fetched = {"url": "u", "host": "a", "state": State.FETCHED}
    for level, late_s in ((0, 10.0), (2, 60.0), (2, 70.0), (5, 90_000.0)):
        waiting.add(UrlRow(**fetched, level=level, refresh=True, wanted=100_000.0 - late_s))
    waiting.add(UrlRow(**fetched, late=1, wanted=99_000.0))
    waiting.add(UrlRow(**fetched, due=99_999.0))
    for row in (
        UrlRow(**fetched, due=200_000.0),
        UrlRow(**fetched),
        UrlRow(url="u", host="a", state=State.QUEUED, due=5.0),
    ):
        waiting.add(row)
    told = waiting.told()
    assert (told.pages, told.median_s, told.most_s) == (6, 64.0, 90_000.0)
    assert told.by_level == [3, 0, 2, 0, 0, 1, 0, 0, 0, 0]
    behind = [HostRow(host=f"{n}.example", site="x", late=n) for n in range(3)]
    found = rank(behind).behind
    assert [row.late for row in found] == [2, 1]
    data = ReportData(waiting=told, behind=tuple(host_view(row, 0.0, running=True) for row in found))
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(render_report(data))
    text = capture.get()
    assert "6 pages, late by 1 m 04 s (median), 25 h 00 m (most); level 0: 3, level 2: 2, level 5: 1" in text
    assert "2.example" in text
    assert "Visits due and not made, by level" in report_html(data)
    assert "Hosts with visits that are put off" in report_html(data)
    assert "Visits due and not made" not in report_html(ReportData())


def test_pings_for_others_hosts_are_named_with_why() -> None:
    host = HostRow(host="a.example", site="x", pings=PingRecord(refused={"ping-rate": 2, "ping-key-not-found": 1_500}))
    assert hint_words(host) == "pinged URLs refused: ping-key-not-found 1,500, ping-rate 2"
    assert [row.host for row in rank([host]).misleading] == ["a.example"]
