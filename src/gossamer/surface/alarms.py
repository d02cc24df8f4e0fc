"""The alarms that a running crawl can judge by itself: those of ops/alerts.yml, with the same bounds. Pure functions.

What a crawl cannot say of itself is for others: that it was killed, that nobody can read it, that it breaks rules it
believes it keeps (`serve.witness`). The server measures those for Prometheus.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from gossamer.model.view import BoundName, Snapshot
from gossamer.surface.doctornotes import DISK_DAYS_ALARM, DISK_DAYS_WARN, REFUSED_SHARE_WARN, SAMPLE_MIN
from gossamer.surface.forecast import DiskForecast
from gossamer.surface.units import plural, show_count, show_duration

LOOK_S: Final = 15.0  # how often a sample is to be taken
SLACK_S: Final = 2 * LOOK_S  # by which a span may be covered too short
QUARTER_S: Final = 900.0
HOUR_S: Final = 3_600.0
VIOLATION_RINGS_S: Final = 600.0  # after a gap was cut short, a rule was broken
REFUSED_SPAN_S: Final = 1_800.0
REFUSED_BEFORE_S: Final = 6 * HOUR_S  # so long ago it is compared with
REFUSED_RISE: Final = 1.5
NARROW_URLS_PER_HOST: Final = 1_000
SYNC_SLOW_S: Final = 0.5
LATE_S: Final = 6 * HOUR_S
TAKEDOWN_S: Final = 60.0
SAMPLES_MAX: Final = int((REFUSED_BEFORE_S + REFUSED_SPAN_S) / LOOK_S) + 8

Severity = Literal["page", "warn"]


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that somebody must know."""

    name: str  # as in ops/alerts.yml: disk-slow is GossamerDiskSlow
    severity: Severity  # "page" wakes somebody
    text: str
    advice: str


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known at one moment beside the snapshot."""

    disk: DiskForecast | None = None
    unconfirmed_s: float = 0.0  # for how long the oldest takedown waits to be confirmed
    too_short: int = 0  # requests that came before their gap was over, in this run
    too_short_at: float = 0.0  # when the last of them was seen; unix seconds


class Sample(msgspec.Struct, frozen=True):
    """What is remembered of one moment."""

    time: float  # unix seconds
    bound: BoundName
    is_paused: bool
    sync_s: float
    answers: int  # since the crawl was first started
    refusals: int  # of them 403 and 429


class History:
    """Samples of the last hours."""

    def __init__(self) -> None:
        """Nothing has been seen."""
        self._samples: deque[Sample] = deque(maxlen=SAMPLES_MAX)

    def add(self, shot: Snapshot) -> None:
        """Remember a moment; `shot.time` says which."""
        answers = sum(shot.statuses.values())
        refusals = shot.statuses.get("403", 0) + shot.statuses.get("429", 0)
        is_paused = shot.state == "paused"
        self._samples.append(Sample(shot.time, shot.bound.name, is_paused, shot.sync_s, answers, refusals))

    def mean(self, span_s: float, value: Callable[[Sample], float]) -> float | None:
        """The average over the last `span_s`; None when so much has not been seen yet."""
        if not self._samples or self._samples[-1].time - self._samples[0].time < span_s - SLACK_S:
            return None
        since = self._samples[-1].time - span_s
        values = [value(sample) for sample in self._samples if sample.time >= since]
        return sum(values) / len(values)

    def bound_share(self, span_s: float, name: BoundName) -> float:
        """For which share of the last `span_s` this was what bound the crawl; 0 when so much has not been seen yet."""
        return self.mean(span_s, lambda sample: float(sample.bound is name)) or 0.0

    def refused(self, ago_s: float) -> tuple[float, int]:
        """(share of refusals, answers) in the REFUSED_SPAN_S that ended `ago_s` before the newest sample."""
        if not self._samples:
            return 0.0, 0
        end = self._samples[-1].time - ago_s
        span = [sample for sample in self._samples if end - REFUSED_SPAN_S <= sample.time <= end]
        if len(span) < 2:
            return 0.0, 0
        answers = span[-1].answers - span[0].answers
        return ((span[-1].refusals - span[0].refusals) / answers if answers > 0 else 0.0), answers


def judged(shot: Snapshot, history: History, facts: Facts) -> dict[str, Alarm]:
    """What would ring now, by name. For how long a thing must last before it rings is in `LASTS_S`."""
    found: dict[str, Alarm] = {}

    def rings(name: str, severity: Severity, text: str, advice: str) -> None:
        found[name] = Alarm(name=name, severity=severity, text=text, advice=advice)

    if facts.too_short and shot.time - facts.too_short_at < VIOLATION_RINGS_S:
        text = f"{plural(facts.too_short, 'request')} came before the gap of their host was over"
        rings("gap-cut-short", "page", text, "pause the crawl; gossamer log --host tells the rest")
    if facts.unconfirmed_s > TAKEDOWN_S:
        text = f"a takedown has waited {show_duration(facts.unconfirmed_s)} to be confirmed"
        rings("takedown-not-confirmed", "page", text, "gossamer takedown list tells which step is missing")
    (share, answers), (before, _) = history.refused(0.0), history.refused(REFUSED_BEFORE_S)
    if answers >= SAMPLE_MIN and share > REFUSED_SHARE_WARN and share > REFUSED_RISE * before:
        text = f"{share:.0%} of all answers are 403 or 429, and it rises"
        rings("refused-more", "warn", text, "we are too many for some: a longer politeness.min_delay, a lower net_rate")
    _of_resources(shot, history, rings)
    _of_disk(facts.disk, rings)
    return found


Rings = Callable[[str, Severity, str, str], None]


def _of_resources(shot: Snapshot, history: History, rings: Rings) -> None:
    if history.bound_share(QUARTER_S, BoundName.DNS) > 0.5:
        text = "names are answered more slowly than hosts come up"
        rings("dns-saturated", "warn", text, "a resolver of its own (dns.nameservers)")
    narrow = history.bound_share(HOUR_S, BoundName.HOSTS) > 0.9
    if narrow and shot.queued > NARROW_URLS_PER_HOST * shot.hosts_active:
        text = f"{show_count(shot.queued)} URLs are queued, on {plural(shot.hosts_active, 'host')}"
        rings("frontier-narrow", "warn", text, "gossamer doctor names the giants; more seeds widen the frontier")
    if history.bound_share(QUARTER_S, BoundName.DIGEST) > 0.5:
        text = "pages wait for digest workers"
        rings("digest-backlog", "warn", text, "workers.count, or a machine with more cores")
    sync_s = history.mean(QUARTER_S, lambda sample: sample.sync_s) or 0.0
    if sync_s > SYNC_SLOW_S:
        text = f"a sync of the store takes {sync_s:.1f} s"
        rings("disk-slow", "warn", text, "a faster disk, or other programs off this one")
    if shot.lateness_p99_s > LATE_S:
        text = f"1 of 100 pages is visited {show_duration(shot.lateness_p99_s)} after it was due"
        advice = "a lower refresh.budget_per_day, a longer refresh.interval, or more hosts at once"
        rings("refreshes-late", "warn", text, advice)
    if (history.mean(QUARTER_S, lambda sample: float(sample.is_paused)) or 0.0) > 0.9:
        text = f"paused for a quarter of an hour: {shot.state_detail}"
        rings("paused", "warn", text, "what the reason names; gossamer doctor tells more")


def _of_disk(disk: DiskForecast | None, rings: Rings) -> None:
    if disk is None or disk.days_left is None or disk.days_left >= DISK_DAYS_WARN:
        return
    text = f"the disk is full in {show_duration(disk.days_left * 86_400)}"
    advice = "free some, or move closed segments of archive/ elsewhere"
    if disk.days_left < DISK_DAYS_ALARM:
        rings("disk-full-in-a-day", "page", text, advice)
    else:
        rings("disk-full-in-a-week", "warn", text, advice)


# Seconds that a thing must last before it rings: `for` in ops/alerts.yml.
LASTS_S: Final[dict[str, float]] = {
    "gap-cut-short": 0.0,
    "takedown-not-confirmed": 0.0,
    "refused-more": 600.0,
    "dns-saturated": 0.0,
    "frontier-narrow": 0.0,
    "digest-backlog": 0.0,
    "disk-slow": 0.0,
    "disk-full-in-a-week": 1_800.0,
    "disk-full-in-a-day": 600.0,
    "refreshes-late": 3_600.0,
    "paused": 0.0,
    # of the server, which sees what a crawl cannot say (`serve.herald`)
    "robots-violated": 0.0,
    "crawl-interrupted": 300.0,
    "unreadable": 300.0,
}
