"""The long mode: each target searched with coverage as its guide (atheris, which is libFuzzer for Python).

    python -m tests.fuzz.search --seconds 60 [--json FILE] [--keep] [TARGET...]

Targets run one after another, each in a process of its own. An input that breaks its oracle is written to the target's
corpus as `finding-…` and ends the search of that target: the next `make test` fails until it is put right. `--keep`
adds to the corpora the smallest set of inputs that reach what the kept ones do not. The JSON says whether the oracles
held (`holds`), how often they were tried and what was reached, in all and per target.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.fuzz.harness import CONTROL_BYTES, CORPORA, SUFFIX
from tests.fuzz.targets.all import TARGETS

ROOT = Path(__file__).parents[2]
SHOWN_MAX_CHARS = 4_000  # of what a search says of its finding
STOP_S = 300.0  # that a search may take beyond its time: the seeds come first, whatever it is
KEPT_MAX_FILES = 120  # of one corpus
MEMORY_MAX_MB = 1_024
ONE_INPUT_MAX_S = 25

_PULSE = re.compile(r"^#(\d+)\s+\w+ +cov: (\d+) ft: (\d+)", re.MULTILINE)
_RAISED = " === Uncaught"
_TOTAL = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


def main() -> int:
    """Search, and say what came of it. The exit code is 1 when anything was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--json", type=Path, default=ROOT / "build" / "proof" / "fuzz.json")
    parser.add_argument("--keep", action="store_true", help="add inputs that reach something new to the corpora")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {', '.join(TARGETS)}")
    results: dict[str, dict[str, Any]] = {}
    for name in options.targets or TARGETS:
        results[name] = search(name, options.seconds, keep=options.keep)
        print(name, json.dumps(results[name]), flush=True)
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(summary(results), indent=1) + "\n")
    return 0 if summary(results)["holds"] else 1


def summary(results: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The figures of all targets together, and each target's."""
    findings = [name for result in results.values() for name in result["findings"]]
    return {
        "holds": not findings,
        "targets": len(results),
        "executions": sum(result["executions"] for result in results.values()),
        "edges": sum(result["edges"] for result in results.values()),
        "features": sum(result["features"] for result in results.values()),
        "seconds": round(sum(result["seconds"] for result in results.values())),
        "findings": len(findings),
        "each": results,
    }


def search(name: str, seconds: int, *, keep: bool) -> dict[str, Any]:
    """Search one target for a time; what was done, reached and found."""
    kept = CORPORA / name
    kept.mkdir(parents=True, exist_ok=True)
    findings: list[str] = []
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gossamer-fuzz-") as directory:
        work, seeds, artifacts = (Path(directory) / part for part in ("work", "seeds", "artifacts"))
        for path in (work, seeds, artifacts):
            path.mkdir()
        _write_seeds(name, seeds)
        log = _child(name, seconds, [work, kept, seeds], [f"-artifact_prefix={artifacts}/"])
        executions = max(map(int, _TOTAL.findall(log)), default=0)
        pulses = [tuple(map(int, found)) for found in _PULSE.findall(log)]
        edges, features = (max((pulse[place] for pulse in pulses), default=0) for place in (1, 2))
        found = sorted(artifacts.iterdir())
        if not found and not executions:
            raise RuntimeError(f"{name}: the search ended without a result:\n{log[-3000:]}")
        for path in found:  # a search ends at its first
            shown = log[max(0, log.find(_RAISED)) :][:SHOWN_MAX_CHARS]
            print(f"{name}: {path.name}\n{shown}", file=sys.stderr)
            findings.append(_finding(kept, path))
        seconds_taken = round(time.monotonic() - begun, 1)
        if keep and not findings:
            _keep(name, kept, [work, seeds], Path(directory) / "merged")
    return {
        "executions": executions,
        "seconds": seconds_taken,
        "edges": edges,
        "features": features,
        "corpus_files": len(list(kept.glob("*" + SUFFIX))),
        "findings": findings,
    }


def _child(name: str, seconds: float, corpora: list[Path], flags: list[str]) -> str:
    """Run a search or a merge; what it printed."""
    command = [sys.executable, "-m", "tests.fuzz.guided", name, *flags]
    command += [f"-max_total_time={max(1, int(seconds))}", f"-timeout={ONE_INPUT_MAX_S}", "-print_final_stats=1"]
    command += [f"-max_len={CONTROL_BYTES + TARGETS[name].input_max_bytes}", f"-rss_limit_mb={MEMORY_MAX_MB}"]
    command += map(str, corpora)
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds + STOP_S, check=False
    )
    return done.stdout.decode("utf-8", "replace")


def _write_seeds(name: str, directory: Path) -> None:
    for data in TARGETS[name].seeds():
        if len(data) <= TARGETS[name].input_max_bytes:
            (directory / _name_of(data)).write_bytes(data)


def _finding(kept: Path, path: Path) -> str:
    """Put an input that broke the oracle beside the others; its name."""
    target = kept / f"finding-{_name_of(path.read_bytes())}"
    shutil.copyfile(path, target)
    return target.name


def _name_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16] + SUFFIX


def _keep(name: str, kept: Path, found: list[Path], merged: Path) -> None:
    """Add to the kept inputs the smallest set that reaches, with them, every edge that was reached."""
    merged.mkdir()
    for path in kept.glob("*" + SUFFIX):
        shutil.copyfile(path, merged / path.name)
    _child(name, 600, [merged, *found], ["-merge=1", "-use_counters=0"])
    room = KEPT_MAX_FILES - len(list(kept.glob("*" + SUFFIX)))
    fresh = [path for path in merged.iterdir() if not (kept / path.name).exists()]
    for path in sorted(fresh, key=lambda path: (path.stat().st_size, path.name))[: max(0, room)]:
        data = path.read_bytes()
        (kept / _name_of(data)).write_bytes(data)


if __name__ == "__main__":
    sys.exit(main())
