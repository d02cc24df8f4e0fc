"""Distributions with hooks, as somebody would install them: a module and its entry points in a folder of packages."""

from __future__ import annotations

import textwrap
from pathlib import Path


def put(site: Path, name: str, code: str, points: dict[str, str]) -> None:
    """Write a distribution. `points`: group -> "name = MODULE:object"; MODULE stands for its module."""
    site.mkdir(exist_ok=True)
    (site / f"{name}.py").write_text(textwrap.dedent(code))
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"[{group}]\n{point.replace('MODULE', name)}\n" for group, point in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
