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
from gossamer.policy.refresh_value import worth
from gossamer.ports.store import Store

STATE_KEY: Final = b"refresh"
GROUP_PREFIX: Final = b"refresh\x00"
GROUPS_MAX: Final = policies.CLASSES**2
FIT_EVERY_S: Final = 6 * 3600.0  # a fit takes tens of milliseconds, and intervals are days
FIT_GROWTH: Final = 1.25  # the plan is made anew when there are so many times as many pages
WINDOW_S: Final = 3600.0  # over which the crawl's own rate of refreshes is measured
LATE_S: Final = 6 * 3600.0  # of work queued: the crawl does not keep up
RELEASE: Final = 1.25  # by which a measured budget grows in each window in which the crawl keeps up


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


class Refreshing:
    """Rates, classes and budget of one partition."""

    def __init__(self, config: Config, store: Store, totals: Totals, started: float) -> None:
        """Continue from what the store holds; `started` is the time of this start."""
        self._config = config.refresh
        self._share = 1.0 - config.frontier.discovery_share
        self._totals = totals
        raw = store.get(Cf.META, STATE_KEY)
        self.state = msgspec.msgpack.decode(raw, type=State) if raw is not None else State()
        self.groups: dict[int, int] = {}
        for key, value in store.scan(Cf.META, GROUP_PREFIX, GROUP_PREFIX[:-1] + b"\x01", GROUPS_MAX):
            self.groups[int(key[len(GROUP_PREFIX) :])] = int(value)
        self._fitted_at, self._fitted_pages, self._budget_moved = -math.inf, 0, False
        self._window_start, self._window_visits = started, self.state.visits
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
        known = pace is not None and pace.variance > 0
        if known and pace is not None:
            return math.exp(pace.log_rate)
        prior = self._prior(host.pace)
        if row.claimed_s and trust(host.hints) >= TRUST_MIN:
            prior = lean(prior, -math.log(row.claimed_s))
        return math.exp(prior.log_rate)

    # -- when the next one is --------------------------------------------------------------------------------------

    def plan(self, changes: Changes, row: UrlRow, host: HostRow, now: float) -> float:
        """Seconds until the next visit of a page, which is counted from now on. The caller puts row and ledger."""
        rate = self.rate(row, host)
        importance = self._importance(row, host)
        pace = row.pace = row.pace or Pace()
        host_pace = host.pace = host.pace or HostPace()
        self._count(changes, pace, host_pace, policies.group_of(rate, importance))
        grown = self.state.planned > self._fitted_pages * FIT_GROWTH
        if grown or self._budget_moved or now - self._fitted_at >= FIT_EVERY_S:
            self.fit(now)
        wanted_s = self.policy.interval_s(rate, importance)
        self._claim(pace, host_pace, wanted_s)
        self._put(changes)
        cap = policies.host_cap(
            self.budget(), self.state.planned, host_pace.planned, host.delay_s + host.response_s, self._share
        )
        return min(max(self._config.max_interval_s, wanted_s), wanted_s * max(1.0, host_pace.claim / cap))

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
        importance = self._importance(row, host)
        rate = self.rate(row, host)
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

    def fit(self, now: float) -> None:
        """Seek the scale at which the pages there are cost the budget."""
        groups = [one for number, count in self.groups.items() for one in policies.groups_of(number, count)]
        state = self.state
        if self._config.policy == "optimal" and state.scale and now - self._fitted_at >= FIT_EVERY_S:
            vain = policies.in_vain(self.policy, groups) * policies.bias(state.unchanged, state.foreseen)
            state.thrift = policies.thriftier(state.thrift, vain, self._config.vain_max)
        self._fitted_at, self._fitted_pages, self._budget_moved = now, state.planned, False
        start = msgspec.structs.replace(self._policy(), min_s=self._config.min_interval_s)
        fitted = policies.fit(start, groups, self.budget(), state.scale)
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
