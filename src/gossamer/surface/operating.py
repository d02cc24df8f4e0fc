"""The running crawl's end of its control: each command carried out on the parts of one node.

What concerns the partition is `core.orders` and `core.hostorders`, what concerns the exclusion list `takedownlist`. A
takedown that somebody else wrote into the list is found within half a second, told or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from gossamer.adapters.control import ControlSocket
from gossamer.adapters.exclusions import ABSENT, Stamp
from gossamer.adapters.threads import one_thread
from gossamer.core import hostorders
from gossamer.core.partition import Partition
from gossamer.core.robotsdesk import synthetic_disallow
from gossamer.model import control
from gossamer.model.config import Config
from gossamer.model.control import AnyAnswer, AnyCommand, Done, Refused, Taken, bad_value
from gossamer.model.errors import GossamerError, StoreError
from gossamer.model.event import FetchEvent
from gossamer.model.limits import ADDED_URLS_MAX, LEVELS, TAKEDOWN_TEXT_MAX_CHARS
from gossamer.model.ping import KEY_ALLOWED, Ping
from gossamer.model.record import HostRow
from gossamer.model.takedown import Takedown
from gossamer.model.view import Snapshot
from gossamer.pipeline import Pipeline
from gossamer.policy.scope import ScopeRules
from gossamer.ports.clock import Clock
from gossamer.surface import changing, settings
from gossamer.surface.alarming import Alarming
from gossamer.surface.hostview import host_view
from gossamer.surface.notifying import Notifier
from gossamer.surface.takedownlist import TakedownList


class Digesting(Protocol):
    """The workers, as far as their rules change."""

    async def change_rules(self, scope: ScopeRules, depth_max: int) -> None:
        """Judge links by other rules from now on."""
        ...


class Watching(Protocol):
    """The monitor, as far as its limits change."""

    def reconfigure(self, config: Config) -> None:
        """Judge budgets by another configuration."""
        ...


class Operated(Protocol):
    """The parts of a node that orders concern."""

    config: Config
    directory: Path
    ending: str  # why it is over; "" while it is not
    partition: Partition
    pipeline: Pipeline

    @property
    def failure(self) -> str:
        """What ended the crawl badly; "" when nothing did."""
        ...

    @property
    def clock(self) -> Clock:
        """The program's time."""
        ...

    @property
    def pool(self) -> Digesting:
        """The digest workers."""
        ...

    @property
    def monitor(self) -> Watching:
        """Who judges budgets."""
        ...

    def snapshot(self, state: str = "") -> Snapshot:
        """What a person is shown."""
        ...

    def count_error(self, name: str) -> None:
        """Count something of ours that went wrong."""
        ...

    def stop(self, why: str) -> None:
        """End in good order."""
        ...

    def abort(self, cause: BaseException | None = None) -> None:
        """End at once."""
        ...


class Operator:
    """Takes orders for one node. Fulfils `ports.control.Control`."""

    def __init__(self, node: Operated) -> None:
        """Of a node that is being started; nothing is opened yet."""
        self._node = node
        self._list = TakedownList(node.directory)
        self._stamp: Stamp = ABSENT
        self._opened = False
        self._closed = False
        self._writer = one_thread("exclusions")
        self._writing: set[asyncio.Future[object]] = set()
        self._socket = ControlSocket(node.directory, self.ask)
        self._notifier = Notifier(node.config.notify, node.directory.resolve().name, node.clock.now, node.count_error)
        self._alarming = Alarming(node.directory / "log", self._notifier, node.count_error)

    # -- the node's ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Hold to the exclusion list, before anything is admitted or asked for. Raises StoreError, DiskFullError.

        A takedown that the store knows and the list does not is entered there again. The list for replay is made if it
        is not there, or is of an older version.
        """
        node = self._node
        takedowns = node.partition.context.takedowns
        self._stamp = self._list.exclusions.stamp()
        node.partition.orders.take_down(self._list.exclusions.read(), node.clock.now())
        listed = {takedown.id for takedown in self._list.exclusions.read()}
        lost = [kept.takedown for kept in takedowns.kept.values() if kept.takedown.id not in listed]
        self._list.exclusions.merge(lost)

    async def open(self) -> None:
        """Take commands from now on, and hold to the pause that was ordered before.

        Where no socket can be made (some shared folders have none) the crawl goes on without, and counts that: the
        exclusion list is looked at all the same.
        """
        self._node.pipeline.dispatch.pause(self._node.partition.orders.paused())
        self._opened = True
        try:
            await self._socket.open()
        except StoreError:
            self._node.count_error("control-socket")

    def look(self) -> None:
        """Hold to the exclusion list if it has changed; to be called often. Raises StoreError when it is damaged.

        Tells the operator when the crawl has come to another state, and what is wrong with it.
        """
        paused = self._node.pipeline.dispatch.paused
        state = "stopping" if self._node.ending else "paused" if paused else "crawling"
        self._notifier.state(state, self._node.ending or paused)
        kept = self._node.partition.context.takedowns.kept.values()
        takedowns = (one.takedown for one in kept)
        self._alarming.look(self._node.clock.now(), self._node.snapshot, takedowns)
        stamp = self._list.exclusions.stamp()
        if stamp != self._stamp:
            given = self._list.exclusions.read()
            self._stamp = stamp
            self._node.pipeline.takedown.enforce(given)

    def saw(self, events: list[FetchEvent]) -> None:
        """Take lines of the crawl log: what must not be is told."""
        self._alarming.saw(events)

    def told(self, takedowns: list[Takedown]) -> None:
        """Enter steps that were taken into the list, without waiting for the disk; tell the operator the last one."""
        for one in takedowns:
            name, target = str(one.steps[-1].name), f"{one.target.kind} {one.target.value}"
            self._notifier.tell("takedown", id=one.id, target=target, step=name, confirmed=one.confirmed)
        self._later(lambda: self._list.exclusions.merge(takedowns))

    async def close(self) -> None:
        """Take no more commands, and finish what is to be written."""
        self._closed = True
        await self._socket.close()
        if self._opened:
            self._alarming.close()
            failure = self._node.failure
            self._notifier.state("failed" if failure else "ended", failure or self._node.ending, last=True)
        await self._notifier.close()
        await asyncio.gather(*self._writing, return_exceptions=True)
        self._writer.shutdown()

    def _later(self, work: Callable[[], object]) -> asyncio.Future[object]:
        future = asyncio.get_running_loop().run_in_executor(self._writer, work)
        self._writing.add(future)
        future.add_done_callback(self._written)
        return future

    def _written(self, future: asyncio.Future[object]) -> None:
        self._writing.discard(future)
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._node.abort(error)

    # -- commands ------------------------------------------------------------------------------------------------------

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        """Do what is asked, and say what came of it."""
        if self._closed:
            return Refused(code="not-running", message="the crawl has ended")
        try:
            return await self._do(command)
        except GossamerError as error:
            return Refused(code="failed", message=str(error))

    async def _do(self, command: AnyCommand) -> AnyAnswer:
        match command:
            case control.TakeDown() | control.LiftTakedown() | control.ListTakedowns():
                return await self._about_takedowns(command)
            case control.Pause() | control.Resume() | control.Stop():
                return self._hold(command)
            case control.Look():
                return self._looked()
            case control.Change():
                return await self._change(command)
            case control.AddSeeds():
                return await self._seed(command)
            case control.AddUrls():
                return self._add(command)
            case control.Tell():
                return self._tell(command)
            case control.ReadHost() | control.PatchHost() | control.ReadFreshness():
                return self._host(command)
            case control.Lease() | control.Complete():
                return await self._node.pipeline.lease.ask(command)

    async def _about_takedowns(
        self, command: control.TakeDown | control.LiftTakedown | control.ListTakedowns
    ) -> AnyAnswer:
        self.look()
        now = self._node.clock.now()
        answer = await asyncio.get_running_loop().run_in_executor(
            self._writer, lambda: self._list.do(command, now, running=True)
        )
        self.look()
        return answer

    def _hold(self, command: control.Pause | control.Resume | control.Stop) -> AnyAnswer:
        node = self._node
        if isinstance(command, control.Stop):
            node.stop(command.reason or "it was told to stop")
            if command.at_once:
                node.abort()
            return Done(message="stopping at once" if command.at_once else "finishing what is in flight")
        why = ""
        if isinstance(command, control.Pause):
            if len(command.reason) > TAKEDOWN_TEXT_MAX_CHARS:
                allowed = f"at most {TAKEDOWN_TEXT_MAX_CHARS:,} characters"
                return bad_value("reason", command.reason, "the reason is too long", allowed)
            by = f" by {command.by}" if command.by else ""
            why = f"by order{by}" + (f": {command.reason}" if command.reason else "")
        elif not node.pipeline.dispatch.ordered_pause:
            return Refused(code="conflict", message="the crawl is not paused by order")
        node.partition.orders.pause(why)
        node.pipeline.dispatch.pause(why)
        return Done(message="no new requests are made" if why else "requests are made again")

    def _looked(self) -> AnyAnswer:
        pipeline = self._node.pipeline
        return control.Looked(
            snapshot=self._node.snapshot(),
            paused_by_operator=pipeline.dispatch.ordered_pause,
            leases=pipeline.lease.held(),
        )

    async def _change(self, command: control.Change) -> AnyAnswer:
        before = self._node.config
        made = changing.reconfigured(before, command)
        if isinstance(made, Refused):
            return made
        await self._take_config(made)
        return control.Changed(changes=tuple(settings.changes(before, made)))

    async def _seed(self, command: control.AddSeeds) -> AnyAnswer:
        made = changing.seeded(self._node.config, command)
        if isinstance(made, Refused):
            return made
        config, urls, refused = made
        await self._take_config(config)
        totals = self._node.partition.context.counters.totals
        before, now = totals.urls, self._node.clock.now()
        for wire, reason in self._node.partition.seed(urls, now, command.level).items():
            refused[wire] = str(reason)
        self._node.pipeline.dispatch.wake()
        taken = totals.urls - before
        return Taken(
            taken=taken, known=len(urls) - taken - sum(url.wire in refused for url, _ in urls), refused=refused
        )

    async def _take_config(self, config: Config) -> None:
        """Let another configuration hold from now on, and for the runs to come."""
        node = self._node
        scope = changing.scope_of(config)
        await asyncio.get_running_loop().run_in_executor(self._writer, lambda: settings.save(config))
        context = node.partition.context
        others = scope != context.scope or config.limits.depth != node.config.limits.depth
        node.config = context.config = config
        context.scope = scope
        node.monitor.reconfigure(config)
        if others:
            await node.pool.change_rules(scope, config.limits.depth)
        node.pipeline.dispatch.wake()

    def _add(self, command: control.AddUrls) -> AnyAnswer:
        if not 0 <= command.level < LEVELS:
            return bad_value("level", command.level, "no such level", f"0 (highest) to {LEVELS - 1}")
        if not 0 < len(command.urls) <= ADDED_URLS_MAX:
            return bad_value("urls", len(command.urls), f"1 to {ADDED_URLS_MAX:,} URLs at once")
        answer = self._node.partition.orders.add(command.urls, command.level, self._node.clock.now())
        self._node.pipeline.dispatch.wake()
        return answer

    def _tell(self, command: control.Tell) -> AnyAnswer:
        ping = Ping(key=command.key, urls=command.urls)
        if ping.fault():
            field, value = ("key", command.key) if ping.fault() == KEY_ALLOWED else ("urls", len(command.urls))
            return bad_value(field, value, ping.fault(), ping.fault())
        refused = self._node.partition.ping(ping, self._node.clock.now())
        return Taken(taken=len(ping.urls) - len(refused), refused=dict(refused))

    def _host(self, command: control.ReadHost | control.PatchHost | control.ReadFreshness) -> AnyAnswer:
        context, now = self._node.partition.context, self._node.clock.now()
        row = context.ledger.find(command.host.strip().lower())
        if row is None:
            said = f"the crawl has never seen a host {command.host[:200]}"
            return Refused(code="not-found", message=said, field="host", value=command.host[:200])
        if isinstance(command, control.ReadFreshness):
            return hostorders.freshness_of(row)
        if isinstance(command, control.PatchHost):
            fault = hostorders.fault_of(command)
            if fault is not None:
                field, value, allowed = fault
                return Refused(
                    code="bad-value",
                    message=f"{field} = {value}: not allowed",
                    field=field,
                    value=value,
                    allowed=allowed,
                )
            hostorders.patch(context, row, command, now)
            self._node.pipeline.dispatch.wake()
        return self._host_answer(row, now)

    def _host_answer(self, row: HostRow, now: float) -> AnyAnswer:
        context = self._node.partition.context
        view = host_view(row, now, running=True)
        robots = {scheme: f"{state.verdict}: {state.why}".rstrip(": ") for scheme, state in row.robots.items()}
        for scheme in ("https", "http"):
            takedown = context.takedowns.closed(row.host, scheme)
            if takedown:
                robots[scheme] = synthetic_disallow(takedown)
        return control.Host(view=view, policy=hostorders.policy_of(context, row, robots, now))
