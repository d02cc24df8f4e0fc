"""What is due at hosts that are parked says nothing of what the crawl manages: the budget of the others stays."""

from __future__ import annotations

import math

import pytest

from gossamer.core.turn import Turn
from gossamer.model.limits import LEVELS
from gossamer.model.page import Failure, Kind
from gossamer.model.url import Url, parse
from gossamer.sim.check import host_rows, recount
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, refused

HOURS = 24
PAGES = 3
DAY_S = 86_400.0


class Mortal(SimWeb):
    """Two hosts for each hour of the day, one of which may go out of order one day."""

    def __init__(self) -> None:
        pages = Answer(links=tuple(f"/{n}" for n in range(1, PAGES)))
        names = [f"{kind}{n}.example" for kind in ("stays", "goes") for n in range(HOURS)]
        super().__init__({name: SimHost(address=f"20.0.{n}.1", page=lambda _: pages) for n, name in enumerate(names)})
        self.dies = math.inf

    def answer(self, turn: Turn) -> Answer:
        if turn.started >= self.dies and turn.host.startswith("goes"):
            return refused(Failure.CONNECT)
        return super().answer(turn)


def days(run: Run, count: float) -> float:
    """Let days pass, with a look into the calendar every hour. Returns the least budget meanwhile, in visits a day."""
    budgets = []
    for _ in range(round(count * 24)):
        run.wait(DAY_S / 24)
        run.enqueue_due()
        assert run.go()
        budgets.append(run.context.refreshing.budget() * DAY_S)
    return min(budgets)


@pytest.mark.parametrize("dead", [False, True])
def test_hosts_that_are_gone_take_nothing_from_the_budget_of_the_others(*, dead: bool) -> None:
    web = Mortal()
    run = Run(web, config(refresh={"policy": "uniform", "interval_s": DAY_S}), [])
    for hour in range(HOURS):  # so that every hour of every day has its visits
        urls = [parse(f"http://{kind}{hour}.example/") for kind in ("stays", "goes")]
        run.partition.seed([(url, Kind.PAGE) for url in urls if isinstance(url, Url)], run.clock.now())
        days(run, 1 / 24)
    web.dies = run.clock.now() if dead else math.inf
    budget = days(run, 1.5)
    rows = host_rows(run.store)
    stalled = {name: sum(row.pending_by_level[LEVELS:]) + row.late for name, row in rows.items() if row.parked}
    assert len(stalled) == HOURS * dead
    assert sum(stalled.values()) == run.context.counters.totals.stalled
    assert all(count >= PAGES - 1 for count in stalled.values())
    assert budget == pytest.approx(2 * HOURS * PAGES)  # a visit a day for each: nothing was taken from the plan
    since = run.clock.now() - DAY_S
    asked = [served for served in run.pages() if served.host.startswith("stays") and served.start > since]
    assert len(asked) >= 0.9 * HOURS * PAGES
    web.dies = math.inf
    days(run, 1)
    assert run.context.counters.totals.stalled == 0
    assert recount(run.store) == []
