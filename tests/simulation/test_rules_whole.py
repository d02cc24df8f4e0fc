"""A robots.txt that comes in part closes its host until it is whole; its end ends it, no cap on pages does."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gossamer.core.turn import Turn
from gossamer.model.limits import ROBOTS_MAX_BYTES
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import State
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import address, config, listing, roots
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect, robots

A, B = "a.example", "b.example"
SLOW = Answer(body=b"User-agent: *\nDisallow: /p1\n", seconds=90.0, first_byte_s=1.0)


def web(**rules: Answer | Callable[[Turn], Answer]) -> SimWeb:
    """Hosts with a front page and two more, `/p0` and `/p1`."""
    hosts = {f"{name}.example": answer for name, answer in rules.items()}
    return SimWeb({
        host: SimHost(address=address(number), page=listing(host, 2), robots=answer)
        for number, (host, answer) in enumerate(hosts.items())
    })  # fmt: skip


def cut(text: str) -> Answer:
    """A robots.txt whose connection is lost after so much of it."""
    return msgspec.structs.replace(robots(text), breaks_off=True)


@pytest.mark.parametrize(
    ("part", "why"),
    [
        (cut(""), "cut off by its server"),
        (cut("User-agent: *\n"), "cut off by its server"),
        (cut("<html>"), "cut off by its server"),
        (SLOW, "not all there within the time for it"),
    ],
)
def test_rules_that_came_in_part_close_the_host_until_they_are_whole(part: Answer, why: str) -> None:
    rules = robots("User-agent: *\nDisallow: /p1\n")
    answers = iter([part, part])
    run = Run(web(a=lambda _turn: next(answers, rules)), config(), roots([A]))
    assert not run.go(100.0)
    assert {turn.kind for turn in run.served} == {"robots"}
    state = host_rows(run.store)[A].robots["http"]
    assert (state.verdict, state.why, state.failures) == ("disallow", f"unreachable: {why}", 1)
    assert run.go()
    assert [s.kind for s in run.served][:4] == ["robots", "robots", "robots", "page"]
    assert sorted(s.target for s in run.pages()) == ["/", "/p0"]
    assert run.served[2].start - run.served[0].start < 700
    told = [(event.reason, event.detail) for event in run.events if event.kind is Kind.ROBOTS]
    assert told == [(Reason.ROBOTS_UNREACHABLE, why)] * 2 + [("", "")]
    assert run.context.counters.totals.errors == {"robots-incomplete": 2}
    assert host_rows(run.store)[A].errors == 0
    assert recount(run.store) == []


def test_rules_that_never_come_whole_set_the_host_aside_and_its_urls_stay() -> None:
    run = Run(web(a=cut("User-agent: *\n"), b=redirect(f"http://{A}/robots.txt", 301)), config(), roots([A, B]))
    assert run.go()
    assert run.pages() == []
    assert {row.state for row in url_rows(run.store).values() if row.kind == "page"} == {State.QUEUED}
    hosts = host_rows(run.store)
    assert hosts[A].parked == "robots-unreachable: unreachable: cut off by its server"
    assert hosts[B].parked.startswith("robots-unreachable: unreachable: ")
    assert recount(run.store) == []


def test_what_comes_after_the_first_500_kib_is_not_missed() -> None:
    head = "User-agent: *\nDisallow: /p1\n"
    for size in (ROBOTS_MAX_BYTES, 2 * ROBOTS_MAX_BYTES):
        run = Run(web(a=cut(head.ljust(size, "#"))), config(), roots([A]))
        assert run.go()
        assert sorted(s.target for s in run.pages()) == ["/", "/p0"]


def test_a_small_cap_on_bodies_hides_no_rule() -> None:
    rules = robots("User-agent: *\n" + "# filler\n" * 1_000 + "Disallow: /p1\n")
    run = Run(web(a=rules), config(fetch={"max_body_bytes": 4_096}), roots([A]))
    assert run.go()
    assert sorted(s.target for s in run.pages()) == ["/", "/p0"]
