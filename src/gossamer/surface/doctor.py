"""The doctor: which resource binds a crawl now, the evidence, and what to change. A pure function of what was seen.

The crawl itself names what holds its rate (`core.bounds`). The doctor tells apart what looks alike from inside: few
hosts from a few giant ones, slow servers from slow handshakes. What else is wrong is `surface.doctornotes`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

import msgspec

from gossamer.model.view import BoundName
from gossamer.surface.doctornotes import Note, notes
from gossamer.surface.patient import Patient
from gossamer.surface.units import plural, show_count, show_duration, show_rate

GIANTS_MAX: Final = 3  # hosts that are named
GIANT_SHARE: Final = 0.8  # of the queue in so few hosts
GIANT_HOSTS_MIN: Final = 4  # hosts known, before few of them can be told from all
GIANT_PENDING_MIN: Final = 50
LOOP_LATE_S: Final = 0.1  # the main process comes so late to what is due
LOOP_RATE_MIN: Final = 20.0  # pages a second, below which it is others who keep it from coming
HANDSHAKE_CPU_S: Final = 0.0006  # CPU of a new TLS connection in the main process
TLS_TIME_SHARE: Final = 0.5  # of the time of requests that connecting takes
TLS_CPU_SHARE: Final = 0.3  # of one core
_MAIN_ADVICE: Final = (
    "leave it a core of its own: fewer workers.count, or other programs elsewhere",
    "a second crawl with other seeds has a main process of its own",
)


class Resource(StrEnum):
    """What can bind."""

    NOT_RUNNING = "not-running"
    STARTING = "starting"
    STOPPING = "stopping"
    PAUSED = "paused"
    IDLE = "idle"
    BUDGET = "budget"
    HOSTS = "host-diversity"
    GIANTS = "giant-hosts"
    SLOTS = "slots"
    LANES = "lanes"
    FETCH = "fetch"
    DNS = "dns"
    ROBOTS = "robots"
    TLS = "tls"
    DIGEST = "digest-cpu"
    MAIN = "main-cpu"
    DISK = "disk"
    MEMORY = "memory"
    NETWORK = "network"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What the doctor says."""

    resource: Resource
    sentence: str
    evidence: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()  # what else is wrong or soon will be, the worst first


def diagnose(patient: Patient) -> Diagnosis:
    """Which resource binds now, why that is thought, and what to change."""
    shot = patient.shot
    if not patient.running:
        found = _ended(patient)
    else:
        found = _tls(patient) or _main(patient) or _RULES[shot.bound.name](patient)
    rest = notes(patient.shot, patient.config, patient.log, patient.disk)
    return msgspec.structs.replace(found, evidence=tuple(filter(None, found.evidence)), notes=rest)


def _ended(patient: Patient) -> Diagnosis:
    """A crawl that does not run: what ended it, when that still stands in its way."""
    shot = patient.shot
    word = f"{shot.state}: {shot.state_detail}" if shot.state_detail else shot.state
    sentence = f"the crawl does not run ({word})"
    if patient.disk_full and shot.state != "finished":
        advice = ("free some space, or move closed segments of archive/ elsewhere, and run the same command again",)
        return Diagnosis(resource=Resource.DISK, sentence=sentence, evidence=(patient.disk_full,), advice=advice)
    used_up = [budget for budget in shot.budgets if budget.used >= budget.limit]
    if used_up and shot.state == "finished":
        told = tuple(f"the limit of {budget.name} is used up: {show_count(int(budget.limit))}" for budget in used_up)
        advice = ("a higher limit (limits.pages, limits.duration, limits.bytes), and the same command again",)
        return Diagnosis(resource=Resource.BUDGET, sentence=sentence, evidence=told, advice=advice)
    go_on = ("run gossamer crawl with the same --dir to go on",) if shot.queued else ()
    return Diagnosis(resource=Resource.NOT_RUNNING, sentence=sentence, advice=go_on)


def _spent(patient: Patient) -> tuple[str, ...]:
    """What the processes do with their time."""
    busy = patient.shot.busy
    if busy is None:
        return ()
    disk = f"for the disk {busy.worker_sync:.0%}"
    return (
        f"the main process: on a core {busy.main_cpu:.0%} of the time, waiting for one {busy.main_wait:.0%}",
        f"a worker: on a core {busy.worker_cpu:.0%}, waiting for one {busy.worker_wait:.0%}, " + disk,
    )


def _made(patient: Patient, resource: Resource, advice: tuple[str, ...], *evidence: str) -> Diagnosis:
    """A diagnosis in the crawl's own words."""
    shot = patient.shot
    rate = f"{show_rate(shot.rate_now)} pages/s now, {show_rate(shot.rate_average)} in this run"
    return Diagnosis(
        resource=resource, sentence=shot.bound.sentence or resource.value, evidence=(*evidence, rate), advice=advice
    )


def _hosts(patient: Patient) -> Diagnosis:
    shot, hosts = patient.shot, patient.hosts
    giants = hosts.largest[:GIANTS_MAX]
    held = sum(pending for _, pending, _ in giants)
    few = max(1, min(GIANTS_MAX, hosts.with_work, shot.hosts_known // 4))
    top = sum(pending for _, pending, _ in giants[:few])
    is_giant = (
        shot.hosts_known >= GIANT_HOSTS_MIN and held >= GIANT_PENDING_MIN and top >= GIANT_SHARE * max(1, hosts.queued)
    )
    active = f"{plural(shot.hosts_active, 'host')} of {show_count(shot.hosts_known)} known have work and a slot"
    resting = f"{show_count(shot.hosts_resting)} of them are in their gap, {show_count(shot.hosts_ready)} are ready"
    if not is_giant:
        advice = (
            "more seeds on other hosts, or a wider scope (scope.mode, scope.include): each host adds its own rate",
            "not a shorter gap: it is what keeps the crawl welcome",
        )
        return _made(patient, Resource.HOSTS, advice, active, resting)
    named = tuple(
        f"{host}: {show_count(pending)} URLs queued, one each {show_duration(period_s)}: "
        f"{show_duration(pending * period_s)} of work"
        for host, pending, period_s in giants[:few]
    )
    most = giants[0][0]
    advice = (
        f"let them take their time, or bound them: limits.site_pages, scope.exclude, a budget for {most} alone",
        "more hosts would fill the time between their requests, and not shorten theirs",
    )
    share = (
        f"{top / max(1, hosts.queued):.0%} of the {show_count(hosts.queued)} queued URLs are on {plural(few, 'host')}"
    )
    found = _made(patient, Resource.GIANTS, advice, share, *named, active)
    return msgspec.structs.replace(found, sentence=f"a few giant hosts hold the queue: {share}")


def _tls(patient: Patient) -> Diagnosis | None:
    """Handshakes: their CPU when the main process is late, their time when every request in flight is taken."""
    shot, log = patient.shot, patient.log
    if not log.handshakes or not log.span_s:
        return None
    cpu_share = log.handshakes / log.span_s * HANDSHAKE_CPU_S
    time_share = log.connect_s / log.elapsed_s if log.elapsed_s else 0.0
    is_late = shot.loop_late_s >= LOOP_LATE_S or shot.bound.name is BoundName.MAIN
    burns = is_late and cpu_share >= TLS_CPU_SHARE
    waits = shot.bound.name is BoundName.FETCH and time_share >= TLS_TIME_SHARE and log.handshakes * 2 >= log.visits
    if not burns and not waits:
        return None
    told = (
        f"{log.handshakes} of the last {log.visits} visits began with a TLS handshake",
        f"connecting took {time_share:.0%} of their time, {show_duration(log.connect_s / log.handshakes)} each",
        f"handshakes take about {cpu_share:.0%} of a core",
    )
    advice = (
        "raise fetch.concurrency: while one handshake waits, another can go on" if waits else
        "run a second crawl with other seeds beside this one: one process has one core for handshakes",
        "many hosts of one page each mean a handshake for each page; more pages of a host keep its connection",
    )  # fmt: skip
    what = "their time" if waits else "the main process's CPU"
    return msgspec.structs.replace(
        _made(patient, Resource.TLS, advice, *told), sentence=f"TLS handshakes take {what}: {told[0]}"
    )


def _main(patient: Patient) -> Diagnosis | None:
    shot = patient.shot
    is_late = shot.loop_late_s >= LOOP_LATE_S and shot.rate_now >= LOOP_RATE_MIN
    if not is_late or shot.bound.name in (BoundName.DIGEST, BoundName.DISK, BoundName.MEMORY, BoundName.MAIN):
        return None
    late = f"the main process comes {show_duration(shot.loop_late_s)} late to what is due"
    return msgspec.structs.replace(
        _made(patient, Resource.MAIN, _MAIN_ADVICE, late, *_spent(patient)), sentence=f"CPU of one core binds: {late}"
    )


def _busy_main(patient: Patient) -> Diagnosis:
    return _made(patient, Resource.MAIN, _MAIN_ADVICE, *_spent(patient))


def _digest(patient: Patient) -> Diagnosis:
    shot, log = patient.shot, patient.log
    waiting = f"{shot.digest_pending} of at most {shot.digest_max} pages wait between fetch and commit"
    cost = f"a page costs a worker {log.digest_s / log.digested * 1000:.1f} ms of CPU" if log.digested else ""
    spare = patient.cores - 1 - shot.workers
    advice = (
        f"workers.count = {shot.workers + spare}: this machine has {patient.cores} cores and {shot.workers} workers"
        if spare > 0
        else f"a machine with more than {plural(patient.cores, 'core')}: each worker needs one, and the crawl one more",
    )
    return _made(patient, Resource.DIGEST, advice, waiting, cost, plural(shot.workers, "worker"), *_spent(patient))


def _slots(patient: Patient) -> Diagnosis:
    shot = patient.shot
    told = f"{show_count(shot.hosts_waiting)} hosts with work wait on disk for one of {show_count(shot.slots)} slots"
    return _made(patient, Resource.SLOTS, (f"frontier.slots above {shot.slots}, as far as memory allows",), told)


def _lanes(patient: Patient) -> Diagnosis:
    advice = ("nothing on our side: one server answers one request at a time; hosts elsewhere add to the rate",)
    return _made(patient, Resource.LANES, advice)


def _fetch(patient: Patient) -> Diagnosis:
    log = patient.log
    slow = f"a visit takes {show_duration(log.elapsed_s / log.visits)} on average" if log.visits else ""
    timeouts = f"{log.timeouts} of the last {log.visits} visits timed out" if log.timeouts else ""
    advice = (
        f"fetch.concurrency above {patient.shot.concurrency} (and ulimit -n with it: two files for each request)",
        *(
            ("shorter fetch.total_timeout and fetch.first_byte_timeout: silent servers hold requests",)
            if timeouts
            else ()
        ),
    )
    return _made(patient, Resource.FETCH, advice, slow, timeouts)


def _dns(patient: Patient) -> Diagnosis:
    shot = patient.shot
    waiting = f"{show_count(shot.dns_pending)} names are being asked for"
    failed = shot.failures.get("dns", 0)
    advice = (
        "a resolver of its own, on this machine or beside it (dns.nameservers): shared ones refuse crawlers",
        "shorter dns.timeout, if it is the names' own servers that are silent",
    )
    return _made(
        patient, Resource.DNS, advice, waiting, f"{show_count(failed)} lookups failed so far" if failed else ""
    )


def _robots(patient: Patient) -> Diagnosis:
    advice = (
        "it passes as rules arrive: each new host is asked for robots.txt first",
        "where it stays so, servers are slow to answer: a shorter fetch.first_byte_timeout frees their turn",
    )
    return _made(patient, Resource.ROBOTS, advice)


def _disk(patient: Patient) -> Diagnosis:
    sync = f"making a group of commits durable takes {show_duration(patient.shot.sync_s)}"
    return _made(patient, Resource.DISK, ("a faster disk, or other programs off this one",), sync, *_spent(patient))


def _simple(resource: Resource, *advice: str) -> Callable[[Patient], Diagnosis]:
    return lambda patient: _made(patient, resource, advice)


_RULES: Final[dict[BoundName, Callable[[Patient], Diagnosis]]] = {
    BoundName.STARTING: _simple(Resource.STARTING),
    BoundName.HOSTS: _hosts,
    BoundName.SLOTS: _slots,
    BoundName.LANES: _lanes,
    BoundName.DNS: _dns,
    BoundName.ROBOTS: _robots,
    BoundName.FETCH: _fetch,
    BoundName.DIGEST: _digest,
    BoundName.MAIN: _busy_main,
    BoundName.DISK: _disk,
    BoundName.ORDER: _simple(Resource.PAUSED, "resume it when the reason is gone"),
    BoundName.NETWORK: _simple(Resource.NETWORK, "what the sentence names: descriptors, resolver or network"),
    BoundName.MEMORY: _simple(Resource.MEMORY, "more memory, or fewer frontier.slots and workers.count"),
    BoundName.BUDGET: _simple(Resource.BUDGET, "a higher limit (limits.pages, limits.duration, limits.bytes)"),
    BoundName.IDLE: _simple(Resource.IDLE, "nothing: there is nothing to fetch now; more seeds would give it work"),
    BoundName.STOPPING: _simple(Resource.STOPPING),
}
