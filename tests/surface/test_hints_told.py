"""Hosts whose word on changes misleads are named, with what is wrong with it."""

from __future__ import annotations

from rich.console import Console

from gossamer.model.record import HintRecord, HostRow
from gossamer.model.view import ReportData
from gossamer.surface.hostview import hint_words, host_view
from gossamer.surface.reportdata import rank
from gossamer.surface.reporttext import render_report


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
    text = capture.get()
    assert "d.example  900 not believed, since 25% of those tried were borne out" in text
    assert "c.example  3 dates that can be no page's" in text
