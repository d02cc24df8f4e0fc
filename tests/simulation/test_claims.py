"""What bounds a crawl: hosts, slots, gaps and lanes, in virtual time."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec
import pytest

from gossamer.model.limits import HOST_QUANTUM
from gossamer.sim.check import gaps, one_at_a_time, recount
from gossamer.sim.make import chain, config, farm, listing, names, roots
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb

DURATION_S = 1_200.0
ONE_HOST = 1 / 1.2  # pages a second of one host: 0.2 s fetch, 1 s gap


def rate(run: Run, duration_s: float = DURATION_S) -> float:
    """Requests a second of the servers' log, robots.txt included."""
    return len(run.served) / duration_s


def sound(run: Run, gap_s: float = 1.0) -> None:
    assert recount(run.store) == []
    assert one_at_a_time(run.served) == []
    assert one_at_a_time(run.served, "host") == []
    assert gaps(run.served, gap_s) == []


def test_one_host_tops_out_at_one_page_each_fetch_and_gap() -> None:
    run = Run(farm(names(1), chain), config(limits={"depth": 10**6}), roots(names(1)))
    run.go(DURATION_S)
    assert rate(run) == pytest.approx(ONE_HOST, rel=0.01)
    sound(run)


def test_eight_hosts_with_eight_slots_are_eight_times_as_fast() -> None:
    run = Run(farm(names(8), chain), config(limits={"depth": 10**6}, frontier={"slots": 8}), roots(names(8)))
    run.go(DURATION_S / 4)
    assert rate(run, DURATION_S / 4) == pytest.approx(8 * ONE_HOST, rel=0.01)
    assert len(set(Counter(s.host for s in run.served).values())) <= 2  # all alike
    sound(run)


def test_two_slots_cap_eight_hosts() -> None:
    run = Run(farm(names(8), chain), config(limits={"depth": 10**6}, frontier={"slots": 2}), roots(names(8)))
    run.go(DURATION_S)
    # A host that gets a slot has waited its gap out already, so each hand-over saves one gap.
    saved = 1 + 1.0 / (HOST_QUANTUM * 1.2)
    assert rate(run) == pytest.approx(2 * ONE_HOST * saved, rel=0.02)
    shares = Counter(s.host for s in run.served)
    assert len(shares) == 8
    assert min(shares.values()) > 0.5 * len(run.served) / 8  # nobody starves
    sound(run)


@pytest.mark.parametrize("delay_s", [1.0, 20.0, 45.0])
def test_a_drained_host_that_returns_still_owes_its_period(delay_s: float) -> None:
    """B's page is found on A while B, long drained, still owes most of its gap."""
    pages = {
        "a.example": lambda target: Answer(
            links=("http://b.example/late",) if target == "/p2" else ("http://a.example/p1", "http://a.example/p2")
        ),
        "b.example": lambda _target: Answer(),
    }
    web = SimWeb(
        {name: SimHost(address=f"20.0.0.{number}", page=page) for number, (name, page) in enumerate(pages.items())}
    )
    web.hosts["b.example"].robots = Answer(body=b"User-agent: *\nCrawl-delay: %d\n" % delay_s)
    run = Run(web, config(), ["http://a.example/", "http://b.example/"])
    assert run.go()
    assert run.targets("b.example") == ["/robots.txt", "/", "/late"]
    assert gaps([s for s in run.served if s.host == "b.example"], delay_s) == []
    sound(run)


def test_http_and_https_of_one_host_share_queue_and_gap() -> None:
    links = tuple(f"{scheme}://h0.example/{n}" for n in range(20) for scheme in ("http", "https"))
    run = Run(farm(names(1), lambda _name: lambda target: Answer(links=links if target == "/" else ())), config(),
              ["http://h0.example/"])  # fmt: skip
    assert run.go()
    assert Counter((s.scheme, s.kind) for s in run.served) == {
        ("http", "page"): 21, ("https", "page"): 20, ("http", "robots"): 1, ("https", "robots"): 1
    }  # fmt: skip
    sound(run)


def test_a_slow_answer_lengthens_the_gap_up_to_its_cap() -> None:
    slow = config(politeness={"response_factor": 10.0}, limits={"pages": 6})
    web = farm(names(1), lambda _name: lambda target: msgspec.structs.replace(chain("h0.example")(target), seconds=9.0),
               robots=Answer(status=404, seconds=9.0))  # fmt: skip
    run = Run(web, slow, roots(names(1)))
    assert run.go()
    starts = [s.start for s in run.served]
    assert [b - a for a, b in pairwise(starts)] == pytest.approx([69.0] * 6)


def test_a_page_budget_is_exact() -> None:
    run = Run(farm(names(5), lambda name: listing(name, 50)), config(limits={"pages": 37}), roots(names(5)))
    assert run.go()
    assert len(run.pages()) == 37
    assert run.context.counters.totals.pages == 37
    sound(run)
