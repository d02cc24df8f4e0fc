"""Every benchmark, and the one table: `make bench`, or `python -m bench [--only NAME] [--table] [--long]`.

Each runs in a process of its own, one after the other, and keeps what it found in docs/performance.json. The table in
docs/performance.md is made anew. Exit code 3 when an aim is not reached, 1 when a benchmark failed: what was kept of it
before stays in the table, with its day.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from typing import Final

from bench.refresh_page import with_results
from bench.rows import DOCS, MISSED, markdown, plain, read

BEGIN: Final = "<!-- made by `make bench` -->\n"
# In the order of the table. The second list is what the aims ask for, and takes hours.
BENCHES: Final[dict[str, tuple[list[str], list[str]]]] = {
    "page": ([], []),
    "polite": (["--seconds", "120"], ["--seconds", "600"]),
    "tls": ([], []),
    "frontier": ([], ["--urls", "50000000"]),
    "near_duplicates": ([], ["--fingerprints", "10000000"]),
    "names": ([], []),
    "scaling": ([], []),
    "loop_health": ([], []),
}


def main() -> int:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=tuple(BENCHES), help="this one; may be given more than once")
    parser.add_argument("--long", action="store_true", help="at the sizes that the aims name")
    parser.add_argument("--table", action="store_true", help="measure nothing, show what was kept")
    options = parser.parse_args()
    failed = []
    for name in () if options.table else options.only or BENCHES:
        print(f"{name}:", flush=True)
        more = BENCHES[name][options.long]
        code = subprocess.run([sys.executable, "-m", f"bench.{name}", "--keep", *more], check=False).returncode
        if code not in (0, MISSED):
            failed.append(f"{name} ended with {code}")
    sections = read()
    page = DOCS / "performance.md"
    page.write_text(with_results(page.read_text(), f"\n{markdown(sections)}\n", BEGIN))
    print(plain(sections))
    for words in failed:
        print(f"bench: {words}", file=sys.stderr)
    missed = [row for section in sections.values() for row in section.rows if row.holds is False]
    return 1 if failed else MISSED if missed else 0


if __name__ == "__main__":
    sys.exit(main())
