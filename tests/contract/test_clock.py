"""The suite of `ports.clock.Clock`: the machine's clock and virtual time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.clock import SystemClock
from gossamer.ports.clock import Clock
from gossamer.sim.clock import VirtualClock

START = 1_750_000_000.0


class Running(NamedTuple):
    """A clock, and how to let its time pass."""

    clock: Clock
    let_pass: Callable[[float], None]


def system() -> Running:
    return Running(SystemClock(), time.sleep)


def virtual() -> Running:
    clock = VirtualClock(START)

    def let_pass(seconds: float) -> None:
        clock.call_at(clock.now() + seconds, lambda: None)
        assert clock.step()

    return Running(clock, let_pass)


@pytest.fixture(params=[system, virtual])
def running(request: pytest.FixtureRequest) -> Running:
    made: Running = request.param()
    return made


def test_time_is_unix_seconds(running: Running) -> None:
    assert 1_700_000_000 < running.clock.now() < 5_000_000_000


def test_time_passes_and_never_runs_backwards(running: Running) -> None:
    seen = [running.clock.now()]
    for _ in range(20):
        running.let_pass(0.002)
        seen.append(running.clock.now())
    assert seen == sorted(seen)
    assert seen[-1] - seen[0] >= 20 * 0.002 * 0.99


@pytest.mark.parametrize("jump_s", [-3_600.0, 86_400.0])
def test_a_jump_of_the_wall_clock_is_not_seen(running: Running, jump_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    before, wall = running.clock.now(), time.time
    monkeypatch.setattr(time, "time", lambda: wall() + jump_s)
    running.let_pass(0.001)
    assert 0.001 * 0.99 <= running.clock.now() - before < 60


def test_all_threads_see_one_time(running: Running) -> None:
    """A moment that one thread has seen is in the past of every other."""
    seen: list[float] = []
    lock = threading.Lock()

    def look() -> None:
        for _ in range(300):
            with lock:
                seen.append(running.clock.now())

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1_200
    assert seen == sorted(seen)


# -- SystemClock alone ---------------------------------------------------------------------------------------------


def test_the_system_clock_starts_at_the_time_of_the_machine() -> None:
    before = time.time()
    now = SystemClock().now()
    assert before - 0.01 <= now <= time.time() + 0.01


# -- VirtualClock alone --------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-10.0, 1e6), max_size=30))
def test_events_run_in_order_at_their_time_and_late_ones_at_once(delays_s: list[float]) -> None:
    clock = VirtualClock(START)
    ran: list[tuple[float, int, float]] = []
    for number, delay_s in enumerate(delays_s):
        due = max(START + delay_s, START)
        clock.call_at(START + delay_s, lambda due=due, number=number: ran.append((due, number, clock.now())))  # type: ignore[misc]
    while clock.step():
        pass
    assert [(due, number) for due, number, _ in ran] == sorted((due, number) for due, number, _ in ran)
    assert all(at == due for due, _, at in ran)
    assert len(ran) == len(delays_s)


def test_time_does_not_go_beyond_a_bound_and_stands_without_events() -> None:
    clock = VirtualClock(START)
    assert not clock.step()
    clock.call_at(START + 5, lambda: None)
    assert not clock.step(until=START + 4)
    assert clock.now() == START
    assert clock.step(until=START + 5)
    assert clock.now() == START + 5
