"""A frontier of any size, made by the code that fills one in a crawl: links of pages, admitted, committed.

Every page tells of ten links to each of fifteen hosts, in an order that has nothing to do with names, so that the store
is written all over, as in a broad crawl. What that costs is what admission costs, and is measured on the way.
"""

from __future__ import annotations

import random
import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core import harvest
from gossamer.core.admission import Known
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.partition import Partition
from gossamer.core.turn import Turn
from gossamer.model.config import Config, Scope
from gossamer.model.config import Frontier as FrontierConfig
from gossamer.model.limits import COMMIT_GROUP_S
from gossamer.model.page import Digest, Kind, Links
from gossamer.model.url import Url, parse
from gossamer.policy.guard import parse_networks
from gossamer.policy.networks import RangeSet, lane_id, net_id
from gossamer.policy.scope import compile_scope
from gossamer.ports.store import Store

STARTED: Final = 1_790_000_000.0  # unix seconds, of the first start
URLS_PER_HOST: Final = 50
LINKS_AT_ONCE: Final = 10  # of one host in one page
HOSTS_AT_ONCE: Final = 15
STRIDE: Final = 7_919 * 104_729  # two primes: steps through the hosts in no order
MADE: Final = "made.json"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What making a store told."""

    urls: int
    hosts: int
    new_s: float  # wall clock of admitting all of them, commits included
    new_cpu_s: float  # of the main thread
    recent_s: float  # the same of offering links once more that were admitted lately ...
    recent_links: int
    stored_s: float  # ... and such as only the store remembers
    stored_links: int
    disk_bytes: int


class Syncer:
    """Makes what is written durable every 50 ms, on a thread of its own, as a crawl does."""

    def __init__(self, store: RocksStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1)
        self._last_s = time.perf_counter()
        self._running: Future[None] | None = None

    def look(self) -> None:
        """Sync when it is time."""
        now_s = time.perf_counter()
        if now_s - self._last_s >= COMMIT_GROUP_S and (self._running is None or self._running.done()):
            self._last_s = now_s
            self._running = self._thread.submit(self._store.sync)

    def close(self) -> None:
        """Wait for the last one."""
        self._thread.shutdown()


def host_name(number: int) -> str:
    """Each host is a site of its own."""
    return f"www.h{number:07}-site.example"


def address(number: int) -> str:
    """Each host has an address, and a /24, of its own."""
    return f"{20 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.1"


def path(number: int) -> str:
    """Of a page within its host."""
    return f"/section-{number % 7}/an-article-about-something-{number}.html"


def open_partition(store: Store, now: float, slots: int) -> Partition:
    """The state machine of a broad crawl on a store."""
    config = Config(scope=Scope(mode="any"), frontier=FrontierConfig(slots=slots))
    none = RangeSet(())
    context = Context(
        config,
        compile_scope(config.scope, []),
        store,
        random.Random(1),
        started=now,
        lane_of=lambda host, at: lane_id(host, at, none),
        net_of=net_id,
        as_of=lambda _address: None,
        exempt=lambda _address: False,
    )
    return Partition(context, parse_networks(("0.0.0.0/0",)))


def links_of(number: int, first: int, count: int) -> Links:
    """`count` links to a host, as a worker tells them."""
    front = parse(f"http://{host_name(number)}/")
    if not isinstance(front, Url):
        raise TypeError(f"no URL: {front}")
    wire, key = front.wire[:-1], front.key
    before, _, after = key.partition("/")
    paths = [path(n) for n in range(first, first + count)]
    return Links(front.host, front.site, tuple((wire + each, f"{before}{each}{after}") for each in paths))


def make(directory: Path, urls: int) -> Made:
    """Fill a store in `directory`, unless that was done before; what it told."""
    note = directory / MADE
    if note.exists():
        return msgspec.json.decode(note.read_bytes(), type=Made)
    shutil.rmtree(directory, ignore_errors=True)  # half made: what is known there is not new
    hosts = max(1, urls // URLS_PER_HOST)
    store = RocksStore(directory / "state")
    partition = open_partition(store, STARTED, 1_000)
    gate = Gate(partition, store)
    per_round = range(0, hosts, HOSTS_AT_ONCE)
    for first in range(0, URLS_PER_HOST, LINKS_AT_ONCE):
        for start in per_round:
            numbers = [(n * STRIDE + first) % hosts for n in range(start, min(hosts, start + HOSTS_AT_ONCE))]
            gate.offer([links_of(number, first, LINKS_AT_ONCE) for number in dict.fromkeys(numbers)])
    new_s, new_cpu_s, new = gate.take()
    expected = partition.context.counters.totals.urls
    if new != expected:
        raise AssertionError(f"{new} links were offered and {expected} admitted")
    last = URLS_PER_HOST - LINKS_AT_ONCE
    known = [
        [links_of((n * STRIDE + last) % hosts, last, LINKS_AT_ONCE)] for n in range(hosts - min(hosts, 3_000), hosts)
    ]
    recent_s, recent_links = _again(gate, known)
    partition.context.admission.known = Known()  # as after a start
    old = [[links_of(n * STRIDE % hosts, 0, LINKS_AT_ONCE)] for n in range(min(hosts, 9_000))]
    stored_s, stored_links = _again(gate, old)
    if partition.context.counters.totals.urls != expected:
        raise AssertionError("a link that was known was admitted")
    gate.close()
    store.close()
    made = Made(
        urls=new,
        hosts=hosts,
        new_s=new_s,
        new_cpu_s=new_cpu_s,
        recent_s=recent_s,
        recent_links=recent_links,
        stored_s=stored_s,
        stored_links=stored_links,
        disk_bytes=disk_bytes(directory),
    )
    note.write_bytes(msgspec.json.encode(made))
    return made


def _again(gate: Gate, pages: list[list[Links]]) -> tuple[float, int]:
    """Offer links that are known, as many hosts to a page as when they were new; CPU seconds and how many."""
    for start in range(0, len(pages), HOSTS_AT_ONCE):
        gate.offer([links for page in pages[start : start + HOSTS_AT_ONCE] for links in page])
    _, cpu_s, count = gate.take()
    return cpu_s, count


def disk_bytes(directory: Path) -> int:
    """Of all files below a directory."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


class Gate:
    """Offers the links of one page after another, and counts the time of that alone."""

    def __init__(self, partition: Partition, store: RocksStore) -> None:
        self._context = partition.context
        self._store = store
        self._syncer = Syncer(store)
        self._turn = Turn(
            id=1,
            host="a.example",
            lane="",
            kind=Kind.PAGE,
            url="http://a.example/",
            key="example,a)/ http",
            scheme="http",
            name="a.example",
            port=80,
            target="/",
            address="",
            started=STARTED,
        )
        self._elapsed_s = self._cpu_s = 0.0
        self._links = 0

    def offer(self, links: list[Links]) -> None:
        """What a commit does with the links of a page."""
        context = self._context
        digest = Digest(id=1, pointer=None, links=tuple(links))
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        changes = Changes(context.store)
        known = context.admission.known.generations()
        found = harvest.links(digest, self._turn, 0, known, context.ledger.find, duplicate=False)
        context.admission.admit(changes, found, STARTED)
        context.apply(changes)
        self._syncer.look()
        self._elapsed_s += time.perf_counter() - began_s
        self._cpu_s += time.thread_time() - began_cpu_s
        self._links += sum(len(each.links) for each in links)

    def take(self) -> tuple[float, float, int]:
        """Seconds, CPU seconds and links since the last time."""
        taken = self._elapsed_s, self._cpu_s, self._links
        self._elapsed_s, self._cpu_s, self._links = 0.0, 0.0, 0
        return taken

    def close(self) -> None:
        """End the thread that syncs."""
        self._syncer.close()
