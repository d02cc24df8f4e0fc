"""A simulated year for people: claims, a table of months, what was archived. The chart is `yearchart`'s."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.sim.verdicts import Claim
from gossamer.sim.year import Week, Year
from gossamer.sim.yearbook import Visits
from gossamer.sim.yearbytes import Stored
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration, show_size

ROWS_MAX: Final = 14  # of the table over time
FAULTS_SHOWN: Final = 5


class YearView:
    """A year, drawn for the width of the terminal."""

    def __init__(self, year: Year, claims: Sequence[Claim], cpu_s: float) -> None:
        """`cpu_s`: what it took of our own processor."""
        self._year, self._claims, self._cpu_s = year, claims, cpu_s

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Called by rich."""
        yield self._head()
        yield Text("")
        yield _claims(self._claims)
        if self._year.faults:
            yield Text("")
            yield Text("Faults", style="bold")
            yield Text("\n".join(escape(fault) for fault in self._year.faults[:FAULTS_SHOWN]))
        yield Text("")
        yield Text("Over time", style="bold")
        yield _time(self._year.weeks)
        yield Text("")
        yield Text("Payload bytes archived", style="bold")
        yield _stored(self._year)
        yield Text("")
        yield Text(_rest(self._year), style="dim")

    def _head(self) -> Text:
        year, plan = self._year, self._year.plan
        failed = sum(not claim.holds for claim in self._claims)
        verdict = ("every claim holds", "green") if not failed else (f"{plural(failed, 'claim')} failed", "bold red")
        text = Text.assemble(("A year", "bold"), f"  seed {plan.seed}, policy {plan.policy}  ", verdict)
        share = plan.budget_per_day / max(1, year.world_pages)
        text.append(
            f"\n{plan.days:g} days of a web of {show_count(year.world_pages)} pages on {plural(plan.hosts, 'host')}, "
            f"of which {show_count(year.hosts_died)} die; {show_count(year.changes_per_day)} changes a day"
            f"\n{show_count(plan.budget_per_day)} visits of known pages a day are allowed: {share:.1%} of all pages"
            f"\n{show_count(year.visits.requests)} requests, {show_count(year.totals.urls)} URLs known; "
            f"{show_duration(self._cpu_s)} of CPU",
            style="dim",
        )
        return text


def _claims(claims: Sequence[Claim]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    for name, justify in (("", "left"), ("claim", "left"), ("expected", "right"), ("measured", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for claim in claims:
        mark = Text("ok", style="green") if claim.holds else Text("FAILED", style="bold red")
        table.add_row(mark, claim.text, claim.expected, Text(claim.measured, style="" if claim.holds else "red"))
    return table


def _time(weeks: Sequence[Week]) -> Table:
    """Means of neighbouring weeks; what is a state, at the end of them."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    for name in (
        "day",
        "fresh",
        "equal",
        "stale for",
        "a day",
        "in vain",
        "rechecks",
        "duplicates",
        "texts held",
        "new held",
        "gone, not seen",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    every = -(-len(weeks) // ROWS_MAX)
    for first in range(0, len(weeks), max(1, every)):
        some = weeks[first : first + every]
        state = some[-1].state
        visits = reduce(Visits.and_then, (week.visits for week in some))
        stored = reduce(Stored.and_then, (week.stored for week in some))
        days = some[-1].day - (weeks[first - 1].day if first else 0.0)
        table.add_row(
            f"{some[-1].day:.0f}",
            f"{sum(week.state.fresh for week in some) / len(some):.3f}",
            f"{sum(week.state.equal for week in some) / len(some):.3f}",
            f"{state.age_days:.1f} d",
            f"{show_count(visits.refreshes / days)}",
            f"{visits.vain / max(1, visits.refreshes):.0%}",
            f"{visits.rechecks / max(1, visits.refreshes):.0%}",
            f"{stored.share:.1%}",
            f"{show_count(state.held)} of {show_count(state.live)}",
            f"{state.born_held / max(1, state.born):.0%}",
            f"{show_count(state.unnoticed)}",
        )
    return table


def _stored(year: Year) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    table.add_column("of", no_wrap=True)
    names = ("records", "revisits", "in full", "same bytes", "copy's text", "own text again", "duplicates")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    kinds = sorted(year.kinds.items(), key=lambda item: -item[1].full)
    for name, stored in [*kinds, ("all", year.stored)]:
        table.add_row(
            escape(name),
            show_count(stored.records),
            show_count(stored.revisits),
            *(show_size(count) for count in (stored.full, stored.exact, stored.near, stored.again)),
            f"{stored.share:.2%}",
        )
    return table


def _rest(year: Year) -> str:
    totals = year.totals
    hints = ", ".join(f"{escape(name)} {show_count(count)}" for name, count in sorted(totals.hints.items()))
    return (
        f"moved for good {show_count(totals.moved)}, copies promoted {show_count(totals.promoted)}, mirrors "
        f"{show_count(totals.mirrors)}, gone pages looked at again {show_count(totals.revived)}\n"
        f"hints of sitemaps: {hints or 'none'}"
    )
