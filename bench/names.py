"""Names and robots.txt: `python -m bench.names [--names N] [--rate R]`.

A nameserver in a process of its own answers every name. Names that nobody has asked for before are resolved by the
resolver of a crawl, as many at a time as a crawl does; how late a timer of the loop comes meanwhile says whether that
would stall fetches. Then the verdict of a robots.txt that is in memory.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import time
from multiprocessing.connection import Connection
from typing import Any, Final

import uvloop

from bench.rows import Bench, parser
from gossamer.adapters.clock import SystemClock
from gossamer.adapters.dns import DnsResolver
from gossamer.core.active import ActiveHost
from gossamer.core.robotsdesk import RobotsDesk, Standing
from gossamer.core.takedowns import TakedownDesk
from gossamer.model.config import Config, Dns
from gossamer.model.record import HostRow, RobotsState
from gossamer.policy.robots import parse as parse_rules
from gossamer.sim.memstore import MemoryStore
from gossamer.stage.dispatch import RESOLVES_MAX
from tests.dns.name_server import name_server

NOW: Final = 1_790_000_000.0
PACE_S: Final = 0.001  # between two looks at how late the loop is
BLOCK_MOST_MS: Final = 10.0
VERDICTS: Final = 200_000
VERDICT_MOST_US: Final = 5.0
RULES: Final = 60
WILD_RULES: Final = 10


class Every(dict[str, Any]):
    """A table that has every name."""

    def get(self, name: str, default: object = None) -> object:  # type: ignore[override] # no second kind of default
        """The address of a name: one for each."""
        number = sum(name.encode()) % 250 + 1
        return [(f"127.9.{len(name) % 250}.{number}", 3600, "A")] if name else default


def answer(told: Connection) -> None:
    """The nameserver's process: tells its address, then answers until it is ended."""

    async def run() -> None:
        async with name_server(Every()) as (server, place):
            server.asked = _Uncounted()  # type: ignore[assignment] # millions of names are not remembered
            told.send(place)
            await asyncio.Event().wait()

    uvloop.run(run())


class _Uncounted(dict[tuple[str, str], int]):
    """Counts nothing."""

    def __missing__(self, _key: tuple[str, str]) -> int:
        return 0

    def __setitem__(self, _key: tuple[str, str], _value: int) -> None:
        """Forget it."""


async def late(over: asyncio.Event) -> list[tuple[float, float]]:
    """How late a timer of the loop came each time: by the clock, and in CPU that the loop's thread spent on others."""
    found = []
    while not over.is_set():
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        await asyncio.sleep(PACE_S)
        found.append((time.perf_counter() - began_s - PACE_S, time.thread_time() - began_cpu_s))
    return found


async def resolved(place: str, count: int) -> tuple[float, float, list[tuple[float, float]]]:
    """Seconds and CPU seconds of resolving so many new names, and how late the loop was meanwhile."""
    resolver = DnsResolver(Dns(nameservers=(place,), timeout_s=5.0), SystemClock())
    over = asyncio.Event()
    watching = asyncio.create_task(late(over))
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            found = await resolver.resolve(f"www.n{number:07}-dns.example")
            if not found.addresses:
                raise SystemExit(f"bench: {found.name}: {found.error}")

    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    await asyncio.gather(*(some() for _ in range(RESOLVES_MAX)))
    took_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    over.set()
    meanwhile = await watching
    await resolver.close()
    return took_s, cpu_s, meanwhile


def verdict_us() -> float:
    """Microseconds of CPU of a verdict: whether the rules are known, and what they say of a path."""
    store = MemoryStore()
    desk = RobotsDesk(Config(), store, TakedownDesk(store))
    lines = [f"Disallow: /section-{n}/private/" for n in range(RULES)]
    lines += [f"Disallow: /*/draft-{n}*.html$" for n in range(WILD_RULES)]
    rules = parse_rules("\n".join(["User-agent: *", *lines]).encode(), "Gossamer")
    row = HostRow(host="a.example", site="a.example", robots={"http": RobotsState(fetched=NOW, expires=NOW + 86_400)})
    host = ActiveHost(store, row)
    host.rules["http"] = (NOW, rules)
    targets = [
        f"/section-{n % 90}/{'private' if n % 9 == 0 else 'an'}/article-{n}.html?page={n % 5}" for n in range(1_000)
    ]
    refused = 0
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        for n in range(VERDICTS // 5):
            if desk.standing(host, "http", NOW) is Standing.KNOWN:
                refused += desk.refusal(host, "http", targets[n % 1_000]) is not None
        best = min(best, time.process_time() - began)
    if not 0 < refused < VERDICTS:
        raise AssertionError(f"{refused} of {VERDICTS} were refused")
    return best / (VERDICTS // 5) * 1e6


def main() -> int:
    """Serve, resolve, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--names", type=int, default=50_000)
    options = arguments.parse_args()
    bench = Bench(6, "names", "Names and robots.txt")
    here, there = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=answer, args=(there,), daemon=True)
    server.start()
    try:
        if not here.poll(30):
            raise SystemExit("bench: the nameserver does not start")
        took_s, cpu_s, meanwhile = uvloop.run(resolved(here.recv(), options.names))
    finally:
        server.terminate()
        server.join(10)
    clock, cpu = (sorted(each) for each in zip(*meanwhile, strict=True))
    bench.row(
        "new names resolved",
        options.names / cpu_s,
        "/s",
        least=10_000,
        note=f"by the CPU of this process, {cpu_s / options.names * 1e6:.0f} µs each, {RESOLVES_MAX} at a time; "
        f"by the clock {options.names / took_s:.0f}/s",
    )
    bench.row(
        "CPU between two rounds of the loop meanwhile, longest",
        cpu[-1] * 1e3,
        "ms",
        most=BLOCK_MOST_MS,
        note=f"99th percentile {cpu[int(len(cpu) * 0.99)] * 1e3:.2f} ms; by the clock, cores shared with the "
        f"nameserver and others, {clock[-1] * 1e3:.0f} and {clock[int(len(clock) * 0.99)] * 1e3:.0f} ms",
    )
    bench.row(
        "verdict of a robots.txt in memory",
        verdict_us(),
        "µs",
        most=VERDICT_MOST_US,
        note=f"{RULES + WILD_RULES} rules, {WILD_RULES} with wildcards",
    )
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
