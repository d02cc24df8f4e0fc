"""What bounds the rate now, told from counts of one moment."""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.model.view import Bound, BoundName, Busy

SLOW_SYNC_S: Final = 0.1  # a sync of the store that takes so long: twice the time commits are grouped for
WORKERS_FULL: Final = 0.8  # of their time, in which workers could do nothing else: they are what is waited for
WORKERS_SYNC: Final = 0.4  # of their time, spent waiting for the disk: it is the disk
MAIN_FULL: Final = 0.9  # of the main process's time
MAIN_AHEAD: Final = 0.6  # of it, when pages wait and the workers have time left


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """The counts that the judgement rests on."""

    rate: float  # pages a second
    paused: str = ""
    ordered: str = ""  # why somebody has paused it
    lacking: str = ""
    stopping: bool = False
    budget_reached: bool = False
    in_flight: int = 0
    concurrency: int = 1
    digest_bound: bool = False
    digest_pending: int = 0
    busy: Busy | None = None
    workers: int = 1
    sync_s: float = 0.0  # average time that a sync of the store takes
    resolving: int = 0
    resolves_max: int = 1
    hosts_active: int = 0
    hosts_resolving: int = 0
    hosts_ruleless: int = 0  # hosts whose robots.txt is still to come
    lanes: int = 0
    slots: int = 1
    waiting: bool = False
    period_s: float = 1.0  # average fetch time plus gap
    asleep: int = 0
    queued: int = 0
    due_in_s: float | None = None  # until the next planned visit, in a continuous crawl


def judge_bound(load: Load) -> Bound:
    """The first of these that holds, with one sentence of evidence."""
    if load.ordered:
        return Bound(BoundName.ORDER, f"paused {load.ordered}")
    if load.lacking:
        return Bound(BoundName.MEMORY, f"paused: {load.lacking}")
    if load.paused:
        return Bound(BoundName.NETWORK, f"paused: {load.paused}")
    if load.stopping:
        return Bound(BoundName.STOPPING, f"finishing {load.in_flight} requests and {load.digest_pending} pages")
    if load.budget_reached:
        return Bound(BoundName.BUDGET, "the page budget is reached")
    if load.digest_bound:
        return _backlog(load)
    if load.busy is not None and load.busy.main >= MAIN_FULL:
        return Bound(BoundName.MAIN, _main_words(load.busy))
    if load.in_flight >= load.concurrency:
        return Bound(BoundName.FETCH, f"all {load.concurrency} requests that may be in flight are (fetch.concurrency)")
    if load.resolving >= load.resolves_max or load.hosts_resolving > max(1, load.hosts_active // 2):
        return Bound(BoundName.DNS, f"{load.hosts_resolving + load.resolving} hosts wait for their address")
    if load.hosts_ruleless > max(1, load.hosts_active // 2):
        return Bound(BoundName.ROBOTS, f"{load.hosts_ruleless} of {load.hosts_active} hosts wait for their robots.txt")
    if not load.hosts_active:
        if load.asleep:
            if load.asleep == 1:
                return Bound(BoundName.IDLE, "the only host with work rests until it may be asked again")
            return Bound(BoundName.IDLE, f"all {load.asleep} hosts with work rest until they may be asked again")
        if load.due_in_s is not None and not load.queued:
            return Bound(BoundName.IDLE, f"until the next page becomes due, in {_span(load.due_in_s)}")
        return Bound(BoundName.IDLE, f"{load.queued} URLs queued, no host active")
    ceiling = min(load.hosts_active, load.lanes or load.hosts_active) / load.period_s
    where = f"period {load.period_s:.1f} s (fetch and gap): at most {ceiling:.2g} pages/s"
    if load.waiting and load.hosts_active >= load.slots:
        return Bound(BoundName.SLOTS, f"all {load.slots} slots are taken while hosts wait; {where}")
    if load.lanes and load.lanes < load.hosts_active / 2:
        return Bound(BoundName.LANES, f"{load.hosts_active} hosts share {load.lanes} server addresses; {where}")
    hosts = "1 host has" if load.hosts_active == 1 else f"{load.hosts_active} hosts have"
    return Bound(BoundName.HOSTS, f"only {hosts} work; {where}")


def _backlog(load: Load) -> Bound:
    """Pages wait between fetch and commit: for the disk, for the workers, or for the main process."""
    busy, pending = load.busy, f"{load.digest_pending} pages wait"
    if busy is not None and busy.worker_sync >= WORKERS_SYNC:
        words = f"{pending} to be written: workers wait for the archive's disk {busy.worker_sync:.0%} of the time"
        return Bound(BoundName.DISK, words)
    if load.sync_s >= SLOW_SYNC_S:
        return Bound(BoundName.DISK, f"a sync of the store takes {load.sync_s:.2f} s; {pending} to be written")
    workers = "1 digest worker" if load.workers == 1 else f"{load.workers} digest workers"
    if busy is None:
        return Bound(BoundName.DIGEST, f"{pending} for {workers}")
    if busy.worker < WORKERS_FULL and busy.main >= max(MAIN_AHEAD, busy.worker):
        return Bound(BoundName.MAIN, f"{pending}, and {_main_words(busy)}; a worker {busy.worker:.0%}")
    words = f"{pending} for {workers}: CPU {busy.worker_cpu:.0%}, waiting for a core {busy.worker_wait:.0%}"
    return Bound(BoundName.DIGEST, f"{words}, for the disk {busy.worker_sync:.0%} of the time")


def _main_words(busy: Busy) -> str:
    return f"the main process is on a core {busy.main_cpu:.0%} of the time and waits for one {busy.main_wait:.0%}"


def _span(seconds: float) -> str:
    for size, name in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} s"
