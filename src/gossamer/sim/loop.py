"""An asyncio event loop in virtual time. Nothing is ready: time jumps to the next timer. No sockets, no threads.

What asyncio promises of order is kept and made strict: callbacks run first in, first out, and timers of one moment in
the order they were set (asyncio's own heap leaves ties open). One timer and everything that it makes ready is a step.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio.events import _get_running_loop, _set_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Final, TypeVar, cast

from gossamer.sim.clock import VirtualClock

T = TypeVar("T")

CALLBACKS_MAX: Final = 5_000_000  # without time moving: more is a loop that never ends


class NothingLeftError(RuntimeError):
    """What is waited for will never come: no callback is ready and no timer is set."""


class _Soon(asyncio.Handle):
    def run(self) -> None:
        if not self._cancelled:
            self._run()


class _Timer(asyncio.TimerHandle):
    def run(self) -> None:
        self._run()


class VirtualLoop(asyncio.AbstractEventLoop):  # what is not here (sockets, threads, signals) raises NotImplementedError
    """Runs coroutines on a VirtualClock, which is also its `time()`. Timers die with the loop, the clock goes on."""

    def __init__(self, clock: VirtualClock) -> None:
        """A loop on a clock that may have events of its own; they take their turns among the timers."""
        self.clock = clock
        self.fault: BaseException | None = None  # the first exception that nobody handled
        self._ready: deque[_Soon] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = 0
        self._halted = False
        self._closed = False

    # -- driving ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Run what is ready, and what that makes ready, at this moment."""
        self._within(None)

    def step(self, until: float | None = None) -> bool:
        """Move to the next timer, run it and everything it makes ready. False: there is none before `until`."""
        if self._ready:
            self.settle()
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        at = self._timers[0][0] if self._timers else None
        outside = self.clock.next_at()
        if outside is not None and (at is None or outside <= at):
            stepped = self.clock.step(until)
            self.settle()
            return stepped
        if at is None or (until is not None and at > until):
            return False
        timer = heapq.heappop(self._timers)[2]
        self.clock.jump(at)
        self._within(timer)
        return True

    def stop(self) -> None:
        """Run nothing more after the callback that runs now: what a kill at this point leaves undone."""
        self._halted = True

    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """The result of an awaitable. Raises what it raises, NothingLeftError when nothing is left to wait for."""
        task = asyncio.ensure_future(cast("Awaitable[T]", future), loop=self)
        self.settle()
        while not task.done():
            if not self._halted and self.step():
                continue
            if not task.done():
                raise NothingLeftError(f"stopped at {task!r}" if self._halted else f"nothing is left to end {task!r}")
        return task.result()

    def _within(self, timer: _Timer | None) -> None:
        before = _get_running_loop()
        _set_running_loop(self)
        try:
            if timer is not None and not self._halted:
                timer.run()
            ready, left = self._ready, CALLBACKS_MAX
            while ready and not self._halted:
                ready.popleft().run()
                left -= 1
                if not left:
                    raise AssertionError(f"{CALLBACKS_MAX} callbacks and time has not moved")
        finally:
            _set_running_loop(before)

    # -- asyncio.AbstractEventLoop ---------------------------------------------------------------------------------

    def time(self) -> float:
        """The virtual time, in unix seconds."""
        return self.clock.now()

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback after those that are ready."""
        handle = _Soon(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback `delay` seconds from now."""
        return self.call_at(self.clock.now() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time of this loop."""
        timer = _Timer(when, callback, args, self, context)
        self._order += 1
        heapq.heappush(self._timers, (when, self._order, timer))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Begin a coroutine."""
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep an exception that nobody handled as the loop's fault, and stop. Tasks given up unfinished are none."""
        exception = context.get("exception")
        if exception is not None:
            self.fault = self.fault or exception
            self.stop()

    def get_debug(self) -> bool:
        """Never."""
        return False

    def is_running(self) -> bool:
        """Whether this is the loop that runs now."""
        return _get_running_loop() is self

    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Forget what is ready and all timers."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: no generator is kept."""

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - asyncio's own
        """Nothing to do: there are no threads."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A timer was cancelled: it is skipped when its time comes."""
