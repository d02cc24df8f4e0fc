"""Remakes docs/refresh.md's results and docs/refresh.svg: `make refresh`, or `python -m bench.refresh_page`."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Final

from rich.console import Console

from gossamer.sim.refreshmix import MIXES
from gossamer.sim.refreshtrial import Trial, evaluate
from gossamer.sim.refreshverdict import judge
from gossamer.surface.refreshtext import RefreshView, chart

DOCS: Final = Path(__file__).parents[1] / "docs"
BEGIN: Final = "<!-- made by `make refresh` -->\n"
END: Final = "<!-- end -->\n"
WIDTH: Final = 110


def with_results(page: str, results: str, begin: str = BEGIN) -> str:
    """The page with what stands between the marks replaced. Raises ValueError when a mark is missing."""
    before, _, rest = page.partition(begin)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"no {begin.strip()} ... {END.strip()} in the page")
    return before + begin + results + END + after


def main() -> int:
    trial = Trial()
    results = evaluate(trial, MIXES, lambda text: print(text, file=sys.stderr))
    claims = judge(results)
    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None).print(RefreshView(trial, MIXES, results, claims))
    lines = "\n".join(line.rstrip() for line in text.getvalue().splitlines())
    page = DOCS / "refresh.md"
    page.write_text(with_results(page.read_text(), f"\n```\n{lines}\n```\n\n"))
    (DOCS / "refresh.svg").write_text(chart(results))
    return 0 if all(claim.holds for claim in claims) else 1


if __name__ == "__main__":
    sys.exit(main())
