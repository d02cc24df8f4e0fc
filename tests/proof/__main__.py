"""Tries the claims of `claims.toml` and writes docs/proof.md: `make proof`, or `make proof CLAIM=name` for one.

What came of each is kept in docs/proof.json, so that one line can be renewed. Exit code 1 when a claim does not hold.
"""

from __future__ import annotations

import os
import platform
import sys

import msgspec

from tests.proof.claims import ROOT, Claim, claims, faults
from tests.proof.page import page
from tests.proof.trial import Trial, attempt, look

KEPT = ROOT / "docs" / "proof.json"
PAGE = ROOT / "docs" / "proof.md"


def main(names: list[str]) -> int:
    """Try the named claims, or all; the exit code."""
    known = claims()
    unknown = set(names) - {claim.name for claim in known}
    if unknown:
        print(f"proof: no claim {min(unknown)!r}; there are: {' '.join(claim.name for claim in known)}")
        return 2
    wrong = []
    for claim in known:
        if names and claim.name not in names:
            continue
        print(f"{claim.name}: {claim.words}", file=sys.stderr, flush=True)
        trial = look(claim) if claim.alone and not names else attempt(claim)
        save(known, claim.name, trial)
        if trial is None or not trial.holds:
            wrong.append(claim.name)
        print(f"{claim.name}: {trial.count + '; ' + trial.result if trial else 'not tried yet'}", flush=True)
    if wrong:
        print(f"proof: not shown: {' '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


def save(known: tuple[Claim, ...], name: str, trial: Trial | None) -> None:
    """Renew one line at once: a proof that is stopped half-way keeps what it has.

    What is kept is read anew, since others may have renewed other lines in the hours that a trial can take.
    """
    trials = msgspec.json.decode(KEPT.read_bytes(), type=dict[str, Trial]) if KEPT.exists() else {}
    trials.pop(name, None)
    if trial is not None:
        trials[name] = trial
    kept = {claim.name: trials[claim.name] for claim in known if claim.name in trials}
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores."
    PAGE.write_text(page(known, kept, faults(), machine), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
