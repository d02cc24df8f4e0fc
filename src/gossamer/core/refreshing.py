"""What the calendar is planned by: change rates of pages and hosts, how many there are of each kind, what may be spent.

The counts are kept incrementally and travel in the commits of the pages they tell of. The budget of visits is what the
configuration says, or one visit of every page in `refresh.interval`; when the crawl cannot keep up with what is due, it
is what the crawl was seen to manage.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.core.changes import Changes, encode
from gossamer.core.counters import Totals
from gossamer.model.config import Config
from gossamer.model.limits import LEVELS
from gossamer.model.record import Cf, HostPace, HostRow, Pace, UrlRow
from gossamer.policy import refresh as policies
from gossamer.policy import refresh_rate as rates
from gossamer.policy.hints import TRUST_MIN, lean, trust
from gossamer.policy.importance import of_host, of_page
from gossamer.policy.refresh_class import NUMBERS, group_of, group_of_fixed, groups_of
from gossamer.policy.refresh_value import worth
from gossamer.ports.store import Store

STATE_KEY: Final = b"refresh"
GROUP_PREFIX: Final = b"refresh\x00"
FIT_EVERY_S: Final = 6 * 3600.0  # a fit takes tens of milliseconds, and intervals are days
FIT_GROWTH: Final = 1.25  # the plan is made anew when there are so many times as many pages
WINDOW_S: Final = 3600.0  # over which the crawl's own rate of refreshes is measured
LATE_S: Final = 6 * 3600.0  # of work queued: the crawl does not keep up
RELEASE: Final = 1.25  # by which a measured budget grows in each window in which the crawl keeps up
AHEAD_S: Final = 30 * rates.DAY_S  # over which visits beyond the plan are averaged
AHEAD_MAX: Final = 0.5  # of the budget that they take from the plan
LIVE_MIN: Final = 0.01  # share of the pages that are planned for, however many hosts are out of order
DEBT_DAYS: Final = 30.0  # of the budget; what was queued beyond is forgotten
CREDIT_MIN: Final = 2.0  # visits that a small crawl saves up; another one what it has for a day


class State(msgspec.Struct, array_like=True, kw_only=True):
    """What is kept over restarts; new fields go at the end."""

    pages: int = 0  # whose rate is estimated, with sums of log rates and of their squares and variances
    log_sum: float = 0.0
    square_sum: float = 0.0
    planned: int = 0  # pages in the calendar
    scale: float = 0.0  # of the policy; 0: not fitted yet
    min_s: float = 0.0  # shortest interval that the budget allows one page
    thrift: float = 0.0
    measured: float = 0.0  # visits a second that the crawl manages; 0: it keeps up
    visits: int = 0  # refreshes made
    vain: int = 0  # refreshes that found nothing changed
    unchanged: float = 0.0  # the same, of late, ...
    foreseen: float = 0.0  # ... and as many as the estimates had made one expect
    ahead: float = 0.0  # visits beyond the plan, in the last window so far
    ahead_rate: float = 0.0  # ... and a second, of late
    credit: float = 0.0  # visits allowed so far and not queued; below 0: more were queued


class Refreshing:
    """Rates, classes and budget of one partition."""

    def __init__(self, config: Config, store: Store, totals: Totals, started: float) -> None:
        """Continue from what the store holds; `started` is the time of this start."""
        self._config = config.refresh
        self._share = 1.0 - config.frontier.discovery_share
        self._early = config.refresh.policy == "optimal" and config.limits.continuous
        self._totals = totals
        raw = store.get(Cf.META, STATE_KEY)
        self.state = msgspec.msgpack.decode(raw, type=State) if raw is not None else State()
        self.groups: dict[int, int] = {}
        for key, value in store.scan(Cf.META, GROUP_PREFIX, GROUP_PREFIX[:-1] + b"\x01", NUMBERS):
            self.groups[int(key[len(GROUP_PREFIX) :])] = int(value)
        self._fitted_at, self._fitted_pages, self._budget_moved = -math.inf, 0, False
        self._window_start, self._window_visits = started, self.state.visits
        self._resting_until = -math.inf
        self.policy = self._policy()

    # -- what a visit tells ----------------------------------------------------------------------------------------

    def observe(self, changes: Changes, row: UrlRow, host: HostRow, *, changed: bool | None) -> None:
        """A visit at `row.visited` saw the content; the caller puts row and ledger. `changed`: None at first sight."""
        pace = row.pace = row.pace or Pace()
        host_pace = host.pace = host.pace or HostPace()
        if changed is not None:
            self._compare(row, host, changed=changed)
        if rates.observe(pace, row.visited, changed=changed):
            self._estimate(changes, pace, host_pace)

    def inherit(self, changes: Changes, row: UrlRow, host: HostRow, pace: Pace) -> None:
        """What was seen of another page, whose place this one takes, counts as seen of it. The caller puts both."""
        row.pace, host.pace = row.pace or Pace(), host.pace or HostPace()
        rates.add(row.pace, pace)
        self._estimate(changes, row.pace, host.pace)

    def _estimate(self, changes: Changes, pace: Pace, host_pace: HostPace) -> None:
        found = rates.estimate(pace, self._prior(host_pace))
        known = pace.variance > 0
        before = (known, known * pace.log_rate, known * (pace.log_rate**2 + pace.variance))
        pace.log_rate, pace.variance = found.log_rate, found.variance
        after = (1, found.log_rate, found.log_rate**2 + found.variance)
        for sums in (host_pace, self.state):
            sums.pages += after[0] - before[0]
            sums.log_sum += after[1] - before[1]
            sums.square_sum += after[2] - before[2]
        self._put(changes)

    def _compare(self, row: UrlRow, host: HostRow, *, changed: bool) -> None:
        """What was foreseen of a visit beside what it saw."""
        state, pace = self.state, row.pace
        state.visits += 1
        state.vain += not changed
        if pace is None or not 0 < pace.seen_at < row.visited:
            return
        state.unchanged += not changed
        state.foreseen += math.exp(-self.rate(row, host) * (row.visited - pace.seen_at))
        if state.foreseen > policies.COMPARED_KEPT:
            state.unchanged, state.foreseen = state.unchanged / 2, state.foreseen / 2

    def _prior(self, host: HostPace | None) -> rates.Prior:
        state = self.state
        world = rates.prior_of(state.pages, state.log_sum, state.square_sum, rates.FIRST, rates.WORLD_WEIGHT)
        return rates.prior_of_host(host, world)

    def rate(self, row: UrlRow, host: HostRow) -> float:
        """Changes a second of a page; a page of which nothing is known changes as its host's pages do, or says."""
        pace = row.pace
        if pace is not None and pace.variance > 0:
            return math.exp(pace.log_rate)
        prior = self._prior(host.pace)
        if row.claimed_s and trust(host.hints) >= TRUST_MIN:
            prior = lean(prior, -math.log(row.claimed_s))
        return math.exp(prior.log_rate)

    # -- when the next one is --------------------------------------------------------------------------------------

    def plan(
        self, changes: Changes, row: UrlRow, host: HostRow, now: float, *, rarer: float = 1.0, fixed_s: float = 0.0
    ) -> float:
        """Seconds until the next visit of a page, which is counted from now on. The caller puts row and ledger.

        Args:
            changes: the commit of the visit that is over.
            row: of the page.
            host: its ledger.
            now: unix seconds.
            rarer: times as long as the policy says shall it wait; infinite: as long as may be.
            fixed_s: seconds that it waits whatever the policy says; 0: the policy does.
        """
        rate, importance = self.rate(row, host), self._importance(row, host)
        pace = row.pace = row.pace or Pace()
        host_pace = host.pace = host.pace or HostPace()
        self._count(changes, pace, host_pace, group_of_fixed(fixed_s) if fixed_s else group_of(rate, importance, rarer))
        grown = self.state.planned > self._fitted_pages * FIT_GROWTH
        if grown or self._budget_moved or now - self._fitted_at >= FIT_EVERY_S:
            self.fit(now)
        wanted_s = min(self._config.max_interval_s, self.policy.interval_s(rate, importance) * rarer)
        self._claim(pace, host_pace, wanted_s)
        self._put(changes)
        slower = max(1.0, host_pace.claim / self._cap(host, host_pace))
        return fixed_s or min(self._config.max_interval_s, wanted_s * slower)

    def sooner(self, changes: Changes, planned_s: float, made_s: float) -> None:
        """A visit is made after `made_s` instead of the `planned_s` of the last plan: what is missing is beyond it."""
        if 0 <= made_s < planned_s:
            self.state.ahead += 1.0 - made_s / planned_s
            self._put(changes)

    def _claim(self, pace: Pace, host: HostPace, wanted_s: float) -> None:
        """Count what a page claims in what its host does.

        A page claims a multiple of what the average page has. So what the others of the host claim is right although
        they were planned under another budget: counted in visits, they would claim too much when it has fallen.
        """
        mean = self.budget() / max(1, self.state.planned)
        host.claim = host.claim * mean / host.mean if host.mean > 0 else 0.0
        host.mean = mean
        claim = 1.0 / (wanted_s * mean)
        host.claim = max(0.0, host.claim + (claim - pace.claim) * mean)
        pace.claim = claim

    def worth(self, row: UrlRow, host: HostRow, now: float) -> float:
        """What a visit of a page brings now, to be compared with that of other pages."""
        rate, importance = self.rate(row, host), self._importance(row, host)
        if row.hinted:  # it has changed, as far as its host is to be believed
            return trust(host.hints) * importance / rate
        return worth(rate, importance, now - (row.pace.seen_at if row.pace else 0.0))

    def _importance(self, row: UrlRow, host: HostRow) -> float:
        return of_page(policies.importance_of(row.level), of_host(host.rank, host.votes))

    def forget(self, changes: Changes, row: UrlRow, host: HostRow) -> None:
        """A page has no next visit any more. The caller puts row and ledger."""
        if row.pace is None or host.pace is None or row.pace.group < 0:
            return
        self._count(changes, row.pace, host.pace, -1)
        host.pace.claim = max(0.0, host.pace.claim - row.pace.claim * host.pace.mean)
        row.pace.claim = 0.0
        self._put(changes)

    def _count(self, changes: Changes, pace: Pace, host: HostPace, group: int) -> None:
        """Move a page to another class; -1 stands for none."""
        if group == pace.group:
            return
        for number, by in ((pace.group, -1), (group, 1)):
            if number < 0:
                continue
            count = self.groups.get(number, 0) + by
            key = GROUP_PREFIX + b"%04d" % number
            if count:
                self.groups[number] = count
                changes.put(Cf.META, key, b"%d" % count)
            else:
                self.groups.pop(number, None)
                changes.delete(Cf.META, key)
        moved = (group >= 0) - (pace.group >= 0)
        self.state.planned += moved
        host.planned += moved
        pace.group = group

    def _put(self, changes: Changes) -> None:
        changes.put(Cf.META, STATE_KEY, encode(self.state))

    # -- what may be visited sooner --------------------------------------------------------------------------------

    def spend(self, changes: Changes, count: int) -> None:
        """So many visits of known pages were queued."""
        self.state.credit -= count
        self._put(changes)

    def spare(self, now: float) -> int:
        """Visits that the budget of a continuous crawl allows beyond those due; 0 while fewer than an hour's."""
        state = self.state
        if not self._early or state.measured > 0 or now < self._resting_until:
            return 0
        return int(state.credit) if state.credit >= max(1.0, self.budget() * WINDOW_S) else 0

    def rest(self, now: float) -> None:
        """Nothing could be visited sooner: the next look is an hour later."""
        self._resting_until = now + WINDOW_S

    def may_be_sooner(self, host: HostRow, waited_s: float) -> bool:
        """Whether a page that has waited so long may be visited before it is due: by its own limits and its host's."""
        if waited_s < self.policy.min_s or host.pace is None:
            return False
        return host.pace.claim <= (1.0 - policies.EARLY_SHARE) * self._cap(host, host.pace)

    def _cap(self, host: HostRow, pace: HostPace) -> float:
        gap_s = host.delay_s + host.response_s
        return policies.host_cap(self.budget(), self.state.planned, pace.planned, gap_s, self._share)

    def _earn(self, elapsed_s: float) -> None:
        a_day = self.budget() * rates.DAY_S
        credit = max(self.state.credit, -DEBT_DAYS * a_day) + self.budget() * max(0.0, elapsed_s)
        self.state.credit = min(credit, max(CREDIT_MIN, a_day))

    # -- what may be spent -----------------------------------------------------------------------------------------

    def wanted_budget(self) -> float:
        """Visits a second that the configuration allows."""
        if self._config.budget_per_day is not None:
            return self._config.budget_per_day / rates.DAY_S
        return self.state.planned / self._config.interval_s

    def budget(self) -> float:
        """Visits a second: what is allowed, or what the crawl manages when that is less."""
        wanted = self.wanted_budget()
        return min(wanted, self.state.measured) if self.state.measured > 0 else wanted

    def measure(self, now: float) -> None:
        """Compare what is queued with what was done since the last look, once in a window; to be called often.

        What waits at hosts that are parked says nothing of what the crawl can do.
        """
        elapsed_s = now - self._window_start
        if 0 <= elapsed_s < WINDOW_S:
            return
        self._average_ahead(elapsed_s)
        self._earn(elapsed_s)
        made = self.state.visits - self._window_visits
        self._window_start, self._window_visits = now, self.state.visits
        if not WINDOW_S <= elapsed_s < 2 * WINDOW_S:  # the clock jumped, or the process stood still
            return
        queued = sum(self._totals.queued_by_level[LEVELS:]) + self._totals.late - self._totals.stalled
        if made and queued * elapsed_s / made > LATE_S:
            self.state.measured, self._budget_moved = made / elapsed_s, True
        elif self.state.measured > 0:
            self.state.measured, self._budget_moved = self.state.measured * RELEASE, True
            if self.state.measured > self.wanted_budget():
                self.state.measured = 0.0

    def _average_ahead(self, elapsed_s: float) -> None:
        state, share = self.state, max(0.0, min(elapsed_s, 2 * WINDOW_S)) / AHEAD_S
        state.ahead_rate = state.ahead_rate * (1.0 - share) + state.ahead / AHEAD_S
        state.ahead = 0.0

    def _for_plan(self) -> float:
        """Visits a second that the calendar is to hold: hints, copies that take a place and second looks go ahead."""
        budget = self.budget()
        return budget - min(AHEAD_MAX * budget, self.state.ahead_rate)

    def _live(self) -> float:
        """The share of the pages that can be visited: what parked hosts leave of a number goes to the others."""
        if self._config.budget_per_day is None or not self.state.planned:
            return 1.0
        return max(LIVE_MIN, 1.0 - self._totals.stalled / self.state.planned)

    def fit(self, now: float) -> None:
        """Seek the scale at which the pages there are cost the budget."""
        live = self._live()
        groups = [one for number, count in self.groups.items() for one in groups_of(number, count * live)]
        state = self.state
        if self._config.policy == "optimal" and state.scale and now - self._fitted_at >= FIT_EVERY_S:
            vain = policies.in_vain(self.policy, groups) * policies.bias(state.unchanged, state.foreseen)
            state.thrift = policies.thriftier(state.thrift, vain, self._config.vain_max)
        self._fitted_at, self._fitted_pages, self._budget_moved = now, state.planned, False
        start = msgspec.structs.replace(self._policy(), min_s=self._config.min_interval_s)
        fitted = policies.fit(start, groups, self._for_plan(), state.scale)
        state.scale, state.min_s = fitted.scale, fitted.min_s
        self.policy = fitted

    def _policy(self) -> policies.Policy:
        state, config = self.state, self._config
        return policies.Policy(
            name=config.policy,
            scale=state.scale or config.interval_s,
            min_s=max(state.min_s, config.min_interval_s),
            max_s=config.max_interval_s,
            alpha=config.importance_exponent,
            thrift=state.thrift,
        )
