"""`gossamer simulate year`: a continuous crawl of a web that lives, over a year: does it stay fresh, and small?"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Final

import typer

from gossamer.model.errors import EXIT_OK, UsageError
from gossamer.surface.terminal import escape

HOSTS_MAX: Final = 100_000
PAGES_MAX: Final = 10_000_000
DAYS_MIN: Final = 14.0
POLICIES: Final = ("optimal", "uniform", "poisson", "proportional")


def year(
    seed: Annotated[str, typer.Option(metavar="N", help="Of the web and of the crawl.")] = "1",
    hosts: Annotated[str, typer.Option(metavar="N", help="Hosts of the web.")] = "400",
    urls: Annotated[str, typer.Option(metavar="N", help="Pages of the web, traps not counted.")] = "100000",
    length: Annotated[str, typer.Option("--days", metavar="N", help="Virtual time, in days.")] = "365",
    budget: Annotated[str, typer.Option(metavar="N", help="Visits of known pages a day.")] = "2000",
    policy: Annotated[str, typer.Option(metavar="NAME", help="Of refreshing.")] = "optimal",
    chart: Annotated[str, typer.Option(metavar="FILE", help="Write a chart there, as SVG.")] = "",
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Crawl a web that changes, grows, moves and dies, for a year of virtual time.

    The crawler is the real one, in continuous mode. Shown over time: freshness, age, visits in vain, duplicates in the
    archive. The exit code is 1 when a claim does not hold.
    """
    from gossamer.sim.year import Plan, simulate
    from gossamer.sim.yearverdict import judge
    from gossamer.surface.jsontext import json_text
    from gossamer.surface.reading import show
    from gossamer.surface.simulating import EXIT_CLAIM_FAILED, SEED_MAX, Meter, days, whole
    from gossamer.surface.yearchart import chart as drawn
    from gossamer.surface.yeartext import YearView

    named = next((name for name in POLICIES if name == policy), None)
    if named is None:
        raise UsageError(f"--policy {escape(policy[:40])}: {', '.join(POLICIES)} are allowed")
    count = whole("--hosts", hosts, 1, HOSTS_MAX)
    plan = Plan(
        seed=whole("--seed", seed, 0, SEED_MAX),
        hosts=count,
        urls=whole("--urls", urls, count, PAGES_MAX),
        days=days("--days", length, DAYS_MIN),
        budget_per_day=whole("--budget", budget, 1, PAGES_MAX),
        policy=named,
    )
    begun, meter = time.process_time(), Meter(quiet=quiet)
    found = simulate(plan, meter.show)
    meter.clear()
    claims = judge(found)
    if chart:
        try:
            Path(chart).write_text(drawn(found), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--chart {escape(chart)}: cannot be written ({error.strerror})") from error
    if json:
        typer.echo(json_text({"claims": claims, "cpu_s": time.process_time() - begun, "year": found}))
    else:
        show(YearView(found, claims, time.process_time() - begun))
    raise typer.Exit(EXIT_OK if all(claim.holds for claim in claims) else EXIT_CLAIM_FAILED)


def register(group: typer.Typer) -> None:
    """Add `year` to `gossamer simulate`."""
    group.command("year")(year)
