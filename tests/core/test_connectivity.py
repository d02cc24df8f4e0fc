"""Whether the network is gone: who must be silent, how many, for how long, and what ends it."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.connectivity import (
    MISSES,
    NO_NETWORK,
    SILENT_HOSTS_MIN,
    SILENT_MAX_S,
    SILENT_S,
    Connectivity,
    is_steady,
)
from gossamer.model.page import Failure, Outcome, Resolution
from gossamer.model.record import HostRow

START = 1_700_000_000.0
MISSED = Outcome(failure=Failure.CONNECT_TIMEOUT)
ANSWER = Outcome(status=200)
CUT = Outcome(status=200, truncated="time")


@dataclass
class Crawl:
    """A judge, and what it is told, at times in seconds from the start."""

    judge: Connectivity = field(default_factory=Connectivity)

    def ends(self, outcome: Outcome, server: str, at: float, *, took: float = 1.0, steady: bool = True) -> Outcome:
        return self.judge.visited(outcome, server, START + at - took, START + at, steady=steady)

    def is_ours(self, server: str, at: float, *, took: float = 1.0, steady: bool = True) -> bool:
        """Whether a miss that is noted then is ours."""
        return self.ends(MISSED, server, at, took=took, steady=steady).failure is Failure.OURS

    def misses(self, count: int, at: float, *, every: float = 2.0, steady: bool = True) -> list[bool]:
        return [self.is_ours(f"server{n}", at + n * every, steady=steady) for n in range(count)]


def gone(at: float = 0.0) -> Crawl:
    """A crawl whose network is taken to be gone, 18 s later."""
    crawl = Crawl()
    crawl.ends(ANSWER, "server0", at - 1)
    assert crawl.misses(SILENT_HOSTS_MIN, at) == [False] * (SILENT_HOSTS_MIN - 1) + [True]
    return crawl


def test_what_is_missed_is_ours_from_the_tenth_server_on_that_had_answered_before() -> None:
    crawl = gone()
    assert crawl.judge.gone
    found = crawl.ends(MISSED, "server3", 20.0)
    assert (found.failure, found.failure_detail) == (Failure.OURS, NO_NETWORK)
    assert f"last {SILENT_HOSTS_MIN} servers, all of which had answered before" in NO_NETWORK
    assert crawl.is_ours("never heard of", 21.0, steady=False)


@pytest.mark.parametrize("failure", list(Failure))
def test_what_counts_as_a_miss(failure: Failure) -> None:
    found = gone().ends(Outcome(failure=failure, failure_detail="x"), "server", 30.0)
    assert (found.failure_detail == NO_NETWORK) is (failure in MISSES)
    crawl = Crawl()
    for number in range(30):
        crawl.ends(Outcome(failure=failure), f"server{number}", 2.0 * number)
    assert crawl.judge.gone is (failure in MISSES)


def test_seeds_that_never_answered_are_dead_and_not_the_network() -> None:
    assert not any(Crawl().misses(500, 0.0, steady=False))


def test_fewer_servers_than_ten_are_not_the_network_however_often_they_miss() -> None:
    crawl = Crawl()
    found = [crawl.is_ours(f"server{n % (SILENT_HOSTS_MIN - 1)}", 2.0 * n) for n in range(500)]
    assert not any(found)


def test_servers_of_one_provider_die_while_others_answer() -> None:
    crawl = Crawl()
    for number in range(500):
        assert not crawl.is_ours(f"server{number}", 10.0 * number)
        if number % 9 == 0:
            crawl.ends(ANSWER, "elsewhere", 10.0 * number + 5)


def test_a_burst_is_not_silence() -> None:
    crawl = Crawl()
    crawl.ends(ANSWER, "server", 0.0)
    assert not any(crawl.misses(100, 1.0, every=0.05))
    assert not crawl.is_ours("server", SILENT_S - 0.1)
    assert crawl.is_ours("server", SILENT_S)


def test_time_outs_that_end_together_have_been_silent_for_as_long_as_they_took() -> None:
    crawl = Crawl()
    found = [crawl.is_ours(f"server{n}", 50.0, took=SILENT_S) for n in range(SILENT_HOSTS_MIN)]
    assert found == [False] * (SILENT_HOSTS_MIN - 1) + [True]
    heard = Crawl()
    heard.ends(ANSWER, "other", 45.0)  # somebody answered meanwhile
    assert not any(heard.is_ours(f"server{n}", 50.0, took=SILENT_S) for n in range(SILENT_HOSTS_MIN))


def test_an_answer_ends_it_and_ten_more_are_needed() -> None:
    crawl = gone()
    answer = crawl.ends(ANSWER, "server5", 40.0)
    assert answer is ANSWER
    assert not crawl.judge.gone
    assert not any(crawl.misses(SILENT_HOSTS_MIN - 1, 100.0))
    assert crawl.is_ours("one more", 200.0)


def test_after_an_hour_of_silence_it_counts_again_until_somebody_answers() -> None:
    crawl = gone()  # at 18 s
    assert crawl.is_ours("server", 18.0 + SILENT_MAX_S - 1)
    assert not crawl.is_ours("server", 18.0 + SILENT_MAX_S)
    assert crawl.judge.given_up
    assert not any(crawl.misses(100, 2 * SILENT_MAX_S))
    crawl.ends(ANSWER, "server", 4 * SILENT_MAX_S)
    assert not crawl.judge.given_up
    assert crawl.misses(SILENT_HOSTS_MIN, 5 * SILENT_MAX_S)[-1]


def test_a_miss_of_long_ago_does_not_use_up_the_hour() -> None:
    crawl = Crawl()
    crawl.is_ours("server0", 0.0)
    assert crawl.misses(SILENT_HOSTS_MIN, 10 * SILENT_MAX_S)[-1]


def test_a_response_that_was_cut_off_began_before_or_shows_that_somebody_answers() -> None:
    crawl = gone()
    assert crawl.ends(CUT, "server", 25.0, took=28.0).failure is Failure.OURS
    assert crawl.judge.gone
    assert crawl.ends(CUT, "server", 50.0, took=20.0) is CUT
    assert not crawl.judge.gone
    before = Crawl()
    before.misses(5, 0.0)
    assert before.ends(CUT, "server", 10.0, took=12.0) is CUT  # neither a miss nor a sign of life
    assert [before.is_ours(f"more{n}", 12.0 + n) for n in range(5)][-1]


@pytest.mark.parametrize(
    ("error", "ours", "counts"),
    [
        ("servfail", False, True),
        ("timeout", False, True),
        ("refused", False, True),
        ("nxdomain", False, False),
        ("no address", False, False),
        ("not a host name", False, False),
        ("servfail", True, False),
        ("", False, False),
    ],
)
def test_names_that_a_resolver_nearby_cannot_ask_for_any_more(error: str, ours: bool, counts: bool) -> None:
    crawl = gone()
    said = Resolution(name="x", error=error, ours=ours, addresses=() if error else ("192.0.2.1",), asked=not error)
    found = crawl.judge.looked_up(said, "x", START + 29, START + 30, steady=False)
    assert (found == msgspec.structs.replace(said, error=NO_NETWORK, ours=True)) is counts
    assert (found is said) is not counts
    assert crawl.judge.gone  # whatever it knows, it may know from before
    alone = Connectivity()
    for number in range(30):
        alone.looked_up(said, f"server{number}", START + number, START + number + 1, steady=True)
    assert alone.gone is counts


def test_a_host_that_was_in_trouble_before_is_no_witness() -> None:
    assert is_steady(HostRow(host="h", site="h", reached=True))
    assert not is_steady(HostRow(host="h", site="h", reached=True, errors=1))
    assert not is_steady(HostRow(host="h", site="h"))
    assert not is_steady(None)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from([*["miss"] * 12, "answer"]),
        st.integers(0, 14),  # server
        st.sampled_from([0.0, 0.5, 1.0, 3.0, 9.0, 400.0]),  # seconds since the event before
        st.sampled_from([0.2, 10.0, 30.0]),  # how long it took
        st.sampled_from([True, True, True, False]),  # steady
    ),
    max_size=80,
)


@given(EVENTS)
def test_it_is_ours_exactly_when_the_silence_says_so(events: list[tuple[str, int, float, float, bool]]) -> None:
    """Against everything that was told, told over from its beginning each time."""
    crawl, at, row = Crawl(), 0.0, list[tuple[str, float, float]]()
    answered = began = -1e9
    gone_at: float | None = None
    for what, number, later, took, steady in events:
        at += later
        server = f"server{number}"
        if what == "answer":
            assert crawl.ends(ANSWER, server, at, took=took) is ANSWER
            answered, gone_at = at, None
            row.clear()
            continue
        if steady:
            row.append((server, at - took, at))
        began = max(answered, row[0][1]) if row else at
        if gone_at is None and len({each for each, _, _ in row}) >= SILENT_HOSTS_MIN and at - began >= SILENT_S:
            gone_at = at
        expected = gone_at is not None and at - gone_at < SILENT_MAX_S
        assert crawl.is_ours(server, at, took=took, steady=steady) is expected
        assert crawl.judge.gone is expected
        assert len(crawl.judge._silent) <= SILENT_HOSTS_MIN
