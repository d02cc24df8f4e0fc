"""The stages in virtual time: deadlines, back-pressure, faults of our own machine, and one seed giving one log."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from gossamer.core.turn import Turn
from gossamer.model.errors import DiskFullError
from gossamer.model.limits import DIGEST_PENDING_MAX
from gossamer.model.page import Failure, Kind, Resolution
from gossamer.sim.check import gaps, host_rows, one_at_a_time, recount, url_rows
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import chain, config, farm, listing, names, roots
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run, StuckError
from gossamer.sim.web import Answer, SimHost, SimWeb, refused
from gossamer.sim.world import World
from gossamer.stage import dispatch
from tests.simulation.wild import wild_web

HOST = "h0.example"
START = 1_700_000_000.0
ROOT = Path(__file__).parents[2]
LOOKS_MAX = 3.0  # for each request: one that finds it, one that finds no other, and what resolves and digests wake


def wild_log(seed: int) -> str:
    """Digest of everything that a run says: its log, its servers' logs, its state."""
    run = Run(wild_web(), config(frontier={"slots": 5}, politeness={"start_jitter_s": 2.0}), ["http://w0.example/"],
              digest_s=0.4, workers=2, dns_s=0.05, refresh=True, seed=seed)  # fmt: skip
    run.go(9_000.0, stay=True)
    rows = sorted(url_rows(run.store).items())
    text = msgspec.json.encode([run.events, run.served, run.begun, rows])
    return f"{len(run.events)} {hashlib.sha256(text).hexdigest()}"


def test_one_seed_one_log_whatever_the_hash_seed() -> None:
    here = wild_log(7)
    assert int(here.split()[0]) > 100
    program = "from tests.simulation.test_stages import wild_log; print(wild_log(7))"
    for hash_seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
        )
        assert done.stdout.strip() == here
    assert wild_log(8) != here


def one_host(page: object, **fields: object) -> SimWeb:
    return SimWeb({HOST: SimHost(address="20.0.0.1", page=page, **fields)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "failure", "seconds"),
    [
        (Answer(seconds=25.0), "first-byte-timeout", 20.0),
        (Answer(seconds=500.0), "first-byte-timeout", 20.0),
        (refused(Failure.CONNECT_TIMEOUT, 60.0), "connect-timeout", 10.0),
        (refused(Failure.DISCONNECTED, 3.0), "disconnected", 3.0),
        (refused(Failure.TIMEOUT, 5.0), "timeout", 5.0),
    ],
)
def test_deadlines_of_the_request_end_a_fetch(answer: Answer, failure: str, seconds: float) -> None:
    run = Run(one_host(lambda _target: answer), config(fetch={"retries": 0}), roots([HOST]))
    run.go(200.0)
    page = run.pages()[0]
    assert page.end - page.start == pytest.approx(seconds)
    assert failure in next(iter(url_rows(run.store).values())).detail


def test_a_body_that_drips_past_the_total_time_is_kept_in_part() -> None:
    drip = Answer(body=b"x" * 1_000, seconds=100.0, first_byte_s=10.0)
    run = Run(one_host(lambda _target: drip), config(), roots([HOST]))
    assert run.go()
    event = next(event for event in run.events if event.kind == "page")
    assert (event.status, event.truncated) == (200, "time")
    assert run.pages()[0].end - run.pages()[0].start == pytest.approx(30.0)


def test_a_body_over_the_cap_is_cut_and_an_unwanted_type_not_read() -> None:
    film = Answer(headers=(("content-type", "video/mp4"),), body=b"x" * 900, seconds=9.0, first_byte_s=1.0)
    pages = {"/": Answer(body=b"x" * 5_000, links=(f"http://{HOST}/film",)), "/film": film}
    run = Run(one_host(pages.__getitem__), config(fetch={"max_body_bytes": 4_000}), roots([HOST]))
    assert run.go()
    cut, unread = (event for event in run.events if event.kind == "page")
    assert (cut.truncated, cut.payload_bytes) == ("length", 4_000)
    assert unread.payload_bytes == 0
    assert run.pages()[1].end - run.pages()[1].start == pytest.approx(1.0)


def test_workers_that_lag_slow_the_fetching_and_lose_nothing() -> None:
    hosts = names(300)
    run = Run(farm(hosts, lambda name: listing(name, 4)), config(), roots(hosts), digest_s=0.1, workers=2)
    most = 0
    while not run.go(steps=100):
        most = max(most, run.pipeline.digest.load())
    assert len(run.pages()) == 300 * 5
    assert DIGEST_PENDING_MAX < most <= len(hosts) + DIGEST_PENDING_MAX  # what was in flight when the lag showed
    assert run.clock.now() - START >= len(run.served) * 0.1 / 2
    assert recount(run.store) == []
    assert gaps(run.served, 1.0) == []


def test_a_full_archive_ends_the_crawl_and_a_restart_goes_on() -> None:
    first = Run(one_host(listing(HOST, 9)), config(), roots([HOST]), digest_s=0.1)
    first.go(6.0)
    first.digester.full = True
    with pytest.raises(DiskFullError):
        first.go()
    assert recount(first.store) == []
    again = Run(one_host(listing(HOST, 9)), config(), roots([HOST]), store=first.store, clock=first.clock, digest_s=0.1)
    assert again.go()
    assert all(row.status == 200 for row in url_rows(again.store).values() if row.kind == "page")
    assert gaps([*first.served, *again.served], 1.0) == []


class FullStore(MemoryStore):
    """Has no room from some write on."""

    left = 40

    def write(self, ops: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise DiskFullError("no room")
        super().write(ops)  # type: ignore[arg-type]


def test_a_store_without_room_ends_the_crawl_and_nothing_runs_after_it() -> None:
    run = Run(wild_web(), config(), ["http://w0.example/"], store=FullStore())
    with pytest.raises(DiskFullError):
        run.go()
    log, state = list(run.events), url_rows(run.store)
    with pytest.raises(DiskFullError):
        run.go()
    assert (run.events, url_rows(run.store)) == (log, state)
    assert recount(run.store) == []


def test_pauses_for_faults_of_ours_grow_and_the_first_success_ends_them() -> None:
    asked = []

    def resolve(name: str, now: float) -> Resolution:
        asked.append(now)
        if now < START + 100:
            return Resolution(name=name, error="no nameserver answers", ours=True)
        return Resolution(name=name, addresses=("20.0.0.1",), expires=now + 9e5)

    run = Run(one_host(listing(HOST, 2), resolve=resolve), config(), roots([HOST]))
    assert run.go()
    waits = [b - a for a, b in pairwise(asked)]
    assert waits[:6] == pytest.approx([1.0, 2.0, 4.0, 8.0, 16.0, 30.0])
    assert len(run.pages()) == 3


@pytest.mark.parametrize("seconds", [3.0, 45.0, 3_600.0])
def test_a_process_that_stood_still_charges_no_host(seconds: float) -> None:
    hosts = names(30)
    web = farm(hosts, lambda name: lambda target: msgspec.structs.replace(listing(name, 9)(target), seconds=1.0))
    run = Run(web, config(), roots(hosts), dns_s=0.1, digest_s=0.1, stalls=True)
    run.go(3.8)
    assert run.partition.in_flight == 30
    run.stall(seconds)
    run.go(0.5)
    late = [served for served in run.served if served.end - served.start > seconds]
    assert len(late) == 30  # each was waited for while we stood still
    rows = host_rows(run.store)
    assert {(row.failed, row.errors, row.backoff_s, row.parked) for row in rows.values()} == {(0, 0, 0.0, "")}
    assert max(row.response_s for row in rows.values()) < 1.1  # our lateness is not the servers'
    assert run.go()
    assert {s.host for s in run.pages()} == set(hosts)
    assert len([row for row in url_rows(run.store).values() if row.kind == "page" and row.status == 200]) == 300
    assert run.context.counters.totals.failures == {}
    assert recount(run.store) == []
    assert one_at_a_time(run.served) == []
    assert gaps(run.served, 1.0) == []


def test_a_run_that_does_not_watch_itself_cannot_be_stalled() -> None:
    run = Run(one_host(chain(HOST)), config(), roots([HOST]))
    with pytest.raises(ValueError, match="stalls=True"):
        run.stall(1.0)


def test_the_calendar_brings_pages_back_while_the_crawl_stays() -> None:
    run = Run(one_host(listing(HOST, 3)), config(refresh={"policy": "uniform", "interval_s": 7_200.0}), roots([HOST]),
              refresh=True)  # fmt: skip
    assert run.go()
    assert not run.go(30_000.0, stay=True) or run.over()
    assert run.clock.now() >= START + 30_000.0
    visits = [run.targets(HOST).count(target) for target in ("/", "/p0", "/p1", "/p2")]
    assert min(visits) >= 3
    assert recount(run.store) == []


def test_log_lines_come_out_only_after_the_sync_that_covers_them() -> None:
    store = MemoryStore()
    run = Run(one_host(listing(HOST, 5)), config(), roots([HOST]), store=store)
    seen = 0
    while not run.go(steps=1):
        if len(run.events) > seen:
            assert store.synced == store.writes
            seen = len(run.events)
    assert len([event for event in run.events if event.kind is Kind.PAGE]) == 6


def test_a_crawl_that_waits_for_what_never_comes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.sim.run.STUCK_STEPS", 10_000)
    run = Run(one_host(listing(HOST, 5)), config(), roots([HOST]))
    run.go(3.0)
    monkeypatch.setattr(run.partition, "next_turn", lambda _now: None)
    with pytest.raises(StuckError):
        run.go()


def asked(web: SimWeb, seeds: list[str], monkeypatch: pytest.MonkeyPatch, *, always: bool) -> tuple[Run, int]:
    """A run, and how often it looked for a turn. `always`: every end of a visit or page makes it look."""
    monkeypatch.setattr(dispatch, "WAIT_MIN_S", 1e-9)  # else a look shifts later ones by up to a millisecond
    run = Run(web, config(frontier={"slots": 20}), seeds, clock=VirtualClock(START), dns_s=0.05, refresh=True)
    if always:
        monkeypatch.setattr(run.pipeline.dispatch, "nudge", run.pipeline.dispatch.wake)
    looks, next_turn = 0, run.partition.next_turn

    def look(now: float) -> Turn | None:
        nonlocal looks
        looks += 1
        return next_turn(now)

    monkeypatch.setattr(run.partition, "next_turn", look)
    run.go(400.0, stay=True)
    return run, looks


def test_looks_that_are_left_out_would_have_found_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(1, 60, 2_000)  # whose times have no ties: their order may change
    rare, few = asked(world, world.seeds(), monkeypatch, always=False)
    often, many = asked(world, world.seeds(), monkeypatch, always=True)
    requests = len(rare.begun)
    assert requests > 1_000
    assert rare.begun == often.begun
    assert few < 2.5 * requests  # a look that finds it, one that finds no other
    assert many > 3.0 * requests


@pytest.mark.parametrize("count", [10, 150])
def test_looks_for_a_request_do_not_grow_with_hosts(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them rest most of the time: what ends anywhere must not make everybody look."""
    listed = names(count)
    run = Run(farm(listed, chain), config(limits={"depth": 10**6}), roots(listed), dns_s=0.05)
    looks: Counter[str] = Counter()
    for name in ("next_turn", "next_time"):
        real = getattr(run.partition, name)

        def look(*now: float, name: str = name, real: Callable[..., object] = real) -> object:
            looks[name] += 1
            return real(*now)

        monkeypatch.setattr(run.partition, name, look)
    run.go(12.0)
    assert len(run.begun) >= 9 * count
    assert looks["next_turn"] < LOOKS_MAX * len(run.begun)
    assert looks["next_time"] < LOOKS_MAX * len(run.begun)


def test_a_crawl_whose_external_fetchers_ask_no_more_looks_seldom() -> None:
    listed = names(3)
    run = Run(farm(listed, chain), config(), roots(listed))
    run.go(20.0)
    fetch = msgspec.structs.replace(run.context.config.fetch, external=True)
    run.context.config = msgspec.structs.replace(run.context.config, fetch=fetch)
    before, looks, next_time = len(run.begun), 0, run.partition.next_time

    def look() -> float | None:
        nonlocal looks
        looks += 1
        return next_time()

    run.partition.next_time = look  # type: ignore[method-assign]
    run.go(60.0)
    assert len(run.begun) == before > 30
    assert looks < 60  # every few seconds, not every millisecond


def test_between_two_looks_at_the_sockets_so_many_turns_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of hosts whose time has come are no reason to leave the event loop waiting."""
    listed = names(5 * dispatch.TURNS_AT_ONCE)
    run = Run(farm(listed, chain), config(politeness={"start_jitter_s": 0.0}), roots(listed), dns_s=0.0)
    handed, waiting = 0, []
    next_turn = run.partition.next_turn

    def hand(now: float) -> Turn | None:
        nonlocal handed
        turn = next_turn(now)
        handed += turn is not None
        waiting.append(handed - len(run.begun))
        return turn

    monkeypatch.setattr(run.partition, "next_turn", hand)
    run.go(5.0)
    assert max(waiting) == dispatch.TURNS_AT_ONCE
