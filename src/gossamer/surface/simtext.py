"""A simulation on a terminal: the claims and whether they hold, then what the run was like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.model.limits import LEVELS
from gossamer.sim.month import Month
from gossamer.sim.verdicts import Claim
from gossamer.surface.glyphs import bar, spark
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration

BAR_CELLS: Final = 20
SPARK_CELLS: Final = 30
FAULTS_SHOWN: Final = 5
ROWS_MAX: Final = 12
CLAIM_CELLS_MIN: Final = 20
FIGURE_CELLS: Final = 18


class SimulationView:
    """A simulated crawl, drawn for the width of the terminal."""

    def __init__(self, month: Month, claims: list[Claim], cpu_s: float) -> None:
        """`cpu_s`: what it took of our own processor."""
        self._month = month
        self._claims = claims
        self._cpu_s = cpu_s

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Called by rich."""
        month = self._month
        yield self._head()
        yield Text("")
        yield _claims(self._claims)
        if month.faults:
            yield from _section("Faults", Text("\n".join(escape(fault) for fault in month.faults[:FAULTS_SHOWN])))
        yield from _section("Coverage by depth (links from the front page)", _coverage(month))
        yield from _section("Wanted and not fetched", _bars(month.coverage.missed))
        yield from _section("Queues, by level", _levels(month))
        yield from _section("Freshness over time", _freshness(month))
        yield from _section("Copies", Text(_copies(month)))
        yield from _section("Requests into traps", _traps(month))
        yield from _section("Refused or given up, by reason", _bars(month.totals.refused))
        yield from _section("Hosts of which nothing is wanted", _bars(month.coverage.hosts_out))
        yield Text("")
        yield Text(f"crawl log {month.log_sha256} (SHA-256 of {plural(month.log_lines, 'line')})", style="dim")

    def _head(self) -> Text:
        month, plan = self._month, self._month.plan
        failed = sum(not claim.holds for claim in self._claims)
        verdict = ("every claim holds", "green") if not failed else (f"{plural(failed, 'claim')} failed", "bold red")
        text = Text.assemble(("Simulation", "bold"), f"  seed {plan.seed}  ", verdict)
        text.append(
            f"\n{plan.days:g} days of a web of {show_count(month.world_pages)} pages on {plural(plan.hosts, 'host')}"
            f" (the largest has {show_count(month.largest_host)})"
            f"\n{show_count(month.turns)} requests, {show_count(month.totals.pages)} page visits,"
            f" {show_count(month.totals.urls)} URLs known; {show_duration(self._cpu_s)} of CPU",
            style="dim",
        )
        return text


def _section(title: str, body: RenderableType | None) -> Iterator[RenderableType]:
    if body is not None:
        yield Text("")
        yield Text(title, style="bold")
        yield body


def _grid(*columns: str) -> Table:
    """A table without lines; "r" is a column of figures, "l" one of text, "w" one that may be wrapped."""
    table = Table.grid(padding=(0, 2))
    for column in columns:
        table.add_column(justify="right" if column == "r" else "left", no_wrap=column != "w", overflow="ellipsis")
    return table


def _claims(claims: list[Claim]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    table.add_column("")
    table.add_column("claim", min_width=CLAIM_CELLS_MIN)
    table.add_column("expected", justify="right", max_width=FIGURE_CELLS)
    table.add_column("measured", justify="right", max_width=FIGURE_CELLS)
    for claim in claims:
        mark = Text("ok", style="green") if claim.holds else Text("FAILED", style="bold red")
        table.add_row(mark, claim.text, claim.expected, Text(claim.measured, style="" if claim.holds else "red"))
    return table


def _coverage(month: Month) -> RenderableType:
    table = _grid("r", "r", "r", "l")
    table.add_row(*(Text(name, style="dim") for name in ("depth", "wanted", "fetched", "")))
    for depth, cover in month.coverage.depths.items():
        share = cover.fetched / max(1, cover.wanted)
        table.add_row(str(depth), show_count(cover.wanted), f"{share:.2%}", bar(share, BAR_CELLS, style="green"))
    if month.coverage.budgeted:
        table.add_row("left to the site budget", show_count(month.coverage.budgeted), "", "")
    if month.coverage.trapped_wanted:
        share = month.coverage.trapped_fetched / month.coverage.trapped_wanted
        count = show_count(month.coverage.trapped_wanted)
        table.add_row("beside a trap", count, f"{share:.2%}", bar(share, BAR_CELLS, style="yellow"))
    return table


def _levels(month: Month) -> RenderableType:
    table = _grid("r", "r", "r", "r")
    names = ("level", "visits", "refreshes", "passed over")
    table.add_row(*(Text(name, style="dim") for name in names))
    for level in range(LEVELS):
        turns, again = month.level_turns[level], month.level_turns[level + LEVELS]
        if turns or again:
            waits = max(month.level_waits[level], month.level_waits[level + LEVELS])
            table.add_row(str(level), show_count(turns), show_count(again), f"{show_count(waits)} turns")
    return table


def _freshness(month: Month) -> RenderableType | None:
    if not month.freshness:
        return None
    last = month.freshness[-1]
    table = _grid("l", "r", "l")
    fresh = spark([point.fresh for point in month.freshness], SPARK_CELLS)
    age = spark([point.age_days for point in month.freshness], SPARK_CELLS)
    table.add_row("copies that are current", f"{last.fresh:.1%}", Text(fresh, style="green"))
    table.add_row("mean age of what they miss", show_duration(last.age_days * 86_400), Text(age, style="yellow"))
    table.add_row("pages in the sample", show_count(last.pages), "")
    return table


def _copies(month: Month) -> str:
    totals = month.totals
    pages = max(1, totals.pages)
    return (
        f"{show_count(totals.exact)} exact ({totals.exact / pages:.2%} of page visits), "
        f"{show_count(totals.near)} near ({totals.near / pages:.2%}), {show_count(totals.not_modified)} not modified"
    )


def _traps(month: Month) -> RenderableType | None:
    if not month.trap_hosts:
        return None
    table = _grid("l", "r", "r", "r")
    table.add_row(*(Text(name, style="dim") for name in ("kind", "hosts", "requests", "a host")))
    for kind, hosts in sorted(month.trap_hosts.items()):
        requests = month.trapped.get(kind, 0)
        table.add_row(kind, show_count(hosts), show_count(requests), show_count(round(requests / hosts)))
    return table


def _bars(counts: Mapping[str, int]) -> RenderableType | None:
    if not counts:
        return None
    items = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    top = items[0][1] or 1
    table = _grid("l", "r", "l")
    for name, count in items[:ROWS_MAX]:
        table.add_row(escape(name), show_count(count), bar(count / top, BAR_CELLS))
    if len(items) > ROWS_MAX:
        table.add_row(f"… {len(items) - ROWS_MAX} more", "", "")
    return table
