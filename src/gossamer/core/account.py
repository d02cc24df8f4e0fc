"""What a visit does to the ledger of its host: gap, averages, back-off, parking. A fault of ours changes none of it."""

from __future__ import annotations

from typing import Final

from gossamer.core.addresses import pass_over
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.dispatch import park, unpark
from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Kind, Outcome
from gossamer.model.reason import Reason
from gossamer.model.record import HostRow
from gossamer.policy.politeness import average, backoff_s, host_gap_s, retry_after_s, slow_estimate

TOO_MANY: Final = 429
UNAVAILABLE: Final = 503
SERVER_ERROR: Final = 500
DEFINITE: Final = frozenset(("nxdomain", "no address", "not a host name"))  # asking again soon changes nothing
UNREACHED_PARK_AFTER: Final = 3  # failures in a row of a host that never answered and has no more addresses than that


def account(context: Context, row: HostRow, turn: Turn, outcome: Outcome, now: float) -> float:
    """Update the ledger after a visit that ended at `now`; returns when the lane may be used again.

    The gap counts from the end of the fetch. Retry-After is honoured in full (up to a day); timeouts, connection
    failures, 5xx, 429 and 503 back off exponentially with jitter; a streak of them parks the host. A robots.txt that
    is served does not end a streak of pages that are not.
    """
    politeness = context.config.politeness
    row.last_fetch = now
    row.last_status = outcome.status
    if outcome.failure is None:
        _answered(context, row, outcome)
    else:
        row.failed += 1
        bump(context.counters.totals.failures, outcome.failure)
        row.response_s = average(row.response_s, outcome.elapsed_s)
        row.response_p99_s = slow_estimate(row.response_p99_s, outcome.elapsed_s)
        if outcome.failure.is_unreached:
            pass_over(row, turn.address)
    row.delay_s = host_gap_s(politeness, row)
    if row.orders is not None and row.orders.budget_left and turn.kind is Kind.PAGE:
        row.orders.budget_left -= 1
    wait_s = row.delay_s
    if _troubled(outcome):
        row.errors += 1
        row.backoff_s = backoff_s(row.errors, context.chance)
        wait_s = max(wait_s, row.backoff_s)
        asked_s = _asked_to_wait(outcome, now)
        if asked_s is not None:
            wait_s = max(wait_s, asked_s)
        _park_after_streak(context, row, outcome, now)
    else:
        if turn.kind is not Kind.ROBOTS:
            row.errors, row.backoff_s = 0, 0.0
        unpark(context, row)
    row.next_allowed = max(row.next_allowed, now + wait_s)
    context.counters.totals.visits += 1
    return now + context.lane_gap_s(row)


def _answered(context: Context, row: HostRow, outcome: Outcome) -> None:
    row.reached = True
    row.fetched += 1
    row.bytes += outcome.wire_bytes
    row.seconds += outcome.elapsed_s
    row.response_s = average(row.response_s, outcome.elapsed_s)
    row.response_p99_s = slow_estimate(row.response_p99_s, outcome.elapsed_s)
    row.tls_error = outcome.tls_error
    status = str(outcome.status)
    bump(row.statuses, status)
    totals = context.counters.totals
    bump(totals.statuses, status)
    totals.bytes += outcome.wire_bytes
    context.counters.latency(outcome.elapsed_s)


def _troubled(outcome: Outcome) -> bool:
    """Whether the host shows distress, or asks for less."""
    return outcome.failure is not None or outcome.status == TOO_MANY or outcome.status >= SERVER_ERROR


def _asked_to_wait(outcome: Outcome, now: float) -> float | None:
    value = outcome.header("retry-after")
    if value is None or outcome.status not in (TOO_MANY, UNAVAILABLE):
        return None
    return retry_after_s(value, now)


def _park_after_streak(context: Context, row: HostRow, outcome: Outcome, now: float) -> None:
    """Set a host aside that goes on failing; one that never answered sooner, once each of its addresses had a try."""
    politeness = context.config.politeness
    unreached = max(UNREACHED_PARK_AFTER, len(row.addresses))
    limit = politeness.park_after if row.reached else min(unreached, politeness.park_after)
    if row.errors >= limit:
        what = outcome.failure or f"status {outcome.status}"
        park(
            context,
            row,
            f"{Reason.HOST_PARKED}: {row.errors} failures in a row, the last one {what}",
            now + politeness.park_s,
        )


def unresolved(context: Context, row: HostRow, error: str, now: float) -> None:
    """A name that does not resolve: like a failed visit, without one."""
    row.failed += 1
    row.errors += 1
    bump(context.counters.totals.failures, Failure.DNS)
    row.backoff_s = backoff_s(row.errors, context.chance)
    row.next_allowed = max(row.next_allowed, now + row.backoff_s)
    if row.errors >= UNREACHED_PARK_AFTER or error in DEFINITE:
        park(context, row, f"{Reason.DNS_FAILED}: {error}", now + context.config.politeness.park_s)
