"""A kept connection that was over when it was used: another turn, a gap later, on a new one, held against nobody.

Found by the soak: the request was sent again at once, and a server that had read the first one saw two without a gap.
"""

from __future__ import annotations

from itertools import pairwise

from gossamer.core.turn import Turn
from gossamer.model.page import Failure
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import config, listing
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, refused

HOST = "h0.example"


class Resetting(SimWeb):
    """Answers these targets on connections of their own only, and notes who asked for one."""

    def __init__(self, *targets: str) -> None:
        pages = listing(HOST, 4)
        super().__init__({HOST: SimHost(address="20.0.0.1", page=pages)})
        self._targets = targets
        self.fresh: list[str] = []

    def answer(self, turn: Turn) -> Answer:
        if turn.fresh:
            self.fresh.append(turn.target)
        elif turn.target in self._targets:
            return refused(Failure.STALE, 0.01)
        return super().answer(turn)


def crawled(*targets: str) -> tuple[Run, Resetting]:
    web = Resetting(*targets)
    run = Run(web, config(), [f"http://{HOST}/"])
    assert run.go()
    assert recount(run.store) == []
    return run, web


def test_a_stale_connection_costs_a_turn_and_keeps_the_gap() -> None:
    run, web = crawled("/p1", "/p2")
    assert sorted(web.fresh) == ["/p1", "/p2"]
    assert sorted(run.targets(HOST)) == ["/", "/p0", "/p1", "/p1", "/p2", "/p2", "/p3", "/robots.txt"]
    assert min(b.start - a.end for a, b in pairwise(run.served)) >= 1.0 - 1e-6
    row = host_rows(run.store)[HOST]
    assert (row.failed, row.errors, row.backoff_s, row.parked) == (0, 0, 0.0, "")
    assert run.context.counters.totals.failures == {}
    assert {row.state.name for row in url_rows(run.store).values()} == {"FETCHED"}
    assert all(row.attempts == 0 for row in url_rows(run.store).values())


def test_a_stale_connection_at_robots_txt() -> None:
    run, web = crawled("/robots.txt")
    assert web.fresh == ["/robots.txt"]
    assert run.targets(HOST)[:3] == ["/robots.txt", "/robots.txt", "/"]
    assert run.served[1].start - run.served[0].end >= 1.0 - 1e-6
    assert len(run.pages()) == 5
