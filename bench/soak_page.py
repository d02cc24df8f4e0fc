"""Tells of a soak: `soak.json` for machines, `soak.md` and `soak.svg` for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.soak_judge import Finding, Manners
from bench.soak_watch import Sample

WIDTH: Final = 820
PANEL: Final = 120  # height of one panel's drawing
LEFT, RIGHT, ABOVE, BELOW = 80, 20, 34, 14
POINTS_MAX: Final = 200  # samples kept in the file for each run: more would only make the curve longer to read
SHOWN: Final[tuple[tuple[str, str, Callable[[Sample], float]], ...]] = (
    ("RSS of the main process, MB", "#1f6feb", lambda s: s.rss_main_bytes / 1e6),
    ("RSS of the workers, MB", "#8250df", lambda s: s.rss_workers_bytes / 1e6),
    ("Open files, all processes", "#9a6700", lambda s: s.files_main + s.files_workers),
    ("Threads, all processes", "#57606a", lambda s: s.threads_main + s.threads_workers),
    ("Fetch, 95th percentile, ms", "#cf222e", lambda s: s.fetch_p95_ms),
    ("Fetched to committed, 95th percentile, ms", "#bc4c00", lambda s: s.commit_p95_ms),
    ("Lateness of the event loop, ms", "#1a7f37", lambda s: s.loop_late_ms),
    ("Pages a second", "#0969da", lambda s: s.pages_per_s),
)


class Soak(msgspec.Struct, kw_only=True):
    """Everything that is kept of one run."""

    holds: bool
    date: str
    machine: str
    duration_s: float
    every_s: float
    hosts_ordinary: int
    hosts_hostile: int
    exit_code: int
    pages: int
    hosts: int
    urls: int
    statuses: dict[str, int]
    failures: dict[str, int]
    refusals: dict[str, int]
    errors: int
    duplicates: tuple[int, int, int]  # exact, near, not modified
    refreshed: int
    worker_restarts: int
    archive_bytes: int
    segments: int
    verify: str
    verify_holds: bool
    manners: Manners
    findings: list[Finding]
    samples: list[Sample]


def write(soak: Soak, folder: Path) -> list[Path]:
    """Write the three files; their paths."""
    step = max(1, -(-len(soak.samples) // POINTS_MAX))
    kept = msgspec.structs.replace(soak, samples=soak.samples[::step])
    texts = {
        "soak.json": msgspec.json.format(msgspec.json.encode(_rounded(msgspec.to_builtins(kept))), indent=1).decode(),
        "soak.md": page(soak),
        "soak.svg": chart(soak.samples, soak.duration_s),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text.rstrip("\n") + "\n")
    return [folder / name for name in texts]


def page(soak: Soak) -> str:
    """The page for a person."""
    rows = "\n".join(
        f"| {f.name} | {_number(f.second)} {f.unit} | {_number(f.last)} {f.unit} | {f.change:+.1%} | {f.beside:+.1%} | "
        f"{'holds' if f.holds else '**does not hold**'} |"
        for f in soak.findings
    )
    exact, near, same = soak.duplicates
    manners = soak.manners
    short = f"{manners.short:,} too short" + (f", the first: {manners.first_short}" if manners.short else "")
    verdict = "Everything holds." if soak.holds else "It does not hold: see the rows that say so."
    return f"""# Soak

    make soak                # SECONDS=3600

{_span(soak.duration_s)} at full speed, politeness as it comes, against
{soak.hosts_ordinary + soak.hosts_hostile:,} hosts on as many loopback addresses: {soak.hosts_ordinary:,} ordinary ones
(nginx: pages without end, missing, moved and broken ones, a tenth of the hosts over TLS, a quarter of the pages
changing every ten minutes) and {soak.hosts_hostile:,} where every second page leads to one that misbehaves: endless
bodies, heads and trailers, answers that drip, silence, bombs in every coding, 20,000 links, deep nesting, bytes that
are no text, redirects to nowhere, names that do not resolve. Names come from a nameserver. Pages are visited again as
the crawl goes on. What is measured is written down every {soak.every_s:g} s.

**{verdict}** {soak.date}, {soak.machine}; the servers ran on the same cores.

![Curves over the whole run](soak.svg)

A figure is the median of its quarter's samples. It holds when the last quarter's is within 10 % of the second
quarter's; the first one warms up (hosts are met, caches fill). Fetch and commit times are of ordinary hosts.
Beside the machine: the same change, divided by how much longer a fixed piece of Python took, which is timed at every
look. It decides nothing.

What grows with the number of URLs ends at a named bound: in the main process `BLOCK_CACHE_BYTES`, `WRITE_BUFFERS_BYTES`
and `KNOWN_GENERATION_MAX`, in a worker `REMEMBERED_MAX` (links) and the index of the open segment.

| measure | second quarter | last quarter | change | beside the machine | |
| --- | ---: | ---: | ---: | ---: | --- |
{rows}

| | |
| --- | --- |
| pages | {soak.pages:,} ({soak.pages / soak.duration_s:.0f} a second) |
| visits that were not the first | {soak.refreshed:,} |
| known at the end | {soak.hosts:,} hosts, {soak.urls:,} URLs |
| responses | {_counts(soak.statuses)} |
| failures | {_counts(soak.failures)} |
| refused | {_counts(soak.refusals)} |
| errors of digests and hooks | {soak.errors:,} |
| copies | {exact:,} exact, {near:,} near; {same:,} not modified |
| workers replaced | {soak.worker_restarts} |
| archive | {soak.archive_bytes / 1e9:.2f} GB in {soak.segments} segments |
| `gossamer verify` | {soak.verify} |
| exit code | {soak.exit_code} |
| gaps, from the servers' logs | {manners.requests:,} requests, shortest gap {manners.shortest_gap_s:.3f} s, {short} |
"""


def chart(samples: Sequence[Sample], duration_s: float) -> str:
    """All curves over time, one panel above the other, the second and the last quarter shaded."""
    height = len(SHOWN) * (PANEL + ABOVE + BELOW) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"',
        ' font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="Soak: curves over time">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for place, (title, colour, value) in enumerate(SHOWN):
        points = [(sample.at_s / duration_s, value(sample)) for sample in samples[1:]]
        parts += _panel(place * (PANEL + ABOVE + BELOW), title, colour, points)
    plot = WIDTH - LEFT - RIGHT
    for quarter, name in ((1, "second quarter"), (3, "last quarter")):
        x = LEFT + plot * (quarter + 0.5) / 4
        parts.append(f'<text x="{x:.0f}" y="{ABOVE - 10}" text-anchor="middle" fill="#57606a">{name}</text>')
    for quarter in range(5):
        anchor = ("start", "middle", "middle", "middle", "end")[quarter]
        x = LEFT + plot * quarter / 4
        label = _span(duration_s * quarter / 4) if quarter else "0"
        parts.append(f'<text x="{x:.0f}" y="{height - 10}" text-anchor="{anchor}" fill="#57606a">{label}</text>')
    return "\n".join([*parts, "</svg>"])


def _panel(top: int, title: str, colour: str, points: Sequence[tuple[float, float]]) -> list[str]:
    plot, floor = WIDTH - LEFT - RIGHT, top + ABOVE + PANEL
    most = _ceiling(max((y for _, y in points), default=0.0))
    line = " ".join(f"{LEFT + min(x, 1.0) * plot:.1f},{floor - y / most * PANEL:.1f}" for x, y in points)
    quarter = plot / 4
    shades = "".join(
        f'<rect x="{LEFT + n * quarter:.0f}" y="{top + ABOVE}" width="{quarter:.0f}" height="{PANEL}" fill="#f0f3f6"/>'
        for n in (1, 3)
    )
    rules = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.0f}" y2="{y:.0f}" stroke="#d0d7de"/>'
        f'<text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end" fill="#57606a">{_number(most * share)}</text>'
        for share in (0.0, 0.5, 1.0)
        for y in (floor - share * PANEL,)
    )
    return [
        shades,
        rules,
        f'<text x="{LEFT}" y="{top + ABOVE - 10}" font-weight="600" fill="#1f2328">{title}</text>',
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6" stroke-linejoin="round"/>',
    ]


def _ceiling(value: float) -> float:
    """The next of 1, 2, 5, 10 ... that is not below a value."""
    step = 1.0
    while step < value:
        for factor in (2.0, 5.0, 10.0):
            if step * factor >= value:
                return step * factor
        step *= 10
    return step


def _number(value: float) -> str:
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}"


def _span(seconds: float) -> str:
    return f"{seconds / 60:g} min" if seconds >= 60 else f"{seconds:g} s"


def _counts(counts: dict[str, int]) -> str:
    found = sorted(counts.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {count:,}" for name, count in found) or "none"


def _rounded(value: object) -> object:
    """The same with numbers of three decimals: the file is read by people too."""
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return value
