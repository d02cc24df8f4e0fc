"""An evaluation of refresh policies for people: tables for a terminal, a chart as one SVG file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from gossamer.model.config import Refresh
from gossamer.sim.refreshmix import Mix
from gossamer.sim.refreshtrial import KNOWN, POLICIES, Result, Trial, Wide
from gossamer.sim.verdicts import Claim
from gossamer.surface.units import plural, show_count

WIDTH: Final = 820
LEFT: Final = 130
RIGHT: Final = 30
TOP: Final = 58
ROW: Final = 15  # height of one policy
GAP: Final = 16  # between mixes
COLOURS: Final = {
    "uniform": "#8b949e", "proportional": "#cf222e", "poisson": "#bf8700", "optimal": "#1f883d", KNOWN: "#8250df",
}  # fmt: skip
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#1f2328}.dim{fill:#59636e}.rule{stroke:#d1d9e0}"
    "@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.rule{stroke:#3d444d}}"
)


class RefreshView:
    """Results and claims, drawn for the width of the terminal."""

    def __init__(self, trial: Trial, mixes: Sequence[Mix], results: Sequence[Result], claims: Sequence[Claim]) -> None:
        """`results` in the order of the mixes."""
        self._trial, self._mixes, self._results, self._claims = trial, mixes, results, claims

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Called by rich."""
        yield self._head()
        about = {mix.name: mix for mix in self._mixes}
        for name, results in groupby(self._results, lambda one: one.mix):
            mix = about[name]
            yield Text("")
            yield Text.assemble(
                (name, "bold"), (f"  {mix.about}; a visit in {1 / mix.budget:.0f} days for each", "dim")
            )
            yield _table(list(results))
        yield Text("")
        yield Text("Claims", style="bold")
        yield _claims(self._claims)

    def _head(self) -> Text:
        trial = self._trial
        failed = sum(not claim.holds for claim in self._claims)
        verdict = ("every claim holds", "green") if not failed else (f"{plural(failed, 'claim')} failed", "bold red")
        text = Text.assemble(("Refresh policies", "bold"), "  ", verdict)
        text.append(
            f"\n{show_count(trial.pages)} pages, {plural(trial.seeds, 'seed')} from {trial.first_seed}, "
            f"{trial.days:g} days of which the first {trial.learning_days:g} are for learning. Rates are "
            "unknown to the policies.\nFreshness and age are weighted by importance; ± is the 95 % confidence interval "
            "over seeds.",
            style="dim",
        )
        return text


def _table(results: Sequence[Result]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="dim", pad_edge=False)
    table.add_column("policy", min_width=12)
    for name in ("freshness", "against uniform", "age, days", "in vain", "visits"):
        table.add_column(name, justify="right")
    default = Refresh().policy
    for one in results:
        style = "bold" if one.policy == default else "dim" if one.policy == KNOWN else ""
        gain = "" if one.policy == "uniform" else _wide(one.against_uniform, "+.1%", ".1%")
        table.add_row(
            one.policy, _wide(one.freshness, ".3f", ".3f"), gain, _wide(one.age_days, ".1f", ".1f"),
            _wide(one.wasted, ".0%", ".0%"), f"{one.visits_per_day[0]:.4f}", style=style,
        )  # fmt: skip
    return table


def _wide(value: Wide, shape: str, width: str) -> str:
    return f"{value[0]:{shape}} ± {value[1]:{width}}"


def _claims(claims: Sequence[Claim]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, show_header=False, pad_edge=False)
    for _ in range(4):
        table.add_column()
    for claim in claims:
        mark = Text("ok", style="green") if claim.holds else Text("FAILED", style="bold red")
        table.add_row(mark, claim.text, claim.expected, Text(claim.measured, style="" if claim.holds else "red"))
    return table


def chart(results: Sequence[Result]) -> str:
    """Freshness of every policy on every mix, with confidence intervals, as an SVG file."""
    mixes = [(name, list(found)) for name, found in groupby(results, lambda one: one.mix)]
    height = TOP + sum(len(found) * ROW + GAP for _, found in mixes) + 24
    bottom = height - 24
    shapes = [f'<text x="{LEFT}" y="18">Freshness, weighted by importance; bars are 95 % confidence intervals</text>']
    left = float(LEFT)
    for name in (*POLICIES, KNOWN):
        shapes.append(f'<circle cx="{left + 5:.0f}" cy="36" r="4.5" fill="{COLOURS[name]}"/>')
        shapes.append(f'<text x="{left + 15:.0f}" y="40">{name}</text>')
        left += 34 + 7.2 * len(name)
    for step in range(11):
        x = _x(step / 10)
        shapes.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>')
        shapes.append(f'<text class="dim" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{step / 10:.1f}</text>')
    y = float(TOP)
    for mix, found in mixes:
        middle = y + len(found) * ROW / 2 + 4
        shapes.append(f'<text x="{LEFT - 12}" y="{middle:.1f}" text-anchor="end">{mix}</text>')
        for one in found:
            shapes.append(_mark(one, y + ROW / 2))
            y += ROW
        y += GAP
    body = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Freshness by policy and mix">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * max(0.0, min(1.0, share))


def _mark(one: Result, y: float) -> str:
    mean, width = one.freshness
    colour = COLOURS[one.policy]
    return (
        f"<g><title>{one.mix}, {one.policy}: {mean:.3f} ± {width:.3f}</title>"
        f'<line x1="{_x(mean - width):.1f}" x2="{_x(mean + width):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="{colour}" stroke-width="2" stroke-opacity="0.5"/>'
        f'<circle cx="{_x(mean):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/></g>'
    )
