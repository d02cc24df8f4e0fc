"""What is claimed: the entries of `claims.toml` and `faults.toml`, read and checked.

name      one word; `make proof CLAIM=name` tries this claim alone
section   heading of the table it stands in
claim     what holds, in a sentence
how       how it is tried, in a sentence
tests     files or tests below `tests/` that try it; or
command   a program that tries it, and writes or prints JSON:
figures     the file it writes, from the root of the project, or "stdout"
verdict     the value in it that is true when the claim holds; dots go into tables. The exit code must be 0 as well
least       figures that must not be smaller, {name = number}: of a shorter run nothing is claimed
result      the figures to show, with {names} of values in it
alone       it takes hours: only `make proof CLAIM=name` runs it, the whole proof reads what it left
counts    what is counted: "tests", "examples" (of Hypothesis), or the name of a property that tests record
          (`record_property("kills", 10)`), summed; for a command text with {names} of values. No count may be nought
minutes   the longest it may take
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
MARK_CHARS = 12


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of the table."""

    name: str
    section: str
    claim: str
    how: str
    counts: tuple[str, ...]
    tests: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    figures: str = "stdout"
    verdict: str = ""
    least: dict[str, float] = msgspec.field(default_factory=dict)
    result: str = ""
    alone: bool = False
    minutes: float = 30.0

    def __post_init__(self) -> None:
        """Either tests or a command."""
        if bool(self.tests) == bool(self.command) or not self.counts:
            raise ValueError(f"claim {self.name!r} needs counts and either tests or a command")

    @property
    def words(self) -> str:
        """The command line that tries it, for a person."""
        if self.command:
            return " ".join(self.command)
        return f"GOSSAMER_LONG=1 .venv/bin/python -m pytest {' '.join('tests/' + test for test in self.tests)}"

    @property
    def mark(self) -> str:
        """Of what is claimed and what is run for it: a result counts for the claim that was tried and for no other."""
        said = (self.claim, self.tests, self.command, self.verdict)
        return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:MARK_CHARS]


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that was wrong with Gossamer, found by trying its claims."""

    what: str
    found: str
    fix: str
    test: str


class _Claims(msgspec.Struct, forbid_unknown_fields=True):
    claim: tuple[Claim, ...]


class _Faults(msgspec.Struct, forbid_unknown_fields=True):
    fault: tuple[Fault, ...]


def claims(path: Path = HERE / "claims.toml") -> tuple[Claim, ...]:
    """Every claim, in the order of the table. Raises ValueError when an entry is wrong or a name is there twice."""
    found = msgspec.convert(tomllib.loads(path.read_text("utf-8")), _Claims).claim
    names = [claim.name for claim in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ValueError(f"claims of the same name: {sorted(twice)}")
    return found


def runs(claim: Claim, test: str) -> bool:
    """Whether trying a claim runs a test, or a file of tests."""
    return any(test == named or test.startswith((f"{named}::", f"{named}/")) for named in claim.tests)


def faults(path: Path = HERE / "faults.toml") -> tuple[Fault, ...]:
    """Every fault, the latest last."""
    return msgspec.convert(tomllib.loads(path.read_text("utf-8")), _Faults).fault
