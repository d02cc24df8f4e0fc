"""The program with its event loop watched: `python -m bench.timed_crawl RESULT crawl ...`. Writes RESULT as JSON.

Everything that the loop calls is timed: steps of tasks, timers, readiness of sockets, and what comes over connections
to servers and workers. A time counts by the clock and in CPU of the thread: on a busy machine only the second is
ours, unless the thread gave its core up itself, because it waited for a disk or a lock: then the clock counts.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import msgspec
import uvloop

from gossamer import node
from gossamer.adapters.digest.process import Process
from gossamer.adapters.http.exchange import Exchange

EDGES_MS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
KEPT_FROM_S: Final = 0.003  # shorter ones are counted only
KEPT_MAX: Final = 20_000


class Call(msgspec.Struct, frozen=True):
    """One call that took long."""

    at_s: float  # since the loop began
    wall_ms: float
    cpu_ms: float
    what: str
    collected_ms: float  # of it, the garbage collector
    waited: bool  # for a disk, a lock, another thread: not only for a core that others had

    @property
    def ours_ms(self) -> float:
        """What it cost the loop, whatever others did on the machine."""
        return self.wall_ms if self.waited else self.cpu_ms


class Timed(msgspec.Struct):
    """All calls of a run."""

    calls: int = 0
    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(EDGES_MS) + 1))  # by EDGES_MS, in CPU
    long: list[Call] = []
    collections: int = 0
    collected_s: float = 0.0
    collected_longest_ms: float = 0.0


class Watch:
    """Times calls."""

    def __init__(self) -> None:
        self.found = Timed()
        self._began_s = time.perf_counter()
        self._depth = 0
        self._collecting_s = 0.0
        self._collected_s = 0.0
        gc.callbacks.append(self._collector)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call, and note how long it took. What is called from inside counts with its caller."""
        if self._depth:
            return function(*arguments)
        self._depth = 1
        collected_s = self._collected_s
        waits = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        try:
            return function(*arguments)
        finally:
            wall_s, cpu_s = time.perf_counter() - began_s, time.thread_time() - began_cpu_s
            self._depth = 0
            waited = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw > waits
            self._note(function, began_s, wall_s, cpu_s, self._collected_s - collected_s, waited=waited)

    def _note(
        self, function: Callable[..., Any], began_s: float, wall_s: float, cpu_s: float, gc_s: float, *, waited: bool
    ) -> None:
        found = self.found
        found.calls += 1
        place = 0
        while place < len(EDGES_MS) and cpu_s * 1e3 > EDGES_MS[place]:
            place += 1
        found.counts[place] += 1
        if wall_s >= KEPT_FROM_S and len(found.long) < KEPT_MAX:
            at_s = began_s - self._began_s
            found.long.append(Call(at_s, wall_s * 1e3, cpu_s * 1e3, name_of(function), gc_s * 1e3, waited))

    def _collector(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_s = time.perf_counter()
            return
        took_s = time.perf_counter() - self._collecting_s
        self._collected_s += took_s
        self.found.collections += 1
        self.found.collected_s += took_s
        self.found.collected_longest_ms = max(self.found.collected_longest_ms, took_s * 1e3)


def name_of(function: Callable[..., Any]) -> str:
    """What a call is of: the coroutine of a task's step, or the function's own name."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, asyncio.Task):
        coroutine = owner.get_coro()
        inner = getattr(coroutine, "cr_await", None)
        names = [getattr(each, "__qualname__", "") for each in (coroutine, inner)]
        return " > ".join(name for name in names if name)
    return getattr(function, "__qualname__", type(function).__name__)


def loop_of(watch: Watch) -> type[uvloop.Loop]:
    """A loop that has everything it calls timed."""

    class TimedLoop(uvloop.Loop):
        def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:
            return super().call_soon(watch.call, callback, *args, context=context)

        def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
            return super().call_soon_threadsafe(watch.call, callback, *args, context=context)

        def call_later(self, delay: Any, callback: Any, *args: Any, context: Any = None) -> Any:
            return super().call_later(delay, watch.call, callback, *args, context=context)

        def call_at(self, when: Any, callback: Any, *args: Any, context: Any = None) -> Any:
            return super().call_at(when, watch.call, callback, *args, context=context)

        def add_reader(self, fileobj: Any, callback: Any, *args: Any) -> Any:
            return super().add_reader(fileobj, watch.call, callback, *args)

        def add_writer(self, fileobj: Any, callback: Any, *args: Any) -> Any:
            return super().add_writer(fileobj, watch.call, callback, *args)

    return TimedLoop


def timed(watch: Watch, kind: type, name: str) -> None:
    """Have a method that a transport calls timed."""
    plain = getattr(kind, name)

    def run(self: Any, *arguments: Any) -> Any:
        return watch.call(plain, self, *arguments)

    run.__qualname__ = plain.__qualname__
    setattr(kind, name, run)


def main() -> int:
    """Run the command under watch."""
    result, arguments = Path(sys.argv[1]), sys.argv[2:]
    from gossamer.surface import cli  # noqa: PLC0415 - what it loads is not the loop's

    watch = Watch()
    for kind in (Exchange, Process):
        for name in ("data_received", "connection_lost"):
            timed(watch, kind, name)
    node.uvloop = SimpleNamespace(new_event_loop=loop_of(watch))  # type: ignore[assignment]
    try:
        return cli.run(arguments)
    finally:
        result.write_bytes(msgspec.json.encode(watch.found))


if __name__ == "__main__":
    sys.exit(main())
