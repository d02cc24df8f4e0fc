"""The doctor on paper: each resource made to bind by counts, the crawl's own judgement in between."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gossamer.core.bounds import Load, judge_bound
from gossamer.model.config import Config, Identity
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.view import Bound, BoundName, Budget, Busy, HostView, Snapshot
from gossamer.surface.doctor import Resource, diagnose
from gossamer.surface.doctoring import diagnosis_lines
from gossamer.surface.doctorlook import host_sample, log_sample
from gossamer.surface.forecast import DiskForecast, DiskSample, disk_forecast
from gossamer.surface.patient import HostSample, LogSample, Patient

CONFIG = Config(identity=Identity(contact="https://example.org/bot"))
SHOT = Snapshot(
    state="crawling", rate_now=12.0, rate_average=10.0, hosts_known=200, hosts_active=150, hosts_resting=120,
    hosts_ready=2, slots=10_000, concurrency=1_000, digest_pending=64, digest_max=64, workers=1,
)  # fmt: skip
BUSY: dict[str, Any] = {"rate": 12.0, "hosts_active": 150, "lanes": 150, "slots": 10_000, "concurrency": 1_000}
GIANTS = HostSample(
    with_work=40, queued=10_000, largest=(("giant.example", 9_000, 1.2), ("b.example", 30, 1.2), ("c.example", 20, 1.2))
)
SHAKING = LogSample(visits=1000, span_s=10.0, secure=900, handshakes=900, connect_s=700.0, elapsed_s=1000.0)
CASES: list[tuple[Resource, dict[str, Any], dict[str, Any], str, str]] = [
    (Resource.HOSTS, {}, {}, "150 hosts of 200 known", "more seeds"),
    (Resource.GIANTS, {}, {"hosts": GIANTS}, "giant.example: 9,000 URLs queued", "limits.site_pages"),
    (Resource.SLOTS, {"slots": 150, "waiting": True}, {}, "wait on disk for one of", "frontier.slots above"),
    (Resource.LANES, {"lanes": 3}, {}, "pages/s now", "hosts elsewhere"),
    (Resource.FETCH, {"in_flight": 1_000}, {"log": LogSample(visits=10, span_s=1, elapsed_s=30, timeouts=4)},
     "4 of the last 10 visits timed out", "fetch.concurrency above 1000"),
    (Resource.DNS, {"hosts_resolving": 100}, {}, "names are being asked for", "dns.nameservers"),
    (Resource.ROBOTS, {"hosts_ruleless": 100}, {}, "pages/s now", "first_byte_timeout"),
    (Resource.TLS, {"in_flight": 1_000}, {"log": SHAKING}, "connecting took 70% of their time", "fetch.concurrency"),
    (Resource.DIGEST, {"digest_bound": True, "digest_pending": 64}, {"cores": 8},
     "64 of at most 64 pages wait", "workers.count = 7"),
    (Resource.DIGEST, {"digest_bound": True, "digest_pending": 64}, {"cores": 2}, "1 worker", "more than 2 cores"),
    (Resource.DIGEST, {"digest_bound": True, "busy": Busy(worker_cpu=0.9)}, {},
     "a worker: on a core 90%", "more than 1 core"),
    (Resource.MAIN, {"digest_bound": True, "busy": Busy(main_cpu=0.78, worker_cpu=0.47)}, {},
     "the main process: on a core 78% of the time", "a core of its own"),
    (Resource.MAIN, {"busy": Busy(main_cpu=0.6, main_wait=0.35)}, {}, "waiting for one 35%", "a second crawl"),
    (Resource.DISK, {"digest_bound": True, "busy": Busy(worker_sync=0.7)}, {}, "for the disk 70%", "a faster disk"),
    (Resource.DISK, {"digest_bound": True, "sync_s": 0.5}, {}, "durable takes", "a faster disk"),
    (Resource.MEMORY, {"lacking": "memory: 20 MiB are left"}, {}, "pages/s now", "more memory"),
    (Resource.NETWORK, {"paused": "no nameserver answers"}, {}, "pages/s now", "what the sentence names"),
    (Resource.BUDGET, {"budget_reached": True}, {}, "pages/s now", "limits.pages"),
    (Resource.IDLE, {"hosts_active": 0, "lanes": 0, "asleep": 3}, {}, "pages/s now", "nothing to fetch now"),
    (Resource.STOPPING, {"stopping": True}, {}, "pages/s now", ""),
]  # fmt: skip


def patient(load: dict[str, Any] | None = None, shot: Snapshot = SHOT, **more: Any) -> Patient:
    bound = judge_bound(Load(**{**BUSY, **(load or {})}))
    given = load or {}
    seen = msgspec.structs.replace(shot, bound=bound, sync_s=given.get("sync_s", 0.0), busy=given.get("busy"))
    return Patient(shot=seen, config=CONFIG, **more)


@pytest.mark.parametrize(("resource", "load", "more", "evidence", "advice"), CASES, ids=lambda value: str(value)[:20])
def test_each_resource_binds_in_turn(
    resource: Resource, load: dict[str, Any], more: dict[str, Any], evidence: str, advice: str
) -> None:
    found = diagnose(patient(load, **more))
    assert found.resource is resource
    assert evidence in "\n".join(found.evidence)
    assert advice in "\n".join(found.advice)
    assert found.sentence
    assert found.notes == ()
    lines = diagnosis_lines(found)
    assert lines[0].startswith(f"bound by   {resource.value}: ")


def test_every_bound_of_the_crawl_has_a_diagnosis() -> None:
    for name in BoundName:
        shot = msgspec.structs.replace(SHOT, bound=Bound(name, "so it is"))
        assert diagnose(Patient(shot=shot, config=CONFIG)).sentence == "so it is"
    assert {case[0] for case in CASES} | {
        Resource.NOT_RUNNING,
        Resource.STARTING,
        Resource.PAUSED,
    } == set(Resource)


def test_the_main_process_and_its_handshakes() -> None:
    late = msgspec.structs.replace(SHOT, loop_late_s=0.2, rate_now=300.0)
    assert diagnose(patient(shot=msgspec.structs.replace(late, rate_now=2.0))).resource is Resource.HOSTS
    assert diagnose(patient(shot=late)).resource is Resource.MAIN
    many = msgspec.structs.replace(SHAKING, handshakes=9_000, visits=9_000)
    assert diagnose(patient(shot=late, log=many)).resource is Resource.TLS
    assert diagnose(patient(shot=SHOT, log=many)).resource is Resource.HOSTS
    assert diagnose(patient({"busy": Busy(main_cpu=0.95)}, log=many)).resource is Resource.TLS


def test_paused_by_an_operator_and_not_running() -> None:
    found = diagnose(patient({"ordered": "by order by anna: a call", "lacking": "memory", "paused": "no network"}))
    assert (found.resource, found.sentence) == (Resource.PAUSED, "paused by order by anna: a call")
    ended = msgspec.structs.replace(SHOT, state="finished", state_detail="the budget of 5 pages is reached", queued=5)
    found = diagnose(patient(shot=ended, running=False))
    assert found.resource is Resource.NOT_RUNNING
    assert "gossamer crawl" in found.advice[0]


def test_what_ended_a_crawl_is_what_binds_it() -> None:
    used = (Budget("pages", 5, 5), Budget("bytes", 1, 100))
    why = "the budget of 5 pages is reached"
    ended = msgspec.structs.replace(SHOT, state="finished", state_detail=why, budgets=used)
    found = diagnose(patient(shot=ended, running=False))
    assert (found.resource, found.evidence) == (Resource.BUDGET, ("the limit of pages is used up: 5",))
    assert found.sentence == "the crawl does not run (finished: the budget of 5 pages is reached)"
    full = "disk full: 12 KiB are left for crawl/archive"
    found = diagnose(patient(shot=msgspec.structs.replace(ended, state="stopped"), running=False, disk_full=full))
    assert (found.resource, found.evidence) == (Resource.DISK, (full,))
    assert "free some space" in found.advice[0]
    done = msgspec.structs.replace(ended, budgets=())
    assert diagnose(patient(shot=done, running=False, disk_full=full)).resource is Resource.NOT_RUNNING


def test_what_else_is_wrong_the_worst_first() -> None:
    shot = msgspec.structs.replace(
        SHOT,
        budgets=(Budget("pages", 95, 100), Budget("bytes", 10, 100)),
        worker_restarts=2,
        hosts_parked=50,
        lateness_p99_s=7200.0,
        refreshes=10,
        seed_failures={"https://a.example/": "dns-failed"},
    )
    log = LogSample(visits=100, span_s=10, refusals=8, dns_failures=11, too_short=1)
    disk = DiskForecast(free_bytes=10**9, bytes_per_day=4e9, days_left=0.25, basis="x")
    notes = diagnose(Patient(shot=shot, config=Config(), log=log, disk=disk)).notes
    assert [note.severity for note in notes] == ["alarm"] * 2 + ["warning"] * 5 + ["note"] * 3
    text = "\n".join(note.text for note in notes)
    for words in (
        "full in about 6 h 00 m", "1 request of the last 100 came before the gap", "8% of the last 100 visits",
        "11% of the last 100", "50 of 200 hosts are set aside", "by 2 h 00 m or more", "95% of the limit of pages",
        "replaced 2 times", "no page came of 1 seed", "no contact is configured",
    ):  # fmt: skip
        assert words in text, words


def test_few_hosts_are_not_giants() -> None:
    """A site of one host, and hosts that share the queue evenly."""
    one = msgspec.structs.replace(SHOT, hosts_known=1)
    alone = HostSample(with_work=1, queued=9_000, largest=(("a.example", 9_000, 1.0),))
    assert diagnose(patient(shot=one, hosts=alone)).resource is Resource.HOSTS
    even = HostSample(with_work=40, queued=4_000, largest=tuple((f"h{n}.example", 100, 1.0) for n in range(5)))
    assert diagnose(patient(hosts=even)).resource is Resource.HOSTS


def test_hosts_are_sampled_without_those_that_are_parked() -> None:
    views = [HostView(host=f"h{n:02}.example", pending=n, delay_s=1.0, response_s=0.5) for n in range(20)]
    views.append(HostView(host="parked.example", pending=10**6, parked="failures"))
    found = host_sample(views)
    assert (found.with_work, found.queued) == (19, sum(range(20)))
    assert [name for name, _, _ in found.largest] == [f"h{n:02}.example" for n in range(19, 14, -1)]
    assert found.largest[0][2] == 1.5


def test_the_log_is_sampled_by_what_is_recent() -> None:
    def visit(time: float, **more: Any) -> FetchEvent:
        given = {"url": "https://a.example/", "key": "k", "host": "a.example", "kind": Kind.PAGE, "started": time}
        return FetchEvent(time=time, **{**given, **more})

    events = [
        visit(100.0, failure="dns"),  # long ago
        visit(1000.0, status=200, connect_ms=50.0, elapsed_ms=80.0, digest_ms=2.0),
        visit(1001.0, status=429, reused=True, connect_ms=50.0, elapsed_ms=10.0),
        visit(1002.0, failure="first-byte-timeout", elapsed_ms=20.0, gap_s=0.5, delay_s=1.0),
        visit(1003.0, started=0.0, reason="robots-disallowed"),
        visit(1004.0, status=200, url="http://b.example/", connect_ms=5.0, elapsed_ms=10.0, gap_s=1.0, delay_s=1.0),
    ]
    assert log_sample(events) == LogSample(
        visits=4, span_s=4.0, secure=3, handshakes=1, connect_s=0.05, elapsed_s=0.12, digest_s=0.002, digested=1,
        refusals=1, dns_failures=0, timeouts=1, too_short=1,
    )  # fmt: skip


def test_the_disk_is_forecast_from_what_was_watched_else_from_the_archive() -> None:
    shot = Snapshot(disk_free_bytes=10**10, archive_bytes=8 * 10**8, elapsed_s=86_400.0)
    average = disk_forecast(shot)
    assert average is not None
    assert average.bytes_per_day == pytest.approx(10**9)
    assert average.days_left == pytest.approx(10.0)
    watched = [DiskSample(0.0, 11 * 10**9), DiskSample(3_600.0, 10**10)]
    seen = disk_forecast(shot, watched)
    assert seen is not None
    assert seen.bytes_per_day == pytest.approx(24 * 10**9)
    assert "60 min" in seen.basis
    emptied = disk_forecast(shot, [DiskSample(0.0, 1), DiskSample(600.0, 2)])
    assert emptied is not None
    assert emptied.days_left is None
    assert disk_forecast(Snapshot()) is None
    assert disk_forecast(Snapshot(disk_free_bytes=1)) is None
