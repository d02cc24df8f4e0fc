"""A crawl told in lines: progress where there is no terminal, and the summary when a crawl ends."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self, TextIO

from gossamer.model.view import Notice, Snapshot
from gossamer.surface.liverows import budget_text, lateness_text
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural, show_count, show_duration, show_rate, show_size

EVERY_S: Final = 5.0
NAMES_MAX: Final = 4
SEED_FAILURES_SHOWN_MAX: Final = 20


class NoticeLines:
    """A live view that prints each notice once, and nothing else."""

    def __init__(self, out: TextIO) -> None:
        """`out` is where the lines go."""
        self._out = out
        self._told: set[tuple[float, str]] = set()
        self._broken = False

    def show(self, snapshot: Snapshot) -> None:
        """Print new notices."""
        self._print(self._fresh(snapshot))

    def _fresh(self, snapshot: Snapshot) -> list[str]:
        fresh = [notice for notice in snapshot.notices if (notice.time, notice.text) not in self._told]
        self._told = {(notice.time, notice.text) for notice in snapshot.notices}
        return [notice_line(notice) for notice in fresh]

    def _print(self, lines: list[str]) -> None:
        if self._broken or not lines:
            return
        try:
            self._out.write("".join(line + "\n" for line in lines))
            self._out.flush()
        except OSError:
            self._broken = True  # nobody reads any more; the crawl goes on


class PlainLines(NoticeLines):
    """A live view that prints a line every five seconds, and each notice once. A context manager like the other."""

    def __init__(self, out: TextIO) -> None:
        """`out` is where the lines go."""
        super().__init__(out)
        self._printed_s = float("-inf")
        self._state = ""

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to give back."""

    def show(self, snapshot: Snapshot) -> None:
        """Print new notices; print the state when it is due or changed."""
        lines = self._fresh(snapshot)
        now_s = time.monotonic()
        if now_s - self._printed_s >= EVERY_S or snapshot.state != self._state:
            self._printed_s, self._state = now_s, snapshot.state
            lines.append(progress_line(snapshot))
        self._print(lines)


def notice_line(notice: Notice) -> str:
    """A notice with its time."""
    moment = datetime.fromtimestamp(notice.time, UTC)
    return f"{moment:%H:%M:%S}  {notice.severity}: {escape(notice.text)}"


def _top(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    text = " ".join(f"{escape(name)}:{show_count(count)}" for name, count in shown[:NAMES_MAX])
    return text + (f" +{len(shown) - NAMES_MAX}" if len(shown) > NAMES_MAX else "")


def progress_line(snapshot: Snapshot) -> str:
    """One line with the state of a crawl."""
    active, ready, waiting = (
        show_count(count) for count in (snapshot.hosts_active, snapshot.hosts_ready, snapshot.hosts_waiting)
    )
    hosts = f"{active} active, {ready} ready, {waiting} waiting"
    parts = [
        f"{show_duration(snapshot.elapsed_s)} {escape(snapshot.state)}",
        f"{show_count(snapshot.pages)} pages",
        f"{show_rate(snapshot.rate_now)}/s",
        show_size(snapshot.bytes),
        f"hosts {hosts}",
        f"queue {show_count(snapshot.queued)}",
    ]
    if snapshot.statuses:
        parts.append(_top(snapshot.statuses))
    if snapshot.failures:
        parts.append(f"failed {_top(snapshot.failures)}")
    copies = snapshot.duplicates_exact + snapshot.duplicates_near
    if copies:
        parts.append(f"{show_count(copies)} {'copy' if copies == 1 else 'copies'}")
    if snapshot.eta_s is not None:
        parts.append(f"{show_duration(snapshot.eta_s)} left")
    if snapshot.bound.sentence:
        parts.append(f"bound by {snapshot.bound.name}: {escape(snapshot.bound.sentence)}")
    return " | ".join(parts)


def summary_lines(snapshot: Snapshot) -> list[str]:
    """What a crawl came to, for the moment it ends and for `status`."""
    statuses = ", ".join(f"{escape(name)}: {show_count(count)}" for name, count in sorted(snapshot.statuses.items()))
    copies = f"{show_count(snapshot.duplicates_exact)} exact, {show_count(snapshot.duplicates_near)} near"
    size = show_size(snapshot.bytes)
    detail = f": {escape(snapshot.state_detail)}" if snapshot.state_detail else ""
    lines = [
        f"{escape(snapshot.state)}{detail}",
        f"pages      {show_count(snapshot.pages)} in {show_duration(snapshot.elapsed_s)}, {size} received",
        f"rate       {show_rate(snapshot.rate_average)} pages/s in this run",
        f"statuses   {statuses or 'none'}",
        f"failed     {_names(snapshot.failures)}",
        f"refused    {_names(snapshot.refusals)}",
        f"copies     {copies}; not modified {show_count(snapshot.not_modified)}",
        f"hosts      {show_count(snapshot.hosts_known)} known, {show_count(snapshot.hosts_parked)} parked",
        f"queue      {show_count(snapshot.queued)} of {show_count(snapshot.urls_known)} known URLs",
        f"archive    {plural(snapshot.segments, 'WARC file')}, {show_size(snapshot.archive_bytes)}",
    ]
    lines += refresh_lines(snapshot)
    lines += [f"budget     {budget_text(budget)}" for budget in snapshot.budgets]
    if snapshot.errors or snapshot.warnings:
        lines.append(f"notices    {plural(snapshot.errors, 'error')}, {plural(snapshot.warnings, 'warning')}")
    return lines


def refresh_lines(snapshot: Snapshot) -> list[str]:
    """What is due and how late it is visited; nothing before anything was due."""
    waiting = snapshot.refresh_queued + snapshot.refresh_late + snapshot.due_now
    if not waiting and not snapshot.refreshes:
        return []
    lines = [f"due        {show_count(waiting)} now; {lateness_text(snapshot)}"]
    if any(snapshot.slipped_by_level):
        levels = snapshot.slipped_by_level
        shown = ", ".join(f"level {level}: {show_count(count)}" for level, count in enumerate(levels) if count)
        lines.append(f"slipped    {show_count(sum(levels))} made over an hour late ({shown})")
    return lines


def seed_failure_lines(snapshot: Snapshot) -> list[str]:
    """One line for each seed of which no page came."""
    shown = list(snapshot.seed_failures.items())
    lines = [f"seed {escape(seed)}: {escape(why)}" for seed, why in shown[:SEED_FAILURES_SHOWN_MAX]]
    if len(shown) > SEED_FAILURES_SHOWN_MAX:
        lines.append(f"and {len(shown) - SEED_FAILURES_SHOWN_MAX} more seeds")
    return lines


def _names(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{escape(name)} {show_count(count)}" for name, count in shown) or "none"
