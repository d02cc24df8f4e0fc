"""What bounds the rate: one sentence for each bound, the first that holds."""

from __future__ import annotations

import msgspec
import pytest

from gossamer.core.bounds import Load, judge_bound
from gossamer.model.view import BoundName, Busy

CALM = Load(rate=1.0, concurrency=100, resolves_max=200, hosts_active=8, lanes=8, slots=10_000, period_s=1.2, workers=1)
CASES = {
    "memory": ({"lacking": "3 MiB of memory are left"}, BoundName.MEMORY, "paused: 3 MiB of memory are left"),
    "order": ({"ordered": "by order by anna"}, BoundName.ORDER, "paused by order by anna"),
    "network": ({"paused": "no network"}, BoundName.NETWORK, "paused: no network"),
    "stopping": ({"stopping": True, "in_flight": 3, "digest_pending": 2}, BoundName.STOPPING,
                 "finishing 3 requests and 2 pages"),
    "budget": ({"budget_reached": True}, BoundName.BUDGET, "the page budget is reached"),
    "digest": ({"digest_bound": True, "digest_pending": 64}, BoundName.DIGEST, "64 pages wait for 1 digest worker"),
    "digest, and how it spends its time": (
        {"digest_bound": True, "digest_pending": 64, "workers": 2,
         "busy": Busy(main_cpu=0.5, worker_cpu=0.75, worker_wait=0.12, worker_sync=0.04)}, BoundName.DIGEST,
        "64 pages wait for 2 digest workers: CPU 75%, waiting for a core 12%, for the disk 4% of the time"),
    "digest, nobody busy": ({"digest_bound": True, "digest_pending": 64, "busy": Busy(main_cpu=0.2, worker_cpu=0.1)},
                             BoundName.DIGEST, ("64 pages wait for 1 digest worker: CPU 10%, waiting for a core 0%, "
                             "for the disk 0% of the time")),
    "main, while pages wait": (
        {"digest_bound": True, "digest_pending": 64, "busy": Busy(main_cpu=0.78, main_wait=0.1, worker_cpu=0.47)},
        BoundName.MAIN, ("64 pages wait, and the main process is on a core 78% of the time and waits for one 10%; "
        "a worker 47%")),
    "main": ({"busy": Busy(main_cpu=0.85, main_wait=0.1)}, BoundName.MAIN,
             "the main process is on a core 85% of the time and waits for one 10%"),
    "disk, archive": ({"digest_bound": True, "digest_pending": 64, "busy": Busy(worker_cpu=0.1, worker_sync=0.6)},
                      BoundName.DISK,
                      "64 pages wait to be written: workers wait for the archive's disk 60% of the time"),
    "disk": ({"digest_bound": True, "digest_pending": 64, "sync_s": 0.25}, BoundName.DISK,
             "a sync of the store takes 0.25 s; 64 pages wait to be written"),
    "fetch": ({"in_flight": 100}, BoundName.FETCH,
                    "all 100 requests that may be in flight are (fetch.concurrency)"),
    "dns, queries": ({"resolving": 200}, BoundName.DNS, "200 hosts wait for their address"),
    "dns, hosts": ({"hosts_resolving": 5}, BoundName.DNS, "5 hosts wait for their address"),
    "robots": ({"hosts_ruleless": 5}, BoundName.ROBOTS, "5 of 8 hosts wait for their robots.txt"),
    "idle, resting": ({"hosts_active": 0, "asleep": 7}, BoundName.IDLE,
                      "all 7 hosts with work rest until they may be asked again"),
    "idle, one host": ({"hosts_active": 0, "asleep": 1}, BoundName.IDLE,
                       "the only host with work rests until it may be asked again"),
    "idle": ({"hosts_active": 0, "queued": 4}, BoundName.IDLE, "4 URLs queued, no host active"),
    "slots": ({"waiting": True, "slots": 8}, BoundName.SLOTS,
              "all 8 slots are taken while hosts wait; period 1.2 s (fetch and gap): at most 6.7 pages/s"),
    "lanes": ({"lanes": 2}, BoundName.LANES,
              "8 hosts share 2 server addresses; period 1.2 s (fetch and gap): at most 1.7 pages/s"),
    "hosts": ({}, BoundName.HOSTS, "only 8 hosts have work; period 1.2 s (fetch and gap): at most 6.7 pages/s"),
    "one host": ({"hosts_active": 1, "lanes": 1}, BoundName.HOSTS,
                 "only 1 host has work; period 1.2 s (fetch and gap): at most 0.83 pages/s"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_each_bound_has_its_sentence(case: str) -> None:
    changed, name, sentence = CASES[case]
    bound = judge_bound(msgspec.structs.replace(CALM, **changed))
    assert (bound.name, bound.sentence) == (name, sentence)


def test_the_first_that_holds_is_told() -> None:
    order = ("network", "stopping", "budget", "digest", "fetch", "dns, queries")
    changes = [dict(CASES[case][0]) for case in order]
    for first in range(len(changes)):
        load = CALM
        for change in changes[first:]:
            load = msgspec.structs.replace(load, **{k: v for k, v in change.items() if not getattr(load, k)} | (
                {"in_flight": 100} if first <= 4 else {}))  # fmt: skip
        names = [BoundName.NETWORK, BoundName.STOPPING, BoundName.BUDGET, BoundName.DIGEST, BoundName.FETCH,
                 BoundName.DNS]  # fmt: skip
        assert judge_bound(load).name is names[first]


def test_every_bound_is_told_by_something() -> None:
    assert {name for _, name, _ in CASES.values()} == set(BoundName) - {BoundName.STARTING}
