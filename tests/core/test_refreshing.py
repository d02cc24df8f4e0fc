"""The plan of visits in the core: counts that agree with the rows, a budget that is kept, over restarts too."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from gossamer.core.changes import Changes
from gossamer.core.counters import Totals
from gossamer.core.refreshing import GROUP_PREFIX, LATE_S, WINDOW_S, Refreshing, State
from gossamer.model.config import Config, Refresh
from gossamer.model.limits import LEVELS
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.policy.refresh_class import NUMBERS
from gossamer.sim.memstore import MemoryStore

DAY_S = 86_400.0


class Site:
    """Pages of some hosts, visited when they are due."""

    def __init__(self, pages: int, hosts: int = 4, **refresh: object) -> None:
        self.store = MemoryStore()
        self.config = Config(refresh=Refresh(**refresh))  # type: ignore[arg-type]
        self.totals = Totals()
        self.refreshing = self.restarted(0.0)
        self.hosts = [HostRow(host=f"h{n}", site=f"h{n}") for n in range(hosts)]
        self.rows = [UrlRow(url=f"{n}", host=f"h{n % hosts}", level=n % 4) for n in range(pages)]
        self.visits: list[float] = []
        self.how: dict[int, dict[str, float]] = {}  # how a page is planned

    def restarted(self, now: float) -> Refreshing:
        return Refreshing(self.config, self.store, self.totals, now)

    def visit(self, number: int, now: float, *, changed: bool | None) -> float:
        row, host = self.rows[number], self.hosts[number % len(self.hosts)]
        row.visited = now
        changes = Changes(self.store)
        self.refreshing.observe(changes, row, host, changed=changed)
        wait_s = self.refreshing.plan(changes, row, host, now, **self.how.get(number, {}))
        self.store.write(changes.ops())
        self.visits.append(now)
        return wait_s

    def run(self, days: float, seed: int = 1) -> None:
        """Page n changes every n + 1 days, at random; the first sights come in one hour."""
        chance, due = random.Random(seed), {}
        for number in range(len(self.rows)):
            due[number] = self.visit(number, 1.0 + number, changed=None) + number
        while (now := min(due.values())) < days * DAY_S:
            number = min(due, key=lambda one: due[one])
            elapsed = (now - self.rows[number].visited) / DAY_S
            due[number] = now + self.visit(number, now, changed=chance.random() < elapsed / (number + 1))


def test_counts_agree_with_the_rows_and_survive_a_restart() -> None:
    site = Site(60)
    site.run(90)
    changes = Changes(site.store)
    for number in (3, 17, 17):  # gone, and gone again
        site.refreshing.forget(changes, site.rows[number], site.hosts[number % 4])
    site.store.write(changes.ops())
    refreshing = site.refreshing
    counted: dict[int, int] = {}
    for row in site.rows:
        assert row.pace is not None
        if row.pace.group >= 0:
            counted[row.pace.group] = counted.get(row.pace.group, 0) + 1
    assert refreshing.groups == counted
    assert refreshing.state.planned == sum(counted.values()) == 58
    for number, host in enumerate(site.hosts):
        paces = [row.pace for row in site.rows[number::4] if row.pace is not None]
        assert host.pace is not None
        assert host.pace.planned == sum(pace.group >= 0 for pace in paces)
        assert host.pace.claim == pytest.approx(sum(pace.claim for pace in paces) * host.pace.mean)
        known = [pace for pace in paces if pace.variance > 0]
        assert host.pace.pages == len(known)
        assert host.pace.log_sum == pytest.approx(sum(pace.log_rate for pace in known))
        assert host.pace.square_sum == pytest.approx(sum(pace.log_rate**2 + pace.variance for pace in known))
    again = site.restarted(90 * DAY_S)
    assert (again.state, again.groups, again.policy) == (refreshing.state, refreshing.groups, refreshing.policy)
    keys = [key for key, _ in site.store.scan(Cf.META, GROUP_PREFIX, GROUP_PREFIX[:-1] + b"\x01", NUMBERS)]
    assert len(keys) == len(counted) < NUMBERS


@pytest.mark.parametrize("policy", ["uniform", "proportional", "poisson", "optimal"])
def test_the_budget_is_kept(policy: str) -> None:
    site = Site(40, policy=policy, interval_s=10 * DAY_S)
    site.run(80)
    late = [at for at in site.visits if at > 30 * DAY_S]
    assert 0.7 * 4 < len(late) / 50 < 1.2 * 4  # 40 pages, ten days


def test_a_number_takes_the_place_of_the_interval() -> None:
    site = Site(40, budget_per_day=4, policy="uniform")
    site.run(40)
    assert 0.9 * 4 < sum(at > 20 * DAY_S for at in site.visits) / 20 < 1.1 * 4


def test_a_crawl_that_cannot_keep_up_plans_what_it_manages() -> None:
    site = Site(10, hosts=1, interval_s=3_600.0)
    site.run(0.01)
    refreshing, state = site.refreshing, site.refreshing.state
    wanted = refreshing.budget()
    site.totals.queued_by_level[LEVELS] = 1_000
    state.visits += 20
    refreshing.measure(WINDOW_S + 1)
    assert state.measured == pytest.approx(20 / WINDOW_S, rel=0.6)  # and what run() visited
    queued_s = 1_000 / state.measured
    assert queued_s > LATE_S
    state.measured = wanted / 4
    site.totals.queued_by_level[LEVELS] = 0
    assert refreshing.budget() == wanted / 4
    for window in range(2, 12):
        refreshing.measure(window * (WINDOW_S + 1))
    assert state.measured == 0.0
    assert refreshing.budget() == wanted


def test_a_clock_that_jumps_measures_nothing() -> None:
    site = Site(10)
    site.totals.queued_by_level[LEVELS] = 1_000
    site.refreshing.state.visits += 5
    for now in (30 * DAY_S, 10.0, -5.0, 40 * DAY_S):
        site.refreshing.measure(now)
    assert site.refreshing.state.measured == 0.0


def test_a_host_gets_no_more_than_its_gap_leaves() -> None:
    site = Site(40, hosts=1, interval_s=3_600.0, policy="uniform")
    site.hosts[0].delay_s = 600.0
    waits = [site.visit(number, 1.0 + number, changed=None) for number in range(40)]
    assert waits[-1] == pytest.approx(40 * 600 / 0.5, rel=0.01)  # half of its turns


def test_rows_of_before_are_still_read() -> None:
    old_row = msgspec.msgpack.encode(["u", "h", 1])
    assert msgspec.msgpack.decode(old_row, type=UrlRow).pace is None
    assert msgspec.msgpack.decode(b"\x91\x05", type=State) == State(pages=5)


@pytest.mark.parametrize("policy", ["uniform", "optimal"])
def test_a_budget_that_falls_makes_no_page_wait_longer_than_it_says(policy: str) -> None:
    """What the other pages of a host were planned for under the budget before is no claim on this one."""
    site = Site(200, hosts=2, policy=policy, interval_s=DAY_S, max_interval_s=3_000 * DAY_S)
    site.run(4)
    site.config = msgspec.structs.replace(
        site.config, refresh=msgspec.structs.replace(site.config.refresh, interval_s=40 * DAY_S)
    )
    refreshing = site.refreshing = site.restarted(4 * DAY_S)
    for number, row in enumerate(site.rows):
        host = site.hosts[number % 2]
        wait_s = site.visit(number, 4 * DAY_S + number, changed=False)
        wanted_s = refreshing.policy.interval_s(refreshing.rate(row, host), refreshing._importance(row, host))
        assert wait_s == pytest.approx(wanted_s)
    claims = [row.pace.claim for row in site.rows if row.pace is not None]
    assert sum(claims) == pytest.approx(200, rel=0.1), "on average a page claims what the average page has"


@pytest.mark.parametrize(
    ("how", "days"),
    [
        ({n: {"rarer": 4.0} for n in range(0, 60, 3)}, (40 + 20 / 4) / 6),
        ({n: {"rarer": math.inf} for n in range(30)}, 30 / (6 - 30 / 90)),
        ({0: {"fixed_s": DAY_S / 3}}, 59 / (6 - 3)),
    ],
    ids=["copies", "moved", "feed"],
)
def test_the_plan_counts_what_a_page_costs(how: dict[int, dict[str, float]], days: float) -> None:
    """Sixty pages, six visits a day: what some are visited more seldom than planned for, others have."""
    site = Site(60, policy="uniform", interval_s=10 * DAY_S)
    site.how = how
    site.run(3 * days)
    assert site.refreshing.policy.scale == pytest.approx(days * DAY_S, rel=0.02)
    waits = {number: site.visit(number, 4 * days * DAY_S, changed=False) for number in (0, 59)}
    ordinary = site.refreshing.policy.scale
    assert waits[59] == pytest.approx(ordinary)
    assert waits[0] == pytest.approx(how[0].get("fixed_s") or min(90 * DAY_S, how[0]["rarer"] * ordinary))


def test_visits_beyond_the_plan_are_taken_from_it() -> None:
    site = Site(40, policy="uniform", interval_s=10 * DAY_S)
    site.run(1)
    refreshing, changes = site.refreshing, Changes(site.store)
    for hour in range(24 * 60):
        if hour % 24 == 0:  # one a day is brought forward by half of its interval, another by a whole one
            refreshing.sooner(changes, 10 * DAY_S, 5 * DAY_S)
            refreshing.sooner(changes, 10 * DAY_S, 0.0)
        refreshing.measure(2 * DAY_S + hour * 3_600.0)
    assert refreshing.state.ahead_rate * DAY_S == pytest.approx(1.5 * -math.expm1(-2), rel=0.05)
    refreshing.fit(62 * DAY_S)
    assert refreshing.policy.scale == pytest.approx(40 / (4 / DAY_S - refreshing.state.ahead_rate), rel=0.01)
    for _ in range(10_000):
        refreshing.sooner(changes, 10 * DAY_S, 0.0)
    refreshing.measure(63 * DAY_S)
    refreshing.fit(63 * DAY_S)
    assert refreshing.policy.scale == pytest.approx(20 * DAY_S, rel=0.01), "half of the budget stays with the plan"
    refreshing.sooner(changes, 10 * DAY_S, 11 * DAY_S)  # late is not ahead
    assert refreshing.state.ahead == 0.0


@pytest.mark.parametrize(("refresh", "days"), [({"budget_per_day": 4}, 5), ({"interval_s": 10 * DAY_S}, 10)])
def test_what_hosts_out_of_order_leave_of_a_number_goes_to_the_others(refresh: dict[str, object], days: float) -> None:
    site = Site(40, policy="uniform", **refresh)
    site.run(1)
    site.totals.stalled = 20
    site.refreshing.fit(2 * DAY_S)
    assert site.refreshing.policy.scale == pytest.approx(days * DAY_S, rel=0.01)
