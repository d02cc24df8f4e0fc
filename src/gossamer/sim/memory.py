"""Everything a partition keeps in memory between events, each against the bound that has a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gossamer.core.admission import KNOWN_GENERATION_MAX
from gossamer.core.buckets import BUCKETS_MAX
from gossamer.core.frontier import OVERFLOW_MAX, SLEEPERS_MAX
from gossamer.core.hostqueue import READ_AHEAD
from gossamer.core.keys import QUEUE_LEVELS
from gossamer.core.ledger import LEDGERS_CACHED_MAX
from gossamer.core.waiting import READ_AHEAD as WAITING_AHEAD
from gossamer.model.limits import LANE_RESIDENTS_MAX, LEVELS, REDIRECTS_MAX, UNCOMMITTED_PER_HOST_MAX

if TYPE_CHECKING:
    from gossamer.core.partition import Partition

SCHEMES = 2  # http and https: each may wait for its own robots.txt
STALE_FACTOR = 4  # heap entries that hold no longer and are dropped when their time comes, for each that holds


def sizes(partition: Partition) -> Iterator[tuple[str, int, int]]:
    """(name, length, bound) of each structure of the whole partition. Takes the same time however large they are."""
    context = partition.context
    frontier, lanes = context.frontier, context.frontier.lanes
    slots = context.config.frontier.slots
    errands = slots * SCHEMES  # hosts that hold a place for others' robots.txt alone
    active = len(frontier.active)
    pending = active * UNCOMMITTED_PER_HOST_MAX
    asleep = len(frontier.asleep())
    yield "active hosts", active, slots + errands
    yield "asleep", asleep, SLEEPERS_MAX
    yield "sleepers", len(frontier._sleepers), STALE_FACTOR * (asleep + slots)
    yield "outside full lanes", len(frontier._outside), len(lanes) * OVERFLOW_MAX
    yield "promised", len(frontier._promised), len(frontier._returning) + active
    yield "returning", len(frontier._returning), SLEEPERS_MAX + OVERFLOW_MAX
    yield "to resolve", len(frontier._to_resolve), active
    yield "resolving", len(partition._resolving), active
    yield "ledgers pinned", len(context.ledger._pinned), active
    yield "ledgers cached", len(context.ledger._recent), LEDGERS_CACHED_MAX
    yield "lane heap", len(lanes._heap), STALE_FACTOR * (active + slots)
    yield "in flight", partition.in_flight, active
    yield "between fetch and commit", partition.uncommitted(), pending
    yield "payloads being archived", len(partition._handover.payloads), pending
    yield "payloads by job", len(partition._handover.first), pending
    yield "rate buckets", len(partition._buckets._tats), BUCKETS_MAX + 1
    for generation in context.admission.known.generations():
        yield "known keys", len(generation), KNOWN_GENERATION_MAX
    for ahead in context.waiting._ahead:
        yield "waiting read ahead", len(ahead), WAITING_AHEAD
    yield "refusals to be logged", len(partition._dispatch.events), pending + 64 * slots


def host_sizes(partition: Partition, name: str) -> Iterator[tuple[str, int, int]]:
    """The same of one active host and its lane."""
    host = partition.context.frontier.active.get(name)
    if host is None:
        return
    yield "uncommitted pages", host.uncommitted, UNCOMMITTED_PER_HOST_MAX
    yield "leases", len(host.queue.leased), UNCOMMITTED_PER_HOST_MAX
    yield "queue read ahead", sum(map(len, host.queue._ahead.values())), QUEUE_LEVELS * READ_AHEAD + LEVELS
    yield "rules", len(host.rules), SCHEMES
    yield "rules elsewhere", len(host.robots_elsewhere), SCHEMES
    for errand in host.errands:
        yield "hops of an errand", len(errand.seen), REDIRECTS_MAX
    lane = host.lane
    if lane is not None:
        guests = sum(1 for each in lane.residents if _is_guest(partition, each))
        yield "residents of a lane", len(lane.residents) - guests, LANE_RESIDENTS_MAX
        yield "hosts queued in a lane", len(lane.hosts), len(lane.residents)
        yield "hosts outside a lane", len(lane.overflow), OVERFLOW_MAX


def _is_guest(partition: Partition, name: str) -> bool:
    """Whether a host may be in a full lane: it is there for others, or has pages that are being committed."""
    host = partition.context.frontier.active.get(name)
    return host is not None and (bool(host.errands) or host.uncommitted > 0)
