"""The two-level delay queue of lanes and hosts, against a model that looks at everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.lanes import Lane, Lanes

STEPS = st.lists(
    st.tuples(st.sampled_from(["join", "pop", "release", "wait", "purge"]), st.integers(0, 3), st.integers(0, 9)),
    max_size=60,
)


@given(STEPS)
def test_what_goes_next_is_what_a_look_at_everything_says(steps: list[tuple[str, int, int]]) -> None:
    lanes, now, number = Lanes(), 0.0, 0
    free_at: dict[str, float] = {}
    queued: dict[str, list[tuple[float, int, str]]] = {}
    flying: list[tuple[Lane, str]] = []
    for step, which, amount in steps:
        name = f"l{which}"
        if step == "join":
            number += 1
            host = f"h{number}"
            lanes.join(lanes.open(name, free_at.get(name, 0.0)), host, now + amount)
            queued.setdefault(name, []).append((now + amount, number, host))
        elif step == "wait":
            now += amount
        elif step == "release" and flying:
            lane, host = flying.pop(which % len(flying))
            lane.residents.discard(host)
            lanes.release(lane, now + amount)
            free_at[lane.id] = max(free_at.get(lane.id, 0.0), now + amount)
        elif step == "purge":
            lanes.purge(now)
        elif step == "pop":
            busy = {lane.id for lane, _ in flying}
            ready = {
                name: max(free_at.get(name, 0.0), min(hosts)[0])
                for name, hosts in queued.items() if hosts and name not in busy
            }  # fmt: skip
            popped = lanes.pop(now)
            due = {name: at for name, at in ready.items() if at <= now}
            if popped is None:
                assert due == {}
            else:
                lane, host = popped
                assert due[lane.id] == min(due.values())
                assert host == min(queued[lane.id])[2]
                queued[lane.id].remove(min(queued[lane.id]))
                flying.append(popped)
        busy = {lane.id for lane, _ in flying}
        idle = {name: hosts for name, hosts in queued.items() if hosts and name not in busy}
        times = [max(free_at.get(name, 0.0), min(hosts)[0]) for name, hosts in idle.items()]
        assert lanes.next_time() == min(times, default=None)
        assert lanes.in_flight == len(flying)
        assert lanes.ready(now) == sum(at <= now for at in times)


def test_purged_lanes_owe_nothing() -> None:
    lanes = Lanes()
    lane = lanes.open("a", 0.0)
    lanes.join(lane, "h", 0.0)
    assert lanes.pop(0.0) == (lane, "h")
    lane.residents.discard("h")
    lanes.release(lane, 5.0)
    lanes.purge(4.9)
    assert lanes.get("a") is lane
    lanes.purge(5.0)
    assert lanes.get("a") is None
