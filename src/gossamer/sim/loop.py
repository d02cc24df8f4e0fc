"""An asyncio event loop in virtual time. Nothing is ready: time jumps to the next timer. No sockets, no threads.

What asyncio promises of order is kept and made strict: callbacks run first in, first out, and timers of one moment in
the order they were set (asyncio's own heap leaves ties open). One timer and everything that it makes ready is a step.
"""

from __future__ import annotations

import asyncio
from asyncio.events import _get_running_loop, _set_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextvars import Context, copy_context
from heapq import heappop, heappush
from typing import Any, Final, TypeVar, cast

from gossamer.sim.clock import VirtualClock

T = TypeVar("T")

CALLBACKS_MAX: Final = 5_000_000  # without time moving: more is a loop that never ends


class NothingLeftError(RuntimeError):
    """What is waited for will never come: no callback is ready and no timer is set."""


def _nothing() -> None:
    """What a cancelled timer would do."""


class _Soon(asyncio.Handle):
    """A callback that is ready. Millions are made: nothing is kept that only asyncio's debug mode wants."""

    __slots__ = ()
    _args: tuple[object, ...]
    _context: Context

    def __init__(self, callback: Callable[..., object], args: tuple[object, ...], context: Context | None) -> None:
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._context = copy_context() if context is None else context

    def cancel(self) -> None:
        self._cancelled = True


class _Timer(asyncio.TimerHandle):
    """A callback that waits for its time."""

    __slots__ = ()

    def __init__(
        self, when: float, callback: Callable[..., object], args: tuple[object, ...], context: Context | None
    ) -> None:
        self._when = when
        self._callback = callback
        self._args = args
        self._cancelled = False
        self._context = copy_context() if context is None else context

    def cancel(self) -> None:
        self._cancelled = True
        self._callback, self._args = _nothing, ()  # it stays among the timers until its time, what it holds does not


class VirtualLoop(asyncio.AbstractEventLoop):  # what is not here (sockets, threads, signals) raises NotImplementedError
    """Runs coroutines on a VirtualClock, which is also its `time()`. Timers die with the loop, the clock goes on."""

    def __init__(self, clock: VirtualClock) -> None:
        """A loop on a clock that may have events of its own; they take their turns among the timers."""
        self.clock = clock
        self.fault: BaseException | None = None  # the first exception that nobody handled
        self._ready: deque[_Soon | _Timer] = deque()
        self._timers: list[tuple[float, int, _Timer]] = []
        self._order = 0
        self._halted = False
        self._closed = False

    # -- driving ---------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Run what is ready, and what that makes ready, at this moment."""
        before = _get_running_loop()
        _set_running_loop(self)
        try:
            self._run_ready()
        finally:
            _set_running_loop(before)

    def step(self, until: float | None = None) -> bool:
        """Move to the next timer, run it and everything it makes ready. False: there is none before `until`."""
        return self.steps(1, until) > 0

    def steps(self, count: int, until: float | None = None) -> int:
        """At most so many steps, none after `until`; how many there were. Fewer: stopped, or nothing is left."""
        before = _get_running_loop()
        _set_running_loop(self)
        try:
            self._run_ready()
            done = 0
            while done < count and self._one(until):
                done += 1
                if self._halted:
                    break
            return done
        finally:
            _set_running_loop(before)

    @property
    def halted(self) -> bool:
        """Whether it was stopped: it runs nothing any more."""
        return self._halted

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

    def _one(self, until: float | None) -> bool:
        """A step, when nothing is ready."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:  # noqa: SLF001 - of this module; half of all timers are
            heappop(timers)
        at = timers[0][0] if timers else None
        outside = self.clock.next_at()
        if outside is not None and (at is None or outside <= at):
            stepped = self.clock.step(until)
            self._run_ready()
            return stepped
        if at is None or (until is not None and at > until):
            return False
        self.clock.jump(at)
        if not self._halted:
            self._ready.append(heappop(timers)[2])  # nothing else is ready
            self._run_ready()
        return True

    def _run_ready(self) -> None:
        ready, left = self._ready, CALLBACKS_MAX
        while ready and not self._halted:
            handle = ready.popleft()
            if handle._cancelled:  # noqa: SLF001 - as above
                continue
            try:
                handle._context.run(handle._callback, *handle._args)  # noqa: SLF001 - as above
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:  # noqa: BLE001 - what nobody handled, as asyncio's own loop has it
                self.call_exception_handler({"exception": error})
            left -= 1
            if not left:
                raise AssertionError(f"{CALLBACKS_MAX} callbacks and time has not moved")

    # -- asyncio.AbstractEventLoop ---------------------------------------------------------------------------------

    def time(self) -> float:
        """The virtual time, in unix seconds."""
        return self.clock.now()

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback after those that are ready."""
        handle = _Soon(callback, args, context)
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
        timer = _Timer(when, callback, args, context)
        self._order += 1
        heappush(self._timers, (when, self._order, timer))
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
