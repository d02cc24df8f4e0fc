"""Alarms: each rings when it should, as in ops/alerts.yml; each is told once, cleared once, and not too often."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.model.takedown import Step, StepName, Takedown, Target, unconfirmed_s
from gossamer.model.view import Bound, BoundName, Snapshot
from gossamer.surface.alarmbook import BURST, CARRIED_S, CLEAR_S, EVERY_S, AlarmBook, Change, Raised
from gossamer.surface.alarms import LASTS_S, LOOK_S, SAMPLES_MAX, Alarm, Facts, History, judged
from gossamer.surface.forecast import DiskForecast

RULES = (Path(__file__).parents[2] / "ops" / "alerts.yml").read_text()
SERVERS = {"robots-violated", "crawl-interrupted", "unreadable"}  # told by the server: tests/serve/test_herald.py
NOBODYS = {"GossamerServerDown", "GossamerNotificationsLost"}  # there is nobody to tell
START = 1_700_000_000.0
MINUTE, HOUR = 60.0, 3600.0
Make = Callable[[float], dict[str, Any]]


def rings(until_s: float, make: Make, facts: Callable[[float], Facts] = lambda _at: Facts()) -> dict[str, float]:
    """Which alarms are raised in a crawl that is as `make` says, and how many seconds after its start."""
    history, book, found = History(), AlarmBook(), {}
    at = 0.0
    while at <= until_s:
        shot = Snapshot(time=START + at, state="crawling", hosts_active=50, queued=100)
        shot = msgspec.structs.replace(shot, **make(at))
        history.add(shot)
        for change in book.judge(judged(shot, history, facts(at)), START + at):
            if change.raised:
                found[change.alarm.name] = at
        at += LOOK_S
    return found


def bound(name: BoundName) -> Make:
    return lambda _at: {"bound": Bound(name, "so it is")}


def answers(at: float, *, share: float, rises_at: float = 0.0, before: float = 0.0) -> dict[str, Any]:
    """Ten answers a second; `share` of them refusals from `rises_at` on, `before` until then."""
    refused = 10 * (before * min(at, rises_at) + share * max(0.0, at - rises_at))
    return {"statuses": {"200": round(10 * at - refused), "429": round(refused / 2), "403": round(refused / 2)}}


def forecast(days: float) -> Callable[[float], Facts]:
    disk = DiskForecast(free_bytes=1, bytes_per_day=1.0, days_left=days, basis="x")
    return lambda _at: Facts(disk=disk)


CASES: dict[str, tuple[dict[str, Any], float]] = {
    "gap-cut-short": ({"make": lambda _at: {}, "facts": lambda at: Facts(too_short=1, too_short_at=START + at)}, 0.0),
    "takedown-not-confirmed": ({"make": lambda _at: {}, "facts": lambda at: Facts(unconfirmed_s=at)}, 75.0),
    "refused-more": ({"make": lambda at: answers(at, share=0.06)}, 10 * MINUTE + 15.0),
    "dns-saturated": ({"make": bound(BoundName.DNS)}, 14.5 * MINUTE),
    "digest-backlog": ({"make": bound(BoundName.DIGEST)}, 14.5 * MINUTE),
    "frontier-narrow": ({"make": lambda _at: {"bound": Bound(BoundName.HOSTS, "x"), "queued": 50_001}}, 59.5 * MINUTE),
    "disk-slow": ({"make": lambda _at: {"sync_s": 0.6}}, 14.5 * MINUTE),
    "disk-full-in-a-week": ({"make": lambda _at: {}, "facts": forecast(6.5)}, 30 * MINUTE),
    "disk-full-in-a-day": ({"make": lambda _at: {}, "facts": forecast(0.9)}, 10 * MINUTE),
    "refreshes-late": ({"make": lambda _at: {"lateness_p99_s": 7 * HOUR}}, HOUR),
    "paused": ({"make": lambda _at: {"state": "paused", "state_detail": "no network"}}, 14.5 * MINUTE),
}


@pytest.mark.parametrize("name", CASES)
def test_each_rings_alone_and_in_its_time(name: str) -> None:
    given, seconds = CASES[name]
    assert rings(90 * MINUTE, **given) == {name: seconds}


def test_a_healthy_crawl_rings_none() -> None:
    calm = {"sync_s": 0.02, "lateness_p99_s": 60.0, "queued": 10_000, "bound": Bound(BoundName.HOSTS, "x")}
    assert rings(9 * HOUR, lambda at: calm | answers(at, share=0.01), forecast(100.0)) == {}


def test_refusals_that_do_not_rise_ring_no_more_and_those_that_rise_do() -> None:
    steady = rings(13 * HOUR, lambda at: answers(at, share=0.06))
    assert list(steady.values()) == [10 * MINUTE + 15.0], "only before there is anything to compare with"
    risen = rings(13 * HOUR, lambda at: answers(at, share=0.2, before=0.04, rises_at=8 * HOUR))
    assert 8 * HOUR < risen["refused-more"] < 8 * HOUR + 30 * MINUTE


def test_few_answers_prove_nothing() -> None:
    assert rings(2 * HOUR, lambda at: {"statuses": {"403": 1 + int(at > 600)}}) == {}


def test_they_are_those_of_the_rule_file() -> None:
    told = dict(re.findall(r"- alert: (\w+)(?s:.*?)labels: \{severity: (\w+)\}", RULES))
    assert set(told) - NOBODYS == {"Gossamer" + name.title().replace("-", "") for name in {*CASES, *SERVERS}}
    assert set(LASTS_S) == {*CASES, *SERVERS}
    for name, (given, seconds) in CASES.items():
        history = History()
        found: dict[str, Alarm] = {}
        for step in range(int(seconds / LOOK_S) + 10):
            at = step * LOOK_S
            history.add(shot := Snapshot(**{"time": START + at, "hosts_active": 50} | given["make"](at)))
            found = judged(shot, history, given.get("facts", lambda _at: Facts())(at))
        assert found[name].severity == told["Gossamer" + name.title().replace("-", "")], name
        assert found[name].text
        assert found[name].advice


def test_memory_of_the_past_is_bounded() -> None:
    history = History()
    for step in range(3 * SAMPLES_MAX):
        history.add(Snapshot(time=START + step * LOOK_S))
    assert len(history._samples) == SAMPLES_MAX


ALARM = Alarm(name="disk-slow", severity="warn", text="slow", advice="a faster one")


def told(changes: list[Change]) -> list[tuple[str, bool]]:
    return [(change.alarm.name, change.raised) for change in changes]


def test_raised_once_and_cleared_once_whatever_flickers() -> None:
    book, said = AlarmBook(), []
    for step in range(400):
        holds = {} if step % 7 == 3 or step > 300 else {"disk-slow": ALARM}
        said += [(step, *one) for one in told(book.judge(holds, START + step * LOOK_S))]
    assert said == [(0, "disk-slow", True), (301 + int(CLEAR_S / LOOK_S), "disk-slow", False)]
    assert book.raised == {}


def test_a_run_before_has_raised_it_already() -> None:
    book = AlarmBook({"disk-slow": Raised(ALARM, START)})
    assert book.judge({}, START + 100) == []
    assert book.judge({}, START + 100 + CLEAR_S) == [], "so soon it cannot say that a thing does not last"
    (change,) = book.judge({}, START + 100 + CLEAR_S + CARRIED_S)
    assert (change.raised, change.since) == (False, START)
    again = AlarmBook({"disk-slow": Raised(ALARM, START)})
    assert again.judge({"disk-slow": ALARM}, START + 100) == []
    assert again.judge({}, START + 200) == []
    (change,) = again.judge({}, START + 200 + CLEAR_S)
    assert (change.raised, change.since) == (False, START)


def test_many_at_once_are_told_one_after_another_and_never_a_clear_without_its_raise() -> None:
    book = AlarmBook()
    holds = {f"alarm-{n}": Alarm(name=f"alarm-{n}", severity="warn", text="x", advice="y") for n in range(BURST + 5)}
    said = told(book.judge(holds, START))
    assert len(said) == BURST
    assert told(book.judge(holds, START + EVERY_S + 1)) == [(f"alarm-{BURST}", True)]
    rest = [told(book.judge({}, START + EVERY_S + 2 + step * LOOK_S)) for step in range(2_000)]
    later = [one for some in rest for one in some]
    assert sorted(later) == sorted((name, False) for name, _ in (*said, (f"alarm-{BURST}", True)))
    assert max(len(some) for some in rest) <= 2


def test_an_end_takes_everything_back() -> None:
    book = AlarmBook()
    book.judge({"disk-slow": ALARM}, START)
    (change,) = book.end("it is over")
    assert (change.raised, change.why) == (False, "it is over")
    assert book.end("it is over") == []


def test_how_long_takedowns_wait() -> None:
    step = Step(StepName.ENFORCED, START)
    one = Takedown(id="1", target=Target("host", "a.example"), reason="x", asked=START, steps=(step,))
    done = Takedown(
        id="2", target=Target("host", "b.example"), reason="x", asked=START - 500,
        steps=(step, Step(StepName.CONFIRMED, START)),
    )  # fmt: skip
    assert unconfirmed_s([one, done], START + 90) == 90
    assert unconfirmed_s([done], START + 90) == 0
