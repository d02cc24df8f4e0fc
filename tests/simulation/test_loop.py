"""The loop in virtual time: order, timers, what it says when nothing is left."""

from __future__ import annotations

import asyncio
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.sim.clock import VirtualClock
from gossamer.sim.loop import NothingLeftError, VirtualLoop

START = 1_700_000_000.0


def make() -> VirtualLoop:
    return VirtualLoop(VirtualClock(START))


def test_a_month_of_sleep_takes_no_time_and_loop_and_clock_agree() -> None:
    loop = make()

    async def sleep() -> tuple[float, float]:
        await asyncio.sleep(30 * 86_400.0)
        return asyncio.get_running_loop().time(), loop.clock.now()

    assert loop.run_until_complete(sleep()) == (START + 30 * 86_400.0, START + 30 * 86_400.0)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.25, 1.0, 5.0]), max_size=30), st.sets(st.integers(0, 29)))
def test_timers_run_by_time_and_then_in_the_order_they_were_set(delays: list[float], cancelled: set[int]) -> None:
    loop, ran = make(), []
    timers = [
        loop.call_later(delay, lambda n=n: ran.append((loop.time() - START, n))) for n, delay in enumerate(delays)
    ]
    for number in cancelled & set(range(len(timers))):
        timers[number].cancel()
    while loop.step():
        pass
    assert [n for _, n in ran] == sorted((n for n in range(len(delays)) if n not in cancelled), key=lambda n: delays[n])
    assert [at for at, _ in ran] == pytest.approx([delays[n] for _, n in ran])


def test_callbacks_run_in_order_and_all_of_them_before_time_moves() -> None:
    loop, ran = make(), []

    def deeper(depth: int) -> None:
        ran.append((depth, loop.time()))
        if depth < 3:
            loop.call_soon(deeper, depth + 1)

    loop.call_soon(deeper, 0)
    loop.call_soon(ran.append, "second")
    loop.call_later(0.0, ran.append, "timer")
    loop.call_later(1.0, ran.append, "later")
    assert loop.step()
    assert ran == [(0, START), "second", (1, START), (2, START), (3, START), "timer"]
    assert loop.time() == START


def test_events_of_the_clock_take_their_turn_and_outlive_the_loop() -> None:
    clock = VirtualClock(START)
    first, ran = VirtualLoop(clock), []
    first.call_later(2.0, ran.append, "timer")
    first.call_later(9.0, ran.append, "timer of a loop that is gone")
    clock.call_at(START + 1.0, lambda: ran.append("event"))
    clock.call_at(START + 3.0, lambda: ran.append("event"))
    assert first.step()
    assert first.step()
    assert not first.step(START + 2.5)
    second = VirtualLoop(clock)
    second.call_later(5.0, ran.append, "timer of the next")
    while second.step():
        pass
    assert ran == ["event", "timer", "event", "timer of the next"]


def test_what_is_awaited_in_vain_is_told_instead_of_hanging() -> None:
    loop = make()
    with pytest.raises(NothingLeftError):
        loop.run_until_complete(loop.create_future())


def test_nothing_runs_after_stop() -> None:
    loop, ran = make(), []
    loop.call_soon(ran.append, 1)
    loop.call_soon(loop.stop)
    loop.call_soon(ran.append, 2)
    loop.call_later(1.0, ran.append, 3)
    loop.settle()
    loop.step()
    assert ran == [1]


def test_an_exception_that_nobody_takes_is_the_loops_fault() -> None:
    loop = make()

    async def broken() -> None:
        raise LookupError("nobody looks")

    loop.create_task(broken())
    loop.settle()
    assert isinstance(loop.fault, LookupError)
    other = make()
    other.call_soon(lambda: 1 / 0)
    other.settle()
    assert isinstance(other.fault, ZeroDivisionError)


def test_callbacks_that_never_let_time_move_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.sim.loop.CALLBACKS_MAX", 1_000)
    loop = make()

    def again() -> None:
        loop.call_soon(again)

    again()
    with pytest.raises(AssertionError, match="time has not moved"):
        loop.settle()


def test_timeouts_and_groups_of_asyncio_work() -> None:
    loop = make()

    async def work() -> list[float]:
        found = []
        async with asyncio.TaskGroup() as group:
            for seconds in (3.0, 1.0, 2.0):
                group.create_task(asyncio.sleep(seconds)).add_done_callback(lambda _: found.append(loop.time() - START))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4.0):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(9.0), 1.0)
        return [*found, loop.time() - START]

    assert loop.run_until_complete(work()) == [1.0, 2.0, 3.0, 8.0]


def test_there_is_no_way_out_of_virtual_time() -> None:
    loop = make()

    async def thread() -> None:
        await asyncio.to_thread(len, "")

    async def network() -> None:
        await asyncio.open_connection("127.0.0.1", 9)

    for way in (thread, network):
        with pytest.raises(NotImplementedError):
            loop.run_until_complete(way())
    with socket.socket() as lone, pytest.raises(NotImplementedError):
        loop.add_reader(lone, print)


def test_a_loop_inside_another_gives_it_back() -> None:
    async def outside() -> bool:
        before = asyncio.get_running_loop()
        make().run_until_complete(asyncio.sleep(5.0))
        return asyncio.get_running_loop() is before

    assert asyncio.run(outside())
