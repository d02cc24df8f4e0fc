"""What the operator orders for one host: its gap, a budget, setting it aside, beginning anew. Kept in its ledger."""

from __future__ import annotations

import math
from typing import Final

from msgspec import UNSET

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.dispatch import FAR, park
from gossamer.model.control import Freshness, HostPolicy, PatchHost
from gossamer.model.limits import LEVELS
from gossamer.model.reason import Reason
from gossamer.model.record import HostOrders, HostRow
from gossamer.policy.politeness import crawl_delay_refused, host_gap_s

DAY_S: Final = 86_400.0
DELAY_MIN_S: Final = 0.1  # however much a host is to be asked
DELAY_MAX_S: Final = 86_400.0
PARK_MAX_S: Final = 3_650 * DAY_S
BUDGET_MAX: Final = 10**12
ASKED_TO_WAIT: Final = frozenset((429, 503))  # what such an answer makes us wait, no order shortens

Fault = tuple[str, str, str]  # field, value, what is allowed


def fault_of(order: PatchHost) -> Fault | None:
    """What is wrong with an order, or None."""
    for field, value, least, most, allowed in (
        ("delay_s", order.delay_s, DELAY_MIN_S, DELAY_MAX_S, f"{DELAY_MIN_S:g} to {DELAY_MAX_S:g} seconds, or null"),
        ("park_s", order.park_s, 0.0, PARK_MAX_S, f"0 to {PARK_MAX_S:g} seconds, or null"),
        ("budget", order.budget, 0, BUDGET_MAX, f"0 to {BUDGET_MAX} page visits, or null"),
    ):
        if isinstance(value, int | float) and not (math.isfinite(value) and least <= value <= most):
            return field, str(value), allowed
    return None


def patch(context: Context, row: HostRow, order: PatchHost, now: float) -> None:
    """Carry out an order that has no fault. One commit; it holds from the next request on."""
    changes = Changes(context.store)
    orders = row.orders = row.orders or HostOrders()
    if order.reset:
        _reset(context, row, now)
    if order.park_s is not UNSET:
        _unpark(context, row)
        orders.parked_until, orders.park_reason = 0.0, ""
        if order.park_s:
            said = f"{Reason.HOST_PARKED}: by the operator" + (f": {order.park_reason}" if order.park_reason else "")
            park(context, row, said, now + order.park_s)
            orders.parked_until, orders.park_reason = now + order.park_s, order.park_reason
    if order.budget is not UNSET:
        orders.budget_left = order.budget
        if row.parked.startswith(Reason.HOST_BUDGET) and order.budget != 0:
            _unpark(context, row)
        if order.budget == 0:
            park(context, row, f"{Reason.HOST_BUDGET}: the operator's budget for it is used up", FAR)
    if order.delay_s is not UNSET:
        orders.delay_s = order.delay_s
        before_s = row.delay_s
        row.delay_s = host_gap_s(context.config.politeness, row)
        if row.last_fetch and not row.backoff_s and row.last_status not in ASKED_TO_WAIT:
            row.next_allowed = max(row.next_allowed + row.delay_s - before_s, row.last_fetch + row.delay_s)
    if orders == HostOrders():
        row.orders = None
    context.ledger.put(changes, row)
    context.apply(changes)
    context.frontier.wake(row.host)


def _reset(context: Context, row: HostRow, now: float) -> None:
    """What was learned of a host is forgotten, but for what it asked of us itself."""
    row.errors, row.backoff_s = 0, 0.0
    row.response_s = row.response_p99_s = 0.0
    row.addresses_expire = min(row.addresses_expire, now)
    row.addresses_failed = 0
    for state in row.robots.values():
        state.expires = min(state.expires, now)
    if not row.parked.startswith(Reason.HOST_BUDGET) and not _ordered(row, now):
        _unpark(context, row)
    row.delay_s = host_gap_s(context.config.politeness, row)
    if row.last_status not in ASKED_TO_WAIT:
        row.next_allowed = row.last_fetch + row.delay_s if row.last_fetch else 0.0


def _unpark(context: Context, row: HostRow) -> None:
    if row.parked:
        context.counters.totals.parked -= 1
        row.parked, row.parked_until = "", 0.0


def _ordered(row: HostRow, now: float) -> bool:
    return row.orders is not None and row.orders.parked_until > now


def policy_of(context: Context, row: HostRow, robots: dict[str, str], now: float) -> HostPolicy:
    """What a host is treated by; `robots`: the verdict of its rules in words, by scheme."""
    orders = row.orders or HostOrders()
    politeness = context.config.politeness
    closed = {scheme: context.takedowns.closed(row.host, scheme) for scheme in ("https", "http")}
    if crawl_delay_refused(politeness, row.crawl_delay_s) or (row.crawl_delay_s or 0.0) >= row.delay_s:
        source = "crawl-delay"
    elif orders.delay_s is not None:
        source = "operator"
    else:
        source = "min_delay" if row.delay_s <= politeness.min_delay_s else "response time"
    return HostPolicy(
        delay_s=row.delay_s,
        delay_source=source,
        operator_delay_s=orders.delay_s,
        crawl_delay_s=row.crawl_delay_s,
        next_allowed=row.next_allowed,
        backoff_s=row.backoff_s,
        errors=row.errors,
        budget_left=orders.budget_left,
        parked=row.parked,
        parked_until=row.parked_until,
        parked_by_operator=_ordered(row, now),
        robots=robots,
        taken_down=closed["https"] or closed["http"],
    )


def freshness_of(row: HostRow) -> Freshness:
    """How current the copies of a host's pages are, as its average rates tell.

    A page that changes at rate r and is visited every T seconds is current for the share (1 - exp(-rT)) / rT of the
    time (Cho and Garcia-Molina, Effective page refresh policies for web crawlers, 2003, section 3); rT is taken at the
    host's averages.
    """
    pace = row.pace
    rate = math.exp(pace.log_sum / pace.pages) if pace is not None and pace.pages else None
    fresh: float | None = None
    if pace is not None and rate is not None and pace.planned and pace.claim > 0:
        changes_between = rate * pace.planned / pace.claim
        fresh = -math.expm1(-changes_between) / changes_between if changes_between > 0 else 1.0
    return Freshness(
        host=row.host,
        pages=row.shown,
        planned=pace.planned if pace is not None else 0,
        late=row.late,
        queued_refreshes=sum(row.pending_by_level[LEVELS:]),
        changes_per_day=None if rate is None else rate * DAY_S,
        visits_per_day=pace.claim * DAY_S if pace is not None else 0.0,
        expected_fresh=fresh,
        hints_tried=round(row.hints.tried) if row.hints is not None else 0,
        hints_borne=round(row.hints.borne) if row.hints is not None else 0,
    )
