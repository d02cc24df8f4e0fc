"""The rows of the live view: a Snapshot as lines for a terminal of a given size. No clock, no terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from rich.console import Console, Group, RenderableType
from rich.text import Text

from gossamer.model.view import Bound, BoundName, Budget, Snapshot
from gossamer.surface.glyphs import bar, level_bars, pack, spark, stacked, status_style
from gossamer.surface.terminal import escape, shorten
from gossamer.surface.units import plural, show_count, show_duration, show_rate, show_size

LABEL_CELLS: Final = 9
RECENT_MAX: Final = 12
BOUND_LINES_MAX: Final = 3
NOTICES_MAX: Final = 3
_OUTCOME_CELLS: Final = 10
_STATE_STYLES: Final = {
    "crawling": "bold green",
    "paused": "bold yellow",
    "stopping": "bold yellow",
    "interrupted": "bold yellow",
    "finished": "bold green",
}
_BOUND_WORDS: Final = {
    BoundName.STARTING: "starting",
    BoundName.HOSTS: "host diversity",
    BoundName.SLOTS: "slots",
    BoundName.LANES: "lanes (servers)",
    BoundName.DNS: "DNS",
    BoundName.ROBOTS: "robots.txt",
    BoundName.FETCH: "requests in flight",
    BoundName.DIGEST: "digest workers",
    BoundName.MAIN: "the main process (CPU)",
    BoundName.DISK: "disk",
    BoundName.NETWORK: "our network",
    BoundName.MEMORY: "memory",
    BoundName.ORDER: "an order",
    BoundName.BUDGET: "a budget",
    BoundName.IDLE: "nothing to fetch",
    BoundName.STOPPING: "stopping",
}


class Space(NamedTuple):
    """Where a row is drawn."""

    cells: int
    ascii_only: bool


def render(snapshot: Snapshot, width: int, height: int, *, ascii_only: bool = False) -> RenderableType:
    """The view for a terminal of that many columns and rows, never larger than it."""
    space = Space(max(width - LABEL_CELLS - 1, 10), ascii_only)
    rows: list[Text] = [_title(snapshot, width)]
    for label, make in _ROWS:
        value = make(snapshot, space)
        if value is not None:
            rows.append(_row(label, value, width))
    bound = _bound(snapshot.bound, width)
    tail = _tail(snapshot, width, height - len(rows) - len(bound) - 4)
    lines = [rows[0], Text(""), *rows[1:], Text(""), *bound, *([Text(""), *tail] if tail else [])]
    if len(lines) > height - 1:  # a short terminal: no empty lines, then the least important rows go
        lines = [line for line in lines if line.plain][: max(height - 1, 1)]
    return Group(*lines)


def _row(label: str, value: Text, width: int) -> Text:
    line = Text.assemble((f" {label:<{LABEL_CELLS - 1}} ", "dim"), value, no_wrap=True, overflow="ellipsis")
    line.truncate(width, overflow="ellipsis")
    return line


def _title(snapshot: Snapshot, width: int) -> Text:
    state = escape(snapshot.state)
    right = show_duration(snapshot.elapsed_s) + (f" in {snapshot.runs} runs" if snapshot.runs > 1 else "")
    left = Text.assemble((" Gossamer", "bold"), "  ", (state, _STATE_STYLES.get(state, "bold")), "  ")
    spare = width - len(left.plain) - len(right) - 2
    middle = snapshot.state_detail or snapshot.directory
    left.append(shorten(middle, max(spare, 0)) if spare > 8 else "", style="dim")
    left.append(" " * max(width - left.cell_len - len(right) - 1, 1))
    left.append(right)
    left.truncate(width)
    return left


def _pages(snapshot: Snapshot, space: Space) -> Text:
    text = Text.assemble(
        (f"{show_count(snapshot.pages):>9}", "bold"),
        f"  {show_rate(snapshot.rate_now)}/s now  {show_rate(snapshot.rate_average)}/s average",
    )
    spare = space.cells - text.cell_len - 2
    if spare >= 8 and snapshot.rate_history:
        text.append("  ")
        text.append(spark(snapshot.rate_history, min(spare, 60), ascii_only=space.ascii_only), style="green")
    return text


def _bytes(snapshot: Snapshot, space: Space) -> Text:
    items = [
        Text(f"{show_size(snapshot.bytes):>9}", style="bold"),
        Text(f"{show_size(snapshot.bytes_rate_now)}/s"),
        Text(
            f"{show_count(snapshot.in_flight)} in flight"
            + (f" of {snapshot.concurrency:,}" if snapshot.concurrency else "")
        ),
    ]
    return pack(items, space.cells)


def _hosts(snapshot: Snapshot, space: Space) -> Text:
    counts = [
        (snapshot.hosts_ready, "ready", "green"),
        (snapshot.hosts_waiting, "waiting", ""),
        (snapshot.hosts_resting, "in their gap", ""),
        (snapshot.hosts_parked, "parked", "yellow"),
        (snapshot.slots, "slots", "dim"),
    ]
    items = [Text.assemble((f"{show_count(snapshot.hosts_active):>9}", "bold"), " active")]
    items += [Text.assemble((show_count(count), style), f" {word}") for count, word, style in counts]
    return pack(items, space.cells)


def _queue(snapshot: Snapshot, space: Space) -> Text:
    items = [Text(f"{show_count(snapshot.queued):>9}", style="bold")]
    items.append(level_bars(snapshot.queue_by_level, ascii_only=space.ascii_only))
    due = snapshot.refresh_queued + snapshot.refresh_late + snapshot.due_now
    if due:
        items.append(Text(f"{show_count(due)} to refresh"))
    items.append(Text(f"{show_count(snapshot.urls_known)} known"))
    return pack(items, space.cells)


def lateness_text(snapshot: Snapshot) -> str:
    """How late refreshes were made."""
    if not snapshot.refreshes:
        return "none visited yet"
    p50, p99, most = map(show_duration, (snapshot.lateness_p50_s, snapshot.lateness_p99_s, snapshot.lateness_max_s))
    return f"visits late by {p50} (median), {p99} (99 %), {most} (most)"


def _late(snapshot: Snapshot, space: Space) -> Text | None:
    if not snapshot.refreshes:
        return None
    slipped = sum(snapshot.slipped_by_level)
    items = [Text(f"{show_count(slipped):>9}", style="bold"), Text("over an hour late"), Text(lateness_text(snapshot))]
    return pack(items, space.cells)


def _statuses(snapshot: Snapshot, space: Space) -> Text:
    classes: dict[str, int] = {}
    for status, count in snapshot.statuses.items():
        classes[status[:1]] = classes.get(status[:1], 0) + count
    failed = sum(snapshot.failures.values())
    parts = [(float(count), status_style(name)) for name, count in sorted(classes.items())]
    shown = sorted(snapshot.statuses.items(), key=lambda item: -item[1])
    items = [Text.assemble((escape(name), status_style(name)), f" {show_count(count)}") for name, count in shown]
    size = 9 if space.cells < 90 else 24
    text = stacked([*parts, (float(failed), "magenta")], size, ascii_only=space.ascii_only)
    if not text.plain:
        return Text(f"{'none yet':>9}", style="dim")
    text.append("  ")
    return text.append_text(pack(items, space.cells - size - 2))


def _named(counts: dict[str, int], room: int) -> Text:
    total = Text(f"{show_count(sum(counts.values())):>9}", style="bold")
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return pack([total, *(Text(f"{escape(name)} {show_count(count)}") for name, count in shown)], room)


def _failures(snapshot: Snapshot, space: Space) -> Text | None:
    return _named(snapshot.failures, space.cells) if snapshot.failures else None


def _refused(snapshot: Snapshot, space: Space) -> Text | None:
    return _named(snapshot.refusals, space.cells) if snapshot.refusals else None


def _copies(snapshot: Snapshot, space: Space) -> Text:
    counts = (
        (snapshot.duplicates_exact, "exact"),
        (snapshot.duplicates_near, "near"),
        (snapshot.not_modified, "not modified"),
    )
    items = [Text(f"{show_count(count)} {word}") for count, word in counts]
    total = snapshot.duplicates_exact + snapshot.duplicates_near
    return pack([Text(f"{show_count(total):>9}", style="bold"), *items], space.cells)


def _archive(snapshot: Snapshot, space: Space) -> Text:
    items = [
        Text(f"{show_size(snapshot.archive_bytes):>9}", style="bold"),
        Text(plural(snapshot.segments, "segment")),
    ]
    if snapshot.disk_free_bytes is not None:
        items.append(Text(f"{show_size(snapshot.disk_free_bytes)} free"))
    items.append(Text(f"digest {snapshot.digest_pending}/{snapshot.digest_max}"))
    if snapshot.worker_restarts:
        items.append(Text(f"worker restarts {snapshot.worker_restarts}", style="yellow"))
    return pack(items, space.cells)


def budget_text(budget: Budget) -> str:
    """Used of limit, in the budget's unit."""
    if budget.name == "duration":
        return f"{show_duration(budget.used)} of {show_duration(budget.limit)}"
    if budget.name == "bytes":
        return f"{show_size(budget.used)} of {show_size(budget.limit)}"
    return f"{show_count(budget.used)} of {show_count(budget.limit)} pages"


def _budget(snapshot: Snapshot, space: Space) -> Text | None:
    eta = "" if snapshot.eta_s is None else f"{show_duration(snapshot.eta_s)} left"
    if not snapshot.budgets:
        return Text(eta) if eta else None
    nearest = max(snapshot.budgets, key=lambda budget: budget.used / budget.limit if budget.limit else 1.0)
    share = nearest.used / nearest.limit if nearest.limit else 1.0
    text = Text(no_wrap=True)
    if space.cells >= 60:
        text = bar(share, 9 if space.cells < 90 else 24, ascii_only=space.ascii_only)
        text.append("  ")
    items = [Text(f"{share:.0%}" if share < 1 else "100%"), Text(budget_text(nearest))]
    return text.append_text(pack([*items, Text(eta)] if eta else items, space.cells - text.cell_len))


def _bound(bound: Bound, width: int) -> list[Text]:
    """One or two lines that say what holds the rate where it is."""
    head = f" Bound by {_BOUND_WORDS.get(bound.name, bound.name)}: "
    if bound.name in {BoundName.STARTING, BoundName.IDLE, BoundName.STOPPING}:
        head = f" {_BOUND_WORDS[bound.name].capitalize()}: "
    text = Text.assemble((head, "bold yellow"), shorten(bound.sentence, 4 * width) or "no figures yet")
    lines = list(text.wrap(Console(width=width), width - 2))
    if len(lines) > BOUND_LINES_MAX:
        lines = lines[:BOUND_LINES_MAX]
        lines[-1].rstrip()
        lines[-1].append(" …")
    for line in lines:
        line.rstrip()
    return [lines[0], *(Text.assemble(" ", line) for line in lines[1:])]


def _tail(snapshot: Snapshot, width: int, room: int) -> list[Text]:
    """Notices, then the last visits, in the rows that are left."""
    lines: list[Text] = []
    for notice in snapshot.notices[-NOTICES_MAX:]:
        style = {"error": "bold red", "warning": "yellow"}.get(notice.severity, "")
        lines.append(
            Text.assemble((f" {notice.severity}: ", style), shorten(notice.text, width - len(notice.severity) - 4))
        )
    spare = min(room - len(lines) - (1 if lines else 0), RECENT_MAX)
    recent = snapshot.recent[-spare:] if spare > 0 else ()
    if lines and recent:
        lines.append(Text(""))
    for visit in recent:
        outcome = shorten(visit.outcome, _OUTCOME_CELLS)
        head = f" {outcome:<{_OUTCOME_CELLS}} {show_duration(visit.elapsed_s):>8} {show_size(visit.bytes):>9}  "
        note = f"  {escape(visit.note)}" if visit.note and width >= 70 else ""
        url = shorten(visit.url, max(width - len(head) - len(note) - 1, 8))
        lines.append(
            Text.assemble(
                (head[: _OUTCOME_CELLS + 1], status_style(visit.outcome)),
                (head[_OUTCOME_CELLS + 1 :], "dim"),
                url,
                (note, "dim"),
            )
        )
        lines[-1].truncate(width)
    return lines[: max(room, 0)]


Row = Callable[[Snapshot, Space], Text | None]
_ROWS: Final[tuple[tuple[str, Row], ...]] = (
    ("pages", _pages),
    ("hosts", _hosts),
    ("queue", _queue),
    ("late", _late),
    ("status", _statuses),
    ("bytes", _bytes),
    ("copies", _copies),
    ("failed", _failures),
    ("refused", _refused),
    ("archive", _archive),
    ("budget", _budget),
)
