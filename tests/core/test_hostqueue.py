"""The queue of one host: leases, cursor, order; and the front queues."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.changes import Changes
from gossamer.core.hostqueue import READ_AHEAD, HostQueue, Place, dequeue, enqueue
from gossamer.core.keys import QUEUE_LEVELS, due_bound, due_key, queue_key, queue_place, waiting_key
from gossamer.core.waiting import Waiting
from gossamer.model.record import Cf, Entry, HostRow
from gossamer.sim.memstore import MemoryStore


def host() -> HostRow:
    return HostRow(host="h", site="h", pending_by_level=[0] * QUEUE_LEVELS, cursor=[0] * QUEUE_LEVELS)


def fill(store: MemoryStore, row: HostRow, levels: list[int], start: int = 1) -> None:
    changes = Changes(store)
    for sequence, level in enumerate(levels, start):
        enqueue(changes, row, level, sequence, Entry(f"k{sequence}", level >= 10))
    store.write(changes.ops())


def finish(store: MemoryStore, row: HostRow, queue: HostQueue, place: Place) -> None:
    changes = Changes(store)
    dequeue(changes, row, place.level, place.sequence)
    queue.done(place.level, place.sequence)
    store.write(changes.ops())


def test_first_in_first_out_within_a_level() -> None:
    store, row = MemoryStore(), host()
    fill(store, row, [3] * 50)
    queue = HostQueue(store, row)
    taken = [queue.take(random.Random(1), 0.5) for _ in range(51)]
    assert [place.key if place else None for place in taken] == [*(f"k{n}" for n in range(1, 51)), None]
    assert queue.available() == 0


def test_a_lease_that_is_given_back_is_next_again() -> None:
    store, row = MemoryStore(), host()
    fill(store, row, [0, 0, 0])
    queue, chance = HostQueue(store, row), random.Random(1)
    first, second = queue.take(chance, 0.5), queue.take(chance, 0.5)
    assert first is not None
    assert second is not None
    queue.give_back(second)
    again = queue.take(chance, 0.5)
    assert again is not None
    assert again.key == second.key


class Counted(MemoryStore):
    """Counts the rows that scans bring, and knows where the last one began: what was deleted before costs a climb."""

    rows = 0
    start = b""

    def scan(self, cf: Cf, start: bytes, stop: bytes | None, limit: int) -> list[tuple[bytes, bytes]]:
        found = super().scan(cf, start, stop, limit)
        self.rows, self.start = self.rows + len(found), start
        return found


def test_what_is_done_is_not_read_again() -> None:
    """However much is done, a step reads what it hands out and what lies ahead of that, also after a restart."""
    store, row, chance = Counted(), host(), random.Random(1)
    fill(store, row, [3] * 3_000)
    queue = HostQueue(store, row)
    for count in range(1, 2_991):
        place = queue.take(chance, 0.5)
        assert place is not None
        finish(store, row, queue, place)
        assert store.rows <= count + READ_AHEAD
        assert queue_place(store.start)[1] >= count - READ_AHEAD
    store.rows = 0
    queue = HostQueue(store, row)
    left = [place.key for place in iter(lambda: queue.take(chance, 0.5), None) if place is not None]
    assert left == [f"k{n}" for n in range(2_991, 3_001)]
    assert store.rows <= 10 + READ_AHEAD
    assert queue_place(store.start)[1] >= 2_991


STEPS = st.lists(st.sampled_from("tdbnr"), max_size=120)


@given(st.lists(st.integers(0, 19), max_size=60), st.integers(0, 10**9), STEPS)
def test_every_entry_is_handed_out_until_done_and_no_cursor_passes_one(
    levels: list[int], seed: int, steps: list[str]
) -> None:
    """take, done (any lease), give back (the newest), new entries, restart."""
    store, row, chance = MemoryStore(), host(), random.Random(seed)
    fill(store, row, levels)
    queue, sequence = HostQueue(store, row), len(levels)
    leases: list[Place] = []
    done: set[str] = set()
    for step in steps:
        if step == "t":
            place = queue.take(chance, 0.5)
            if place is None:
                assert queue.available() == 0
            else:
                assert place.key not in done
                assert place.key not in {lease.key for lease in leases}
                leases.append(place)
        elif step == "d" and leases:
            place = leases.pop(chance.randrange(len(leases)))
            finish(store, row, queue, place)
            done.add(place.key)
        elif step == "b" and leases:
            queue.give_back(leases.pop())
        elif step == "n":
            sequence += 1
            fill(store, row, [chance.randrange(20)], sequence)
        elif step == "r":
            queue, leases = HostQueue(store, row), []
        for key, _ in store.scan(Cf.QUEUE, b"", None, 999):
            level, at = queue_place(key)
            assert row.cursor[level] <= at
        assert queue.available() == sequence - len(done) - len(leases)
    queue = HostQueue(store, row)
    while (place := queue.take(chance, 0.5)) is not None:
        done.add(place.key)
    assert done == {f"k{n}" for n in range(1, sequence + 1)}


@given(st.integers(0, 19), st.integers(0, 2**64 - 1), st.integers(0, 19), st.integers(0, 2**64 - 1))
def test_the_order_of_keys_is_the_order_of_work(level: int, sequence: int, other: int, later: int) -> None:
    assert queue_place(queue_key("h", level, sequence)) == (level, sequence)
    assert (queue_key("h", level, sequence) < queue_key("h", other, later)) == ((level, sequence) < (other, later))
    assert (waiting_key(level, sequence) < waiting_key(other, later)) == ((level, sequence) < (other, later))
    assert queue_key("h", level, sequence).startswith(b"h\x00")


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_what_is_due_lies_below_its_bound(due: float, now: float) -> None:
    if int(due * 1000) <= int(now * 1000):
        assert due_key(due, "k") < due_bound(now)
    else:
        assert due_key(due, "k") >= due_bound(now)


def test_a_host_waits_once_and_its_old_place_is_stale() -> None:
    store, row = MemoryStore(), host()
    waiting = Waiting(store)
    for level, sequence in ((5, 1), (2, 2), (7, 3)):
        changes = Changes(store)
        waiting.put(changes, row, level, sequence)
        store.write(changes.ops())
    assert store.scan(Cf.WAITING, b"", None, 9) == [(waiting_key(7, 3), b"h")]
    assert waiting.take(random.Random(1)) == ("h", 7, 3)
    assert waiting.take(random.Random(1)) is None
    assert waiting.anything() is False
    waiting.rewind()
    assert waiting.take(random.Random(1)) == ("h", 7, 3)


def test_a_queue_that_says_more_than_it_holds_is_an_error_not_a_loop() -> None:
    store, row = MemoryStore(), host()
    fill(store, row, [0])
    row.pending_by_level[0] += 1
    row.pending += 1
    queue = HostQueue(store, row)
    queue.take(random.Random(1), 0.5)
    with pytest.raises(AssertionError, match="has 2 at level 0 but none is found"):
        queue.take(random.Random(1), 0.5)
