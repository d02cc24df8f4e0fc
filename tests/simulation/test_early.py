"""What the budget leaves goes to pages that are due next: waves are flattened, no page is visited much too soon."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gossamer.core.calendar import bring_forward
from gossamer.core.changes import Changes
from gossamer.model.event import FetchEvent
from gossamer.policy.refresh import EARLY_SHARE
from gossamer.sim.check import recount, url_rows
from gossamer.sim.make import config, farm, names, roots
from gossamer.sim.run import Run
from gossamer.sim.web import Answer

DAY_S, HOUR_S = 86_400.0, 3_600.0
HOSTS, PAGES = 8, 12  # of a host: the last two show what the one before them shows
BUDGET = 8  # visits a day
DAYS = 120
SOON_S = 120.0  # in which what is queued is fetched


def page(name: str, target: str) -> Answer:
    """The front page leads to all others; one of them is missing."""
    number = int(target[2:] or 0) if target.startswith("/p") else 0
    if number == PAGES:
        return Answer(status=404, body=b"not here")
    body = f"{name} {min(number, PAGES - 3)}".encode()
    return Answer(links=tuple(f"http://{name}/p{n}" for n in range(1, PAGES + 1)) if not number else (), body=body)


def bring(run: Run, key: str) -> None:
    """Let a page be due now."""
    changes = Changes(run.store)
    row = changes.url(key)
    assert row is not None
    if bring_forward(run.context, changes, key, row, run.clock.now()):
        changes.put_url(key, row)
        run.context.apply(changes)


def crawled(policy: str, days: int, *, forward: bool = False) -> tuple[Run, dict[str, list[FetchEvent]]]:
    """Hosts found within minutes, whose pages never change; a look into the calendar every six hours.

    `forward`: two pages a day are brought forward.
    """
    hosts = names(HOSTS)
    settings = config(refresh={"policy": policy, "budget_per_day": BUDGET}, limits={"continuous": True})
    run = Run(farm(hosts, lambda name: lambda target: page(name, target)), settings, roots(hosts))
    run.go(SOON_S, stay=True)
    for quarter in range(days * 4):
        run.wait(DAY_S / 4)
        run.enqueue_due()
        run.go(SOON_S, stay=True)
        if forward and quarter % 2:
            bring(run, f"example,h{quarter % HOSTS})/p{1 + quarter % 7} http")
    visits: dict[str, list[FetchEvent]] = {}
    for event in run.events:
        if event.started and event.kind == "page":
            visits.setdefault(event.url, []).append(event)
    assert recount(run.store) == []
    return run, visits


def test_the_budget_is_used_though_all_pages_were_found_at_once() -> None:
    run, visits = crawled("optimal", DAYS)
    begun = min(each[0].started for each in visits.values())
    late = [(event.started - begun) / DAY_S for each in visits.values() for event in each[1:]]
    assert 0.95 * BUDGET <= sum(at > DAYS / 4 for at in late) / (DAYS * 3 / 4) <= 1.02 * BUDGET
    weeks = [sum(DAYS / 2 + 7 * n < at <= DAYS / 2 + 7 * n + 7 for at in late) for n in range(8)]
    assert max(weeks) < 1.3 * 7 * BUDGET, "no wave is left"
    assert min(weeks) > 0.7 * 7 * BUDGET
    shares, rare = [], []
    for url, each in visits.items():
        row = next(row for row in url_rows(run.store).values() if row.url == url)
        for before, after in pairwise(each):
            waited, planned = after.started - before.started, before.next_due - before.started
            (rare if row.duplicate_of or row.missing or row.state.name == "GONE" else shares).append(waited / planned)
            assert waited >= HOUR_S
    assert min(shares) >= 1.0 - EARLY_SHARE - 1e-6
    assert sum(share < 0.99 for share in shares) > 20, "some were visited early"
    assert len(rare) > HOSTS
    assert min(rare) >= 1.0 - 1e-6, "copies and missing pages never"


@pytest.mark.parametrize("policy", ["uniform", "poisson"])
def test_other_policies_visit_nothing_before_it_is_due(policy: str) -> None:
    _, visits = crawled(policy, 40)
    pairs = [pair for each in visits.values() for pair in pairwise(each)]
    assert len(pairs) > 100
    assert all(after.started >= before.next_due for before, after in pairs)


def test_pages_brought_forward_are_paid_for_by_the_plan() -> None:
    """Two visits a day beyond the plan: all together are as many as without."""
    run, visits = crawled("optimal", DAYS, forward=True)
    begun = min(each[0].started for each in visits.values())
    late = [event for each in visits.values() for event in each if event.started > begun + DAYS / 3 * DAY_S]
    assert 0.92 * BUDGET <= len(late) / (DAYS * 2 / 3) <= 1.03 * BUDGET
    assert run.context.refreshing.state.ahead_rate * DAY_S > 0.5


@pytest.mark.parametrize("continuous", [False, True])
def test_a_crawl_that_is_to_end_visits_nothing_early(*, continuous: bool) -> None:
    hosts = names(HOSTS)
    settings = config(refresh={"interval_s": 1.2 * DAY_S}, limits={"continuous": continuous})
    run = Run(farm(hosts, lambda name: lambda target: page(name, target)), settings, roots(hosts))
    run.go(SOON_S, stay=True)
    visited = len(run.pages())
    first = min(row.due for row in url_rows(run.store).values() if row.due)
    assert first > run.clock.now() + 8 * HOUR_S
    while run.clock.now() + HOUR_S + SOON_S < first:
        run.wait(HOUR_S)
        run.enqueue_due()
        run.go(SOON_S, stay=True)
    assert (len(run.pages()) > visited) == continuous
