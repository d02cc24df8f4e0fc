"""Standing still is told from being busy, in whatever order timers run after it."""

from __future__ import annotations

import pytest

from gossamer.core.pulse import BEAT_S, STALL_S, Pulse
from gossamer.model.page import Failure, Outcome
from gossamer.stage.dispatch import without_stall


def beaten(until_s: float, *, of: Pulse) -> Pulse:
    for number in range(int(until_s / BEAT_S) + 1):
        of.beat(number * BEAT_S)
    return of


def test_a_process_that_runs_never_stood_still() -> None:
    pulse = Pulse(0.0)
    beaten(100.0, of=pulse)
    assert pulse.stood_still_s(0.0, 100.0 + BEAT_S + STALL_S) == 0.0


def test_a_stall_counts_for_what_was_under_way_and_not_for_what_began_later() -> None:
    pulse = beaten(10.0, of=Pulse(0.0))
    assert pulse.stood_still_s(9.0, 40.0) == pytest.approx(30.0 - BEAT_S)  # asked before the beat that is due
    assert pulse.stood_still_s(9.9, 40.2) == pytest.approx(30.0 - BEAT_S)  # and after
    assert pulse.stood_still_s(40.1, 41.0) == 0.0


def test_two_stalls_add_up_and_are_never_more_than_the_visit() -> None:
    pulse = Pulse(0.0)
    pulse.beat(10.0)
    pulse.beat(20.0)
    assert pulse.stood_still_s(0.0, 20.1) == pytest.approx(20.0 - 2 * BEAT_S)
    assert pulse.stood_still_s(19.0, 20.1) == pytest.approx(1.1)


@pytest.mark.parametrize(
    ("outcome", "ours"),
    [
        (Outcome(failure=Failure.FIRST_BYTE_TIMEOUT), True),
        (Outcome(failure=Failure.CONNECT_TIMEOUT), True),
        (Outcome(failure=Failure.DISCONNECTED), True),
        (Outcome(status=200, truncated="time"), True),
        (Outcome(failure=Failure.TLS), False),
        (Outcome(failure=Failure.CONNECT), False),
        (Outcome(status=200, truncated="length"), False),
    ],
)
def test_what_was_missed_while_standing_still_is_ours(outcome: Outcome, ours: bool) -> None:
    assert without_stall(outcome, 0.0) is outcome
    after = without_stall(outcome, 30.0)
    assert (after.failure is Failure.OURS) is ours
    if not ours:
        assert after.failure is outcome.failure


def test_time_standing_still_is_not_the_server_s() -> None:
    assert without_stall(Outcome(status=200, elapsed_s=31.0), 30.0).elapsed_s == pytest.approx(1.0)
