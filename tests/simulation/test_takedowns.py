"""Takedowns under the virtual clock: from the call on nothing is dispatched, no restart forgets it, lifting ends it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from gossamer.model.page import Kind
from gossamer.model.ping import Ping
from gossamer.model.reason import Reason
from gossamer.model.record import State
from gossamer.model.takedown import StepName, Takedown, Target, TargetKind
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import checked, compile_takedowns, covering
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import config, listing
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect, robots

HOUR_S = 3_600.0
NAMES = ("www.a.example", "b.a.example", "c.example")
PAGES = 30


def web(page: Callable[[str], Callable[[str], Answer]] | None = None, **hosts: SimHost) -> SimWeb:
    made = page or (lambda name: listing(name, PAGES))
    return SimWeb(
        {name: SimHost(address=f"20.0.{n}.1", page=made(name)) for n, name in enumerate(NAMES)}
        | {name.replace("_", "."): host for name, host in hosts.items()}
    )


def crawl(made: SimWeb, **sections: dict[str, object]) -> Run:
    settings = config(
        **(
            {
                "refresh": {"policy": "uniform", "interval_s": HOUR_S, "min_interval_s": 600.0},
                "limits": {"continuous": True},
            }
            | sections
        )
    )
    return Run(made, settings, [f"http://{name}/" for name in NAMES], refresh=True)


def takedown(kind: TargetKind, value: str, now: float, name: str = "t1") -> Takedown:
    return Takedown(id=name, target=checked(Target(kind, value)), reason="asked to", asked=now)


def lifted(given: Takedown, now: float) -> Takedown:
    return msgspec.structs.replace(given, lifted=now)


def url_of(text: str) -> Url:
    found = parse(text)
    assert isinstance(found, Url)
    return found


def covered(given: Takedown, url: str) -> bool:
    return bool(covering(compile_takedowns([given]), url_of(url)))


def begun_since(run: Run, given: Takedown, since: float) -> list[str]:
    """Requests for what a takedown covers, begun after a time."""
    return [
        f"http://{host}{target}"
        for host, target, start in run.begun
        if start > since and covered(given, f"http://{host}{target}")
    ]


TARGETS: list[tuple[TargetKind, str, int]] = [
    ("host", "www.a.example", 1),
    ("site", "a.example", 2),
    ("prefix", "https://www.a.example/p1", 1),
    ("pattern", "*://*a.example/p2*", 2),
]


@pytest.mark.parametrize(("kind", "value", "hosts"), TARGETS)
def test_from_the_call_on_nothing_is_dispatched_and_every_queued_url_says_why(
    kind: TargetKind, value: str, hosts: int
) -> None:
    run = crawl(web())
    run.go(8.0)
    now = run.clock.now()
    given = takedown(kind, value, now)
    assert run.pipeline.takedown.enforce([given])
    run.go(120.0, stay=True)
    assert begun_since(run, given, now) == []
    rows = {key: row for key, row in url_rows(run.store).items() if covered(given, row.url)}
    assert len({row.host for row in rows.values()}) == hosts
    assert {row.halted for row in rows.values()} == {"t1"}
    refused = [row for row in rows.values() if row.state is State.REFUSED]
    assert len(refused) >= 5
    assert {row.reason for row in refused} == {Reason.TAKEDOWN}
    logged = [event.url for event in run.events if event.reason == Reason.TAKEDOWN]
    assert sorted(logged) == sorted(row.url for row in refused)
    done = run.context.takedowns.kept["t1"].takedown
    assert done.confirmed
    assert [step.name for step in done.steps] == [
        StepName.ENFORCED, StepName.ABORTED, StepName.REFUSED, StepName.CONFIRMED,
    ]  # fmt: skip
    assert done.steps[0].at == now
    assert done.steps[-1].at - now < 1.0
    others = [row for row in url_rows(run.store).values() if not covered(given, row.url)]
    assert {row.state for row in others} == {State.FETCHED}
    assert recount(run.store) == []


@pytest.mark.parametrize(("kind", "value", "hosts"), TARGETS)
def test_lifted_everything_is_where_it_would_be(kind: TargetKind, value: str, hosts: int) -> None:
    run = crawl(web())
    run.go(8.0)
    given = takedown(kind, value, run.clock.now())
    run.pipeline.takedown.enforce([given])
    run.go(1.5 * HOUR_S, stay=True)
    assert begun_since(run, given, given.asked) == [], "what was due in this time was not asked for either"
    ended = run.clock.now()
    run.pipeline.takedown.enforce([lifted(given, ended)])
    run.go(1.5 * HOUR_S, stay=True)
    rows = [row for row in url_rows(run.store).values() if covered(given, row.url)]
    assert {row.state for row in rows} == {State.FETCHED}
    assert not any(row.halted or row.reason for row in rows)
    assert all(row.due or row.refresh for row in rows if row.kind is Kind.PAGE)
    assert sum(row.visited > ended for row in rows) > len(rows) / 2
    assert run.context.takedowns.kept == {}
    assert recount(run.store) == []


def test_what_is_in_flight_is_cut_off_at_once_and_logged() -> None:
    slow = Answer(seconds=25.0)
    run = crawl(web(lambda _name: lambda _target: slow))
    run.go(5.0)
    now = run.clock.now()
    assert {host for host, target, _ in run.begun if target == "/"} == set(NAMES)
    run.pipeline.takedown.enforce([takedown("host", "www.a.example", now)])
    run.go(1.0, stay=True)
    step = run.context.takedowns.kept["t1"].takedown.step(StepName.ABORTED)
    assert step is not None
    assert (step.count, step.at - now < 0.1) == (1, True)
    kept = run.context.takedowns.kept["t1"].takedown
    assert kept.last_request == max(start for host, _, start in run.begun if host == "www.a.example")
    cut = [event for event in run.events if event.failure == "cut-off"]
    assert [(event.host, event.failure_detail, event.started) for event in cut] == [
        ("www.a.example", "takedown t1", kept.last_request)
    ]
    run.go(300.0, stay=True)
    assert [served.host for served in run.pages() if served.host == "www.a.example"] == []
    row = host_rows(run.store)["www.a.example"]
    assert (row.failed, row.errors, row.pending) == (0, 0, 0), "it is not held against the host"
    assert recount(run.store) == []


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 40])
def test_a_restart_forgets_no_takedown_however_far_it_had_come(steps: int) -> None:
    store = MemoryStore()
    first = Run(web(), config(), [f"http://{name}/" for name in NAMES], store=store)
    first.go(8.0)
    given = takedown("site", "a.example", first.clock.now())
    first.pipeline.takedown.enforce([given])
    first.go(steps=steps)
    first.stop()
    again = Run(web(), config(), [f"http://{name}/" for name in NAMES], store=store, clock=first.clock)
    assert set(again.refused.values()) == {Reason.TAKEDOWN}, "seeds that are taken down are not let in"
    assert again.go()
    assert begun_since(again, given, 0.0) == []
    assert again.context.takedowns.kept["t1"].takedown.confirmed
    assert {row.halted for row in url_rows(store).values() if covered(given, row.url)} == {"t1"}
    assert recount(store) == []


def test_links_redirects_and_pings_to_it_are_refused() -> None:
    def page(target: str) -> Answer:
        if target == "/":
            return Answer(links=("http://www.a.example/new", "http://x.example/to"))
        return redirect("http://www.a.example/else") if target == "/to" else Answer()

    run = crawl(web(x_example=SimHost(address="20.1.0.1", page=page)))
    now = run.clock.now()
    given = takedown("host", "www.a.example", now)
    run.pipeline.takedown.enforce([given])
    run.partition.seed([(url_of("http://x.example/"), Kind.PAGE)], now)
    run.go(60.0, stay=True)
    rows = url_rows(run.store)
    assert [row.url for row in rows.values() if row.host == "www.a.example" and row.state is not State.REFUSED] == []
    assert not {"example,a,www)/new http", "example,a,www)/else http"} & rows.keys()
    to = rows["example,x)/to http"]
    assert (to.reason, "takedown t1" in to.detail) == (Reason.TAKEDOWN, True)
    said = run.partition.ping(Ping(key="k" * 16, urls=("http://www.a.example/p1",)), run.clock.now())
    assert said == {"http://www.a.example/p1": "ping-taken-down"}
    assert begun_since(run, given, now) == []


def test_a_host_whose_rules_it_serves_is_closed_and_not_stuck() -> None:
    """robots.txt of one host redirects to a host that is taken down while that file is being fetched."""
    elsewhere = redirect("http://www.a.example/rules.txt")
    run = crawl(
        web(
            lambda _name: lambda target: Answer(seconds=20.0) if target == "/rules.txt" else Answer(),
            y_example=SimHost(address="20.2.0.1", robots=elsewhere, page=listing("y.example", 3)),
        )
    )
    run.partition.seed([(url_of("http://y.example/"), Kind.PAGE)], run.clock.now())
    run.go(6.0)
    assert [target for host, target, _ in run.begun if host == "www.a.example"].count("/rules.txt") == 1
    now = run.clock.now()
    given = takedown("host", "www.a.example", now)
    run.pipeline.takedown.enforce([given])
    run.go(1_000.0, stay=True)
    assert begun_since(run, given, now) == []
    state = host_rows(run.store)["y.example"].robots["http"]
    assert state.verdict == "disallow"
    run.pipeline.takedown.enforce([lifted(given, run.clock.now())])
    run.go(3_000.0, stay=True)
    assert begun_since(run, given, run.clock.now() - 3_000.0) != []
    assert recount(run.store) == []


def test_the_host_is_not_asked_for_its_rules_either() -> None:
    run = Run(web(), config(), [])
    given = takedown("pattern", "*://c.example/robots.txt", run.clock.now())
    run.pipeline.takedown.enforce([given])
    refused = run.partition.seed([(url_of("http://c.example/"), Kind.PAGE)], run.clock.now())
    assert refused == {"http://c.example/": Reason.TAKEDOWN}
    run.go()
    assert run.begun == []


def test_of_two_that_overlap_each_must_be_lifted() -> None:
    run = crawl(web())
    run.go(8.0)
    now = run.clock.now()
    site, host = takedown("site", "a.example", now, "t1"), takedown("host", "www.a.example", now, "t2")
    run.pipeline.takedown.enforce([site, host])
    run.go(60.0, stay=True)
    run.pipeline.takedown.enforce([lifted(site, run.clock.now()), host])
    run.go(1.2 * HOUR_S, stay=True)
    assert begun_since(run, host, now) == []
    assert {row.halted for row in url_rows(run.store).values() if row.host == "www.a.example"} == {"t2"}
    assert {row.halted for row in url_rows(run.store).values() if row.host == "b.a.example"} == {""}
    run.pipeline.takedown.enforce([lifted(site, run.clock.now()), lifted(host, run.clock.now())])
    run.go(1.2 * HOUR_S, stay=True)
    assert {row.state for row in url_rows(run.store).values()} == {State.FETCHED}
    assert recount(run.store) == []


def test_a_copy_of_what_was_taken_down_becomes_an_original() -> None:
    same = Answer(body=b"one page", content_hash=5, simhash=77, text_chars=500, title="one")
    run = Run(web(lambda _name: lambda _target: same), config(limits={"continuous": True}),
              ["http://www.a.example/", "http://c.example/"], refresh=True)  # fmt: skip
    run.go(30.0, stay=True)
    rows = url_rows(run.store)
    copy = next(key for key, row in rows.items() if row.duplicate_of)
    original = rows[copy].duplicate_of
    given = takedown("host", rows[original].host, run.clock.now())
    run.pipeline.takedown.enforce([given])
    run.go(30.0, stay=True)
    assert url_rows(run.store)[copy].duplicate_of == ""
    assert recount(run.store) == []


def test_a_long_queue_is_swept_in_pieces_while_others_are_fetched() -> None:
    many = 2_000
    run = crawl(web(lambda name: listing(name, many if name.startswith("www") else 200)))
    run.go(20.0)
    now = run.clock.now()
    given = takedown("host", "www.a.example", now)
    run.pipeline.takedown.enforce([given])
    before = len(run.begun)
    run.go(10.0, stay=True)
    done = run.context.takedowns.kept["t1"].takedown
    step = done.step(StepName.REFUSED)
    assert step is not None
    assert step.count > many - 100
    assert len(run.begun) > before + 10
    assert begun_since(run, given, now) == []
    assert host_rows(run.store)["www.a.example"].pending == 0


def test_rules_of_their_own_are_read_again_once_lifted() -> None:
    rules = robots("User-agent: *\nDisallow: /p1")
    run = Run(SimWeb({"c.example": SimHost(address="20.0.0.1", robots=rules, page=listing("c.example", 20))}),
              config(), ["http://c.example/"])  # fmt: skip
    given = takedown("host", "c.example", run.clock.now())
    run.pipeline.takedown.enforce([given])
    run.go()
    assert run.begun == []
    run.pipeline.takedown.enforce([lifted(given, run.clock.now())])
    run.go()
    assert {served.target for served in run.pages()} == {"/", "/p0", *(f"/p{n}" for n in range(2, 10))}
    assert recount(run.store) == []
