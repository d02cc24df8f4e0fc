"""docs/proof.md from what was tried: tables of claims, and the faults that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.proof.claims import Claim, Fault
from tests.proof.trial import Trial

HEAD = """\
# Proof

What Gossamer claims, how each claim is tried, how many times, and what came of it. `make proof` tries all of it and
writes this page; `make proof CLAIM=name` tries one line and renews it. A line that was not tried as it
stands, or did not hold, says so.
Examples are inputs that Hypothesis made up; tests are cases that pytest ran, none of them skipped.
"""


def page(claims: Sequence[Claim], trials: Mapping[str, Trial], faults: Sequence[Fault], machine: str) -> str:
    """The whole page."""
    tried = [trials[claim.name] for claim in claims if claim.name in trials]
    held = sum(trials[claim.name].holds for claim in claims if counts(claim, trials.get(claim.name)))
    parts = [HEAD, f"**{held} of {len(claims)} claims hold.** {_when(tried)}{machine}\n"]
    for section in dict.fromkeys(claim.section for claim in claims):
        lines = [f"## {section}\n", "| claim | how it is tried | how many times | result | again |", "|" + " --- |" * 5]
        lines += [_line(claim, trials.get(claim.name)) for claim in claims if claim.section == section]
        parts.append("\n".join(lines) + "\n")
    parts.append(_commands(claims))
    parts.append(_faults(faults))
    return "\n".join(parts)


def counts(claim: Claim, trial: Trial | None) -> bool:
    """Whether a trial says something of a claim: it was made of the claim as it is now."""
    return trial is not None and trial.mark in ("", claim.mark)


def _when(tried: Sequence[Trial]) -> str:
    if not tried:
        return ""
    first, last = min(trial.date for trial in tried), max(trial.date for trial in tried)
    span = f"on {first} UTC" if first == last else f"between {first} and {last} UTC"
    return f"Tried {span}, {sum(trial.took_s for trial in tried) / 60:.0f} minutes in all, "


def _line(claim: Claim, trial: Trial | None) -> str:
    count, result = (trial.count, trial.result) if trial else ("–", "not tried yet")
    if trial and not counts(claim, trial):
        result = f"not tried yet since the claim was changed (before: {result})"
    elif trial and not trial.holds:
        result = f"**{result}**"
    cells = (claim.claim, claim.how, count, result)
    return f"| {' | '.join(_cell(text) for text in cells)} | `make proof CLAIM={claim.name}` |"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _commands(claims: Sequence[Claim]) -> str:
    lines = [f"    {claim.name:<22} {claim.words}" for claim in claims]
    return "## What each line runs\n\n" + "\n".join(lines) + "\n"


def _faults(faults: Sequence[Fault]) -> str:
    lines = ["| what was wrong | how it was found | what was done | what keeps it so |", "|" + " --- |" * 4]
    lines += [f"| {_cell(f.what)} | {_cell(f.found)} | {_cell(f.fix)} | `{f.test}` |" for f in faults]
    found = f"Trying these claims found {len(faults)} faults in Gossamer. Each was excluded in its kind.\n"
    return "## Faults found\n\n" + found + "\n" + "\n".join(lines) + "\n"
