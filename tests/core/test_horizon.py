"""Nothing in the refresh calendar is out of sight, whatever the clock said when it was written."""

from __future__ import annotations

import pytest

from gossamer.sim.check import recount, url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import config, farm, listing, names, roots
from gossamer.sim.run import Run

DAY_S = 86_400.0


@pytest.mark.parametrize("ahead_s", [400 * DAY_S, 40_000 * DAY_S])
def test_what_was_planned_while_the_clock_was_ahead_is_seen_again(ahead_s: float) -> None:
    hosts = names(3)
    settings = config(refresh={"policy": "uniform", "interval_s": 10 * DAY_S, "max_interval_s": 90 * DAY_S})
    web = farm(hosts, lambda name: listing(name, 5))
    today = VirtualClock().now()
    ahead = VirtualClock()
    ahead.jump(today + ahead_s)
    before = Run(web, settings, roots(hosts), clock=ahead)
    assert before.go()
    before.stop()
    run = Run(web, settings, [], store=before.store, clock=VirtualClock())
    for _ in range(12):
        run.enqueue_due()
        assert run.go()
        run.wait(DAY_S)
    assert recount(run.store) == []
    pages = [served for served in run.pages() if served.target != "/robots.txt"]
    assert len({(served.host, served.target) for served in pages}) == 18
    assert len(pages) <= 18 + 18 * 2 / 10 + 3, "each once in an interval, however far the clock was ahead"
    assert len({round(served.start / DAY_S) for served in pages}) > 3, "and not all at once"
    assert all(row.due <= run.clock.now() + 90 * DAY_S for row in url_rows(run.store).values())
