"""The stages and the queues between them: the one wiring of a crawl, in a process (node.py) and in the simulator.

from        to          queue                              bound
----------  ----------  ---------------------------------  -----------------------------------------------
seeds       partition   one commit                         SEEDS_MAX
partition   dispatch    ready heap of lanes                frontier.slots hosts, LANE_RESIDENTS_MAX a lane
dispatch    fetch       exchanges in flight                fetch.concurrency
dispatch    fetchers    leases of external fetchers        LEASES_MAX, COUNT_MAX at once
dispatch    resolver    look-ups in flight                 RESOLVES_MAX
fetch       digest      jobs, given or waiting             DIGEST_PENDING_MAX stops leasing; UNCOMMITTED_PER_HOST_MAX
fetch       commit      sitemaps, which are longer         SITEMAPS_UNDER_WAY_MAX from turn to commit
digest      workers     frames on a socket pair            DIGEST_JOBS_PER_WORKER_MAX
workers     commit      digests whose records are durable  as many as there are jobs
commit      store       write batches, one each page       synced together every COMMIT_GROUP_S
commit      crawl log   lines held until the sync          LINES_UNSYNCED_MAX stops leasing
calendar    partition   due pages                          DUE_AT_ONCE_MAX each CHECK_EVERY_S
takedowns   partition   sweeps of the URL rows             SWEPT_AT_ONCE_MAX each SWEEP_EVERY_S
spool       partition   pings                              SPOOL_FILES_MAX files; TAKEN_AT_ONCE_MAX each CHECK_EVERY_S
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.core.partition import Partition
from gossamer.core.pulse import Pulse
from gossamer.core.turn import Turn
from gossamer.model.limits import DIGEST_PENDING_MAX
from gossamer.model.page import Outcome, Request
from gossamer.model.takedown import Takedown
from gossamer.ports.clock import Clock
from gossamer.ports.digester import Digester
from gossamer.ports.web import Resolver
from gossamer.stage.commit import CommitStage, Deliver, Emit
from gossamer.stage.digest import DigestStage
from gossamer.stage.dispatch import DispatchStage
from gossamer.stage.fetch import payload_digest
from gossamer.stage.lease import Codings, LeaseStage
from gossamer.stage.refresh import Pings, RefreshStage
from gossamer.stage.takedown import TakedownStage


class Fetching(Protocol):
    """What makes requests: `stage.fetch.FetchStage`."""

    async def fetch(self, turn: Turn) -> tuple[Outcome, str, bytes]:
        """The outcome of a turn, the digest of its payload, and the decoded body of a robots.txt."""
        ...

    def request(self, turn: Turn) -> Request:
        """What a turn asks for."""
        ...


class Pipeline:
    """Seven stages around a partition. Some have loops (`run`, `beat`), which the owner starts and cancels."""

    def __init__(
        self,
        partition: Partition,
        clock: Clock,
        *,
        fetch: Fetching,
        resolver: Resolver,
        digester: Digester,
        concurrency: int,
        sync: Callable[[], Awaitable[None]],
        emit: Emit,
        deliver: Deliver,
        fail: Callable[[BaseException], None],
        pulse: Pulse | None = None,
        pings: Pings = tuple,
        takedowns: Callable[[list[Takedown]], None] | None = None,
        codings: Codings = lambda _values, _body: (),
    ) -> None:
        """Wire them; nothing runs yet.

        `fetch` is a FetchStage; `sync` makes what is written durable; `emit` takes log lines that are, `deliver`
        every committed page, `fail` what ends the crawl; `pulse` knows when this process stood still; `pings` gives
        what was handed to the crawl; `takedowns` is told takedowns with new steps; `codings`
        says which content codings a body has that an external fetcher brought.
        """
        self.commit = CommitStage(partition, clock, sync=sync, emit=emit, deliver=deliver, caught_up=self._digested)
        self.digest = DigestStage(digester, commit=self.commit.commit, fail=fail, done=self._digested)
        self.lease = LeaseStage(
            clock,
            request=fetch.request,
            digest=payload_digest,
            codings=codings,
            wake=self._wanted,
            next_time=partition.next_time,
        )
        self.dispatch = DispatchStage(
            partition,
            clock,
            resolver,
            concurrency=concurrency,
            fetch=fetch.fetch,
            submit=self.digest.submit,
            note=self.commit.note,
            digest_load=self._load,
            fail=fail,
            pulse=pulse,
            offer=self.lease.offer,
            wanted=lambda: self.lease.hungry() or not partition.context.config.fetch.external,
        )
        self.takedown = TakedownStage(
            partition,
            clock,
            cut_off=self.dispatch.cut_off,
            note=self.commit.note,
            wake=self.dispatch.wake,
            told=takedowns or _nobody,
        )
        self.refresh = RefreshStage(partition, clock, queued=self.dispatch.wake, pings=pings)

    async def finish(self) -> None:
        """Fetch, digest and commit what is in flight, and let its log lines out."""
        await self.dispatch.drain()
        await self.digest.drain()
        await self.commit.flush()

    def _wanted(self) -> None:
        self.dispatch.wake()

    def _load(self) -> int:
        """Pages between fetch and commit; as many as there may be while commits are not durable in time."""
        return DIGEST_PENDING_MAX if self.commit.behind else self.digest.load()

    def _digested(self) -> None:
        self.dispatch.nudge()


def _nobody(_takedowns: list[Takedown]) -> None:
    """Steps of takedowns are told to nobody."""
