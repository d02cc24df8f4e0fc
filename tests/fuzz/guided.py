"""The process in which one target is searched: `python -m tests.fuzz.guided TARGET [libFuzzer's arguments]`."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gossamer"], enable_loader_override=False):
    from tests.fuzz.targets.all import TARGETS


def main() -> None:
    """Search until the arguments say that it is enough; does not return."""
    target, *arguments = sys.argv[1:]
    again = f"{sys.executable} -m tests.fuzz.guided {target}"  # how libFuzzer starts itself anew when it merges
    atheris.Setup([again, *arguments], TARGETS[target].run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
