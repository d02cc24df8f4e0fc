"""One partition: the state machine that owns its hosts. Events and times go in, turns, jobs and log lines come out.

No I/O of its own, no clock, no randomness: the store and the chance are given. What it hands out: `next_turn` (make
this request), `take_resolves` (look this name up). What it is told: `resolved`, `fetched`, `digested`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core import addresses, calendar, clusters, ending, harvest, pings, probing, softfour
from gossamer.core.account import account, unresolved
from gossamer.core.active import ActiveHost
from gossamer.core.admission import Candidate
from gossamer.core.buckets import Buckets
from gossamer.core.changes import Changes
from gossamer.core.context import FORBIDDEN_PARK_S, Context
from gossamer.core.counters import bump
from gossamer.core.dispatch import Dispatch, drop_place, park
from gossamer.core.handover import Handover, Pending
from gossamer.core.keys import segment_key
from gossamer.core.logline import log_line, with_digest
from gossamer.core.orders import Orders
from gossamer.core.rulesfetch import RulesFetch
from gossamer.core.turn import Turn
from gossamer.core.votes import note_votes
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Failure, Job, Kind, Outcome, Resolution
from gossamer.model.ping import Ping
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.model.url import Url
from gossamer.policy.guard import Networks, forbidden
from gossamer.policy.scope import judge
from gossamer.policy.traps import static_trap

PATIENCE_S: Final = 3600.0  # a crawl is over when nothing may be fetched for this long


class Committed(msgspec.Struct, frozen=True):
    """A page that was committed: what came back, what was made of it, and jobs that waited for it."""

    event: FetchEvent
    turn: Turn
    outcome: Outcome
    digest: Digest
    jobs: list[Job]
    links_refused: tuple[str, ...] | None = (
        None  # every other link of the digest has a row; None: not all were looked at
    )


class Partition:
    """All hosts of one partition."""

    def __init__(self, context: Context, allow: Networks) -> None:
        """`allow`: special-purpose networks that may be fetched."""
        self.context = context
        floor = context.started if context.resumed else 0.0
        self._buckets = Buckets(context.config.politeness, context.net_of, context.as_of, context.exempt, floor)
        self._under_way = dict.fromkeys(Kind, 0)  # turns handed out and not yet committed
        self._dispatch = Dispatch(context, self._buckets, self._under_way)
        self._rules = RulesFetch(context)
        self.orders = Orders(context, self._rules, self._dispatch.events)
        self._allow = allow
        self._handover = Handover(context)
        self._resolving: set[str] = set()
        self.in_flight = 0
        totals = context.counters.totals
        totals.runs += 1
        totals.started = totals.started or context.started
        changes = Changes(context.store)
        context.counters.put_schema(changes)
        context.apply(changes)
        probing.resume(context, context.started)

    # -- work out --------------------------------------------------------------------------------------------------

    def next_turn(self, now: float) -> Turn | None:
        """The next request to make, reserved; None when nothing may be asked now or the page budget is used up."""
        if self._budget_out():
            return None
        turn = self._dispatch.next_turn(now)
        if turn is not None:
            self.in_flight += 1
            self._under_way[turn.kind] += 1
            host = self.context.frontier.active[turn.host]
            host.turns += 1
        return turn

    def take_resolves(self, limit: int) -> list[str]:
        """Hosts whose names are to be looked up now."""
        names = self.context.frontier.take_resolves(limit)
        self._resolving.update(names)
        return names

    def take_events(self) -> list[FetchEvent]:
        """Log lines of refusals made while turns were handed out."""
        events = list(self._dispatch.events)
        self._dispatch.events.clear()
        return events

    def logged(self, count: int) -> None:
        """So many of the lines handed out, in their order, are in the crawl log."""
        self.context.logbook.written(count)

    def next_time(self) -> float | None:
        """When something can be done without an event from outside."""
        return None if self._budget_out() else self.context.frontier.next_time()

    def next_due(self) -> float | None:
        """When the next planned visit is due; None when none is planned."""
        return calendar.next_due(self.context)

    def _budget_out(self) -> bool:
        """Whether every page that may be fetched is fetched or being fetched."""
        limit = self.context.config.limits.pages
        return limit is not None and self.context.counters.totals.pages + self._under_way[Kind.PAGE] >= limit

    def uncommitted(self) -> int:
        """Responses fetched and not yet committed."""
        return len(self._handover)

    def forget_lanes(self, now: float) -> None:
        """Forget servers that owe nothing any more, in memory and in the store; to be called now and then.

        Without, the store would have a row of every server ever asked, and a start would read them all.
        """
        passed = self.context.frontier.lanes.purge(now)
        if passed:
            changes = Changes(self.context.store)
            for lane in passed:
                changes.delete(Cf.LANE, lane.encode())
            self.context.apply(changes)

    def idle(self) -> bool:
        """Whether nothing is under way: no request, no look-up, no page on its way to its commit, no active host."""
        if self.context.takedowns.sweeping() is not None:
            return False
        return not (self.in_flight or self._handover.pending or self._resolving or self.context.frontier.active)

    def exhausted(self, now: float) -> bool:
        """Whether nothing is left that may be fetched within the patience of one hour. Parked hosts do not count.

        A continuous crawl never is.
        """
        frontier = self.context.frontier
        if self.context.config.limits.continuous or not self.idle() or frontier.can_refill():
            return False
        limit = now + PATIENCE_S
        if any(at <= limit and not self._parked(host, now) for host, at in frontier.asleep().items()):
            return False
        return frontier.passed_by() > limit

    def _parked(self, host: str, now: float) -> bool:
        row = self.context.ledger.find(host)
        return row is not None and bool(row.parked) and row.parked_until > now

    # -- seeds and refreshes ---------------------------------------------------------------------------------------

    def seed(self, urls: list[tuple[Url, Kind]], now: float, level: int = 0) -> dict[str, Reason]:
        """Admit seeds at a level of priority; returns those that the configuration refuses, by wire form."""
        refused: dict[str, Reason] = {}
        candidates = []
        for url, kind in urls:
            takedown = Reason.TAKEDOWN if self.context.takedowns.refusal(url.wire) else None
            reason = (
                takedown
                or judge(self.context.scope, url)
                or static_trap(
                    url, 0, self.context.config.limits.depth, seed=True, via=None, year_now=harvest.year_of(now)
                )
            )
            if reason is not None:
                refused[url.wire] = reason
                continue
            candidates.append(
                Candidate(
                    url=url.wire, key=url.key, host=url.host, site=url.site, level=level, depth=0, via="seed", kind=kind
                )
            )
        changes = Changes(self.context.store)
        self.context.admission.admit(changes, candidates, now)
        self.context.apply(changes)
        return refused

    def enqueue_due(self, now: float) -> int:
        """Queue pages whose next visit is due, a bounded number at a time. Returns how many."""
        return calendar.enqueue_due(self.context, now) + clusters.carry_on(self.context, now)

    def ping(self, ping: Ping, now: float) -> dict[str, str]:
        """Somebody says that pages have changed: the URLs that are refused at once, each with its reason."""
        return pings.receive(self.context, ping, now)

    def look_for_keys(self, now: float) -> None:
        """Ask hosts for the keys that pings wait for; to be called now and then."""
        pings.look(self.context, now)

    def cut_off(self, turn: Turn, why: str, now: float) -> list[FetchEvent]:
        """End a turn whose request was cut off by us, or of which nothing was heard in time: it may have been sent."""
        outcome = Outcome(failure=Failure.CUT_OFF, failure_detail=why, started=turn.started)
        host = self.context.frontier.active[turn.host]
        row = turn.row or UrlRow(url=turn.url, host=turn.host, kind=turn.kind)
        event = log_line(turn, outcome, host.row, row, now, verdict="cut-off", retry=True, gap_s=None)
        changes = Changes(self.context.store)
        self.context.logbook.put(changes, event)
        self.in_flight -= 1
        self._dispatch.slow_in_flight -= turn.slow
        self._nothing_learned(changes, host, turn, outcome, now)
        return [event]

    # -- events in -------------------------------------------------------------------------------------------------

    def resolved(self, name: str, resolution: Resolution, now: float) -> None:
        """Take the addresses of a host, or that there are none. A fault of our own resolver is held against nobody."""
        self._resolving.discard(name)
        host = self.context.frontier.active.get(name)
        if host is None:
            return
        row = host.row
        changes = Changes(self.context.store)
        allowed = tuple(a for a in resolution.addresses if forbidden(a, self._allow) is None)
        addresses.looked_up(row, allowed, resolution.expires)
        if not allowed and not resolution.ours:
            if resolution.addresses:
                why = forbidden(resolution.addresses[0], self._allow)
                park(
                    self.context,
                    row,
                    f"{Reason.ADDRESS_FORBIDDEN}: {resolution.addresses[0]} is {why}, which net.allow does not allow",
                    now + FORBIDDEN_PARK_S,
                )
            else:
                unresolved(self.context, row, resolution.error, now)
            self._drop_errands(changes, host, resolution.error or "address forbidden", now)
        self._apply(changes, row, now)
        self.context.frontier.settle(name, now)

    def fetched(
        self, turn: Turn, outcome: Outcome, payload_digest: str, decoded: bytes, now: float
    ) -> tuple[list[Job], list[FetchEvent]]:
        """End a turn: free host and lane, then pass the response on or settle the failure.

        `payload_digest` is "sha1:BASE32" of the payload, `decoded` the decoded body of a robots.txt (else empty).
        """
        host = self.context.frontier.active[turn.host]
        row = host.row
        changes = Changes(self.context.store)
        self.in_flight -= 1
        self._dispatch.slow_in_flight -= turn.slow
        if outcome.failure is not None and outcome.failure.means_nothing:
            self._nothing_learned(changes, host, turn, outcome, now)
            return [], []
        gap_s = outcome.started - row.last_fetch if row.last_fetch else None
        lane_next = account(self.context, row, turn, outcome, now)
        changes.put(Cf.LANE, turn.lane.encode(), f"{lane_next:.3f}".encode())
        if outcome.failure is None:
            self.context.desk.recheck_early(row, turn.scheme, outcome.status, now)
        if turn.kind is Kind.ROBOTS:
            self._rules.ended(changes, host, turn, outcome, decoded, now)
        elif turn.kind is Kind.KEY and outcome.failure is None:
            pings.ended(self.context, changes, row, outcome.status, decoded, now)
        if row.parked or row.next_allowed - now > self.context.errand_wait_max_s:
            self._drop_errands(changes, host, row.parked or "it asked to be left alone", now)
        if outcome.failure is None:
            jobs, events = self._handover.give(changes, turn, outcome, payload_digest, gap_s), []
            host.uncommitted += 1
        else:
            jobs, events = [], [self._failed(changes, host, turn, outcome, gap_s, now)]
        self._apply(changes, row, now)
        self.context.frontier.end_turn(host, lane_next, now)
        return jobs, events

    def digested(self, digest: Digest, now: float) -> Committed:
        """Commit a page whose record is durable."""
        pending = self._handover.pending.pop(digest.id)
        turn, outcome = pending.turn, pending.outcome
        host = self.context.frontier.active[turn.host]
        changes = Changes(self.context.store)
        row = changes.url(turn.key)
        if row is None:
            row = UrlRow(url=turn.url, host=turn.host, kind=turn.kind, discovered=turn.started, via=f"host:{turn.host}")
            self.context.counters.totals.urls += 1
        self._leave_queue(changes, host, turn)
        if turn.kind is Kind.PROBE:
            probing.end(changes, host.row, "")
            softfour.learn(host.row, outcome.status, digest)
            if turn.errand is not None:
                ending.judge_again(self.context, changes, turn.errand.about, host.row, now)
        candidates, again, verdict = self._settled(changes, host, pending, digest, row, now)
        if again:
            ending.requeue(self.context, changes, host.row, turn, row)
        changes.put_url(turn.key, row)
        admitted = self.context.admission.admit(changes, candidates, now)
        if digest.votes and ending.follows_links(turn, digest, row) and not row.duplicate_of:
            note_votes(self.context, changes, host.row.site, digest.votes)
        if digest.pointer is not None:
            committed = self.context.counters.totals.committed
            segment = digest.pointer.segment
            if segment not in committed:
                changes.put(Cf.META, segment_key(segment), b"")
            committed[segment] = max(committed.get(segment, 0), digest.committed_end)
            self.context.counters.totals.records += 1
        self._count_errors(digest)
        event = log_line(turn, outcome, host.row, row, now, verdict=verdict, retry=again, gap_s=pending.gap_s)
        event = with_digest(event, pending.job, digest, admitted.new, admitted.refused)
        self.context.logbook.put(changes, event)
        probe = probing.wish(self.context, changes, host, turn.key, row) if turn.kind is Kind.PAGE else None
        self.context.ledger.put(changes, host.row)
        self.context.apply(changes)
        if probe is not None:
            host.errands.append(probe)
        self._under_way[turn.kind] -= 1
        host.uncommitted -= 1
        self.context.frontier.resettle(host.name, now)
        looked_at = digest.links and ending.follows_links(turn, digest, row)
        links_refused = admitted.refused_keys if looked_at else None
        return Committed(event, turn, outcome, digest, self._handover.release(digest.id), links_refused)

    def _count_errors(self, digest: Digest) -> None:
        errors = self.context.counters.totals.errors
        if digest.error:
            bump(errors, digest.error.partition(":")[0])
        for error in digest.hook_errors:
            bump(errors, f"hook:{error.partition(':')[0]}")

    def _settled(
        self, changes: Changes, host: ActiveHost, pending: Pending, digest: Digest, row: UrlRow, now: float
    ) -> tuple[list[Candidate], bool, str]:
        if digest.pointer is None:
            ending.settle_unarchived(self.context, changes, pending.turn, row, digest, now)
            return [], False, "error"
        return ending.settle_response(
            self.context, changes, host.row, pending.turn, pending.outcome, pending.job, digest, row, now
        )

    def _apply(self, changes: Changes, row: HostRow, now: float) -> None:
        """Write the commit of an event at a host; then let go on who waited for what came with it."""
        self.context.ledger.put(changes, row)
        self.context.apply(changes)
        for name in self._rules.take_freed():
            self.context.frontier.resettle(name, now)

    def _drop_errands(self, changes: Changes, host: ActiveHost, why: str, now: float) -> None:
        """A host will not be asked for long: its errands do not hold slots so long."""
        self._rules.fail_foreign(changes, host, why, now)
        host.errands.clear()
        pings.dropped(self.context, host.name)
        probing.end(changes, host.row, "")

    # -- parts -----------------------------------------------------------------------------------------------------

    def _nothing_learned(self, changes: Changes, host: ActiveHost, turn: Turn, outcome: Outcome, now: float) -> None:
        """A fault of ours, or a connection that was over: everything goes back to where it was, one gap later."""
        if outcome.failure is Failure.STALE:
            host.stale.add(turn.key)
        if turn.place is not None:
            host.queue.give_back(turn.place)
        elif turn.errand is not None and self.context.takedowns.refusal(turn.url):
            self.orders.forgo(changes, host, turn.errand, now)
        elif turn.kind is Kind.ROBOTS:
            self._rules.ended(changes, host, turn, outcome, b"", now)
        elif turn.errand is not None:
            host.errands.appendleft(turn.errand)
        self._under_way[turn.kind] -= 1
        host.row.next_allowed = max(host.row.next_allowed, now + host.row.delay_s)
        self.context.ledger.put(changes, host.row)
        self.context.apply(changes)
        self.context.frontier.end_turn(host, now + self.context.lane_gap_s(host.row), now)
        for name in self._rules.take_freed():
            self.context.frontier.resettle(name, now)

    def _failed(
        self, changes: Changes, host: ActiveHost, turn: Turn, outcome: Outcome, gap_s: float | None, now: float
    ) -> FetchEvent:
        self._under_way[turn.kind] -= 1
        row = changes.url(turn.key) or UrlRow(url=turn.url, host=turn.host, kind=turn.kind)
        again = False
        if turn.place is not None:
            self._leave_queue(changes, host, turn)
            again = ending.settle_failure(self.context, changes, host.row, turn, outcome, row, now)
            changes.put_url(turn.key, row)
        elif turn.kind is Kind.PROBE:
            probing.end(changes, host.row, softfour.HONEST)
        elif turn.kind is Kind.KEY:
            pings.dropped(self.context, host.name)
        event = log_line(turn, outcome, host.row, row, now, verdict="error", retry=again, gap_s=gap_s)
        self.context.logbook.put(changes, event)
        return event

    def _leave_queue(self, changes: Changes, host: ActiveHost, turn: Turn) -> None:
        if turn.place is not None:
            drop_place(self.context, changes, host.row, turn.place)
            host.queue.done(turn.place.level, turn.place.sequence)
