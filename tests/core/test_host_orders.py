"""Orders for one host, under the virtual clock: gap, budget, setting aside, beginning anew.

Not among the simulations: their onlooker judges by the configured gaps, and orders are there to change those.
"""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core import hostorders
from gossamer.model.control import (
    PatchHost,
)
from gossamer.model.record import HostRow, State
from gossamer.sim.check import gaps, recount, url_rows
from gossamer.sim.make import config, listing
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, robots

A, B = "a.example", "b.example"
DAY_S = 86_400.0


def web(**answers: Any) -> SimWeb:
    return SimWeb({A: SimHost(address="20.0.0.1", page=listing(A, 40), **answers),
                   B: SimHost(address="20.0.1.1", page=listing(B, 40))})  # fmt: skip


def crawl(made: SimWeb | None = None, store: MemoryStore | None = None, **sections: dict[str, Any]) -> Run:
    return Run(made or web(), config(**sections), [f"http://{A}/", f"http://{B}/"], store=store)


def row_of(run: Run, host: str = A) -> HostRow:
    row = run.context.ledger.find(host)
    assert row is not None
    return row


def patch(run: Run, host: str = A, **order: Any) -> HostRow:
    command = PatchHost(host=host, **order)
    assert hostorders.fault_of(command) is None
    hostorders.patch(run.context, row_of(run, host), command, run.clock.now())
    run.pipeline.dispatch.wake()
    return row_of(run, host)


def starts(run: Run, host: str = A, since: float = 0.0) -> list[float]:
    return [start for name, _, start in run.begun if name == host and start >= since]


def test_a_longer_delay_holds_from_the_next_request_on_and_over_a_restart() -> None:
    store = MemoryStore()
    run = crawl(store=store)
    run.go(6.0)
    now = run.clock.now()
    assert patch(run, delay_s=20.0).delay_s == 20.0
    run.go(100.0)
    assert 3 <= len(starts(run, since=now)) <= 5
    assert gaps([served for served in run.served if served.host == A and served.start > now], 20.0) == []
    run.stop()
    again = crawl(store=store)
    again.clock.jump(run.clock.now() + 60.0)
    again.go(100.0)
    assert gaps([served for served in again.served if served.host == A], 20.0) == []
    before = again.clock.now()
    assert patch(again, delay_s=None).delay_s == 1.0
    assert row_of(again).orders is None
    assert again.go()
    assert len(starts(again, since=before)) > 20
    assert recount(store) == []


def test_a_shorter_delay_binds_its_server_too_but_not_against_a_crawl_delay() -> None:
    quick = crawl(politeness={"min_delay_s": 5.0})
    quick.go(12.0)
    patch(quick, delay_s=0.5)
    now = quick.clock.now()
    quick.go(20.0)
    assert len(starts(quick, since=now)) > 15
    assert len(starts(quick, B, since=now)) <= 5
    slow = crawl(web(robots=robots("User-agent: *\nCrawl-delay: 7")))
    slow.go(10.0)
    assert patch(slow, delay_s=0.5).delay_s == 7.0
    slow.go(60.0)
    assert gaps([served for served in slow.served if served.host == A], 7.0) == []


def test_what_an_operator_sets_aside_stays_so_until_its_time_or_an_order() -> None:
    run = crawl()
    run.go(6.0)
    patch(run, park_s=3_600.0, park_reason="their admin called")
    now = run.clock.now()
    assert row_of(run).parked.endswith("their admin called")
    run.go(3_000.0)
    assert starts(run, since=now + 1.0) == []
    patch(run, park_s=None)
    run.go(30.0)
    assert len(starts(run, since=now + 1.0)) > 10
    assert row_of(run).parked == ""
    assert recount(run.store) == []


def test_an_answer_in_flight_does_not_end_it() -> None:
    run = crawl(SimWeb({A: SimHost(address="20.0.0.1", page=lambda _target: Answer(seconds=10.0))}))
    run.go(5.0)
    patch(run, park_s=600.0)
    run.go(60.0, stay=True)
    assert row_of(run).parked != ""


def test_a_budget_is_kept_exactly_and_can_be_given_again() -> None:
    run = crawl()
    run.go(6.0)
    before = sum(served.host == A for served in run.pages())
    in_flight = len(starts(run)) - sum(served.host == A for served in run.served)
    patch(run, budget=7)
    run.go(600.0)
    assert sum(served.host == A for served in run.pages()) == before + 7
    assert in_flight <= 1
    assert row_of(run).parked.startswith("host-budget")
    patch(run, budget=None)
    assert run.go()
    assert {row.state for row in url_rows(run.store).values()} == {State.FETCHED}
    assert recount(run.store) == []


def test_reset_forgets_what_was_learned_but_not_what_the_host_asked_for() -> None:
    broken = {"now": True}

    def page(target: str) -> Answer:
        if broken["now"]:
            return Answer(status=500)
        return listing(A, 5)(target)

    run = Run(
        SimWeb({A: SimHost(address="20.0.0.1", page=page)}), config(politeness={"park_after": 2}), [f"http://{A}/"]
    )
    run.go(300.0)
    assert row_of(run).parked
    row_of(run).addresses, row_of(run).addresses_failed = ("20.0.0.2", "20.0.0.1"), 1
    broken["now"] = False
    patch(run, reset=True)
    assert row_of(run).addresses_failed == 0
    now = run.clock.now()
    run.go(60.0)
    assert len(starts(run, since=now)) > 3
    asked = Answer(status=429, headers=(("retry-after", "3000"),))
    waits = Run(SimWeb({A: SimHost(address="20.0.0.1", page=lambda _target: asked)}), config(), [f"http://{A}/"])
    waits.go(20.0)
    patch(waits, reset=True, delay_s=0.5)
    then = waits.clock.now()
    waits.go(1_000.0, stay=True)
    assert starts(waits, since=then) == []


@pytest.mark.parametrize("order", [{"delay_s": 0.01}, {"delay_s": -1.0}, {"delay_s": float("nan")}, {"budget": -1},
                                   {"park_s": 1e12}, {"delay_s": float("inf")}])  # fmt: skip
def test_orders_out_of_range_have_a_fault(order: dict[str, float]) -> None:
    fault = hostorders.fault_of(PatchHost(host=A, **order))  # type: ignore[arg-type]
    assert fault is not None
    assert fault[0] in order
