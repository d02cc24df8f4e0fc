"""`gossamer simulate`: crawls a seeded web in virtual time and says whether what the documents derive holds.

Further simulations are sub-commands of the same group: `group.command("name")`. The run is `sim.month`'s, the judgement
`sim.verdicts`', the tables `surface.simtext`'s.
"""

from __future__ import annotations

import errno
import math
import sys
import time
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.model.errors import EXIT_OK, DiskFullError, UsageError
from gossamer.surface import refreshing, yearly
from gossamer.surface.terminal import escape
from gossamer.surface.units import show_count, show_duration

if TYPE_CHECKING:
    from gossamer.sim.month import Month, Plan, Progress

EXIT_CLAIM_FAILED: Final = 1
TEXT_MAX_CHARS: Final = 40
HOSTS_MAX: Final = 1_000_000
URLS_MAX: Final = 100_000_000
DAYS_MAX: Final = 366
SEED_MAX: Final = 2**63 - 1
LINE_EVERY_S: Final = 10.0  # of real time, where progress is written in lines
SHOWN_EVERY_S: Final = 0.2  # of real time, where it is one line that changes
_FACTORS: Final = {"k": 1_000, "m": 1_000_000}

group = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


def whole(flag: str, text: str, low: int, high: int) -> int:
    """A count such as 20000, 20,000, 20k or 1M. Raises UsageError, in one line that says what is allowed."""
    plain = text.strip().replace(",", "").replace("_", "").lower()
    factor = _FACTORS.get(plain[-1:], 1)
    digits = plain[:-1] if factor > 1 else plain
    value = int(digits) * factor if digits.isascii() and digits.isdigit() and len(digits) < TEXT_MAX_CHARS else -1
    if not low <= value <= high:
        shown = escape(text[:TEXT_MAX_CHARS])
        raise UsageError(f"{flag} {shown}: a whole number from {low:,} to {high:,} is allowed, such as 5000, 20k or 1M")
    return value


def days(flag: str, text: str, low: float) -> float:
    """A number of days. Raises UsageError, in one line that says what is allowed."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= DAYS_MAX:
        shown = escape(text[:TEXT_MAX_CHARS])
        raise UsageError(f"{flag} {shown}: a number of days from {low:g} to {DAYS_MAX} is allowed, such as 30 or 0.5")
    return value


@group.callback()
def simulate(
    ctx: typer.Context,
    seed: Annotated[str, typer.Option(metavar="N", help="Of the web and of the crawl.")] = "1",
    hosts: Annotated[str, typer.Option(metavar="N", help="Hosts of the web.")] = "20000",
    urls: Annotated[str, typer.Option(metavar="N", help="Pages of the web, traps not counted.")] = "1000000",
    length: Annotated[str, typer.Option("--days", metavar="N", help="Virtual time, in days.")] = "30",
    slots: Annotated[str, typer.Option(metavar="N", help="Hosts held in memory as active.")] = "10000",
    revisit: Annotated[str, typer.Option(metavar="DAYS", help="Pages are visited again after so long.")] = "30",
    log: Annotated[str, typer.Option(metavar="FILE", help="Write the crawl log there.")] = "",
    *,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Crawl a made-up web in virtual time, and check what the design promises.

    The crawler is the real one; servers, names, disks and clock are simulated. One seed gives one run: the hash of its
    crawl log is printed. The exit code is 1 when a claim does not hold.
    """
    if ctx.invoked_subcommand is not None:
        return
    from gossamer.sim.month import Plan

    count = whole("--hosts", hosts, 1, HOSTS_MAX)
    plan = Plan(
        seed=whole("--seed", seed, 0, SEED_MAX),
        hosts=count,
        urls=whole("--urls", urls, count, URLS_MAX),
        days=days("--days", length, 0.01),
        slots=whole("--slots", slots, 1, HOSTS_MAX),
        revisit_days=days("--revisit", revisit, 1 / 24),
        log=log,
    )
    raise typer.Exit(_run(plan, json=json, quiet=quiet))


def _run(plan: Plan, *, json: bool, quiet: bool) -> int:
    from gossamer.sim.rates import measure_all
    from gossamer.sim.verdicts import judge, judge_rates
    from gossamer.surface.jsontext import json_text
    from gossamer.surface.reading import show
    from gossamer.surface.simtext import SimulationView

    begun = time.process_time()
    meter = Meter(quiet=quiet)
    month = _simulated(plan, meter)
    meter.say("small runs: pages/s against hosts in flight")
    claims = [*judge_rates(measure_all()), *judge(month)]
    meter.clear()
    if json:
        typer.echo(json_text({"claims": claims, "cpu_s": time.process_time() - begun, "run": month}))
    else:
        show(SimulationView(month, claims, time.process_time() - begun))
    return EXIT_OK if all(claim.holds for claim in claims) else EXIT_CLAIM_FAILED


def _simulated(plan: Plan, meter: Meter) -> Month:
    from gossamer.sim.month import simulate as run

    try:
        return run(plan, meter.show)
    except OSError as error:
        meter.clear()
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(f"no room for the crawl log at {escape(plan.log)}") from error
        raise UsageError(f"--log {escape(plan.log)}: cannot be written ({error.strerror})") from error


class Meter:
    """Progress on stderr: one line that changes on a terminal, a line now and then elsewhere."""

    def __init__(self, *, quiet: bool) -> None:
        """`quiet`: nothing at all."""
        self._quiet = quiet
        self._terminal = sys.stderr.isatty()
        self._begun = self._shown = time.monotonic()
        self._width = 0

    def show(self, progress: Progress) -> None:
        """Where the simulation stands, when it is time to say so."""
        now = time.monotonic()
        if self._quiet or now - self._shown < (SHOWN_EVERY_S if self._terminal else LINE_EVERY_S):
            return
        self._shown = now
        text = (
            f"day {progress.day:4.1f} of {progress.days:g}  {show_count(progress.turns)} requests  "
            f"{show_count(progress.urls)} URLs known, {show_count(progress.queued)} queued  "
            f"{show_duration(now - self._begun)}"
        )
        self.say(text)

    def say(self, text: str) -> None:
        """One line of progress."""
        if self._quiet:
            return
        if self._terminal:
            sys.stderr.write(f"\r{text:<{self._width}}")
            self._width = len(text)
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line that changes away."""
        if self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
            self._width = 0


def register(app: typer.Typer) -> None:
    """Add `simulate` to the program."""
    refreshing.register(group)
    yearly.register(group)
    app.add_typer(group, name="simulate")
