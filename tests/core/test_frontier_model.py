"""The frontier against a model of a few dictionaries that looks at everything: who may go, and that nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gossamer.core import frontier as module
from gossamer.core import lanes
from gossamer.core.active import ActiveHost
from gossamer.core.addresses import looked_up, pass_over, to_try
from gossamer.core.admission import Admission, Candidate
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.counters import Counters, Totals
from gossamer.core.dispatch import drop_place
from gossamer.core.frontier import Frontier
from gossamer.core.hostqueue import Place
from gossamer.core.ledger import Ledger
from gossamer.core.waiting import Waiting
from gossamer.model.record import Cf, HostRow
from gossamer.sim.memstore import MemoryStore
from tests.conftest import examples

HOSTS = [f"h{number}" for number in range(7)]
ADDRESSES = ["20.0.0.1", "20.0.0.2"]
NAMES_LAST_S = 500.0  # until a host's address is looked up again
SLOTS = 3
DRAIN_STEPS_MAX = 5_000
NUMBERS = st.integers(0, 99)
PAUSES_S = st.sampled_from([0.0, 0.5, 1.0, 5.0, 20.0, 40.0, 400.0])


class Model(RuleBasedStateMachine):
    """Production parts on one side; on the other, what each host has to do, and when it and each lane may go."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = (lanes.LANE_RESIDENTS_MAX, module.HOST_QUANTUM)
        lanes.LANE_RESIDENTS_MAX, module.HOST_QUANTUM = 2, 2  # so that lanes are full and hosts get tired
        self.store = MemoryStore()
        self.now = 1_000_000.0
        self.number = 0
        self.queued: dict[str, set[str]] = {host: set() for host in HOSTS}
        self.done: list[str] = []
        self.host_free: dict[str, float] = {}
        self.lane_free: dict[str, float] = {}
        self.start()

    def teardown(self) -> None:
        self.drain()
        lanes.LANE_RESIDENTS_MAX, module.HOST_QUANTUM = self.kept

    def start(self) -> None:
        self.chance = random.Random(self.number)
        self.ledger = Ledger(self.store, 1.0, Totals())
        self.counters = Counters(self.store)
        self.waiting = Waiting(self.store)
        self.admission = Admission(self.ledger, self.counters, self.waiting)
        self.frontier = Frontier(
            self.store, self.ledger, self.waiting, slots=SLOTS, chance=self.chance,
            lane_of=lambda _, address: address, lane_floor=lambda lane, _: self.lane_free.get(lane, 0.0),
            yield_slot=self.yield_slot, on_admit=lambda *_: None, on_activate=lambda *_: None,
        )  # fmt: skip
        self.flying: list[tuple[ActiveHost, Place, str]] = []
        self.digesting: list[tuple[ActiveHost, Place]] = []
        self.resolving: list[str] = []

    def yield_slot(self, row: HostRow) -> None:
        changes = Changes(self.store)
        self.waiting.wait(changes, row, self.counters.sequence)
        self.commit(changes, row)

    def commit(self, changes: Changes, row: HostRow) -> None:
        self.ledger.put(changes, row)
        self.counters.put(changes)
        self.store.write(changes.ops())

    @rule(host=st.sampled_from(HOSTS), level=st.integers(0, 9), count=st.integers(1, 4))
    def admit(self, host: str, level: int, count: int) -> None:
        changes = Changes(self.store)
        for _ in range(count):
            self.number += 1
            key = f"{host}/{self.number}"
            candidate = Candidate(url=f"https://{key}", key=key, host=host, site=host, level=level, depth=1, via="")
            assert self.admission.admit(changes, [candidate, candidate], self.now).new == 1
            self.queued[host].add(key)
        self.counters.put(changes)
        self.store.write(changes.ops())
        self.frontier.resettle(host, self.now)

    @rule(seconds=PAUSES_S)
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.frontier.lanes.purge(self.now)

    @rule(count=st.integers(1, 4))
    def take(self, count: int) -> None:
        for _ in range(count):
            self.frontier.refill(self.now)
            host = self.frontier.take(self.now)
            if host is None:
                return
            lane = host.lane.id if host.lane else ""
            assert host.name not in {other.name for other, _, _ in self.flying}
            assert lane not in {other for _, _, other in self.flying}
            assert lane in to_try(host.row)
            assert self.now >= self.lane_free.get(lane, 0.0)
            if host.row.next_allowed > self.now:
                self.frontier.end_turn(host, self.now, self.now)  # as the dispatch does: its ledger has changed
                continue
            assert self.now >= self.host_free.get(host.name, 0.0)
            place = host.queue.take(self.chance, 0.5)
            leased = {place.key for name, place in self.digesting if name is host}
            assert (place is None) == (not self.queued[host.name] - leased)
            if place is None:
                self.frontier.end_turn(host, self.now, self.now)
                continue
            assert place.key in self.queued[host.name] - leased
            self.flying.append((host, place, lane))

    @rule(which=NUMBERS, pause=PAUSES_S, how=st.sampled_from(["commit", "digest", "give back", "unreached"]))
    def end(self, which: int, pause: float, how: str) -> None:
        """A request ends: its page is committed now, or later, or it is to be asked for again."""
        if not self.flying:
            return
        host, place, lane = self.flying.pop(which % len(self.flying))
        self.now += 0.25
        host.row.next_allowed = self.host_free[host.name] = self.now + 1.0 + pause
        self.lane_free[lane] = self.now + 1.0
        host.turns += 1
        changes = Changes(self.store)
        if how == "commit":
            self.finish(changes, host, place)
        elif how == "digest":
            host.uncommitted += 1
            self.digesting.append((host, place))
        else:
            host.queue.give_back(place)
            if how == "unreached":
                pass_over(host.row, lane)
        self.commit(changes, host.row)
        self.frontier.end_turn(host, self.lane_free[lane], self.now)

    def finish(self, changes: Changes, host: ActiveHost, place: Place) -> None:
        self.queued[host.name].remove(place.key)
        self.done.append(place.key)
        drop_place(cast("Context", self), changes, host.row, place)  # of a context it asks what is here as well
        host.queue.done(place.level, place.sequence)

    @rule(which=NUMBERS)
    def digested(self, which: int) -> None:
        if not self.digesting:
            return
        host, place = self.digesting.pop(which % len(self.digesting))
        changes = Changes(self.store)
        self.finish(changes, host, place)
        self.commit(changes, host.row)
        host.uncommitted -= 1
        self.frontier.resettle(host.name, self.now)

    @rule(which=NUMBERS, how=st.sampled_from([*ADDRESSES, "both", "none"]))
    def resolve(self, which: int, how: str) -> None:
        self.resolving += self.frontier.take_resolves(2)
        if not self.resolving:
            return
        name = self.resolving.pop(which % len(self.resolving))
        row = self.frontier.active[name].row
        found = tuple(ADDRESSES) if how == "both" else () if how == "none" else (how,)
        looked_up(row, found, self.now + NAMES_LAST_S)
        if how == "none":
            row.next_allowed = self.host_free[name] = max(row.next_allowed, self.now + 60.0)
        self.commit(Changes(self.store), row)
        self.frontier.settle(name, self.now)

    @rule(really=st.integers(0, 5))
    def killed(self, really: int) -> None:
        if not really:
            for _, _, lane in self.flying:
                self.lane_free[lane] = max(self.lane_free.get(lane, 0.0), self.now + 1.0)
            self.start()

    def drain(self) -> None:
        """Only time passes, and all that is asked is answered: in the end everything was done, each once."""
        expected = sum(map(len, self.queued.values())) + len(self.done)
        for step in range(DRAIN_STEPS_MAX):
            self.take(4)
            while self.resolving or self.frontier._to_resolve:
                self.resolve(step, ADDRESSES[step % 2])
            self.take(4)
            while self.flying:
                self.end(0, 0.0, "commit")
            while self.digesting:
                self.digested(0)
            if not any(self.queued.values()):
                break
            at = self.frontier.next_time()
            assert at is not None, "there is work, and nothing will ever happen"
            self.now = max(self.now, at)
        assert len(self.done) == len(set(self.done)) == expected
        self.take(1)
        assert not self.frontier.active

    @invariant()
    def every_host_with_work_is_somewhere_and_only_there(self) -> None:
        held = (self.frontier.active, self.frontier._asleep, self.frontier._outside)
        assert sum(map(len, held)) == len(set().union(*held))
        assert len(self.frontier.active) <= SLOTS
        on_disk = {host for _, host in self.on_disk()}
        for host, keys in self.queued.items():
            assert not keys or host in on_disk  # where a restart finds it
            row = self.ledger.find(host)
            assert (row.pending if row else 0) == len(keys)
        assert self.frontier.lanes.in_flight == len(self.flying)

    def on_disk(self) -> Iterator[tuple[bytes, str]]:
        for key, value in self.store.scan(Cf.WAITING, b"", None, 999):
            yield key, value.decode()


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=examples(150), stateful_step_count=50, deadline=None)
