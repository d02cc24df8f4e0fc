"""Orders under the virtual clock: pauses, URLs that are offered, and leases of external fetchers."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest

from gossamer.model.control import (
    Complete,
    Completed,
    Fetched,
    Lease,
    LeasedUrl,
    Leases,
    Refused,
)
from gossamer.model.limits import CONTROL_MESSAGE_MAX_BYTES, LEASE_GRACE_S, LEASED_BODY_MAX_BYTES, MIB
from gossamer.model.page import Kind
from gossamer.model.record import State
from gossamer.model.takedown import Takedown, Target
from gossamer.sim.check import host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.make import config, listing
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb

A, B = "a.example", "b.example"
DAY_S = 86_400.0


def web(**answers: Any) -> SimWeb:
    return SimWeb({A: SimHost(address="20.0.0.1", page=listing(A, 40), **answers),
                   B: SimHost(address="20.0.1.1", page=listing(B, 40))})  # fmt: skip


def crawl(made: SimWeb | None = None, store: MemoryStore | None = None, **sections: dict[str, Any]) -> Run:
    return Run(made or web(), config(**sections), [f"http://{A}/", f"http://{B}/"], store=store)


def starts(run: Run, host: str = A, since: float = 0.0) -> list[float]:
    return [start for name, _, start in run.begun if name == host and start >= since]


def answer(run: Run, asked: Awaitable[Any]) -> Any:
    """What a command is answered, while the crawl goes on."""
    task = run.loop.create_task(asked)  # type: ignore[arg-type]
    for _ in range(10_000):
        if task.done():
            return task.result()
        run.go(steps=1, stay=True)
    raise AssertionError("no answer")


# -- the crawl -----------------------------------------------------------------------------------------------------


def test_a_pause_is_one_and_is_remembered() -> None:
    run = crawl()
    run.go(5.0)
    run.partition.orders.pause("a drill")
    run.pipeline.dispatch.pause(run.partition.orders.paused())
    now = run.clock.now()
    run.go(600.0, stay=True)
    assert starts(run, since=now) == starts(run, B, since=now) == []
    assert run.partition.orders.paused() == "a drill"
    assert not run.pipeline.dispatch.exhausted.is_set()
    run.partition.orders.pause("")
    run.pipeline.dispatch.pause("")
    assert run.go()
    assert len(run.pages()) == 82


def test_urls_that_are_offered_pass_the_same_gate() -> None:
    run = crawl(scope={"mode": "host"})
    run.go(5.0)
    given = (f"http://{A}/offered", f"http://{A}/", "http://other.example/", "mailto:x")
    taken = run.partition.orders.add(given, 2, run.clock.now())
    assert (taken.taken, taken.known) == (1, 1)
    assert {url: why.partition(":")[0] for url, why in taken.refused.items()} == {
        given[2]: "scope-outside", given[3]: "url-scheme",
    }  # fmt: skip
    assert run.go()
    assert "/offered" in run.targets(A)
    assert url_rows(run.store)["example,a)/offered http"].via == "api"


# -- leases --------------------------------------------------------------------------------------------------------


def lease(run: Run, count: int = 1, wait_s: float = 5.0, worker: str = "w") -> tuple[LeasedUrl, ...]:
    found = answer(run, run.pipeline.lease.ask(Lease(worker=worker, count=count, wait_s=wait_s)))
    assert isinstance(found, Leases)
    return found.leases


def complete(run: Run, *results: Fetched, worker: str = "w") -> Completed:
    found = answer(run, run.pipeline.lease.ask(Complete(worker=worker, results=results)))
    assert isinstance(found, Completed)
    return found


def external(**sections: dict[str, Any]) -> Run:
    return crawl(fetch={"external": True}, **sections)


def test_external_fetchers_alone_crawl_everything_in_the_same_lanes() -> None:
    run = external()
    fetched: dict[str, float] = {}
    ended: dict[str, float] = {}
    while True:
        leases = lease(run, count=8, wait_s=30.0)
        if not leases:
            break
        assert len({one.host for one in leases}) == len(leases), "one request for each host at once"
        for one in leases:
            assert one.url not in fetched
            assert run.clock.now() <= one.deadline - one.timeout_s
            fetched[one.url] = one.deadline - one.timeout_s - LEASE_GRACE_S
            assert fetched[one.url] >= ended.get(one.host, 0.0) + 1.0 - 1e-6
        run.go(0.3, stay=True)
        body = b"".join(f"<a href=/p{n}>x</a>".encode() for n in range(40))
        results = [Fetched(lease=one.lease, status=200, headers=(("Content-Type", "text/html"),),
                           body=body + one.url.encode()) for one in leases]  # fmt: skip
        for one in results:
            run.net.answers[next(number for number, held in held_turns(run).items() if held == one.lease)] = Answer(
                links=tuple(f"http://{A}/p{n}" for n in range(10))
            )
        ended |= {one.host: run.clock.now() for one in leases}
        assert len(complete(run, *results).taken) == len(results)
    assert {served.kind for served in run.served} == {Kind.ROBOTS}, "what is fetched here are the rules alone"
    assert {row.state for row in url_rows(run.store).values()} == {State.FETCHED}
    assert len(fetched) == 12
    assert recount(run.store) == []


def held_turns(run: Run) -> dict[int, str]:
    """Turn -> lease."""
    return {held.turn.id: name for name, held in run.pipeline.lease._held.items()}


def test_a_lease_past_its_deadline_takes_nothing_and_its_url_is_free_again() -> None:
    run = external()
    (one,) = lease(run)
    assert run.pipeline.lease.held() == 1
    run.go(one.timeout_s + LEASE_GRACE_S + 1.0, stay=True)
    assert run.pipeline.lease.held() == 0
    late = complete(run, Fetched(lease=one.lease, status=200))
    assert (late.taken, late.refused[one.lease].partition(":")[0]) == ((), "gone")
    cut = [event for event in run.events if event.failure == "cut-off"]
    assert [(event.url, event.failure_detail) for event in cut] == [(one.url, "the lease of w ran out")]
    assert (host_rows(run.store)[one.host].failed, host_rows(run.store)[one.host].errors) == (0, 0)
    again = {leased.url for leased in lease(run, count=2, wait_s=30.0)}
    assert one.url in again
    assert recount(run.store) == []


def test_while_a_lease_is_out_its_host_and_server_are_asked_by_nobody() -> None:
    same = SimWeb({name: SimHost(address="20.0.0.1", page=listing(name, 9)) for name in (A, B)})
    run = crawl(same)
    (one,) = lease(run)
    now = run.clock.now()
    run.go(25.0, stay=True)
    assert [start for _, _, start in run.begun if start > now] == []
    complete(run, Fetched(lease=one.lease, failure="timeout", elapsed_s=20.0))
    row = host_rows(run.store)[one.host]
    assert (row.failed, row.errors, row.response_s > 0) == (1, 1, True)
    run.go(100.0, stay=True)
    assert one_at_a_time(run.served) == []
    assert len(run.pages()) > 5


def test_a_takedown_revokes_leases() -> None:
    run = external()
    leases = {one.host: one for one in lease(run, count=2, wait_s=30.0)}
    if len(leases) == 1:
        leases |= {one.host: one for one in lease(run, count=1, wait_s=30.0)}
    given = Takedown(id="t1", target=Target("host", A), reason="x", asked=run.clock.now())
    run.pipeline.takedown.enforce([given])
    run.go(0.5, stay=True)
    said = complete(run, *(Fetched(lease=leases[host].lease, failure="not-tried") for host in (A, B)))
    assert said.taken == (leases[B].lease,)
    assert said.refused[leases[A].lease].startswith("gone")
    assert [one.host for one in lease(run, count=5, wait_s=10.0)] == [B]
    assert run.context.takedowns.kept["t1"].takedown.confirmed


def test_others_results_are_not_taken_and_nothing_is_taken_twice() -> None:
    run = external()
    (one,) = lease(run)
    assert complete(run, Fetched(lease=one.lease, status=200), worker="other").taken == ()
    assert complete(run, Fetched(lease="nonsense", status=200)).taken == ()
    run.net.answers[next(iter(held_turns(run)))] = Answer()
    assert complete(run, Fetched(lease=one.lease, status=200)).taken == (one.lease,)
    assert complete(run, Fetched(lease=one.lease, status=200)).taken == ()


def test_a_lease_lets_no_longer_body_in_than_a_message_has_room_for() -> None:
    run = crawl(fetch={"external": True, "max_body_bytes": 2 * CONTROL_MESSAGE_MAX_BYTES})
    (one,) = lease(run)
    assert one.body_max_bytes == LEASED_BODY_MAX_BYTES < CONTROL_MESSAGE_MAX_BYTES * 3 / 4 - MIB
    body = bytes(LEASED_BODY_MAX_BYTES + 1)
    assert complete(run, Fetched(lease=one.lease, status=200, body=body)).refused[one.lease].startswith("bad-value")


BAD = [
    Fetched(lease="", status=0), Fetched(lease="", status=200, failure="timeout"), Fetched(lease="", status=99),
    Fetched(lease="", status=200, headers=(("a b", "c"),)), Fetched(lease="", status=200, headers=(("a", "b\r\nc"),)),
    Fetched(lease="", status=200, headers=(("a", "b"),) * 501), Fetched(lease="", status=200, body=bytes(11 << 20)),
    Fetched(lease="", status=200, response_head=b"nonsense\r\n\r\n"), Fetched(lease="", failure="tls", body=b"x"),
    Fetched(lease="", status=200, request_head=b"GET / HTTP/1.1\r\n"),
]  # fmt: skip


@pytest.mark.parametrize("result", BAD, ids=range(len(BAD)))
def test_what_cannot_be_is_refused_and_the_lease_goes_on(result: Fetched) -> None:
    run = external()
    (one,) = lease(run)
    said = complete(run, msgspec.structs.replace(result, lease=one.lease))
    assert (said.taken, said.refused[one.lease].partition(":")[0]) == ((), "bad-value")
    assert run.pipeline.lease.held() == 1


@pytest.mark.parametrize("command", [Lease(worker=""), Lease(worker="w", count=0), Lease(worker="w", count=1_000),
                                     Lease(worker="w", wait_s=-1.0), Lease(worker="w", wait_s=1e9),
                                     Lease(worker="w", wait_s=float("nan"))])  # fmt: skip
def test_a_lease_that_makes_no_sense_is_refused(command: Lease) -> None:
    run = external()
    found = answer(run, run.pipeline.lease.ask(command))
    assert isinstance(found, Refused)
    assert found.code == "bad-value"


def test_nothing_to_lease_says_when_to_ask_again() -> None:
    run = external()
    first = lease(run, count=2, wait_s=30.0)
    found = answer(run, run.pipeline.lease.ask(Lease(worker="w", count=2, wait_s=0.0)))
    assert first
    assert (found.leases, 1.0 <= found.retry_after_s <= 30.0) == ((), True)


def test_failures_of_an_external_fetcher_count_as_our_own_would() -> None:
    run = external()
    while not (leases := [one for one in lease(run, wait_s=30.0) if one.host == A]):
        pass
    complete(run, Fetched(lease=leases[0].lease, failure="connect", failure_detail="no\nroute"))
    run.go(1.0, stay=True)
    event = [event for event in run.events if event.failure == "connect"]
    assert [one.failure_detail for one in event] == ["no route"]
    assert host_rows(run.store)[A].backoff_s > 0
