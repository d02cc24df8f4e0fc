"""Every run of every simulation is watched: after each of its steps everything that must hold is looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.sim.run import Run
from gossamer.sim.watch import Watch
from gossamer.sim.witness import Witness

BOOKS_HOSTS_MAX = 1_000  # in larger webs requests, rules, records and memory are looked at, and the state by the test


@pytest.fixture(autouse=True)
def watches(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Watch]]:
    """The watches of this test's runs. A run on a store that another had is its restart, seen by the same witness."""
    made: list[Watch] = []
    witnesses: dict[int, tuple[Any, Witness]] = {}
    begin = Run.__init__

    def begun(self: Run, *args: Any, **settings: Any) -> None:
        begin(self, *args, **settings)
        store, witness = witnesses.get(id(self.store), (self.store, None))
        books = len(getattr(self.web, "hosts", ())) <= BOOKS_HOSTS_MAX
        watch = Watch(self.partition, store, self.clock.now, witness=witness, books=books)
        witnesses[id(store)] = store, watch.witness
        made.append(watch)

    monkeypatch.setattr(Run, "__init__", begun)
    yield made
    for watch in made:
        assert watch.faults == []
    if made:
        made[-1].whole()
