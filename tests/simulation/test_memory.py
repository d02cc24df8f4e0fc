"""Nothing in memory grows with the number of hosts or pages that are done."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from gossamer.core import ledger
from gossamer.model.page import Kind
from gossamer.model.url import Url, parse
from gossamer.sim.check import host_rows, recount
from gossamer.sim.make import address, config, farm, listing, names
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect, robots
from tests.conftest import LONG

HOSTS = 20_000 if LONG else 3_000
LEDGERS_MAX = 500  # fewer than are cached: what is pushed out must come back as it was


@pytest.fixture(autouse=True)
def few_ledgers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "LEDGERS_CACHED_MAX", LEDGERS_MAX)


def structures(run: Run) -> dict[str, int]:
    """Lengths of everything that is kept between events."""
    context, partition = run.context, run.partition
    frontier, lanes = context.frontier, context.frontier.lanes
    found: dict[str, Sized] = {
        "lanes": lanes._lanes, "lane heap": lanes._heap, "lane times": context.lane_times,
        "pinned": context.ledger._pinned, "ledgers": context.ledger._recent,
        "pending": partition._handover.pending, "payloads": partition._handover.payloads,
        "first": partition._handover.first,
        "resolving": partition._resolving, "buckets": partition._buckets._tats,
    }  # fmt: skip
    found |= {name: value for name, value in vars(frontier).items() if isinstance(value, Sized)}
    found |= {f"dispatch {name}": value for name, value in vars(partition._dispatch).items() if isinstance(value, list)}
    return {name: len(value) for name, value in found.items()}


def seed(run: Run, texts: list[str]) -> None:
    urls = [url for url in map(parse, texts) if isinstance(url, Url)]
    assert len(urls) == len(texts)
    run.partition.seed([(url, Kind.PAGE) for url in urls], run.clock.now())


def test_thousands_of_one_page_hosts_leave_nothing_behind() -> None:
    slots = 200
    hosts = names(HOSTS)
    web = farm(hosts, lambda _name: lambda _target: Answer())
    run = Run(web, config(frontier={"slots": slots}, politeness={"net_rate": 20.0}), [])
    most: dict[str, int] = {}
    for start in range(0, HOSTS, HOSTS // 10):
        seed(run, [f"http://{name}/" for name in hosts[start : start + HOSTS // 10]])
        while not run.go(steps=500):
            for name, length in structures(run).items():
                most[name] = max(most.get(name, 0), length)
    assert len(run.pages()) == HOSTS
    bounds = {"ledgers": LEDGERS_MAX, "buckets": HOSTS}  # past 200,000 buckets, full ones are forgotten
    for name, length in most.items():
        assert length <= bounds.get(name, 4 * slots), name
    left = {name: length for name, length in structures(run).items() if length}
    assert set(left) <= {"ledgers", "buckets", "lanes", "lane heap"}
    run.wait(120.0)
    run.context.frontier.lanes.purge(run.clock.now())
    assert len(run.context.frontier.lanes) == 0
    assert recount(run.store) == []


def test_what_a_drained_host_owes_is_on_disk() -> None:
    """Its ledger is pushed out of memory by others before its gap is over."""
    owing = "owing.example"
    crowd = names(LEDGERS_MAX + 300)
    web = farm(crowd, lambda _name: lambda _target: Answer(seconds=0.01), where=lambda number: address(number + 300))
    web.hosts[owing] = SimHost(address="20.0.0.1", page=lambda _target: Answer(),
                               robots=robots("User-agent: *\nCrawl-delay: 200\n"))  # fmt: skip
    run = Run(web, config(frontier={"slots": 1_000}), [f"http://{owing}/"])
    assert run.go()
    ended = run.served[-1].end
    seed(run, [f"http://{name}/" for name in crowd])
    run.go(duration_s=60.0)
    assert owing not in run.context.ledger._recent
    assert owing not in run.context.ledger._pinned
    assert host_rows(run.store)[owing].next_allowed == ended + 200.0
    seed(run, [f"http://{owing}/more"])
    assert run.go()
    assert run.served[-1].target == "/more"
    assert run.served[-1].start - ended >= 200.0 - 1e-6


def test_hosts_that_came_in_to_serve_anothers_rules_keep_no_slot() -> None:
    """Each host's robots.txt is redirected to another host, which has work of its own and takes it up later."""
    hosts = names(200)
    web = SimWeb(
        {
            name: SimHost(
                address=address(number),
                page=listing(name, 3),
                robots=redirect(f"http://{hosts[(number * 7 + 1) % 200]}/robots.txt", 301),
            )
            for number, name in enumerate(hosts)
        }
    )
    slots, most = 2, 0
    run = Run(web, config(frontier={"slots": slots}), [f"http://{name}/" for name in hosts])
    while not run.go(steps=5):
        most = max(most, len(run.context.frontier.active))
    assert most <= 3 * slots
    assert len(run.pages()) == 4 * len(hosts)
