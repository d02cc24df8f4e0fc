"""Fakes of the ports Web, Resolver and Digester, fed from a simulated web, in virtual time."""

from __future__ import annotations

import asyncio
import heapq
import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from gossamer.core.pulse import Pulse
from gossamer.core.turn import Turn
from gossamer.model.errors import DiskFullError, GossamerError
from gossamer.model.limits import DNS_CACHE_MAX
from gossamer.model.page import Digest, Failure, Job, Kind, Outcome, Request, Resolution
from gossamer.ports.clock import Clock
from gossamer.sim.web import DNS_TTL_S, Answer, SimWeb

DEFAULT_PORTS: Final = (80, 443)
LATE_S: Final = 1e-3  # a timer this much late shows that the process stood still
CLOSED: Final = "the simulated network is closed"
DNS_TIMEOUT_S: Final = 10.0  # a look-up that takes longer has failed


class Served(msgspec.Struct, frozen=True):
    """One request as the server's log has it."""

    host: str
    address: str
    target: str
    start: float
    end: float
    status: int
    scheme: str
    kind: Kind
    lane: str


class NeverStill(Pulse):
    """A process that never stands still: in virtual time no callback is late unless a stall is simulated."""

    def stood_still_s(self, since: float, now: float) -> float:  # noqa: ARG002 - the signature of what it stands for
        """Nothing."""
        return 0.0


class SimNet:
    """The port Web. The servers' log is `served`; `begun` has also requests that never ended."""

    def __init__(self, web: SimWeb, clock: Clock) -> None:
        """Every request is answered by `web`, after the seconds that the answer takes."""
        self.served: list[Served] = []
        self.begun: list[tuple[str, str, float]] = []  # host, target, start
        self.answers: dict[int, Answer] = {}  # of turns, until somebody takes them
        self._web = web
        self._clock = clock
        self._turn: Turn | None = None
        self._waits: dict[asyncio.Future[None], None] = {}  # of exchanges under way, in the order they began
        self._closed = False

    def expect(self, turn: Turn) -> None:
        """The next request is this turn's. Without, a request is a turn of its own that nobody waits for."""
        self._turn = turn

    async def fetch(self, request: Request) -> Outcome:
        """What the simulated server sends within the request's deadlines and caps. Never raises."""
        turn, self._turn = self._turn or _turn_of(request, self._clock.now()), None
        begun = self._clock.now()
        if self._closed:
            return Outcome(failure=Failure.OURS, failure_detail=CLOSED, started=begun)
        answer = self._web.answer(turn)
        self.begun.append((turn.host, turn.target, begun))
        failure, seconds = _end_of(answer, request)
        was_closed = await self._pass(seconds)
        now = self._clock.now()
        if was_closed:
            return Outcome(failure=Failure.OURS, failure_detail=CLOSED, started=begun, elapsed_s=now - begun)
        if now - begun > max(seconds, request.total_timeout_s) + LATE_S:  # nobody was there to read the answer
            failure = Failure.TIMEOUT
        if failure is not Failure.OURS:
            self.served.append(
                Served(
                    turn.host, turn.address, turn.target, begun, now, answer.status, turn.scheme, turn.kind, turn.lane
                )
            )
        if failure is not None:
            detail = "simulated" if failure is answer.failure else "no whole response head in time"
            return Outcome(failure=failure, failure_detail=detail, started=begun, elapsed_s=now - begun)
        if turn.id:
            self.answers[turn.id] = answer
        return _within_caps(self._web.outcome(turn, answer, now), answer, request)

    def forget(self, name: str) -> None:
        """Nothing: no connection is kept."""

    async def close(self) -> None:
        """Exchanges under way end now, as a fault of ours."""
        self._closed = True
        for wait in self._waits:
            if not wait.done():
                wait.set_result(None)

    async def _pass(self, seconds: float) -> bool:
        """Let time pass. True at once when closed."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return self._closed
        loop = asyncio.get_running_loop()
        wait = loop.create_future()
        self._waits[wait] = None
        timer = loop.call_later(seconds, _wake, wait)
        try:
            await wait
        finally:
            timer.cancel()
            del self._waits[wait]
        return self._closed


def _wake(wait: asyncio.Future[None]) -> None:
    if not wait.done():
        wait.set_result(None)


def _turn_of(request: Request, now: float) -> Turn:
    """A request made outside the crawl's own turns."""
    host = request.name if request.port in DEFAULT_PORTS else f"{request.name}:{request.port}"
    kind = Kind.ROBOTS if request.target == "/robots.txt" else Kind.PAGE
    return Turn(
        id=0, host=host, lane=request.address, kind=kind, url=request.url, key=request.url, scheme=request.scheme,
        name=request.name, port=request.port, target=request.target, address=request.address, started=now,
    )  # fmt: skip


def _end_of(answer: Answer, request: Request) -> tuple[Failure | None, float]:
    """How an exchange ends, and after how many seconds, given the request's deadlines."""
    total_s, first_s = request.total_timeout_s, request.first_byte_timeout_s
    if answer.failure is Failure.CONNECT_TIMEOUT:
        return answer.failure, min(answer.seconds, request.connect_timeout_s, total_s)
    head_s = answer.seconds if answer.first_byte_s is None else min(answer.first_byte_s, answer.seconds)
    if head_s > min(first_s, total_s):
        return (Failure.FIRST_BYTE_TIMEOUT, first_s) if first_s < total_s else (Failure.TIMEOUT, total_s)
    if answer.failure is not None:
        return answer.failure, min(answer.seconds, total_s)
    return None, head_s if _unwanted(answer, request) else min(answer.seconds, total_s)


def _unwanted(answer: Answer, request: Request) -> bool:
    if not request.unwanted_types:
        return False
    for name, value in answer.headers:
        if name == "content-type":
            return value.lower().startswith(request.unwanted_types)
    return False


def _within_caps(outcome: Outcome, answer: Answer, request: Request) -> Outcome:
    """What of an answer is kept: the body may be of an unwanted type, too long or too slow."""
    if _unwanted(answer, request):
        return msgspec.structs.replace(outcome, payload=b"", cut_by_type=True, truncated="unspecified")
    payload = outcome.payload
    if answer.seconds > request.total_timeout_s:
        head_s = answer.first_byte_s or 0.0
        share = (request.total_timeout_s - head_s) / (answer.seconds - head_s)
        outcome = msgspec.structs.replace(outcome, payload=payload[: int(len(payload) * share)], truncated="time")
    most = request.raw_max_bytes  # a coded body is held against the cap on its decoded size where it is decoded
    if outcome.header("content-encoding") is None:
        most = min(most, request.body_max_bytes)
    if len(outcome.payload) > most:
        outcome = msgspec.structs.replace(outcome, payload=outcome.payload[:most], truncated="length")
    return outcome


class SimResolver:
    """The port Resolver."""

    def __init__(self, web: SimWeb, clock: Clock, seconds: float = 0.0) -> None:
        """Every look-up takes `seconds`."""
        self._web = web
        self._clock = clock
        self._seconds = seconds
        self._cache: OrderedDict[str, Resolution] = OrderedDict()
        self._closed = asyncio.Event()

    async def resolve(self, name: str) -> Resolution:
        """What the simulated web says of a name, kept for as long as it says. Never raises."""
        begun = self._clock.now()
        key = name.lower().removesuffix(".")
        known = self._cache.get(key)
        if known is not None and known.expires > begun:
            return known
        if key[-1:].isdigit() or ":" in key:
            address = _literal(key)
            error = "" if address else "not a host name"
            return Resolution(name=key, addresses=address, error=error, expires=begun + DNS_TTL_S)
        if self._seconds and not self._closed.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closed.wait(), self._seconds)
        if self._closed.is_set():
            return Resolution(name=key, error=CLOSED, ours=True)
        if self._clock.now() - begun > DNS_TIMEOUT_S:
            return Resolution(name=key, error="timeout")
        found = self._keep(key, self._web.resolve(key, self._clock.now()))
        return msgspec.structs.replace(found, asked=bool(found.addresses))

    async def close(self) -> None:
        """Queries in flight end now, as a fault of ours."""
        self._closed.set()

    def _keep(self, key: str, found: Resolution) -> Resolution:
        if found.expires > self._clock.now() and not found.ours:
            self._cache[key] = found
            self._cache.move_to_end(key)
            if len(self._cache) > DNS_CACHE_MAX:
                self._cache.popitem(last=False)
        return found


def _literal(key: str) -> tuple[str, ...]:
    """An IP address as it is written in a URL or without brackets; nothing for what is none."""
    try:
        return (str(ipaddress.ip_address(key.strip("[]"))),)
    except ValueError:
        return ()


class SimDigester:
    """The port Digester: so many workers, each a page at a time, in the order of the jobs."""

    def __init__(
        self,
        make: Callable[[Job], Digest],
        clock: Clock,
        *,
        seconds: Callable[[Job], float],
        workers: int | None = None,
    ) -> None:
        """`make` is what a worker does, `seconds` how long that takes. `workers` None: one for each job."""
        self.full = False  # the archive has no room
        self._make = make
        self._clock = clock
        self._seconds = seconds
        self._free = None if workers is None else [0.0] * workers
        self._jobs = 0
        self._idle = asyncio.Event()
        self._closed = False

    async def digest(self, job: Job) -> Digest:
        """Archive and parse one response. Raises DiskFullError when there is no room, GossamerError when closed."""
        if self._closed:
            raise GossamerError("the simulated digest workers are closed")
        self._jobs += 1
        try:
            await asyncio.sleep(self._until(job) - self._clock.now())
            if self.full:
                raise DiskFullError("the disk of the simulated archive is full")
            return self._make(job)
        finally:
            self._jobs -= 1
            if not self._jobs:
                self._idle.set()

    def load(self) -> int:
        """Jobs accepted and not yet answered."""
        return self._jobs

    async def close(self) -> None:
        """Finish what was accepted."""
        self._closed = True
        while self._jobs:
            self._idle.clear()
            await self._idle.wait()

    def _until(self, job: Job) -> float:
        begins = self._clock.now()
        if self._free is None:
            return begins + self._seconds(job)
        ends = max(begins, self._free[0]) + self._seconds(job)
        heapq.heapreplace(self._free, ends)
        return ends
