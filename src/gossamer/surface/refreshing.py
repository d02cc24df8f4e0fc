"""`gossamer simulate refresh`: refresh policies compared on made-up pages, and whether the default one is the best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.model.errors import EXIT_OK, UsageError
from gossamer.surface.terminal import escape

SEEDS_MAX: Final = 100
PAGES_MAX: Final = 100_000
DAYS_MIN: Final = 30.0
LEARNING: Final = 0.5  # of the days


def refresh(
    seed: Annotated[str, typer.Option(metavar="N", help="The first seed.")] = "1",
    seeds: Annotated[str, typer.Option(metavar="N", help="Webs of each kind, for the confidence intervals.")] = "8",
    pages: Annotated[str, typer.Option(metavar="N", help="Pages of each web.")] = "1000",
    length: Annotated[
        str, typer.Option("--days", metavar="N", help="Virtual time, in days, half of it to learn.")
    ] = "360",
    chart: Annotated[str, typer.Option(metavar="FILE", help="Write a chart there, as SVG.")] = "",
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Compare refresh policies: freshness, age and visits in vain, on pages whose rates must be learned.

    Uses the formulas and estimates of the crawler. The exit code is 1 when a claim does not hold.
    """
    from gossamer.sim.refreshmix import MIXES
    from gossamer.sim.refreshtrial import Trial, evaluate
    from gossamer.sim.refreshverdict import judge
    from gossamer.surface.jsontext import json_text
    from gossamer.surface.reading import show
    from gossamer.surface.refreshtext import RefreshView
    from gossamer.surface.refreshtext import chart as drawn
    from gossamer.surface.simulating import EXIT_CLAIM_FAILED, SEED_MAX, Meter, days, whole

    length_days = days("--days", length, DAYS_MIN)
    trial = Trial(
        seeds=whole("--seeds", seeds, 1, SEEDS_MAX),
        pages=whole("--pages", pages, 1, PAGES_MAX),
        days=float(int(length_days)),
        learning_days=float(int(length_days * LEARNING)),
        first_seed=whole("--seed", seed, 0, SEED_MAX),
    )
    meter = Meter(quiet=quiet)
    results = evaluate(trial, MIXES, meter.say)
    meter.clear()
    claims = judge(results)
    if chart:
        try:
            Path(chart).write_text(drawn(results), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--chart {escape(chart)}: cannot be written ({error.strerror})") from error
    if json:
        typer.echo(json_text({"trial": trial, "mixes": MIXES, "results": results, "claims": claims}))
    else:
        show(RefreshView(trial, MIXES, results, claims))
    raise typer.Exit(EXIT_OK if all(claim.holds for claim in claims) else EXIT_CLAIM_FAILED)


def register(group: typer.Typer) -> None:
    """Add `refresh` to `gossamer simulate`."""
    group.command("refresh")(refresh)
