"""Looks into the refresh calendar begin where the last one ended: what was taken out leaves traces in the store."""

from __future__ import annotations

from gossamer.core.calendar import next_due
from gossamer.core.keys import due_bound
from gossamer.model.record import Cf
from gossamer.sim.make import config, farm, listing, names, roots
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run

DAY_S = 86_400.0


class Looked(MemoryStore):
    """Notes where looks into the calendar begin."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[bytes] = []

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        if cf is Cf.DUE:
            self.starts.append(start)
        return super().scan(cf, start, stop, limit)


def test_a_look_does_not_climb_over_what_was_taken_out() -> None:
    store = Looked()
    hosts = names(3)
    run = Run(
        farm(hosts, lambda name: listing(name, 5)),
        config(refresh={"policy": "uniform", "interval_s": DAY_S}),
        roots(hosts),
        store=store,
    )
    assert run.go()
    for _ in range(3):
        due = next_due(run.context)
        assert due is not None
        run.wait(due + 3_600.0 - run.clock.now())
        begun = run.clock.now()
        assert run.enqueue_due() == 18
        store.starts.clear()
        assert run.enqueue_due() == 0
        assert store.starts
        assert min(store.starts) >= due_bound(begun - 1.0)
        assert run.go()
    fetched = [row for row in run.pages() if row.target != "/robots.txt"]
    assert len(fetched) == 18 * 4
