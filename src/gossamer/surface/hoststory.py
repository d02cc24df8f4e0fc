"""One host's whole story: its ledger, its rules, its latest visits and the gaps between them. Values, not words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.reason import Reason
from gossamer.model.record import HostRow
from gossamer.model.view import HostView
from gossamer.surface.hostlog import HostLog, host_log
from gossamer.surface.hostview import gap_reason, host_view, importance_words, speed_words

VISITS_SHOWN: Final = 200
ROBOTS_SHOWN_BYTES: Final = 64 * 1024
GAP_SLACK_S: Final = 0.002  # times in the log are floats of the wall clock


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """robots.txt of one scheme."""

    scheme: str
    verdict: str  # "rules" | "allow" | "disallow"
    why: str
    fetched: float  # unix seconds
    expires: float
    changes: int  # times it differed from the one before
    failures: int  # in a row
    crawl_delay_s: float | None
    redirects: tuple[str, ...] = ()
    text: str = ""  # as it was served, at most ROBOTS_SHOWN_BYTES of it; "" where there is none
    text_cut: bool = False  # there is more


class VisitTold(msgspec.Struct, frozen=True, kw_only=True):
    """One visit as the story tells it."""

    time: float  # unix seconds, when the request was sent
    url: str
    kind: str
    outcome: str  # "200", "timeout", "robots-disallowed"
    elapsed_s: float = 0.0
    bytes: int = 0
    gap_s: float | None = None  # since the end of the visit before
    wanted_gap_s: float = 0.0
    sent: bool = True  # False: it was refused before anything was sent
    robots: str = ""  # the rule of robots.txt by which it was asked for, or was not
    detail: str = ""


class Gaps(msgspec.Struct, frozen=True, kw_only=True):
    """The pauses between the visits told here."""

    counted: int = 0
    shortest_s: float = 0.0
    average_s: float = 0.0
    too_short: int = 0  # shorter than the gap in force


class HostStory(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of a host."""

    view: HostView
    gap_because: str
    speed: str
    importance: str
    errors_in_a_row: int
    backoff_s: float
    parked_until: float
    addresses: tuple[str, ...]
    tls_error: str
    late_refreshes: int
    robots: tuple[Rules, ...]
    gaps: Gaps
    outcomes: dict[str, int]  # of the visits told here
    visits: tuple[VisitTold, ...]  # newest first
    visits_since: float  # the log was looked at back to here, unix seconds; 0: it is empty
    visits_whole: bool  # that is all of the log


def rules_of(row: HostRow, bodies: Mapping[str, bytes]) -> tuple[Rules, ...]:
    """What is known of a host's robots.txt, scheme by scheme; `bodies` are the files as they were served."""
    return tuple(
        Rules(
            scheme=scheme,
            verdict=state.verdict,
            why=state.why,
            fetched=state.fetched,
            expires=state.expires,
            changes=state.changes,
            failures=state.failures,
            crawl_delay_s=state.crawl_delay_s,
            redirects=state.redirects,
            text=bodies.get(scheme, b"")[:ROBOTS_SHOWN_BYTES].decode("utf-8", "replace"),
            text_cut=len(bodies.get(scheme, b"")) > ROBOTS_SHOWN_BYTES,
        )
        for scheme, state in sorted(row.robots.items())
    )


def host_story(
    row: HostRow,
    config: Config,
    now: float,
    *,
    running: bool,
    last: int = VISITS_SHOWN,
    bodies: Mapping[str, bytes] = MappingProxyType({}),
) -> HostStory:
    """The story of a host with its newest `last` visits; `bodies`: its robots.txt by scheme."""
    log = host_log(Path(config.directory) / "log", row.host, last)
    return HostStory(
        view=host_view(row, now, running=running),
        gap_because=gap_reason(row, config.politeness),
        speed=speed_words(row),
        importance=importance_words(row),
        errors_in_a_row=row.errors,
        backoff_s=row.backoff_s,
        parked_until=row.parked_until,
        addresses=row.addresses,
        tls_error=row.tls_error,
        late_refreshes=row.late,
        robots=rules_of(row, bodies),
        gaps=gaps_of(log.events),
        outcomes=dict(Counter(outcome_of(event) for event in log.events).most_common()),
        visits=tuple(told(event) for event in log.events),
        visits_since=log.since,
        visits_whole=log.whole,
    )


def visits_of(directory: Path, host: str, last: int) -> HostLog:
    """The newest visits of a host, as the log has them."""
    return host_log(directory / "log", host, last)


def outcome_of(event: FetchEvent) -> str:
    """How a visit ended, in a word."""
    return str(event.status) if event.status else event.failure or event.reason


def told(event: FetchEvent) -> VisitTold:
    """A line of the log as the story tells it."""
    detail = event.failure_detail or event.detail or event.reason or event.error or event.verdict
    return VisitTold(
        time=event.started or event.time,
        url=event.url,
        kind=event.kind.value,
        outcome=outcome_of(event),
        elapsed_s=event.elapsed_ms / 1000,
        bytes=event.wire_bytes,
        gap_s=event.gap_s if event.started else None,
        wanted_gap_s=event.delay_s,
        sent=bool(event.started),
        robots=event.robots or (event.detail if event.reason == Reason.ROBOTS else ""),
        detail=detail,
    )


def is_too_short(event: FetchEvent) -> bool:
    """Whether a request was sent sooner after the one before than the gap that was in force."""
    return bool(event.started) and event.gap_s is not None and event.gap_s < event.delay_s - GAP_SLACK_S


def gaps_of(events: tuple[FetchEvent, ...]) -> Gaps:
    """The pauses before these visits."""
    found = [event.gap_s for event in events if event.started and event.gap_s is not None]
    if not found:
        return Gaps()
    return Gaps(
        counted=len(found),
        shortest_s=min(found),
        average_s=sum(found) / len(found),
        too_short=sum(map(is_too_short, events)),
    )
