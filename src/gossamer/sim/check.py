"""Checkers: what must be true of every simulated run, whatever happened in it. Each returns the faults it found."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from gossamer.core.changes import decode_entry, decode_host, decode_url
from gossamer.core.counters import Totals, load_totals
from gossamer.core.keys import QUEUE_LEVELS, due_key, queue_key, waiting_key
from gossamer.core.waiting import place_of
from gossamer.model.limits import LEVELS
from gossamer.model.record import Cf, Entry, HostRow, State, UrlRow
from gossamer.ports.store import Store
from gossamer.sim.clustercheck import clusters
from gossamer.sim.run import Served

SCAN_AT_ONCE = 1_000
SLACK_S = 1e-6


def everything(store: Store, cf: Cf) -> Iterator[tuple[bytes, bytes]]:
    """All pairs of a column family."""
    start = b""
    while rows := store.scan(cf, start, None, SCAN_AT_ONCE):
        yield from rows
        start = rows[-1][0] + b"\x00"


def url_rows(store: Store) -> dict[str, UrlRow]:
    """Every URL row."""
    return {key.decode(): decode_url(value) for key, value in everything(store, Cf.URL)}


def host_rows(store: Store) -> dict[str, HostRow]:
    """Every ledger."""
    return {key.decode(): decode_host(value) for key, value in everything(store, Cf.HOST) if b"\x00" not in key}


def recount(store: Store) -> list[str]:
    """Counters, queues, front queues and calendar against the rows: each must say the same."""
    totals = load_totals(store)
    urls, hosts = url_rows(store), host_rows(store)
    queue = {key: decode_entry(value) for key, value in everything(store, Cf.QUEUE)}
    return [
        *_counted(totals, urls, hosts, queue),
        *_queues(urls, hosts, queue),
        *_front(store, hosts),
        *_calendar(store, urls),
        *clusters(store, totals, urls, hosts),
    ]


def _counted(
    totals: Totals, urls: dict[str, UrlRow], hosts: dict[str, HostRow], queue: dict[bytes, Entry]
) -> Iterator[str]:
    levels = Counter(key[-9] for key in queue)
    pairs: list[tuple[str, object, object]] = [
        ("urls", totals.urls, len(urls)),
        ("hosts", totals.hosts, len(hosts)),
        ("queued", totals.queued, len(queue)),
        ("queued_by_level", totals.queued_by_level, [levels[level] for level in range(QUEUE_LEVELS)]),
        ("hosts_with_work", totals.hosts_with_work, sum(row.pending > 0 for row in hosts.values())),
        ("parked", totals.parked, sum(bool(row.parked) for row in hosts.values())),
    ]
    for name, counted, real in pairs:
        if counted != real:
            yield f"counter {name} says {counted}, there are {real}"


def _queues(urls: dict[str, UrlRow], hosts: dict[str, HostRow], queue: dict[bytes, Entry]) -> Iterator[str]:
    by_host: dict[str, Counter[int]] = defaultdict(Counter)
    named: Counter[str] = Counter()
    for key, entry in queue.items():
        host = key[:-10].decode()
        by_host[host][key[-9]] += 1
        named[entry.key] += 1
        row = urls.get(entry.key)
        if row is None:
            yield f"{entry.key} is queued and has no row"
            continue
        if row.host != host:
            yield f"{entry.key} of {row.host} is queued at {host}"
        if key != queue_key(host, row.level + (LEVELS if entry.refresh else 0), row.sequence):
            yield f"{entry.key} stands elsewhere in the queue than its row says"
        if entry.refresh != row.refresh or (not entry.refresh and row.state is not State.QUEUED):
            yield f"{entry.key} is queued (refresh: {entry.refresh}) and its row is {row.state.name}, {row.refresh}"
        if key[-8:] < hosts[host].cursor[key[-9]].to_bytes(8, "big"):
            yield f"{entry.key} stands before the cursor of its host"
    for name, row in urls.items():
        wanted = row.state is State.QUEUED or row.refresh
        if named[name] != wanted:
            yield f"{name} is {row.state.name} (refresh: {row.refresh}) and has {named[name]} queue entries"
    for name, ledger in hosts.items():
        counts = [by_host[name][level] for level in range(QUEUE_LEVELS)]
        if ledger.pending_by_level != counts or ledger.pending != sum(counts):
            yield f"{name} says pending {ledger.pending} {ledger.pending_by_level}, queued are {counts}"


def _front(store: Store, hosts: dict[str, HostRow]) -> Iterator[str]:
    waiting: dict[str, set[bytes]] = defaultdict(set)
    for key, value in everything(store, Cf.WAITING):
        waiting[value.decode()].add(key)
    for name, row in hosts.items():
        yield from waits(name, row, waiting.get(name, set()))
    for name in waiting.keys() - hosts.keys():
        yield f"{name} waits and has no ledger"


def waits(name: str, row: HostRow, places: set[bytes]) -> Iterator[str]:
    """The places of a host in the front queues against its ledger: one for each kind of work it has."""
    kinds = [place_of(row, refresh=refresh) for refresh in (False, True)]
    said = {waiting_key(level, sequence) for level, sequence in kinds if level >= 0}
    if places != said:
        yield f"{name} waits at {places}, its ledger says {said}"
    work = [sum(row.pending_by_level[:LEVELS]) > 0, sum(row.pending_by_level[LEVELS:]) > 0]
    if work != [level >= 0 for level, _ in kinds]:
        yield f"{name} has {row.pending_by_level} URLs pending and waits at {said}"


def _calendar(store: Store, urls: dict[str, UrlRow]) -> Iterator[str]:
    due = {key[8:].decode(): key for key, _ in everything(store, Cf.DUE)}
    for key, row in urls.items():
        if due.get(key) != (due_key(row.due, key) if row.due else None):
            yield f"{key} is due at {row.due}, the calendar says {due.get(key)!r}"
        if (
            row.state is State.FETCHED
            and not row.due
            and not row.refresh
            and not row.late
            and not row.halted
            and row.kind in ("page", "sitemap")
            and (not row.via.startswith("host:"))
        ):
            yield f"{key} is fetched and will never be visited again"
    for key in due.keys() - urls.keys():
        yield f"{key} is in the calendar and has no row"


def one_at_a_time(served: Iterable[Served], by: str = "lane") -> list[str]:
    """No two requests of one lane (or host) at once."""
    faults = []
    last: dict[str, Served] = {}
    for request in sorted(served, key=lambda r: r.start):
        name = getattr(request, by)
        before = last.get(name)
        if before is not None and request.start < before.end - SLACK_S:
            faults.append(f"{by} {name}: {request.target} at {request.start} during {before.target} until {before.end}")
        last[name] = request
    return faults


def gaps(served: Iterable[Served], gap_s: float, by: str = "host") -> list[str]:
    """Between the end of a request of one host (or lane) and the start of its next there is at least `gap_s`."""
    faults = []
    last: dict[str, float] = {}
    for request in sorted(served, key=lambda r: r.start):
        name = getattr(request, by)
        if name in last and request.start - last[name] < gap_s - SLACK_S:
            faults.append(f"{by} {name}: {request.target} after {request.start - last[name]:.3f} s of {gap_s}")
        last[name] = max(last.get(name, 0.0), request.end)
    return faults
