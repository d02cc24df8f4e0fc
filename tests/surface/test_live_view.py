"""The live view fits every terminal, shows what matters at 80x24 and 60 columns, and passes nothing through raw."""

from __future__ import annotations

import io

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from gossamer.model.view import Bound, BoundName, Notice, Snapshot
from gossamer.surface import live, plain
from gossamer.surface.glyphs import bar, pack, resample, spark, stacked
from gossamer.surface.live import LiveDisplay
from gossamer.surface.liverows import render
from gossamer.surface.plain import NoticeLines, PlainLines, progress_line, seed_failure_lines, summary_lines
from tests.surface.samples import HOSTILE, hostile_snapshot, snapshot


def drawn(shot: Snapshot, width: int, height: int, *, ascii_only: bool = False) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width, height=height, color_system=None, highlight=False, markup=False).print(
        render(shot, width, height, ascii_only=ascii_only)
    )
    return out.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("size", [(80, 24), (60, 24), (200, 60), (40, 12), (100, 10), (20, 5)])
@pytest.mark.parametrize("shot", [snapshot(), hostile_snapshot(), Snapshot()])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_it_fits_the_terminal(shot: Snapshot, size: tuple[int, int], ascii_only: bool) -> None:
    lines = drawn(shot, *size, ascii_only=ascii_only)
    assert len(lines) < size[1]
    assert all(len(line) <= size[0] for line in lines)
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("width", [60, 80])
def test_what_matters_is_there(width: int) -> None:
    text = "\n".join(drawn(snapshot(), width, 24))
    for wanted in (
        "12,345",  # pages
        "41.2/s now",
        "412 active",
        "34 ready",
        "1,204 waiting",
        "45,210",  # queue
        "0▄ 1▇ 2█ 3▇ 4▆ 5▄ 6· 7· 8· 9·",
        "200 11,020",
        "1.20 GiB",
        "231 exact",
        "44 near",
        "Bound by host diversity",
        "15 m 14 s left",
        "12,345 of 50,000 pages",
        "digest worker 1",
    ):
        assert wanted in text


def test_hostile_text_is_written_out() -> None:
    text = "\n".join(drawn(hostile_snapshot(), 120, 40))
    assert "\\x1b]0;owned\\x07" in text
    assert "[bold]" in "\n".join(summary_lines(hostile_snapshot()))


def test_ascii_terminals_get_ascii_glyphs() -> None:
    shot = msgspec.structs.replace(snapshot(), recent=(), notices=())
    rows = drawn(shot, 100, 30, ascii_only=True)
    assert all(line.isascii() for line in rows[:12])


class Slow(io.StringIO):
    """A terminal that may go away."""

    gone = False

    def write(self, text: str) -> int:
        if self.gone:
            raise OSError(5, "Input/output error")
        return super().write(text)

    def isatty(self) -> bool:
        return True


def test_drawing_is_limited_and_the_last_state_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: now[0])
    out = Slow()
    drawings = 0
    with LiveDisplay(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        for pages in range(100):
            before = len(out.getvalue())
            view.show(Snapshot(pages=pages))
            drawings += len(out.getvalue()) > before
            now[0] += 0.05
    assert 15 <= drawings <= 21  # five seconds at four a second
    assert "       99\x1b" in out.getvalue().rpartition(" pages ")[2]


def test_a_terminal_that_goes_away_does_not_end_the_crawl() -> None:
    out = Slow()
    with LiveDisplay(Console(file=out, force_terminal=True, width=80, height=24)) as view:
        view.show(snapshot())
        out.gone = True
        view._drawn_s = float("-inf")
        view.show(snapshot())
        view.show(snapshot())
    lines = PlainLines(out)
    lines.show(snapshot())


def test_plain_lines_come_every_few_seconds_and_notices_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0]
    monkeypatch.setattr(plain.time, "monotonic", lambda: now[0])
    out = io.StringIO()
    view = PlainLines(out)
    notice = Notice(1_767_225_600.0, "warning", HOSTILE)
    for step in range(12):
        view.show(Snapshot(state="crawling", pages=step, notices=(notice,)))
        now[0] += 1
    view.show(Snapshot(state="finished", pages=12, notices=(notice,)))
    lines = out.getvalue().split("\n")[:-1]
    assert sum("warning" in line for line in lines) == 1
    assert [line.partition(" | ")[2].partition(" ")[0] for line in lines if " | " in line] == ["0", "5", "10", "12"]
    assert all(line.isprintable() for line in lines)


def test_a_progress_line_says_what_bounds_the_rate() -> None:
    line = progress_line(snapshot())
    assert "412 active, 34 ready, 1,204 waiting" in line
    assert "bound by host-diversity: 34 of 412" in line
    assert progress_line(Snapshot(bound=Bound(BoundName.DNS, "x"))).endswith("bound by dns: x")


def test_many_seed_failures_are_counted() -> None:
    shot = Snapshot(seed_failures={f"https://s{number}.example/": "dns" for number in range(30)})
    lines = seed_failure_lines(shot)
    assert len(lines) == 21
    assert lines[-1] == "and 10 more seeds"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.floats(0, 1e9), max_size=50), st.integers(0, 40))
def test_sparklines_keep_their_width(values: list[float], width: int) -> None:
    assert len(resample(values, width)) == min(len(values), width)
    assert len(spark(values, width)) == min(len(values), width)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(0, 10**9), max_size=8), st.integers(8, 40))
def test_stacked_bars_fill_their_width_and_lose_no_part(amounts: list[int], width: int) -> None:
    text = stacked([(float(amount), f"color({index})") for index, amount in enumerate(amounts)], width)
    assert text.cell_len == (width if any(amounts) else 0)
    assert len({span.style for span in text.spans}) == sum(amount > 0 for amount in amounts)


@settings(deadline=None, max_examples=100)
@given(st.floats(-1, 2), st.integers(1, 40))
def test_bars_keep_their_width(share: float, width: int) -> None:
    assert bar(share, width).cell_len == width


def test_what_does_not_fit_is_counted() -> None:
    items = [Text(f"item{number}") for number in range(5)]
    assert pack(items, 40).plain == "item0  item1  item2  item3  item4"
    assert pack(items, 20).plain == "item0  item1  +3"
    assert len(pack(items, 19).plain) <= 19


def test_a_quiet_crawl_prints_notices_and_nothing_else() -> None:
    out = io.StringIO()
    view = NoticeLines(out)
    notices = (Notice(1_767_225_600.0, "error", "one"), Notice(1_767_225_601.0, "error", "two"))
    for count in (0, 1, 1, 2):
        view.show(Snapshot(state="crawling", pages=3, notices=notices[:count]))
    assert out.getvalue() == "00:00:00  error: one\n00:00:01  error: two\n"
