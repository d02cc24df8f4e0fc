"""One host's ledger in words: what it waits for, which gap is in force and why, what its robots.txt came to."""

from __future__ import annotations

from typing import Final

from gossamer.core.votes import importance
from gossamer.model.config import Politeness
from gossamer.model.record import HostRow, RobotsState
from gossamer.model.view import HostView
from gossamer.policy.importance import votes
from gossamer.policy.politeness import is_slow
from gossamer.surface.copywords import host_words
from gossamer.surface.explainview import moment
from gossamer.surface.units import plural, show_count, show_duration

_OWN_FAULTS_SHOWN: Final = 1  # failures in a row from which on they are named


def host_view(row: HostRow, now: float, *, running: bool) -> HostView:
    """A ledger as reports show it; `now` in unix seconds, `running` whether the crawl is."""
    state, why = standing(row, now, running=running)
    return HostView(
        host=row.host,
        site=row.site,
        state=state,
        why=why,
        fetched=row.fetched,
        failed=row.failed,
        pending=row.pending,
        bytes=row.bytes,
        duplicates=row.duplicates,
        response_s=row.response_s,
        delay_s=row.delay_s,
        crawl_delay_s=row.crawl_delay_s,
        next_allowed=row.next_allowed,
        robots=robots_words(row),
        parked=row.parked,
        statuses=dict(row.statuses),
        refused=dict(row.refused),
        last_fetch=row.last_fetch,
        importance=importance(row),
        copies=host_words(row),
        hints=hint_words(row),
        late=row.late,
    )


def standing(row: HostRow, now: float, *, running: bool) -> tuple[str, str]:
    """The state of a host and one sentence that says what it waits for."""
    if row.parked:
        until = f"until {moment(row.parked_until)}" if row.parked_until > now else "and may be tried again"
        return "parked", f"set aside {until}: {row.parked}"
    if not row.pending:
        return "idle", "nothing of it is queued"
    closed = closed_robots(row, now)
    if closed is not None and row.next_allowed > now:
        return "resting", f"its robots.txt could not be fetched ({closed.why}): next try at {moment(closed.expires)}"
    if row.next_allowed > now:
        cause = f"after {plural(row.errors, 'failure')} in a row" if row.errors >= _OWN_FAULTS_SHOWN else "its gap"
        return "resting", f"may be asked again in {show_duration(row.next_allowed - now)} ({cause})"
    if running:
        return "ready", "may be asked now; a slot and its server's lane decide when"
    return "waiting", f"{plural(row.pending, 'URL')} queued; the crawl is not running"


def hint_words(row: HostRow) -> str:
    """What is wrong with a host's word that its pages have changed, and with pings for it; "" when nothing is known."""
    record = row.hints
    parts = []
    if record is not None and record.absurd:
        parts.append(f"{show_count(record.absurd)} dates that can be no page's")
    if record is not None and record.doubted:
        share = f"{record.borne / record.tried:.0%}" if record.tried else "none"
        parts.append(f"{show_count(record.doubted)} not believed, since {share} of those tried were borne out")
    refused = row.pings.refused if row.pings is not None else {}
    if refused:
        named = ", ".join(f"{why} {show_count(count)}" for why, count in sorted(refused.items()))
        parts.append(f"pinged URLs refused: {named}")
    return ", ".join(parts)


def mislead(row: HostRow) -> int:
    """How many dates and pings of a host were not followed because of what they are."""
    record = row.hints
    hints = record.absurd + record.doubted if record is not None else 0
    return hints + (sum(row.pings.refused.values()) if row.pings is not None else 0)


def closed_robots(row: HostRow, now: float) -> RobotsState | None:
    """The robots.txt that closes a host because it could not be fetched, if there is one."""
    for state in row.robots.values():
        if state.verdict == "disallow" and state.failures and state.expires > now:
            return state
    return None


def robots_words(row: HostRow) -> str:
    """As in `HostView.robots`; by scheme where the schemes differ, "" when none was fetched."""
    found = {scheme: _verdict(state) for scheme, state in sorted(row.robots.items())}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{scheme} {text}" for scheme, text in found.items())


def _verdict(state: RobotsState) -> str:
    return "rules" if state.verdict == "rules" else f"{state.verdict}: {state.why}"


def gap_reason(row: HostRow, politeness: Politeness) -> str:
    """Why the gap in force is as long as it is: the largest of its parts, named."""
    measured = min(politeness.response_factor * row.response_s, politeness.max_delay_s)
    crawl_delay = row.crawl_delay_s
    if crawl_delay is not None and min(crawl_delay, politeness.crawl_delay_max_s) >= max(
        measured, politeness.min_delay_s
    ):
        asked = f"its robots.txt asks for Crawl-delay {crawl_delay:g} s"
        over = crawl_delay > politeness.crawl_delay_max_s
        return f"{asked}, more than the {politeness.crawl_delay_max_s:g} s we wait" if over else asked
    if measured > politeness.min_delay_s:
        capped = ", capped" if measured == politeness.max_delay_s else ""
        return f"{politeness.response_factor:g} × its average response time of {show_duration(row.response_s)}{capped}"
    return f"the configured minimum of {show_duration(politeness.min_delay_s)}"


def importance_words(row: HostRow) -> str:
    """How important a host is, and who says so."""
    if row.rank is not None:
        return f"{row.rank:.2f} of 1, ranked {moment(row.ranked)} (gossamer rank)"
    count = round(votes(row.votes))
    return f"{importance(row):.2f} of 1, by the votes of about {plural(count, 'other site')}" if count else "0 of 1"


def speed_words(row: HostRow) -> str:
    """How fast a host answers."""
    if not row.response_s:
        return "not measured yet"
    slow = "; slow hosts share a tenth of the fetches in flight" if is_slow(row.response_p99_s) else ""
    return f"{show_duration(row.response_s)} on average, {show_duration(row.response_p99_s)} at the slow end{slow}"
