"""What is wrong with a crawl besides what binds it, or soon will be. Pure functions of what was seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from gossamer.model.config import Config
from gossamer.model.view import Snapshot
from gossamer.surface.forecast import DiskForecast
from gossamer.surface.patient import LogSample
from gossamer.surface.units import plural, show_count, show_duration, show_size

DISK_DAYS_ALARM: Final = 1.0
DISK_DAYS_WARN: Final = 7.0
REFUSED_SHARE_WARN: Final = 0.05  # of visits answered 403 or 429
DNS_SHARE_WARN: Final = 0.1
BUDGET_SHARE_WARN: Final = 0.9
SLOTS_SHARE_WARN: Final = 0.9
LATE_WARN_S: Final = 3_600.0
SAMPLE_MIN: Final = 50  # visits, before a share of them means something
_ORDER: Final = ("alarm", "warning", "note")


class Note(msgspec.Struct, frozen=True):
    """One thing."""

    severity: Literal["alarm", "warning", "note"]
    text: str
    advice: str = ""


def notes(shot: Snapshot, config: Config, log: LogSample, disk: DiskForecast | None) -> tuple[Note, ...]:
    """Everything worth saying, the worst first."""
    found = [*_disk(disk), *_manners(log), *_names(shot, log), *_limits(shot), *_refreshing(shot), *_parts(shot)]
    if not config.identity.contact:
        found.append(Note("note", "no contact is configured: site owners cannot tell who asks", "set identity.contact"))
    return tuple(sorted(found, key=lambda note: _ORDER.index(note.severity)))


def _disk(disk: DiskForecast | None) -> Iterator[Note]:
    if disk is None or disk.days_left is None or disk.days_left >= DISK_DAYS_WARN:
        return
    alarm = disk.days_left < DISK_DAYS_ALARM
    left = show_duration(disk.days_left * 86_400)
    text = f"the disk is full in about {left}: {show_size(disk.free_bytes)} free, {show_size(disk.bytes_per_day)} a day"
    yield Note("alarm" if alarm else "warning", text, "free some, or move closed segments of archive/ elsewhere")


def _manners(log: LogSample) -> Iterator[Note]:
    if log.too_short:
        text = f"{plural(log.too_short, 'request')} of the last {log.visits} came before the gap of their host was over"
        yield Note("alarm", text, "pause the crawl and report this: it must not happen")
    if log.visits >= SAMPLE_MIN and log.refusals >= REFUSED_SHARE_WARN * log.visits:
        text = f"{log.refusals / log.visits:.0%} of the last {log.visits} visits were answered 403 or 429"
        yield Note("warning", text, "look at the hosts in trouble; a longer politeness.min_delay is kinder")


def _names(shot: Snapshot, log: LogSample) -> Iterator[Note]:
    if log.visits >= SAMPLE_MIN and log.dns_failures >= DNS_SHARE_WARN * log.visits:
        text = f"{log.dns_failures / log.visits:.0%} of the last {log.visits} visits failed for want of an address"
        yield Note("warning", text, "ask the resolver yourself for one of the names (gossamer log)")
    if shot.hosts_known >= SAMPLE_MIN and shot.hosts_parked * 5 >= shot.hosts_known:
        text = f"{show_count(shot.hosts_parked)} of {show_count(shot.hosts_known)} hosts are set aside after failures"
        yield Note("warning", text, "if it is all hosts alike, it is our network")


def _limits(shot: Snapshot) -> Iterator[Note]:
    for budget in shot.budgets:
        if budget.limit and BUDGET_SHARE_WARN * budget.limit <= budget.used < budget.limit:
            yield Note("note", f"{budget.used / budget.limit:.0%} of the limit of {budget.name} is used")
    if shot.slots and SLOTS_SHARE_WARN * shot.slots <= shot.hosts_active < shot.slots:
        yield Note("note", f"{shot.hosts_active} of {shot.slots} slots are taken", "frontier.slots")


def _refreshing(shot: Snapshot) -> Iterator[Note]:
    if shot.lateness_p99_s >= LATE_WARN_S and shot.refreshes:
        text = f"refreshes are late: 1 of 100 by {show_duration(shot.lateness_p99_s)} or more"
        yield Note("warning", text, "a lower refresh.budget_per_day, a longer refresh.interval, or more hosts at once")


def _parts(shot: Snapshot) -> Iterator[Note]:
    if shot.worker_restarts:
        yield Note(
            "note", f"digest workers were replaced {plural(shot.worker_restarts, 'time')}", "gossamer log: error"
        )
    if shot.seed_failures:
        yield Note(
            "warning", f"no page came of {plural(len(shot.seed_failures), 'seed')}", "gossamer status names them"
        )
