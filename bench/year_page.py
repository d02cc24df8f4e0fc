"""Remakes docs/year.md's results and docs/year.svg: `make year`, or `python -m bench.year_page`. Tens of minutes."""

from __future__ import annotations

import io
import sys
import time
from typing import Final

from rich.console import Console

from bench.refresh_page import DOCS, WIDTH, with_results
from gossamer.sim.year import Plan, simulate
from gossamer.sim.yearverdict import judge
from gossamer.surface.simulating import Meter
from gossamer.surface.yearchart import chart
from gossamer.surface.yeartext import YearView

BEGIN: Final = "<!-- made by `make year` -->\n"


def main() -> int:
    begun, meter = time.process_time(), Meter(quiet=False)
    year = simulate(Plan(), meter.show)
    meter.clear()
    claims = judge(year)
    text = io.StringIO()
    view = YearView(year, claims, time.process_time() - begun)
    Console(file=text, width=WIDTH, color_system=None).print(view)
    lines = "\n".join(line.rstrip() for line in text.getvalue().splitlines())
    page = DOCS / "year.md"
    page.write_text(with_results(page.read_text(), f"\n```\n{lines}\n```\n\n", BEGIN))
    (DOCS / "year.svg").write_text(chart(year))
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
