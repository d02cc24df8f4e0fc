"""Hosts and lanes → turns → fetches. Keeps as many exchanges and look-ups under way as the limits allow."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final

import msgspec

from gossamer.core.connectivity import Connectivity, is_steady
from gossamer.core.partition import Partition
from gossamer.core.pulse import BEAT_S, Pulse
from gossamer.core.turn import Turn
from gossamer.model.event import FetchEvent
from gossamer.model.limits import DIGEST_PENDING_MAX
from gossamer.model.page import Failure, Job, Outcome, Resolution
from gossamer.model.url import name_of
from gossamer.ports.clock import Clock
from gossamer.ports.web import Resolver

RESOLVES_MAX: Final = 200  # look-ups in flight
PAUSE_MIN_S: Final = 1.0
PAUSE_MAX_S: Final = 30.0
NARROW_EVERY_S: Final = 0.5
LATE_WEIGHT: Final = 0.2  # of the newest beat in the average
PURGE_EVERY_S: Final = 0.5  # between two looks for lanes that owe nothing any more
TURNS_AT_ONCE: Final = 24  # handed out between two looks at the sockets: some 0.15 ms each
WAIT_MIN_S: Final = 0.001
WAIT_MAX_S: Final = 5.0  # longest sleep without looking again
MISSED: Final = frozenset((Failure.TIMEOUT, Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.DISCONNECTED))

Result = tuple[Outcome, str, bytes]
Fetch = Callable[[Turn], Awaitable[Result]]
Offer = Callable[[Turn], "asyncio.Future[Result] | None"]


class DispatchStage:
    """The loop that hands out turns."""

    def __init__(
        self,
        partition: Partition,
        clock: Clock,
        resolver: Resolver,
        *,
        concurrency: int,
        fetch: Fetch,
        submit: Callable[[list[Job]], None],
        note: Callable[[list[FetchEvent]], None],
        digest_load: Callable[[], int],
        fail: Callable[[BaseException], None],
        pulse: Pulse | None = None,
        offer: Offer = lambda _turn: None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """`fetch` performs a turn, `submit` takes jobs, `note` log lines, `fail` what ends the crawl; `pulse` knows
        whether this process stood still. `offer` may give a turn to somebody else; `wanted`: whether anybody makes
        requests at this moment.
        """
        self._partition = partition
        self._clock = clock
        self._resolver = resolver
        self._concurrency = concurrency
        self._fetch = fetch
        self._submit = submit
        self._note = note
        self._digest_load = digest_load
        self._fail = fail
        self._offer = offer
        self._wanted = wanted
        self._pulse = pulse or Pulse(clock.now())
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._visits: dict[int, tuple[Turn, asyncio.Task[None]]] = {}
        self._cut: dict[int, str] = {}  # turns that are being cut off, and why
        self._network = Connectivity()
        self._pause_s = 0.0
        self.paused_until = 0.0
        self.pause_reason = ""
        self.lacking = ""  # memory
        self.unwritten = ""  # what keeps pages from being archived
        self.resolving = 0
        self.stopping = False
        self._held = False
        self.ordered_pause = ""  # why somebody has paused the crawl
        self._window = float(min(concurrency, DIGEST_PENDING_MAX))
        self._narrowed = 0.0
        self._purged = clock.now()
        self._until = math.inf  # until then nothing can be done, unless something happens
        self._hindered = True  # something of ours stood in the way at the last look
        self.loop_late_s = 0.0  # how late the event loop comes to what is due, a moving average
        self.exhausted = asyncio.Event()
        self.digest_bound = False  # the last look found that digests lag

    def wake(self) -> None:
        """Something changed: look again."""
        self._wake.set()

    def nudge(self) -> None:
        """Something ended: look again if there may be something to do now, or before the time that is waited for.

        Most ends change nothing but when their host may be asked again, and they are many.
        """
        partition = self._partition
        ripe = self._hindered or partition.context.frontier.ripe(self._until)
        if ripe or (partition.idle() and not self.exhausted.is_set()):
            self._wake.set()

    @property
    def narrowed(self) -> bool:
        """Whether lag of the digests keeps requests below the configured concurrency at this moment."""
        busy = self._partition.in_flight >= int(self._window) < self._concurrency
        return busy and self._digest_load() >= DIGEST_PENDING_MAX // 2

    def hold(self, *, held: bool) -> None:
        """Make no new requests for as long as somebody cannot take more pages."""
        if self._held != held:
            self._held = held
            self.wake()

    def pause(self, why: str) -> None:
        """Make no new requests until it is ended with "": somebody has ordered it."""
        self.ordered_pause = why
        self.wake()

    def lack(self, memory: str, archive: str = "") -> None:
        """Make no new requests for as long as this machine lacks something: why, in one sentence, or "" when not.

        `memory` to go on with, or what it takes to write into the `archive`.
        """
        if (self.lacking, self.unwritten) != (memory, archive):
            self.lacking, self.unwritten = memory, archive
            self.wake()

    @property
    def paused(self) -> str:
        """Why nothing is fetched at this moment; "" when nothing of ours stands in the way."""
        return self._stopped or self.pause_reason

    @property
    def _stopped(self) -> str:
        """Why nothing may be asked until somebody says otherwise."""
        return self.ordered_pause or self.lacking or self.unwritten

    def stop(self) -> None:
        """Hand out nothing more."""
        self.stopping = True
        self.wake()

    def abort(self) -> None:
        """Cancel what is in flight. The URLs stay in their queues."""
        self.stop()
        for task in self._tasks:
            task.cancel()

    async def cut_off(self, covered: Callable[[str], bool], why: str) -> tuple[int, float]:
        """Break off the requests for URLs that are `covered`, now. Returns how many and when the last one was sent."""
        chosen = [(turn, task) for turn, task in self._visits.values() if covered(turn.url)]
        for turn, task in chosen:
            self._cut[turn.id] = why
            task.cancel()
        if chosen:
            await asyncio.wait([task for _, task in chosen])
        return len(chosen), max((turn.started for turn, _ in chosen), default=0.0)

    async def drain(self) -> None:
        """Wait until nothing is in flight."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def beat(self) -> None:
        """Keep watch over our own running until cancelled."""
        while True:
            now = self._clock.now()
            self._pulse.beat(now)
            await asyncio.sleep(BEAT_S)
            late_s = max(0.0, self._clock.now() - now - BEAT_S)
            self.loop_late_s += LATE_WEIGHT * (late_s - self.loop_late_s)

    async def run(self) -> None:
        """Hand out turns until stopped or exhausted."""
        while not self.stopping:
            self._wake.clear()
            now = self._clock.now()
            if now >= self.paused_until and not self._stopped:
                if self._fill(now):
                    await asyncio.sleep(0)
                    continue
                if not self.exhausted.is_set() and self._partition.exhausted(self._clock.now()):
                    self.exhausted.set()
            await self._sleep()

    def _fill(self, now: float) -> bool:
        """Hand out turns; True when there may be more at once."""
        self.digest_bound = self._digest_load() >= DIGEST_PENDING_MAX
        limit = self._window_for(now)
        turn: Turn | None = None
        for _ in range(TURNS_AT_ONCE):
            if self.digest_bound or self._held or self._partition.in_flight >= limit or not self._wanted():
                turn = None
                break
            turn = self._partition.next_turn(now)
            if turn is None:
                break
            self._start(turn)
        self._note(self._partition.take_events())
        if now - self._purged >= PURGE_EVERY_S:
            self._purged = now
            self._partition.forget_lanes(now)
        for name in self._partition.take_resolves(RESOLVES_MAX - self.resolving):
            self.resolving += 1
            self._spawn(self._resolve(name))
        return turn is not None

    def _window_for(self, now: float) -> int:
        """How many requests may be in flight: what is fetched must be digested, so lag there narrows the window by
        half, and it widens again by tenths up to the configured concurrency.
        """
        if self.digest_bound:
            if now - self._narrowed >= NARROW_EVERY_S:
                self._narrowed = now
                self._window = max(float(DIGEST_PENDING_MAX), self._window / 2)
        elif self._partition.in_flight + 1 >= self._window:
            self._window = min(float(self._concurrency), self._window * 1.1)
        return min(self._concurrency, int(self._window))

    async def _sleep(self) -> None:
        now = self._clock.now()
        # After a pause there may be something to do that no time stands for, names to look up for instance.
        at = self.paused_until if self.paused_until > now else self._partition.next_time() or now + WAIT_MAX_S
        stopped = self._held or self._stopped or not self._wanted()
        busy = self.digest_bound or bool(stopped) or self._partition.in_flight >= self._concurrency
        wait_s = WAIT_MAX_S if busy else min(WAIT_MAX_S, max(WAIT_MIN_S, at - now))
        self._hindered, self._until = busy or self.paused_until > now, now + wait_s
        timer = asyncio.get_running_loop().call_later(wait_s, self._wake.set)  # a third of wait_for's cost
        try:
            await self._wake.wait()
        finally:
            timer.cancel()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _start(self, turn: Turn) -> None:
        leased = self._offer(turn)
        task = self._spawn(self._visit(turn, leased))
        self._visits[turn.id] = turn, task
        task.add_done_callback(lambda task: self._ended(turn, task))
        if leased is not None:
            task.add_done_callback(lambda _task: leased.cancel())  # it may not have come to its first step

    def _ended(self, turn: Turn, task: asyncio.Task[None]) -> None:
        """A visit is over. One that was cut off ends here, for it may not have come to its first step."""
        del self._visits[turn.id]
        why = self._cut.pop(turn.id, "")
        if not task.cancelled() or not why:
            return
        try:
            self._note(self._partition.cut_off(turn, why, self._clock.now()))
        except Exception as error:  # noqa: BLE001 - as in `_guarded`
            self._fail(error)
        self.wake()

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - handed to the one who ends the crawl, with its cause
            self._fail(error)
        self.nudge()

    async def _visit(self, turn: Turn, leased: asyncio.Future[Result] | None) -> None:
        begun = self._clock.now()
        outcome, digest, decoded = await (self._fetch(turn) if leased is None else leased)
        now = self._clock.now()
        if outcome.failure is Failure.CUT_OFF:
            self._note(self._partition.cut_off(turn, outcome.failure_detail, now))
            return
        outcome = without_stall(outcome, self._pulse.stood_still_s(begun, now))
        answered = False
        if leased is None:  # what an external fetcher meets says nothing of our own network
            steady = is_steady(self._partition.context.ledger.find(turn.host))
            outcome = self._network.visited(outcome, turn.lane, begun, now, steady=steady)
            answered = outcome.failure is None
        self._judge_ourselves(
            ours=outcome.failure is Failure.OURS, answered=answered, detail=outcome.failure_detail, now=now
        )
        jobs, events = self._partition.fetched(turn, outcome, digest, decoded, now)
        self._note(events)
        self._submit(jobs)

    async def _resolve(self, name: str) -> None:
        begun = self._clock.now()
        try:
            resolution: Resolution = await self._resolver.resolve(name_of(name))
        finally:
            self.resolving -= 1
        now = self._clock.now()
        if resolution.error and self._pulse.stood_still_s(begun, now):
            resolution = msgspec.structs.replace(resolution, ours=True)
        host = self._partition.context.frontier.active.get(name)
        row = host.row if host is not None else None
        server = row.addresses[0] if row is not None and row.addresses else name
        resolution = self._network.looked_up(resolution, server, begun, now, steady=is_steady(row))
        answered = resolution.asked and not self._network.gone  # it may be known nearby
        self._judge_ourselves(ours=resolution.ours, answered=answered, detail=resolution.error, now=now)
        self._partition.resolved(name, resolution, now)

    def _judge_ourselves(self, *, ours: bool, answered: bool, detail: str, now: float) -> None:
        """A fault of ours pauses everything, longer each time; an answer ends the pause.

        A failure of somebody else does not: it shows nothing of ours. It does when silence has been taken for our own
        fault for too long.
        """
        if ours:
            if now >= self.paused_until:
                self._pause_s = min(PAUSE_MAX_S, max(PAUSE_MIN_S, self._pause_s * 2))
                self.paused_until = now + self._pause_s
            self.pause_reason = detail or "no network"
        elif answered or self._network.given_up:
            self._pause_s = 0.0
            if self.pause_reason:
                self.pause_reason, self.paused_until = "", 0.0


def without_stall(outcome: Outcome, stood_still_s: float) -> Outcome:
    """An outcome as it counts when this process stood still meanwhile: its own lateness is not the server's."""
    if not stood_still_s:
        return outcome
    if outcome.failure in MISSED or outcome.truncated in ("time", "disconnect"):
        detail = f"this process stood still for {stood_still_s:.1f} s"
        return msgspec.structs.replace(outcome, failure=Failure.OURS, failure_detail=detail)
    return msgspec.structs.replace(outcome, elapsed_s=max(0.0, outcome.elapsed_s - stood_still_s))
